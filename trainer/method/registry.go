package method

import (
	"cmp"
	"fmt"
	"slices"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// configurable is a method that describes its settings, bound to its fields.
type configurable interface{ options() []*option.Option }

// Description describes a method for help texts and documents.
type Description struct {
	Name    string // on the command line: "ppala"
	Summary string // one line
	About   string // a few sentences: the idea, and when to choose the method
	Source  string // the publication that has the equations
	Kinks   bool   // supports constraints with kinks; false: needs h <= eps, -h <= eps for |h| <= eps
	// Rival says that the method is there for comparisons, with a smaller promise: --method auto
	// never takes it, and its runs on mini-batches do not end with quasi-Newton steps on all rows.
	Rival bool
	// Comparison describes the method's primal step for comparisons.
	Comparison Comparison
	New        func() trainer.Method // returns the zero value, the method with its defaults
}

// Comparison describes the primal step of a method whose published step differs from the primal
// steps of the other methods. The zero value: the method takes the same steps as others, of the
// size eta.
type Comparison struct {
	// Size is the name of the option of the step's size; "": eta.
	Size string
	// Equal are the settings with which the method takes the same steps as others.
	Equal map[string]string
	// Published are the names of the options of the published step, which replaces Equal if one of
	// them is given.
	Published []string
}

// described describes the methods of this package in the order of All. Each method's file adds its
// own.
var described []Description

// describe adds a method of this package.
func describe[M any, P interface {
	*M
	trainer.Method
	configurable
}](d Description) {
	d.Name, d.New = P(new(M)).Name(), func() trainer.Method { return P(new(M)) }
	option.Describe(func(m *M) []*option.Option { return P(m).options() })
	described = append(described, d)
	slices.SortFunc(described, func(a, b Description) int {
		if a.Rival != b.Rival {
			return map[bool]int{false: -1, true: 1}[a.Rival]
		}
		return cmp.Compare(a.Name, b.Name)
	})
}

// All describes all methods in the order of the help: the rivals come after the other methods of
// this package, and the methods of other packages come last.
func All() []Description {
	return slices.Concat(described, registered)
}

// New returns the named method with the settings of its zero value. The error for an unknown name
// wraps problem.ErrSettings.
func New(name string) (trainer.Method, error) {
	d, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	return d.New(), nil
}

// runSetter is a method with fields that are settings of the run if they are 0.
type runSetter interface {
	setRun(tolerance float64, seed uint64)
}

// SetRun copies settings of the run to the fields of m that are 0: the feasibility tolerance, and
// the seed.
func SetRun(m trainer.Method, tolerance float64, seed uint64) {
	if s, ok := m.(runSetter); ok {
		s.setRun(tolerance, seed)
	}
}

// smoother is a method whose settings decide whether it supports kinks.
type smoother interface {
	smooth(batches bool) bool
}

// Smooth reports whether the method supports differentiable constraints only. The problem must then
// split a gap |h| <= eps into h <= eps and -h <= eps. Smooth returns true for methods that are not
// registered.
func Smooth(m trainer.Method) bool { return SmoothOn(m, false) }

// SmoothOn is Smooth for a run on mini-batches.
func SmoothOn(m trainer.Method, batches bool) bool {
	if s, ok := m.(smoother); ok {
		return s.smooth(batches)
	}
	d, _ := Lookup(m.Name()) // without kinks for a method that is not registered
	return !d.Kinks
}

// Automatic returns the automatic settings of m with the values that a run on p takes, by the names
// of the options. Call Automatic after ChoosePrimal.
func Automatic(m trainer.Method, p problem.Problem) map[string]string {
	if a, ok := m.(interface {
		automatic(p problem.Problem) map[string]string
	}); ok {
		return a.automatic(p)
	}
	return nil
}

// Names returns the names of all methods, in the order of the help.
func Names() []string {
	var names []string
	for _, d := range All() {
		names = append(names, d.Name)
	}
	return names
}

// Needing returns the names of the methods whose needs, with the defaults, are of a kind.
func Needing(kind func(trainer.Needs) bool) (names []string) {
	for _, d := range All() {
		if kind(d.New().Needs()) {
			names = append(names, d.Name)
		}
	}
	return names
}

// Lookup returns the description of the named method. The error for an unknown name wraps
// problem.ErrSettings.
func Lookup(name string) (Description, error) {
	for _, d := range All() {
		if d.Name == name {
			return d, nil
		}
	}
	return Description{}, fmt.Errorf("method: %w: unknown method %q (supported: %s)", problem.ErrSettings, name, option.List(Names(), "and"))
}

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
	d.New = func() trainer.Method { return &foreign{create()} }
	registered = append(registered, d)
	return nil
}

// Unregister removes a method that Register added.
func Unregister(name string) {
	registered = slices.DeleteFunc(registered, func(d Description) bool { return d.Name == name })
}

// foreign is a method of another package. It has no options, because create sets the method's
// fields.
type foreign struct{ trainer.Method }

// Unwrap returns the method of the other package, whose optional interfaces count.
func (f *foreign) Unwrap() trainer.Method { return f.Method }

// number is a setting with its name.
type number struct {
	name string
	x    float64
}

// checkNumbers returns an error for the first setting that is neither a positive finite number nor
// 0. The value 0 means the default. The error wraps problem.ErrSettings.
func checkNumbers(numbers ...number) error {
	for _, n := range numbers {
		if !option.IsSize(n.x) {
			return fmt.Errorf("method: %w: %s is %v, want a positive number", problem.ErrSettings, n.name, n.x)
		}
	}
	return nil
}
