package method_test

import (
	"cmp"
	"context"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// goField matches the names of Go fields, such as DeltaP.
var goField = regexp.MustCompile(`\b[A-Z][a-z]+[A-Z0-9]\w*`)

func TestWarnings(t *testing.T) {
	fixed := func(eta float64) step.Settings {
		return step.Settings{Kind: step.Gradient, Fixed: true, Eta: eta}
	}
	// testkit.Line has L_f = 1 and ||J|| = 1. PPALA's L is 1 + rho if the constraint is active, with
	// rho = 5.
	const rho = 5
	pladaBound, ppalaBound := 0.9/(1+3*rho), 0.9/(1+rho+3*rho)
	for _, test := range []struct {
		name string
		m    trainer.Method
		x    float64
		set  trainer.Settings
		want string // "": no warning
	}{
		{"defaults", &method.PPALA{}, 0, trainer.Settings{}, ""},
		{"plada's defaults", &method.PLADA{}, 0, trainer.Settings{}, ""},
		{"tau inside", &method.PPALA{Perturbation: method.Perturbation{Tau: 0.99 / (2 * rho)}}, 0, trainer.Settings{}, ""},
		{"tau outside", &method.PPALA{Perturbation: method.Perturbation{Tau: 1.01 / (2 * rho)}}, 0, trainer.Settings{},
			"tau = 0.101 is outside"},
		{"plada's tau inside", &method.PLADA{Perturbation: method.Perturbation{Tau: 0.99 / (3 * rho)}}, 0, trainer.Settings{}, ""},
		{"plada's tau outside", &method.PLADA{Perturbation: method.Perturbation{Tau: 1.01 / (3 * rho)}}, 0, trainer.Settings{},
			"is outside the theorem's bound tau"},
		{"alpha", &method.PPALA{Perturbation: method.Perturbation{Alpha: 1}}, 0, trainer.Settings{}, "alpha = 1 is outside"},
		{"beta", &method.PPALA{Perturbation: method.Perturbation{Beta: 1}}, 0, trainer.Settings{}, "beta = 1 is outside"},
		{"delta q", &method.PPALA{Perturbation: method.Perturbation{DeltaQ: 0.6}}, 0, trainer.Settings{}, "delta q = 0.6 is outside"},
		{"eta inside", &method.PLADA{Primal: fixed(0.99 * pladaBound)}, 0, trainer.Settings{}, ""},
		{"eta outside", &method.PLADA{Primal: fixed(1.01 * pladaBound)}, 0, trainer.Settings{}, "above the theorem's bound, about 0.0562"},
		{"ppala's eta inside", &method.PPALA{Primal: fixed(0.99 * ppalaBound)}, 0, trainer.Settings{}, ""},
		{"ppala's eta outside", &method.PPALA{Primal: fixed(1.01 * ppalaBound)}, 0, trainer.Settings{},
			"above the theorem's bound, about 0.0429"},
		{"infeasible start", &method.PPALA{}, 1.5, trainer.Settings{}, "the start is infeasible: the largest violation is 0.5"},
		{"lag of mu", &method.PPALA{Perturbation: method.Perturbation{Delta: method.DeltaHarmonic, Delta0: 0.01}}, 0,
			trainer.Settings{Iterations: 3000}, "now shrinks slowly, because the multipliers take small steps"},
		{"collapse", &method.PPALA{}, 0, trainer.Settings{Iterations: 3000, CollapseAbove: 1.9}, "collapsed"},
		{"no collapse", &method.PPALA{}, 0, trainer.Settings{Iterations: 3000, CollapseAbove: 2.1}, ""},
		{"box step", &method.PLADA{BoxStep: true}, 0, trainer.Settings{Iterations: 100}, "the share of mu's step reached"},
		{"capped box step", &method.PLADA{BoxStep: true, Sigma0: 0.9}, 0, trainer.Settings{Iterations: 100}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var told []string
			test.set.Warn = func(w trainer.Warning) { told = append(told, w.Text) }
			r := require.Value(trainer.Train(context.Background(), testkit.Start(t, testkit.Line(), test.x), test.m, test.set))(t)
			if fields := goField.FindAllString(strings.Join(told, "\n"), -1); fields != nil {
				t.Errorf("warnings %q name the Go fields %q, want the names of flags", told, fields)
			}
			if !slices.Equal(told, r.Warnings.Texts()) {
				t.Errorf("told %q, the result has %q", told, r.Warnings)
			}
			if test.want == "" && len(told) > 0 || test.want != "" && (len(told) != 1 || !testkit.Mentions(told, test.want)) {
				t.Errorf("warnings %q, want %q", told, test.want)
			}
		})
	}
}

