package method_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ppal/internal/option"
	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// failing is a problem whose passes fail from the pass with the number from.
type failing struct {
	problem.Piecewise
	passes, from *int
}

var errFailing = errors.New("the pass fails")

func (f failing) fails() bool { *f.passes++; return *f.passes >= *f.from }

func (f failing) Forward(g []float64) (float64, error) {
	if f.fails() {
		return 0, errFailing
	}
	return f.Piecewise.Forward(g)
}

func (f failing) Backward(c []float64, d problem.Vector) error {
	if f.fails() {
		return errFailing
	}
	return f.Piecewise.Backward(c, d)
}

func (f failing) BackwardTerms(c []float64, d problem.Vector) error {
	if f.fails() {
		return errFailing
	}
	return f.Piecewise.BackwardTerms(c, d)
}

// Every method returns the error of the first pass that fails, whichever of the passes of twelve
// iterations that is.
func TestMethodsReturnErrors(t *testing.T) {
	for name, make := range resumable() {
		t.Run(name, func(t *testing.T) {
			tp := testkit.Named(t, "abs-branch-and-kink")
			fn, start := testkit.FunctionsOf(tp), tp.Start
			if name == "ipp-conex" { // forward passes along the step measure the slopes of many terms
				fn, start = manyTerms(), []float64{3}
			}
			run := func(from int) (passes int, err error) {
				inner := testkit.New(t, fn, start)
				f := failing{Piecewise: problem.FeaturesOf(inner).Pieces, passes: new(int), from: &from}
				p := problem.Problem(f)
				if strings.HasSuffix(name, "lbfgs") {
					p = problem.Split(f) // quasi-Newton steps need smooth constraints
				}
				m, at := make(), problem.NewPoint(p)
				if err = at.Forward(p); err == nil {
					err = m.Init(p, &at)
				}
				for at.Iteration = 0; at.Iteration < 12 && err == nil; at.Iteration++ {
					err = m.Iterate(p, &at)
				}
				return *f.passes, err
			}
			passes := require.Value(run(1 << 30))(t)
			for from := 1; from <= passes; from++ {
				if done, err := run(from); !errors.Is(err, errFailing) || done != from {
					t.Fatalf("pass %d of %d fails, but the method returns %v after %d", from, passes, err, done)
				}
			}
		})
	}
}

// manyTerms is f = x^2 subject to x <= j for j = 0..9.
func manyTerms() problem.Functions {
	fn := problem.Functions{N: 1, M: 10, F: func(x []float64) float64 { return x[0] * x[0] }, Gradient: func(d, x []float64) { d[0] = 2 * x[0] },
		G: func(g, x []float64) {
			for j := range g {
				g[j] = x[0] - float64(j)
			}
		},
		JacobianT: func(d, _, w []float64) {
			d[0] = 0
			for _, v := range w {
				d[0] += v
			}
		}}
	for j := range fn.M {
		fn.Pieces = append(fn.Pieces, problem.Piece{Constraint: j, Term: j, Sign: 1})
	}
	return fn
}

// The methods refuse settings outside their range.
func TestMethodsRefuseSettings(t *testing.T) {
	adam := &step.Settings{Kind: step.Adam}
	fixed := &step.Settings{Fixed: true, Eta: 0.1}
	for i, c := range []struct {
		m    trainer.Method
		fine bool
	}{
		{&method.NLIAPIAL{Sigma: -0.1}, false}, {&method.NLIAPIAL{Sigma: 0.9}, true}, {&method.NLIAPIAL{Inner: -1}, false},
		{&method.GDPA{Perturbation: -0.1}, false}, {&method.GDPA{Ratio: 0.9}, false}, {&method.GDPA{Ratio: 1}, true},
		{&method.GDPA{Automatic: true, Primal: adam}, false}, {&method.GDPA{Automatic: true, Primal: fixed}, false},
		{&method.GDPA{Automatic: true, Primal: &step.Settings{}}, true}, {&method.GDPA{Primal: adam}, true},
		{&method.Penalty{Growth: 0.9}, false}, {&method.Penalty{Growth: math.Inf(1)}, false}, {&method.Penalty{Growth: 1}, true},
		{&method.PLADA{XStep: -1}, false}, {&method.PLADA{XStep: method.Split + 1}, false}, {&method.PLADA{XStep: method.Split}, true},
		{&method.PPALA{Perturbation: method.Perturbation{Delta: -1}}, false}, {&method.PPALA{Perturbation: method.Perturbation{Delta: 2}}, false},
		{&method.PPALA{Perturbation: method.Perturbation{Delta: method.DeltaHarmonic}}, true},
		// with quasi-Newton steps
		{&method.PLADA{Primal: step.Settings{Kind: step.LBFGS}}, false}, {&method.PPALA{Primal: step.Settings{Kind: step.LBFGS}}, false},
		{&method.ALM{Primal: step.Settings{Kind: step.LBFGS, Eta: -1}}, false},
		{&method.Unconstrained{Primal: step.Settings{Momentum: 2}}, false}, {&method.PLADA{Primal: step.Settings{Momentum: 2}}, false},
		{&method.PLADA{Perturbation: method.Perturbation{Delta: -1}}, false},
	} {
		p := handProblem(t, testkit.HandFunctions())
		at := problem.NewPoint(p)
		require.NoError(t, at.Forward(p))
		if err := c.m.Init(p, &at); (err == nil) != c.fine || err != nil && !errors.Is(err, problem.ErrSettings) {
			t.Errorf("case %d, %T: %v", i, c.m, err)
		}
	}
	for k, want := range map[method.DeltaKind]string{-1: "DeltaKind(-1)", method.DeltaPower: "power", method.DeltaHarmonic: "harmonic", 2: "DeltaKind(2)"} {
		if k.String() != want {
			t.Errorf("%q, want %q", k, want)
		}
	}
}

