package config

import (
	"maps"
	"slices"

	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/models"
	"ppal/trainer/problem"
	"ppal/trainer/session"
	"ppal/trainer/step"
)

// auto is the method that a configuration replaces by alm, ppala or plada.
const auto = "auto"

// thresholds is the name of the method of a run with given scores.
const thresholds = "thresholds"

// The methods from which Auto chooses. Only alm has quasi-Newton steps, and only plada supports a
// constraint with a kink.
const (
	multipliers = "alm"
	smooth      = "ppala"
	kinked      = "plada"
)

// chooseMethod replaces the method Auto, and keeps the reason. Without a bound, the method is
// unconstrained. The first of alm, ppala and plada that has the given settings of methods is the
// choice if the settings exclude a method. Otherwise the problem decides.
func (r *resolver) chooseMethod() error {
	names := []string{nameModel, "batch-size", option.NamePreset, "activation", "regularizer"}
	for _, o := range option.Of(r.train.Task) {
		names = append(names, o.Name)
	}
	for _, name := range names {
		if err := r.settle(r.options[name]); err != nil {
			return err
		}
	}
	m := &r.train.Method
	if session.TraitsOf(r.train.Task).Unbounded {
		m.Name, m.Reason = "unconstrained", "there is no bound"
		return nil
	}
	methods, reason := []string{multipliers, smooth, kinked}, ""
	for _, name := range slices.Sorted(maps.Keys(r.given)) {
		k := r.foreign[name]
		if k == nil {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return !r.suits(k, r.given[name].text, m) })
		if 0 < len(left) && len(left) < len(methods) {
			methods, reason = left, "of --"+name
		}
	}
	if m.Name, m.Reason = methods[0], reason; reason == "" {
		m.Name, m.Reason = r.byProblem()
	}
	return nil
}

// suits reports whether the method has the setting with the text. A setting of
// first-order steps asks for a method with such steps. alm has such steps for convolutional
// networks only.
func (r *resolver) suits(k *Key, text, name string) bool {
	firstOrder := !models.IsForPictures(r.text(nameModel)) &&
		(k.Name == namePrimal && text != step.Auto.String() && text != step.LBFGS.String() ||
			k.DependsOn(namePrimal) && slices.Contains(k.Owners, smooth))
	switch {
	case !slices.Contains(k.Owners, name):
		return false
	case name == multipliers:
		return !firstOrder
	}
	return k.Name != namePrimal || text != step.LBFGS.String()
}

// byProblem returns the method for the problem: plada for a constraint with a kink, ppala if steps
// see a sample of the rows, or if f, g or r have kinks, else alm.
func (r *resolver) byProblem() (name, reason string) {
	batch, traits := r.text("batch-size"), session.TraitsOf(r.train.Task)
	switch {
	case traits.Largest:
		return kinked, "the largest gap has a kink"
	case r.text(option.NamePreset) == preset.Paper:
		return smooth, "of --preset paper"
	case models.IsForPictures(r.text(nameModel)):
		return multipliers, "its steps by Adam on mini-batches suit convolutional networks"
	case batch != "" && batch != "0":
		return smooth, "the steps see a sample of the rows"
	case models.Activation(r.text("activation")).Kinked(), traits.Kinks:
		return smooth, "the functions have kinks"
	}
	switch kind := r.text("regularizer"); kind {
	case "", problem.NoRegularizer.String(), problem.Ball.String(), problem.SquaredL2.String():
		return multipliers, "the functions are smooth, and each step sees all rows"
	default:
		return smooth, "the regularizer is " + kind
	}
}