// The warning about a collapse describes the output: f of the output, without r, and the output's
// own certificate.
func TestCollapseIsOfTheOutput(t *testing.T) {
	fn := testkit.Line()
	fn.Regularizer = problem.Regularizer{Kind: problem.SquaredL2, Weight: 1} // f = 2 and f + r = 2.5 at the solution x = 1
	for _, test := range []struct {
		name string
		fn   problem.Functions
		set  trainer.Settings
	}{
		{"f + r", fn, trainer.Settings{CollapseAbove: 2.2}},
		{"an iterate that is not stationary", testkit.Line(), trainer.Settings{CollapseAbove: 1.2, Iterations: 12}},
	} {
		test.set.Iterations = cmp.Or(test.set.Iterations, 3000)
		r := require.Value(trainer.Train(context.Background(), testkit.Start(t, test.fn, 0), &method.PPALA{}, test.set))(t)
		if testkit.Mentions(r.Warnings.Texts(), "collapsed") || test.name != "f + r" && (r.Point.Objective < 1.2) {
			t.Errorf("%s: f = %v, %+v, warnings %q", test.name, r.Point.Objective, r.Certificate, r.Warnings)
		}
	}
}

// The bound on a fixed step size is the same in float32, up to the accuracy of its differences.
func TestStepBoundInSinglePrecision(t *testing.T) {
	const bound = 0.9 / (1 + 3*5)
	for _, test := range []struct {
		eta  float64
		want bool
	}{{0.99 * bound, false}, {1.01 * bound, true}} {
		m := &method.PLADA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: test.eta}}
		r := require.Value(trainer.Train(context.Background(), testkit.NewNarrow(t, testkit.Line(), []float64{0}), m, trainer.Settings{}))(t)
		if testkit.Mentions(r.Warnings.Texts(), "above the theorem's bound") != test.want {
			t.Errorf("eta = %v: warnings %q", test.eta, r.Warnings)
		}
	}
}

// A warning about eta does not change the run.
func TestDiagnosisChangesNothing(t *testing.T) {
	p := testkit.ProblemOf(t, testkit.Named(t, "HS43"))
	before, g := testkit.Iterate(p), make([]float64, 3)
	at := &problem.Point{Constraints: make([]float64, 3)}
	f := require.Value(p.Forward(at.Constraints))(t)
	at.Objective = f
	copy(g, at.Constraints)
	m := &method.PPALA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 1}}
	require.NoError(t, m.Init(p, at))
	warnings, err := m.Diagnose(t.Context(), p, at)
	if err != nil || len(warnings) != 1 {
		t.Fatalf("warnings %q, error %v", warnings, err)
	}
	if !slices.Equal(testkit.Iterate(p), before) || !slices.Equal(at.Constraints, g) || at.Objective != f || at.GradientEvaluations != 0 {
		t.Errorf("the diagnosis changed x to %v, f to %v, g to %v or counted %d gradients",
			testkit.Iterate(p), at.Objective, at.Constraints, at.GradientEvaluations)
	}
}

