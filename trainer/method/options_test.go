package method_test

import (
	"context"
	"errors"
	"fmt"
	"log"
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

// set sets the options to the given values. If fill is true, the other options get the defaults of
// a run without a preset and a problem.
func set(t *testing.T, m trainer.Method, given map[string]string, fill bool) {
	t.Helper()
	options := option.Of(m)
	var lookup option.Lookup
	lookup = func(name string) string {
		i := slices.IndexFunc(options, func(o *option.Option) bool { return o.Name == name })
		if i < 0 {
			return ""
		}
		if _, unmet := options[i].Unmet(lookup); unmet {
			return ""
		}
		return options[i].Text()
	}
	for _, o := range options {
		if text, ok := given[o.Name]; ok {
			if err := o.Set(text); err != nil {
				t.Fatalf("%s %s: %v", o.Name, text, err)
			}
		}
	}
	if !fill {
		return
	}
	for _, o := range options {
		if _, ok := given[o.Name]; ok {
			continue
		}
		if _, unmet := o.Unmet(lookup); unmet {
			continue
		}
		text, ok := o.Default(lookup)
		if !ok {
			t.Fatalf("%s has no default", o.Name)
		}
		if err := o.Set(text); err != nil {
			t.Fatalf("the default of %s, %s, %v", o.Name, text, err)
		}
		if got := o.Text(); got != text {
			t.Errorf("%s: the default %s reads back as %s", o.Name, text, got)
		}
	}
}

// iterates trains for a few iterations on the hand-made problem and returns the records.
func iterates(t *testing.T, m trainer.Method) string {
	t.Helper()
	var texts strings.Builder
	p := handProblem(t, testkit.HandFunctions())
	record := recorderFunc(func(r *trainer.Record) error {
		fmt.Fprintf(&texts, "%d %.11g %.11g %.11g\n", r.Iteration, r.Objective, r.Constraints, r.Multipliers)
		return nil
	})
	require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 120, RecordEvery: 1, Recorder: record}))(t)
	return texts.String()
}

type recorderFunc func(r *trainer.Record) error

func (f recorderFunc) Record(r *trainer.Record) error { return f(r) }

// The zero value of a method trains with the defaults of its options, for every primal step.
func TestZeroValueHasTheDefaults(t *testing.T) {
	for _, d := range method.All() {
		if d.Name == "multiplier-model" {
			continue // TestMultiplierModelZeroValueHasTheDefaults tests this method, which needs drawn groups
		}
		variants := []map[string]string{nil}
		switch d.Name {
		case "gdpa":
			variants = append(variants, map[string]string{"primal": "nesterov"}, map[string]string{"primal": "adam"})
		case "ppala", "plada", "gda", "nupi", "alm", "penalty", "unconstrained":
			variants = append(variants, map[string]string{"primal": "nesterov"}, map[string]string{"primal": "gradient"}, map[string]string{"primal": "adam"},
				map[string]string{"primal": "gradient", "eta-scale": "fixed", "eta": "0.01"})
		}
		if d.Name == "ppala" || d.Name == "plada" {
			variants = append(variants, map[string]string{"primal": "nesterov", "delta": "harmonic"}, map[string]string{"primal": "nesterov", "alpha": "3"})
		}
		if d.Name == "plada" {
			variants = append(variants, map[string]string{"x-step": "inner:10", "primal": "gradient"})
		}
		if d.Name == "ssg" {
			variants = append(variants, map[string]string{"ssg-violation-rule": "polyak"})
		}
		for _, given := range variants {
			t.Run(fmt.Sprint(d.Name, given), func(t *testing.T) {
				zero, full := d.New(), d.New()
				set(t, zero, given, false)
				set(t, full, given, true)
				if a, b := iterates(t, zero), iterates(t, full); a != b {
					t.Errorf("the zero value differs from the defaults:\n%s\n%s", a[:min(len(a), 400)], b[:min(len(b), 400)])
				}
			})
		}
	}
}

