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

func init() {
	for _, d := range All() {
		option.DescribeLike(d.New(), func(m any) []*option.Option { return m.(configurable).options() })
	}
}

// Description describes a method for help texts and documents.
type Description struct {
	Name    string                // on the command line: "ppala"
	Summary string                // one line
	About   string                // a few sentences: the idea, and when to choose the method
	Source  string                // the publication that has the equations
	Kinks   bool                  // supports constraints with kinks; false: needs h <= eps, -h <= eps for |h| <= eps
	New     func() trainer.Method // returns the zero value, the method with its defaults
}

// All describes all methods, in the order of the help; the methods of other packages come last.
func All() []Description {
	return append([]Description{
		{Name: "ppala", New: func() trainer.Method { return &PPALA{} },
			Summary: "proximal-perturbed augmented Lagrangian, for smooth constraints",
			About: "One gradient and one evaluation an iteration. The multipliers follow the constraints through an auxiliary multiplier, so that alpha" +
				" and beta need no tuning. For networks, kinks and mini-batches.",
			Source: "Moon et al., Algorithm 2"},
		{Name: "plada", New: func() trainer.Method { return &PLADA{} }, Kinks: true,
			Summary: "proximal-perturbed Lagrangian alternating direction, for non-smooth constraints",
			About:   "Takes gaps |h| <= eps as they are. With few gaps and no regularizer its x-step is exact for the linearised gaps.",
			Source:  "Moon et al., Algorithm 1"},
		{Name: "gdpa", New: func() trainer.Method { return &GDPA{} },
			Summary: "gradient descent and perturbed ascent",
			About:   "A single loop with a step size that falls and a penalty that grows. Its published step size needs tuning for each problem.",
			Source:  "Lu, \"A Single-Loop Gradient Descent and Perturbed Ascent Algorithm for Nonconvex Functional Constrained Optimization\", ICML 2022"},
		{Name: "ssg", New: func() trainer.Method { return &SSG{} }, Kinks: true,
			Summary: "switching subgradient, single loop",
			About:   "Steps on the objective while the constraints are met and on the largest constraint otherwise.",
			Source: "Huang and Lin, \"Oracle Complexity of Single-Loop Switching Subgradient Methods for Non-Smooth Weakly Convex Functional Constrained" +
				" Optimization\", NeurIPS 2023, Algorithm 1"},
		{Name: "ipp-ssg", New: func() trainer.Method { return &IPPSSG{} }, Kinks: true,
			Summary: "inexact proximal point, inner loop by switching subgradients",
			About:   "Solves strongly convex problems around a centre, one after the other, by switching subgradient steps.",
			Source:  "Huang and Lin, NeurIPS 2023; Jia and Grimmer 2022; Boob, Deng and Lan, Mathematical Programming 2022, section 3"},
		{Name: "ipp-conex", New: func() trainer.Method { return &IPPConEx{} }, Kinks: true,
			Summary: "inexact proximal point, inner loop by constraint extrapolation",
			About:   "Solves strongly convex problems around a centre, one after the other, by extrapolated linearised constraints.",
			Source: "Boob, Deng and Lan, \"Stochastic First-order Methods for Convex and Nonconvex Functional Constrained Optimization\"," +
				" Mathematical Programming 2022"},
		{Name: "multiplier-model", New: func() trainer.Method { return &MultiplierModel{} }, Kinks: true,
			Summary: "multipliers from a network on the groups' features",
			About:   "Draws one group or query an iteration. Needs --problem if with --if-form sampled, or bounds on pairs with --bounds-on surrogate and --batch-size 1.",
			Source: "Narasimhan, Cotter, Zhou, Wang and Guo, \"Approximate Heavily-Constrained Learning with Lagrange Multiplier Models\"," +
				" NeurIPS 2020"},
		{Name: "penalty", New: func() trainer.Method { return &Penalty{} },
			Summary: "quadratic penalty",
			About:   "Minimises f + (c/2)||max(0, g)||^2. With a fixed c the limit violates the constraints by about lambda/c.",
			Source:  "Nocedal and Wright, \"Numerical Optimization\", chapter 17"},
		{Name: "gda", New: func() trainer.Method { return &GDA{} },
			Summary: "gradient descent-ascent on the Lagrangian",
			About:   "The plain reference. A dual step that suits one problem diverges on another.",
			Source:  "Arrow, Hurwicz and Uzawa 1958"},
		{Name: "nupi", New: func() trainer.Method { return &NuPI{} },
			Summary: "gradient descent with a PI controller of the multipliers",
			About:   "Gradient descent-ascent with a proportional term, which damps the oscillations of the multipliers. The gains need tuning.",
			Source: "Sohrabi, Ramirez, Zhang, Lacoste-Julien and Gallego-Posada, \"On PI Controllers for Updating Lagrange Multipliers in Constrained" +
				" Optimization\", ICML 2024, Algorithm 1"},
		{Name: "extragradient", New: func() trainer.Method { return &Extragradient{} },
			Summary: "extragradient steps on the Lagrangian",
			About: "Gradient descent-ascent with the gradients at a trial point, which damps its oscillations. Two gradients an iteration; the automatic" +
				" step size also sets the step of the multipliers.",
			Source: "Korpelevich, \"The extragradient method for finding saddle points and other problems\", Matecon 1976"},
		{Name: "alm", New: func() trainer.Method { return &ALM{} },
			Summary: "method of multipliers, or augmented Lagrangian",
			About: "With quasi-Newton steps: the limit of PPALA with exact inner minimisation, for smooth functions on all rows. With first-order" +
				" steps: a fixed number of x-steps between the updates of the multipliers.",
			Source: "Hestenes 1969; Powell 1969; Rockafellar 1973"},
		{Name: "unconstrained", New: func() trainer.Method { return &Unconstrained{} },
			Summary: "the objective alone",
			About:   "Shows what the objective could reach without the constraints.",
			Source:  "gradient descent on f + r"},
		{Name: "nl-iapial", New: func() trainer.Method { return &NLIAPIAL{} },
			Summary: "inner-accelerated proximal inexact augmented Lagrangian, for convex constraints",
			About: "A double loop of accelerated gradient steps with backtracking. The constraints must be smooth and convex: --problem mnpc with" +
				" --model linear and --phi logistic.",
			Source: "Kong, Melo and Monteiro, \"Iteration Complexity of a Proximal Augmented Lagrangian Method for Solving Nonconvex Composite" +
				" Optimization Problems with Nonlinear Convex Constraints\", Mathematics of Operations Research 2023"},
	}, registered...)
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

func (m *PPALA) setRun(tolerance float64, _ uint64)      { m.Tolerance = cmp.Or(m.Tolerance, tolerance) }
func (m *PLADA) setRun(tolerance float64, _ uint64)      { m.Tolerance = cmp.Or(m.Tolerance, tolerance) }
func (m *ALM) setRun(tolerance float64, _ uint64)        { m.Tolerance = cmp.Or(m.Tolerance, tolerance) }
func (m *MultiplierModel) setRun(_ float64, seed uint64) { m.Seed = cmp.Or(m.Seed, seed) }

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

// smooth implements smoother. On mini-batches, XStepAuto also takes the split form. The estimates
// of h on batches are unbiased, and the noise of |h| has a positive mean, which makes multipliers
// grow beyond those of the problem.
func (m *PLADA) smooth(batches bool) bool {
	return m.XStep == Split || batches && m.XStep == XStepAuto
}

// Names returns the names of all methods, in the order of the help.
func Names() []string {
	var names []string
	for _, d := range All() {
		names = append(names, d.Name)
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