func TestNegativeMultipliersAreNoted(t *testing.T) {
	// From x = -9 the inactive constraint rises. From x = 0.9, with the minimum of f at -9, the
	// constraint falls.
	fn := testkit.Line()
	fn.F = func(x []float64) float64 { return (x[0] + 9) * (x[0] + 9) / 2 }
	fn.Gradient = func(dst, x []float64) { dst[0] = x[0] + 9 }
	r := require.Value(trainer.Train(context.Background(), testkit.Start(t, fn, 0.9), &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{Iterations: 50}))(t)
	if !testkit.Mentions(r.Notes, "a multiplier was negative in ") {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestSettingsAreRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	perturbed := func(s method.Perturbation) trainer.Method { return &method.PPALA{Perturbation: s} }
	primal := func(s step.Settings) trainer.Method { return &method.GDA{Primal: s} }
	methods := map[string]trainer.Method{
		"alpha": perturbed(method.Perturbation{Alpha: -1}), "alpha nan": perturbed(method.Perturbation{Alpha: nan}),
		"beta": perturbed(method.Perturbation{Beta: inf}), "tau": perturbed(method.Perturbation{Tau: -1}),
		"delta p": perturbed(method.Perturbation{DeltaP: -1}), "delta q": perturbed(method.Perturbation{DeltaQ: 1.1}),
		"delta0": perturbed(method.Perturbation{Delta0: 1.1}), "delta": perturbed(method.Perturbation{Delta: 7}),
		"slack cap": perturbed(method.Perturbation{SlackCap: -1}),
		"kind":      primal(step.Settings{Kind: 9}), "eta": primal(step.Settings{Eta: -1}),
		"eta nan": primal(step.Settings{Eta: nan}), "fixed": primal(step.Settings{Fixed: true}),
		"momentum":             primal(step.Settings{Momentum: 1}),
		"momentum of gradient": primal(step.Settings{Kind: step.Gradient, Momentum: 0.5}),
		"momentum of adam":     primal(step.Settings{Kind: step.Adam, Momentum: 0.5}),
		"sigma0":               &method.PLADA{Sigma0: -1}, "sigma0 nan": &method.PLADA{Sigma0: nan},
		"inner steps": &method.PLADA{InnerSteps: -1}, "x-step": &method.PLADA{XStep: 9},
		"proxlinear without pieces": &method.PLADA{XStep: method.ProxLinear},
		"inner with momentum":       &method.PLADA{XStep: method.Inner, Primal: step.Settings{Momentum: 0.5}},
		"inner with adam":           &method.PLADA{XStep: method.Inner, Primal: step.Settings{Kind: step.Adam}},
		"inner with a bad eta":      &method.PLADA{XStep: method.Inner, Primal: step.Settings{Eta: nan}},
		"gdpa step":                 &method.GDPA{Step: -1}, "gdpa penalty": &method.GDPA{Penalty: nan},
		"gdpa perturbation": &method.GDPA{Perturbation: 1},
		"gdpa automatic":    &method.GDPA{Automatic: true},
		"penalty":           &method.Penalty{Coefficient: -1}, "growth": &method.Penalty{Growth: 0.5}, "period": &method.Penalty{Period: -1},
		"ssg tolerance": &method.SSG{Tolerance: -1}, "ssg step": &method.SSG{Step: inf}, "ssg rule": &method.SSG{StepRule: method.StepPolyak},
		"ssg constant": &method.SSG{StepRule: method.StepConstant}, "ssg on g": &method.SSG{ViolationRule: "newton"},
		"ssg constant on g":  &method.SSG{ViolationRule: method.StepConstant},
		"ssg polyak's size":  &method.SSG{ViolationStep: 1},
		"ipp-ssg rho":        &method.IPPSSG{ProximalPoint: method.ProximalPoint{RhoHat: nan}},
		"ipp-ssg modulus":    &method.IPPSSG{ProximalPoint: method.ProximalPoint{RhoHat: 1, Modulus: 1}},
		"ipp-ssg tolerance":  &method.IPPSSG{Tolerance: nan},
		"ipp-ssg bound":      &method.IPPSSG{Bound: -1},
		"ipp-conex inner":    &method.IPPConEx{ProximalPoint: method.ProximalPoint{Inner: -1}},
		"ipp-conex t0":       &method.IPPConEx{T0: -1},
		"ipp-conex bound":    &method.IPPConEx{Bound: inf},
		"nl-iapial penalty":  &method.NLIAPIAL{Penalty: -1},
		"nl-iapial sigma":    &method.NLIAPIAL{Sigma: 1},
		"nl-iapial constant": &method.NLIAPIAL{Lipschitz: nan},
		"nupi integral":      &method.NuPI{Integral: nan}, "nupi memory": &method.NuPI{Memory: 1}, "nupi proportional": &method.NuPI{Proportional: -1},
		"extragradient step": &method.Extragradient{Step: -1}, "extragradient dual": &method.Extragradient{DualStep: nan},
		"dual step": &method.GDA{DualStep: nan}, "alm": &method.ALM{Penalty: -1}, "alm inner": &method.ALM{Inner: -1},
	}
	for name, m := range methods {
		t.Run(name, func(t *testing.T) {
			testkit.Refused(t, testkit.Start(t, testkit.Line(), 0), m, trainer.Settings{})
		})
	}
	for name, s := range map[string]trainer.Settings{
		"iterations": {Iterations: -1}, "every": {RecordEvery: -1}, "gradients": {Gradients: -1}, "tolerance": {Tolerance: nan}, "feasibility": {FeasibilityTolerance: -1},
		"time": {TimeLimit: -1}, "output": {Output: "first"}, "sphere": {Certificate: certify.Settings{Sphere: nan}},
		"epoch": {IterationsPerEpoch: -1}, "near": {NearEvery: -1}, "collapse": {CollapseAbove: nan},
	} {
		t.Run(name, func(t *testing.T) { testkit.Refused(t, testkit.Start(t, testkit.Line(), 0), &method.PPALA{}, s) })
	}
}
