package config

import (
	"fmt"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// TrainerMethod makes the method with its settings. The error wraps problem.ErrSettings; a resolved
// configuration has none.
func (t Train) TrainerMethod() (trainer.Method, error) {
	m := t.newMethod()
	if m == nil {
		return nil, fmt.Errorf("config: %w: method %q", problem.ErrSettings, t.Method.Name)
	}
	for _, o := range option.Of(m) {
		if text, ok := t.Options[o.Name]; ok {
			if err := o.Set(text); err != nil {
				return nil, fmt.Errorf("config: %w: %s %s: %v", problem.ErrSettings, o.Name, text, err)
			}
		}
	}
	method.SetRun(m, t.Session.Settings.FeasibilityTolerance, t.Session.Settings.Seed)
	return m, nil
}

// newMethod makes the method without settings, nil where the name is unknown.
func (t *Train) newMethod() trainer.Method {
	if t.Method.Name == thresholds { // no step uses the method
		return &method.Unconstrained{}
	}
	d, err := method.Lookup(t.Method.Name)
	if err != nil {
		return nil
	}
	return d.New()
}
