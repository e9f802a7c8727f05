package method

import "ppal/trainer"

// universal is embedded by the methods that run on every problem.
type universal struct{}

// Needs implements trainer.Method and trainer.DualRule.
func (universal) Needs() trainer.Needs { return trainer.Needs{} }
