package method

import (
	"reflect"
	"slices"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/step"
)

// Text is a setting of a method as text. Name is the name of the option.
type Text struct{ Name, Value string }

// namePrimal is the name of the option of the primal step.
const namePrimal = "primal"

// settlePrimal sets the option of the primal step to the kind that the settings of m determine, and
// reports whether the choice remains automatic. The settings of other steps then have no effect.
func settlePrimal(m trainer.Method, options []*option.Option) (auto bool) {
	c, ok := m.(chooser)
	if !ok || c.primal() == nil {
		return false
	}
	kind := primalOf(c)
	for _, o := range options {
		if o.Name == namePrimal {
			_ = o.Set(kind.String()) // a kind of primalOf has a name
		}
	}
	return kind == step.Auto
}

// Texts returns the settings of m that apply to a run, as the texts of m's options. An option whose
// field is 0 gets its default. The primal step step.Auto stays automatic unless the settings of m
// determine the step. run returns the other settings of the run by name; tolerance and
// seed are the arguments of SetRun.
//
// beyond names the fields whose values no option can express: a method built from texts differs
// from m in these fields. ok is false if m is not a method
// that All describes.
func Texts(m trainer.Method, tolerance float64, seed uint64, run func(name string) string) (texts []Text, beyond []string, ok bool) {
	d, err := Lookup(m.Name())
	if err != nil || reflect.TypeOf(d.New()) != reflect.TypeOf(m) {
		return nil, nil, false
	}
	if _, ok := m.(*foreign); ok {
		return nil, nil, true
	}
	full := d.New()
	options := option.Of(full)
	given := map[string]bool{}
	for i, o := range option.Of(m) {
		given[o.Name] = options[i].Set(o.Text()) == nil
	}
	auto := settlePrimal(m, options)
	for _, o := range options {
		given[o.Name] = given[o.Name] && o.Conflict() == ""
	}
	// The zero value has the defaults of a run without a problem and a preset.
	if err := option.Complete(options, func(name string) bool { return given[name] }, func(string) string { return "" }); err != nil {
		return nil, nil, false
	}
	var lookup option.Lookup
	lookup = func(name string) string {
		i := slices.IndexFunc(options, func(o *option.Option) bool { return o.Name == name })
		switch {
		case i < 0:
			return run(name)
		case unmet(options[i], lookup):
			return ""
		}
		return options[i].Text()
	}
	for _, o := range options {
		if !unmet(o, lookup) && !(auto && o.DependsOn(namePrimal)) {
			texts = append(texts, Text{o.Name, o.Text()})
		}
	}
	SetRun(full, tolerance, seed)
	return texts, differences(reflect.ValueOf(m).Elem(), reflect.ValueOf(full).Elem()), true
}

// unmet reports whether the run does not meet a condition of the option o.
func unmet(o *option.Option, in option.Lookup) bool {
	_, is := o.Unmet(in)
	return is
}

// differences returns the names of the exported fields of a that are not zero and differ in b.
func differences(a, b reflect.Value) (names []string) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		x, y := a.Field(i), b.Field(i)
		if x.Kind() == reflect.Pointer && !x.IsNil() && !y.IsNil() {
			x, y = x.Elem(), y.Elem()
		}
		switch {
		case !f.IsExported():
		case x.Kind() == reflect.Struct:
			names = append(names, differences(x, y)...)
		case !x.IsZero() && !reflect.DeepEqual(x.Interface(), y.Interface()):
			names = append(names, f.Name)
		}
	}
	return names
}