// Every word of an option, and a number that every range has, reads back as it was set. The other
// options keep their texts.
func TestOptionTexts(t *testing.T) {
	for _, d := range method.All() {
		for i, o := range option.Of(d.New()) {
			for _, text := range append(o.Choices(), "0.5", "7", "inner:3", "on") {
				options := option.Of(d.New())
				before := options[i].Text()
				if options[i].Set(text) != nil {
					if got := options[i].Text(); got != before {
						t.Errorf("%s: the refused %s %s changes %s to %s", d.Name, o.Name, text, before, got)
					}
					continue
				}
				if d.Name == "gdpa" && o.Name == "primal" && text == "auto" {
					text = "gradient" // the published step
				}
				if got := options[i].Text(); got != text && !o.Switch() {
					t.Errorf("%s: %s %s reads back as %s", d.Name, o.Name, text, got)
				}
			}
		}
	}
	for text, fine := range map[string]bool{"inner:1": true, "inner:0": false, "inner:-3": false, "inner:x": false, "inner:99999999999999999999": false, "outer:3": false, "3": false, "": false} {
		for _, o := range option.Of(&method.PLADA{}) {
			if o.Name == "x-step" && (o.Set(text) == nil) != fine {
				t.Errorf("x-step %q", text)
			}
		}
	}
}

// The words of SSG's rules, the default primal step, and the momentum of GDPA's own primal step.
func TestOptionWords(t *testing.T) {
	for name, words := range map[string][]string{"ssg-step-rule": {"decay", "constant"}, "ssg-violation-rule": {"polyak", "decay", "constant"}} {
		for _, o := range option.Of(&method.SSG{}) {
			if o.Name == name && (!slices.Equal(o.Choices(), words) || o.Text() != words[0]) {
				t.Errorf("%s takes %v, now %q", name, o.Choices(), o.Text())
			}
		}
	}
	for _, m := range []trainer.Method{&method.GDA{}, &method.Penalty{}} {
		if text, ok := option.Of(m)[0].Default(func(string) string { return "" }); option.Of(m)[0].Name != "primal" || text != "nesterov" || !ok {
			t.Errorf("%s: the default of the primal step is %q", m.Name(), text)
		}
	}
	for _, o := range option.Of(&method.GDPA{Primal: &step.Settings{Kind: step.Nesterov, Momentum: 0.5}}) {
		if o.Name == "momentum" && o.Text() != "0.5" {
			t.Errorf("the momentum is %s", o.Text())
		}
	}
}

// conflicts returns what the options say against each other, and the options that quasi-Newton
// steps do not use.
func conflicts(m trainer.Method) (texts, first []string) {
	for _, o := range option.Of(m) {
		if c := o.Conflict(); c != "" {
			texts = append(texts, o.Name)
		}
		if _, unmet := o.Unmet(func(name string) string {
			return map[string]string{"primal": "lbfgs", "eta-scale": "weights"}[name]
		}); unmet {
			first = append(first, o.Name)
		}
	}
	return texts, first
}

