package config

import (
	"maps"
	"slices"

	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/models"
	"ppal/trainer/step"
)

// namePrimal is the name of the setting of the primal step, and nameModel that of the model.
const (
	namePrimal = "primal"
	nameModel  = "model"
)

// implyPrimal sets the primal step if the choice is automatic: adam for a network for pictures,
// nesterov if the user gives a setting that only first-order steps use. The preset paper has its
// own primal step.
func (r *resolver) implyPrimal() error {
	o := r.options[namePrimal]
	s, explicit := r.given[namePrimal]
	if o == nil || o.PlainDefault() != step.Auto.String() || explicit && s.text != step.Auto.String() {
		return nil
	}
	if err := r.settle(r.options[option.NamePreset]); err != nil {
		return err
	}
	if !explicit && r.train.Preset == preset.Paper {
		return nil
	}
	if models.IsForPictures(r.text(nameModel)) {
		r.given[namePrimal] = setting{step.Adam.String(), r.given[nameModel].place}
		return nil
	}
	for _, own := range r.method {
		cause, given := r.given[own.Name]
		if !given || !own.DependsOn(namePrimal) {
			continue
		}
		r.given[namePrimal] = setting{step.Nesterov.String(), cause.place}
		return nil
	}
	return nil
}

// WithPrimal returns the configuration with the given primal step if the choice is automatic, and
// otherwise t.
func (t Train) WithPrimal(kind step.Kind) Train {
	m := t.newMethod()
	if m == nil || t.Options[namePrimal] != step.Auto.String() {
		return t
	}
	t.Options = maps.Clone(t.Options)
	t.Options[namePrimal] = kind.String()
	options := option.Of(m)
	maps.DeleteFunc(t.Options, func(name, _ string) bool {
		i := slices.IndexFunc(options, func(o *option.Option) bool { return o.Name == name })
		_, unmet := options[i].Unmet(t.Text)
		return unmet
	})
	return t
}
