package method

import (
	"fmt"
	"slices"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// registered describes the methods of other packages.
var registered []Description

// Register adds a method of your own to the program's methods: in a program that calls cmd.Main,
// `train --method NAME`, `compare --methods ...,NAME`, `methods` and config.yaml know the method by
// its name. create returns a new method with its settings. For a trainer.DualRule, create returns
// FromRule(rule). Register sets d.New.
//
// Register is for initialisation, before Main. The error wraps problem.ErrSettings: the name is
// empty, or another method has it, or create does not make a method of this name.
func Register(d Description, create func() trainer.Method) error {
	switch {
	case d.Name == "" || create == nil:
		return fmt.Errorf("method: %w: a method needs a name and a function that creates it", problem.ErrSettings)
	case slices.Contains(Names(), d.Name):
		return fmt.Errorf("method: %w: two methods with the name %s", problem.ErrSettings, d.Name)
	}
	if m := create(); m == nil || m.Name() != d.Name {
		return fmt.Errorf("method: %w: the method that is registered as %s has another name", problem.ErrSettings, d.Name)
	}
	d.New = func() Method { return &foreign{create()} }
	registered = append(registered, d)
	return nil
}

// foreign is a method of another package. It has no options, because create sets the method's
// fields.
type foreign struct{ trainer.Method }

// Options implements Method.
func (*foreign) Options() []*option.Option { return nil }