// Settings that exclude each other are named.
func TestOptionConflicts(t *testing.T) {
	gradient, adam, nesterov := step.Settings{Kind: step.Gradient}, step.Settings{Kind: step.Adam, Eta: 1}, step.Settings{Kind: step.Nesterov}
	for i, c := range []struct {
		m    trainer.Method
		want []string
	}{
		{&method.PLADA{}, nil}, {&method.PLADA{XStep: method.Inner}, nil}, {&method.PLADA{XStep: method.Inner, Primal: gradient}, nil},
		{&method.PLADA{XStep: method.Inner, Primal: nesterov}, []string{"primal"}}, {&method.PLADA{Primal: nesterov}, nil},
		{&method.GDPA{}, nil}, {&method.GDPA{Automatic: true}, []string{"gdpa-step"}}, {&method.GDPA{Automatic: true, Primal: &adam}, []string{"gdpa-step"}},
		{&method.GDPA{Automatic: true, Primal: &nesterov}, nil}, {&method.GDPA{Primal: &adam}, nil}, {&method.GDPA{Automatic: true, Primal: &step.Settings{}}, nil},
	} {
		if got, _ := conflicts(c.m); !slices.Equal(got, c.want) {
			t.Errorf("case %d, %T: conflicts of %v, want %v", i, c.m, got, c.want)
		}
	}
	quasiNewton := map[string]bool{"alm": true, "unconstrained": true}
	for _, name := range method.Names() {
		m := require.Value(method.New(name))(t)
		for _, o := range option.Of(m) {
			if o.Name != "primal" {
				continue
			}
			require.NoError(t, o.Set("lbfgs"))
			if got, _ := conflicts(m); slices.Contains(got, "primal") == quasiNewton[name] {
				t.Errorf("%s with lbfgs: conflicts of %v", name, got)
			}
		}
	}
	steps := []string{"momentum", "eta-scale", "eta"}
	for m, want := range map[trainer.Method][]string{&method.Unconstrained{}: steps, &method.ALM{}: append(slices.Clone(steps), "alm-inner")} {
		if _, first := conflicts(m); !slices.Equal(first, want) {
			t.Errorf("%T: quasi-Newton steps do not use %v, want %v", m, first, want)
		}
	}
}

// The words of the primal step of GDPA: the published step, also for auto, or the settings.
func TestGDPAPrimalWords(t *testing.T) {
	for word, want := range map[string]*step.Settings{"gradient": nil, "auto": nil, "nesterov": {Kind: step.Nesterov}, "adam": {Kind: step.Adam}} {
		for _, m := range []*method.GDPA{{}, {Primal: &step.Settings{Kind: step.Nesterov}}} {
			for _, o := range option.Of(m) {
				if o.Name == "primal" {
					require.NoError(t, o.Set(word))
				}
			}
			if (m.Primal == nil) != (want == nil) || want != nil && m.Primal.Kind != want.Kind {
				t.Errorf("%s: %+v", word, m.Primal)
			}
		}
	}
}

// The list of methods, and what the methods take from a run.
func TestRegistryByHand(t *testing.T) {
	if names := method.Names(); len(names) != len(method.All()) || !slices.Contains(names, "ppala") {
		t.Errorf("the names are %v", names)
	}
	for _, d := range method.All() {
		m, err := method.New(d.Name)
		if err != nil || m.Name() != d.Name || method.Smooth(m) == d.Kinks {
			t.Errorf("%s: %v, smooth %v", d.Name, err, method.Smooth(m))
		}
	}
	if _, err := method.New("none"); !errors.Is(err, problem.ErrSettings) {
		t.Error(err)
	}
	for _, c := range []struct {
		step          method.XStep
		batches, want bool
	}{{method.XStepAuto, true, true}, {method.XStepAuto, false, false}, {method.ProxLinear, true, false}, {method.Split, false, true}} {
		if got := method.SmoothOn(&method.PLADA{XStep: c.step}, c.batches); got != c.want {
			t.Errorf("x-step %d, batches %v: smooth %v, want %v", c.step, c.batches, got, c.want)
		}
	}
	if !method.Smooth(&method.PLADA{XStep: method.Split}) || !method.Smooth(registered{&method.PLADA{}}) {
		t.Error("a split problem and a method of another package are smooth")
	}
	for _, given := range []bool{false, true} {
		ppala, plada, model := &method.PPALA{}, &method.PLADA{}, &method.MultiplierModel{}
		want, seed := 0.25, uint64(7)
		if given {
			ppala.Tolerance, plada.Tolerance, model.Seed = 0.5, 0.5, 3
			want, seed = 0.5, 3
		}
		for _, m := range []trainer.Method{ppala, plada, model, &method.GDA{}} {
			method.SetRun(m, 0.25, 7)
		}
		if ppala.Tolerance != want || plada.Tolerance != want || model.Seed != seed {
			t.Errorf("given %v: %v, %v, %v", given, ppala.Tolerance, plada.Tolerance, model.Seed)
		}
	}
}

// foreign is a method of another package.
type foreign struct{ *method.PLADA }

func (foreign) Name() string { return "foreign" }