// Every method has a description under its own name. Each option is complete and is listed once.
func TestDescriptions(t *testing.T) {
	for _, d := range method.All() {
		m := d.New()
		if m.Name() != d.Name || d.Summary == "" || d.About == "" || d.Source == "" {
			t.Errorf("%s: %+v", m.Name(), d)
		}
		names := map[string]bool{}
		for _, o := range option.Of(m) {
			if names[o.Name] || o.Help == "" || o.Placeholder() == "" && !o.Switch() {
				t.Errorf("%s: the option %s is incomplete or stands twice", d.Name, o.Name)
			}
			names[o.Name] = true
			if strings.HasSuffix(o.Help, ".") || strings.ToLower(o.Help[:1]) != o.Help[:1] {
				t.Errorf("%s: the help of %s: %s", d.Name, o.Name, o.Help)
			}
		}
	}
	if _, err := method.Lookup("none"); err == nil {
		t.Error("a method that does not exist")
	}
}

// The settings of a method as texts, and the fields that no option expresses. A method that is
// built from the texts has the same texts.
func TestTextsByHand(t *testing.T) {
	const (
		rest   = " {delta power} {delta-p 0.05} {delta-q 1} {slack-cap none} {slack-start residual}"
		rule   = "{eta-scale weights} {eta auto}"
		gdpa   = " {gdpa-step-decay cubic} {gdpa-penalty 1} {gdpa-perturbation 0.1} {gdpa-ratio none}]"
		inner  = " {alpha 10} {beta 0.1} {tau 0.06} {delta power} {delta-p 0.1} {delta-q 1} {slack-cap none} {slack-start residual} {x-step inner:"
		shares = "} {mu-step analysed} {sigma0 none}]"
	)
	for i, c := range []struct {
		m      trainer.Method
		texts  string
		beyond []string
	}{
		{&method.PPALA{}, "[{primal nesterov} {momentum 0.99} " + rule + " {alpha 10} {beta 0.1} {tau 0.09}" + rest + "]", nil},
		{&method.ALM{}, "[{primal auto} {alm-penalty auto}]", nil},
		{&method.ALM{Tolerance: 0.25}, "[{primal auto} {alm-penalty auto}]", nil}, // the tolerance of the run
		{&method.PPALA{Perturbation: method.Perturbation{Tau: 0.5}}, "[{primal nesterov} {momentum 0.99} " + rule + " {alpha 10} {beta 0.1} {tau 0.5}" + rest + "]", nil},
		{&method.ALM{Primal: step.Settings{Kind: step.LBFGS}}, "[{primal lbfgs} {alm-penalty auto}]", nil},
		{&method.PLADA{XStep: method.Inner}, "[{primal gradient} " + rule + inner + "10" + shares, nil},
		{&method.PLADA{XStep: method.Inner, InnerSteps: 4, Tolerance: 0.5}, "[{primal gradient} " + rule + inner + "4" + shares, []string{"Tolerance"}},
		{&method.GDPA{}, "[{primal gradient} {gdpa-step 0.001}" + gdpa, nil},
		{&method.GDPA{Automatic: true}, "[{primal gradient} {gdpa-step 0.001}" + gdpa, []string{"Automatic"}}, // the settings exclude each other
		{&method.GDPA{Primal: &step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.1}}, "[{primal gradient} {gdpa-step 0.001}" + gdpa, []string{"Primal"}},
		{&method.GDPA{Primal: &step.Settings{Kind: step.Nesterov, Eta: 0.1}}, "[{primal nesterov} {momentum 0.99} {gdpa-step 0.001}" + gdpa, []string{"Eta"}},
		{&method.GDPA{Automatic: true, Primal: &step.Settings{}}, "[{primal nesterov} {momentum 0.99} {gdpa-step auto}" + gdpa, nil},
		{&method.GDA{}, "[{primal nesterov} {momentum 0.99} " + rule + " {gda-dual-step 0.05}]", nil},
		{&method.GDA{Primal: step.Settings{Kind: step.Adam}}, "[{primal adam} {eta 0.003} {gda-dual-step 0.05}]", nil},
		{&method.SSG{Step: 0.5}, "[{ssg-tolerance 0.001} {ssg-step 0.5} {ssg-step-rule decay} {ssg-violation-rule polyak}]", nil},
		{&method.MultiplierModel{Seed: 3}, "[{multiplier-model-step 0.1} {multiplier-model-network-step 0.1} {multiplier-model-units 50} {multiplier-model-activation relu} {multiplier-model-factor 0.01}]", []string{"Seed"}},
		{&method.MultiplierModel{Seed: 7, Units: 5}, "[{multiplier-model-step 0.1} {multiplier-model-network-step 0.1} {multiplier-model-units 5} {multiplier-model-activation relu} {multiplier-model-factor 0.01}]", nil},
		{&method.ALM{Penalty: 3, Primal: step.Settings{Kind: step.LBFGS}}, "[{primal lbfgs} {alm-penalty 3}]", nil},
		{&method.ALM{Penalty: 3}, "[{primal auto} {alm-penalty 3}]", nil},
		{&method.IPPSSG{ProximalPoint: method.ProximalPoint{Modulus: 1}}, "[{ipp-ssg-tolerance 0.001} {ipp-ssg-bound auto} {ipp-ssg-rho auto} {ipp-ssg-inner 10}]",
			[]string{"Modulus"}},
	} {
		outside := func(string) string { return "" }
		texts, beyond, ok := method.Texts(c.m, 0.25, 7, outside)
		if got := fmt.Sprint(texts); got != c.texts || !slices.Equal(beyond, c.beyond) || !ok {
			t.Errorf("case %d, %T: %v, beyond %v, %v; want %v, beyond %v", i, c.m, got, beyond, ok, c.texts, c.beyond)
		}
		again := require.Value(method.New(c.m.Name()))(t)
		for _, text := range texts {
			j := slices.IndexFunc(option.Of(again), func(o *option.Option) bool { return o.Name == text.Name })
			if err := option.Of(again)[j].Set(text.Value); err != nil {
				t.Errorf("case %d: %v: %v", i, text, err)
			}
		}
		if same, _, _ := method.Texts(again, 0.25, 7, outside); !slices.Equal(same, texts) {
			t.Errorf("case %d: %v, built from these texts %v", i, texts, same)
		}
	}
	for _, m := range []trainer.Method{foreign{&method.PLADA{}}, impostor{&method.PLADA{}}, nameless{}} {
		if texts, beyond, ok := method.Texts(m, 0.25, 7, nil); texts != nil || beyond != nil || ok {
			t.Errorf("%T: %v, %v, %v", m, texts, beyond, ok)
		}
	}
}

