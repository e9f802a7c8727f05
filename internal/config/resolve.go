package config

import (
	"fmt"
	"slices"
)

// Values are settings as text, by key: what a command line gives explicitly.
type Values map[string]string

// Resolve completes what was given to a whole configuration: a flag wins over the file, which wins over the preset. file may be
// nil. Errors are *Error, and name the flag or the file's line.
func Resolve(flags Values, file *File) (Train, error) {
	given := map[string]setting{}
	if file != nil {
		for name, v := range file.values {
			given[name] = setting{v.text, fmt.Sprintf("%s:%d: %s", file.Path, v.line, name)}
		}
	}
	for name, text := range flags {
		if Lookup(name) == nil {
			return Train{}, &Error{"--" + name, "is no key; see ppal train --help"}
		}
		given[name] = setting{text, "--" + name}
	}
	var t Train
	for _, k := range resolutionOrder() {
		if err := k.resolve(&t, given); err != nil {
			return Train{}, err
		}
	}
	return t, t.consistent(given)
}

// setting is a given value and where it was given.
type setting struct{ text, where string }

// resolutionOrder has the keys on which other keys' existence and defaults depend first.
func resolutionOrder() []*Key {
	var keys []*Key
	for _, name := range []string{"problem", "dataset", "method", "preset", "x-step", "primal"} {
		keys = append(keys, lookup(name))
	}
	for _, k := range Keys() {
		if !slices.ContainsFunc(keys, func(have *Key) bool { return have.Name == k.Name }) {
			keys = append(keys, k)
		}
	}
	return keys
}

func (k *Key) resolve(t *Train, given map[string]setting) error {
	s, explicit := given[k.Name]
	reason := k.unmet(t)
	switch {
	case reason != "" && explicit:
		return &Error{s.where, reason}
	case reason != "":
		return nil
	case explicit:
		if err := k.set(t, s.text); err != nil {
			return &Error{s.where, err.Error()}
		}
		return nil
	case k.preset == nil:
		return &Error{"--" + k.Name, fmt.Sprintf("is missing; --regularizer %s needs it", t.Problem.Regularizer)}
	}
	if err := k.set(t, k.preset(t)); err != nil {
		panic(fmt.Sprintf("config: the default of %s %v", k.Name, err))
	}
	return nil
}

// consistent refuses values that fit by themselves and not together.
func (t *Train) consistent(given map[string]setting) error {
	refuse := func(name, format string, args ...any) error {
		where := "--" + name
		if s, ok := given[name]; ok {
			where = s.where
		}
		return &Error{where, fmt.Sprintf(format, args...)}
	}
	seen := map[int]bool{}
	for _, c := range t.Classes {
		if seen[c] {
			return refuse("classes", "names class %d twice", c)
		}
		seen[c] = true
	}
	constraints := len(t.Classes) - 1
	switch {
	case constraints < 1:
		return refuse("classes", "is %d, want at least two classes", t.Classes[0])
	case len(t.Kappa) != 1 && len(t.Kappa) != constraints:
		return refuse("kappa", "has %d values, want 1 or %d, one for each constraint", len(t.Kappa), constraints)
	case t.Box != nil && (len(t.Box) != 2 || t.Box[0] > t.Box[1]):
		return refuse("box", "is %s, want LO,HI with LO at most HI", format(&t.Box))
	case t.EtaScale == "fixed" && t.Eta == "auto":
		return refuse("eta", "is auto, which scales with the weights; --eta-scale fixed needs a number")
	case t.Primal == "adam" && t.Eta == "auto":
		return refuse("eta", "is auto, which the adam step does not have; give a number")
	case t.GDPAStep == "auto" && t.Primal != "nesterov":
		return refuse("gdpa-step", "is auto, which needs --primal nesterov; the primal is %s", t.Primal)
	case t.XStep != "" && t.XStep != "subgradient" && t.Primal != "gradient":
		return refuse("primal", "is %s; --x-step %s has gradient steps only", t.Primal, t.XStep)
	}
	return nil
}
