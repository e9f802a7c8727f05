package method

import "ppal/trainer"

// universal implements Needs for the methods that run on every problem.
type universal struct{}

// Needs implements trainer.Method and trainer.DualRule. The zero Needs requires nothing.
func (universal) Needs() trainer.Needs { return trainer.Needs{} }