// impostor is a method of another package with the name of a method of this package.
type impostor struct{ *method.PLADA }

// nameless is a method without options.
type nameless struct{ trainer.Method }

func (nameless) Name() string { return "plada" }

// registered is a method of another package.
type registered struct{ trainer.Method }

func (registered) Name() string { return "own" }

// A registered method is in all lists, has no options, and its settings are complete. A name that
// is taken, missing or not the method's is refused.
func TestRegister(t *testing.T) {
	t.Cleanup(func() { method.Unregister("own") })
	create := func() trainer.Method { return registered{&method.GDA{}} }
	require.NoError(t, method.Register(method.Description{Name: "own", Kinks: true}, create))
	m, err := method.New("own")
	if err != nil || m.Name() != "own" || len(option.Of(m)) != 0 || method.Smooth(m) || !slices.Contains(method.Names(), "own") {
		t.Errorf("the method is %v, error %v, among %v", m, err, method.Names())
	}
	if texts, beyond, ok := method.Texts(m, 1e-3, 1, func(string) string { return "" }); !ok || len(texts)+len(beyond) > 0 {
		t.Errorf("texts %v, beyond them %v, %v", texts, beyond, ok)
	}
	for what, d := range map[string]method.Description{"taken": {Name: "own"}, "ours": {Name: "alm"}, "missing": {}, "another": {Name: "other"}} {
		if err := method.Register(d, create); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if err := method.Register(method.Description{Name: "none"}, nil); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("no function: error %v", err)
	}
}

// ascent is a rule as a program of one's own writes it: gradient ascent on the multipliers.
type ascent struct{ lambda []float64 }

func (a *ascent) Name() string                     { return "ascent" }
func (a *ascent) Needs() trainer.Needs             { return trainer.Needs{} }
func (a *ascent) PrimalStep() step.Settings        { return step.Settings{Kind: step.Nesterov} }
func (a *ascent) Demand() step.Demand              { return step.Demand{} }
func (a *ascent) Coefficients(w, _ []float64)      { copy(w, a.lambda) }
func (a *ascent) VisitDual(v problem.StateVisitor) { v.Numbers("lambda", a.lambda) }

func (a *ascent) StartDual(g []float64) error {
	a.lambda = make([]float64, len(g))
	return nil
}

func (a *ascent) UpdateDual(g []float64) {
	for j := range g {
		a.lambda[j] = max(0, a.lambda[j]+0.05*g[j])
	}
}

// The example trains with a rule of its own: the point of x0 + x1 <= 2 that is nearest to (2, 2).
func ExampleFromRule() {
	nearest := problem.Functions{N: 2, M: 1,
		F:         func(x []float64) float64 { return ((x[0]-2)*(x[0]-2) + (x[1]-2)*(x[1]-2)) / 2 },
		Gradient:  func(dst, x []float64) { dst[0], dst[1] = x[0]-2, x[1]-2 },
		G:         func(dst, x []float64) { dst[0] = x[0] + x[1] - 2 },
		JacobianT: func(dst, _, w []float64) { dst[0], dst[1] = w[0], w[0] },
	}
	p, err := nearest.New([]float64{0, 0})
	if err != nil {
		log.Fatal(err)
	}
	r, err := trainer.Train(context.Background(), p, method.FromRule(&ascent{}), trainer.Settings{Iterations: 3000, Tolerance: 1e-4})
	if err != nil {
		log.Fatal(err)
	}
	x := make([]float64, 2)
	p.Space().Read(x, problem.Iterate)
	fmt.Printf("%s: x = %.2f, multiplier %.2f\n", r.Status, x, r.Certificate.Nu)
	// Output: tolerance reached: x = [1.00 1.00], multiplier [1.00]
}

// A rule of ppal gives the iterates of its method, and a run of a rule continues to the bit.
func TestFromRule(t *testing.T) {
	run := func(m trainer.Method, s trainer.Settings) ([]float64, *trainer.Result) {
		p := testkit.Start(t, testkit.Line(), -5)
		r := require.Value(trainer.Train(t.Context(), p, m, s))(t)
		return testkit.Iterate(p), r
	}
	for _, make := range []func() trainer.DualRule{func() trainer.DualRule { return &method.GDA{} }, func() trainer.DualRule { return &method.PPALA{} }} {
		want, _ := run(make().(trainer.Method), trainer.Settings{Iterations: 40})
		if got, _ := run(method.FromRule(make()), trainer.Settings{Iterations: 40}); !slices.Equal(got, want) {
			t.Errorf("%T: x = %v, the method has %v", make(), got, want)
		}
	}
	want, _ := run(method.FromRule(&ascent{}), trainer.Settings{Iterations: 40})
	_, half := run(method.FromRule(&ascent{}), trainer.Settings{Iterations: 17})
	if got, _ := run(method.FromRule(&ascent{}), trainer.Settings{Iterations: 40, Resume: half.State, ResumeAt: half.Point}); !slices.Equal(got, want) {
		t.Errorf("after a resume x = %v, want %v", got, want)
	}
}
