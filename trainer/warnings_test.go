package trainer_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ppal/trainer"
	"ppal/trainer/problem"
)

func mentions(lines []string, part string) bool {
	return slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, part) })
}

func TestWarnings(t *testing.T) {
	fixed := func(eta float64) trainer.PrimalSettings {
		return trainer.PrimalSettings{Kind: trainer.Gradient, Fixed: true, Eta: eta}
	}
	// line has L_f = 1 and ||J|| = 1, and PPALA's L = 1 + rho where the constraint is loaded; rho is 5.
	const rho = 5
	pladaBound, ppalaBound := 0.9/(1+3*rho), 0.9/(1+rho+3*rho)
	for _, test := range []struct {
		name string
		m    trainer.Method
		x    float64
		set  trainer.Settings
		want string // "": no warning at all
	}{
		{"defaults", &trainer.PPALA{}, 0, trainer.Settings{}, ""},
		{"plada's defaults", &trainer.PLADA{}, 0, trainer.Settings{}, ""},
		{"tau inside", &trainer.PPALA{Perturbation: trainer.Perturbation{Tau: 0.99 / (2 * rho)}}, 0, trainer.Settings{}, ""},
		{"tau outside", &trainer.PPALA{Perturbation: trainer.Perturbation{Tau: 1.01 / (2 * rho)}}, 0, trainer.Settings{},
			"tau = 0.101 is outside"},
		{"plada's tau inside", &trainer.PLADA{Perturbation: trainer.Perturbation{Tau: 0.99 / (3 * rho)}}, 0, trainer.Settings{}, ""},
		{"plada's tau outside", &trainer.PLADA{Perturbation: trainer.Perturbation{Tau: 1.01 / (3 * rho)}}, 0, trainer.Settings{},
			"is outside the theorem's bound tau"},
		{"alpha", &trainer.PPALA{Perturbation: trainer.Perturbation{Alpha: 1}}, 0, trainer.Settings{}, "alpha = 1 is outside"},
		{"beta", &trainer.PPALA{Perturbation: trainer.Perturbation{Beta: 1}}, 0, trainer.Settings{}, "beta = 1 is outside"},
		{"delta q", &trainer.PPALA{Perturbation: trainer.Perturbation{DeltaQ: 0.6}}, 0, trainer.Settings{}, "delta q = 0.6 is outside"},
		{"eta inside", &trainer.PLADA{Primal: fixed(0.99 * pladaBound)}, 0, trainer.Settings{}, ""},
		{"eta outside", &trainer.PLADA{Primal: fixed(1.01 * pladaBound)}, 0, trainer.Settings{}, "above the theorem's bound, about 0.0562"},
		{"ppala's eta inside", &trainer.PPALA{Primal: fixed(0.99 * ppalaBound)}, 0, trainer.Settings{}, ""},
		{"ppala's eta outside", &trainer.PPALA{Primal: fixed(1.01 * ppalaBound)}, 0, trainer.Settings{},
			"above the theorem's bound, about 0.0429"},
		{"infeasible start", &trainer.PPALA{}, 1.5, trainer.Settings{}, "the start is infeasible: the largest violation is 0.5"},
		{"owed by mu", &trainer.PPALA{Perturbation: trainer.Perturbation{Delta: trainer.DeltaHarmonic, Delta0: 0.01}}, 0,
			trainer.Settings{Iterations: 3000}, "owed by mu"},
		{"collapse", &trainer.PPALA{}, 0, trainer.Settings{Iterations: 3000, CollapseAbove: 1.9}, "collapsed"},
		{"no collapse", &trainer.PPALA{}, 0, trainer.Settings{Iterations: 3000, CollapseAbove: 2.1}, ""},
		{"box step", &trainer.PLADA{BoxStep: true}, 0, trainer.Settings{Iterations: 100}, "the step of mu reached"},
		{"capped box step", &trainer.PLADA{BoxStep: true, Sigma0: 0.9}, 0, trainer.Settings{Iterations: 100}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var told []string
			test.set.Warn = func(w string) { told = append(told, w) }
			r, err := trainer.Train(context.Background(), start(t, line(), test.x), test.m, test.set)
			if err != nil {
				t.Fatal(err)
			}
			if mentions(told, "--") {
				t.Errorf("warnings %q name flags of a program", told)
			}
			if !slices.Equal(told, r.Warnings) {
				t.Errorf("told %q, the result has %q", told, r.Warnings)
			}
			if test.want == "" && len(told) > 0 || test.want != "" && (len(told) != 1 || !mentions(told, test.want)) {
				t.Errorf("warnings %q, want %q", told, test.want)
			}
		})
	}
}

// A collapse is one of the output: of its f, without r, and of its own certificate.
func TestCollapseIsOfTheOutput(t *testing.T) {
	fn := line()
	fn.Regularizer = problem.Regularizer{Kind: problem.SquaredL2, Weight: 1} // f = 2 and f + r = 2.5 at the solution x = 1
	for _, test := range []struct {
		name string
		fn   problem.Functions
		set  trainer.Settings
	}{
		{"f + r", fn, trainer.Settings{CollapseAbove: 2.2}},
		{"a best iterate that is not stationary", line(), trainer.Settings{CollapseAbove: 0.1, Output: trainer.OutputBest,
			FeasibilityTolerance: 0.5, RecordEvery: 1}},
	} {
		test.set.Iterations = 3000
		r, err := trainer.Train(context.Background(), start(t, test.fn, 0), &trainer.PPALA{}, test.set)
		if err != nil {
			t.Fatal(err)
		}
		if mentions(r.Warnings, "collapsed") {
			t.Errorf("%s: f = %v, %+v, warnings %q", test.name, r.Point.Objective, r.Certificate, r.Warnings)
		}
	}
}

// The bound of a fixed step size is the same in float32, to the accuracy of its differences.
func TestStepBoundInSinglePrecision(t *testing.T) {
	const bound = 0.9 / (1 + 3*5)
	for _, test := range []struct {
		eta  float64
		want bool
	}{{0.99 * bound, false}, {1.01 * bound, true}} {
		m := &trainer.PLADA{Primal: trainer.PrimalSettings{Kind: trainer.Gradient, Fixed: true, Eta: test.eta}}
		r, err := trainer.Train(context.Background(), narrowProblem(t, line(), []float64{0}), m, trainer.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if mentions(r.Warnings, "above the theorem's bound") != test.want {
			t.Errorf("eta = %v: warnings %q", test.eta, r.Warnings)
		}
	}
}

// A warning about eta leaves the run as it is without.
func TestDiagnosisChangesNothing(t *testing.T) {
	p := problemOf(t, named(t, "HS43"))
	before, g := iterate(p), make([]float64, 3)
	at := &problem.Point{Constraints: make([]float64, 3)}
	f, err := p.Forward(at.Constraints)
	if err != nil {
		t.Fatal(err)
	}
	at.Objective = f
	copy(g, at.Constraints)
	m := &trainer.PPALA{Primal: trainer.PrimalSettings{Kind: trainer.Gradient, Fixed: true, Eta: 1}}
	if err := m.Init(p, at); err != nil {
		t.Fatal(err)
	}
	warnings, err := m.Diagnose(p, at)
	if err != nil || len(warnings) != 1 {
		t.Fatalf("warnings %q, error %v", warnings, err)
	}
	if !slices.Equal(iterate(p), before) || !slices.Equal(at.Constraints, g) || at.Objective != f || at.GradientEvaluations != 0 {
		t.Errorf("the diagnosis changed x to %v, f to %v, g to %v or counted %d gradients",
			iterate(p), at.Objective, at.Constraints, at.GradientEvaluations)
	}
}

func TestNegativeMultipliersAreNoted(t *testing.T) {
	// From x = -9 the inactive constraint rises; from x = 0.9 with f's minimum at -9 it falls.
	fn := line()
	fn.F = func(x []float64) float64 { return (x[0] + 9) * (x[0] + 9) / 2 }
	fn.Gradient = func(dst, x []float64) { dst[0] = x[0] + 9 }
	r, err := trainer.Train(context.Background(), start(t, fn, 0.9), &trainer.PPALA{}, trainer.Settings{Iterations: 50})
	if err != nil {
		t.Fatal(err)
	}
	if !mentions(r.Notes, "some lambda_j was negative") {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestSettingsAreRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	perturbed := func(s trainer.Perturbation) trainer.Method { return &trainer.PPALA{Perturbation: s} }
	primal := func(s trainer.PrimalSettings) trainer.Method { return &trainer.GDA{Primal: s} }
	methods := map[string]trainer.Method{
		"alpha": perturbed(trainer.Perturbation{Alpha: -1}), "alpha nan": perturbed(trainer.Perturbation{Alpha: nan}),
		"beta": perturbed(trainer.Perturbation{Beta: inf}), "tau": perturbed(trainer.Perturbation{Tau: -1}),
		"delta p": perturbed(trainer.Perturbation{DeltaP: -1}), "delta q": perturbed(trainer.Perturbation{DeltaQ: 1.1}),
		"delta0": perturbed(trainer.Perturbation{Delta0: 1.1}), "delta": perturbed(trainer.Perturbation{Delta: 7}),
		"slack cap": perturbed(trainer.Perturbation{SlackCap: -1}),
		"kind":      primal(trainer.PrimalSettings{Kind: 9}), "eta": primal(trainer.PrimalSettings{Eta: -1}),
		"eta nan": primal(trainer.PrimalSettings{Eta: nan}), "fixed": primal(trainer.PrimalSettings{Fixed: true}),
		"momentum":             primal(trainer.PrimalSettings{Momentum: 1}),
		"momentum of gradient": primal(trainer.PrimalSettings{Kind: trainer.Gradient, Momentum: 0.5}),
		"momentum of adam":     primal(trainer.PrimalSettings{Kind: trainer.Adam, Momentum: 0.5}),
		"sigma0":               &trainer.PLADA{Sigma0: -1}, "sigma0 nan": &trainer.PLADA{Sigma0: nan},
		"inner steps": &trainer.PLADA{InnerSteps: -1}, "x-step": &trainer.PLADA{XStep: 9},
		"proxlinear without pieces": &trainer.PLADA{XStep: trainer.ProxLinear},
		"inner with momentum":       &trainer.PLADA{XStep: trainer.Inner, Primal: trainer.PrimalSettings{Momentum: 0.5}},
		"inner with adam":           &trainer.PLADA{XStep: trainer.Inner, Primal: trainer.PrimalSettings{Kind: trainer.Adam}},
		"inner with a bad eta":      &trainer.PLADA{XStep: trainer.Inner, Primal: trainer.PrimalSettings{Eta: nan}},
		"gdpa step":                 &trainer.GDPA{Step: -1}, "gdpa penalty": &trainer.GDPA{Penalty: nan},
		"gdpa perturbation": &trainer.GDPA{Perturbation: 1}, "gdpa ratio": &trainer.GDPA{Ratio: 0.5},
		"gdpa automatic": &trainer.GDPA{Automatic: true},
		"penalty":        &trainer.Penalty{Coefficient: -1}, "growth": &trainer.Penalty{Growth: 0.5}, "period": &trainer.Penalty{Period: -1},
		"ssg tolerance": &trainer.SSG{Tolerance: -1}, "ssg step": &trainer.SSG{Step: inf}, "ssg rule": &trainer.SSG{StepRule: trainer.StepPolyak},
		"ssg constant": &trainer.SSG{StepRule: trainer.StepConstant}, "ssg on g": &trainer.SSG{ViolationRule: "newton"},
		"ssg constant on g":  &trainer.SSG{ViolationRule: trainer.StepConstant},
		"ssg polyak's size":  &trainer.SSG{ViolationStep: 1},
		"ipp-ssg rho":        &trainer.IPPSSG{ProximalPoint: trainer.ProximalPoint{RhoHat: nan}},
		"ipp-ssg modulus":    &trainer.IPPSSG{ProximalPoint: trainer.ProximalPoint{RhoHat: 1, Modulus: 1}},
		"ipp-ssg tolerance":  &trainer.IPPSSG{Tolerance: nan},
		"ipp-ssg bound":      &trainer.IPPSSG{Bound: -1},
		"ipp-conex inner":    &trainer.IPPConEx{ProximalPoint: trainer.ProximalPoint{Inner: -1}},
		"ipp-conex t0":       &trainer.IPPConEx{T0: -1},
		"ipp-conex bound":    &trainer.IPPConEx{Bound: inf},
		"nl-iapial penalty":  &trainer.NLIAPIAL{Penalty: -1},
		"nl-iapial sigma":    &trainer.NLIAPIAL{Sigma: 1},
		"nl-iapial constant": &trainer.NLIAPIAL{Lipschitz: nan},
		"dual step":          &trainer.GDA{DualStep: nan}, "alm": &trainer.ALM{Penalty: -1}, "alm inner": &trainer.ALM{Inner: -1},
	}
	for name, m := range methods {
		t.Run(name, func(t *testing.T) {
			refused(t, start(t, line(), 0), m, trainer.Settings{})
		})
	}
	for name, s := range map[string]trainer.Settings{
		"iterations": {Iterations: -1}, "every": {RecordEvery: -1}, "gradients": {Gradients: -1}, "tolerance": {Tolerance: nan}, "feasibility": {FeasibilityTolerance: -1},
		"time": {TimeLimit: -1}, "output": {Output: "first"}, "sphere": {Certificate: trainer.CertificateSettings{Sphere: nan}},
		"epoch": {IterationsPerEpoch: -1}, "near": {NearEvery: -1}, "collapse": {CollapseAbove: nan},
	} {
		t.Run(name, func(t *testing.T) { refused(t, start(t, line(), 0), &trainer.PPALA{}, s) })
	}
}

func refused(t *testing.T, p problem.Problem, m trainer.Method, s trainer.Settings) {
	t.Helper()
	_, err := trainer.Train(context.Background(), p, m, s)
	if !errors.Is(err, problem.ErrSettings) {
		t.Fatalf("error %v, want ErrSettings", err)
	}
	if text := err.Error(); !strings.HasPrefix(text, "trainer: ") || strings.Contains(text, "\n") {
		t.Errorf("error %q, want one line with the package's name", text)
	}
}

func TestFunctionsAreRefused(t *testing.T) {
	for name, change := range map[string]func(fn *problem.Functions){
		"n":        func(fn *problem.Functions) { fn.N = 0 },
		"start":    func(fn *problem.Functions) { fn.N = 2 },
		"gradient": func(fn *problem.Functions) { fn.Gradient = nil },
		"jacobian": func(fn *problem.Functions) { fn.JacobianT = nil },
		"radius":   func(fn *problem.Functions) { fn.Regularizer = problem.Regularizer{Kind: problem.Ball} },
		"box":      func(fn *problem.Functions) { fn.Regularizer = problem.Regularizer{Kind: problem.Box, Lower: 1} },
		"empty box": func(fn *problem.Functions) {
			fn.Regularizer = problem.Regularizer{Kind: problem.Box, Upper: math.NaN()}
		},
		"weight": func(fn *problem.Functions) {
			fn.Regularizer = problem.Regularizer{Kind: problem.L1, Weight: math.Inf(1)}
		},
		"groups": func(fn *problem.Functions) {
			fn.Regularizer = problem.Regularizer{Kind: problem.GroupL1, Weight: 1, Groups: []int{2}}
		},
		"no groups": func(fn *problem.Functions) { fn.Regularizer = problem.Regularizer{Kind: problem.GroupL1, Weight: 1} },
		"group order": func(fn *problem.Functions) {
			fn.Regularizer = problem.Regularizer{Kind: problem.GroupL1, Weight: 1, Groups: []int{1, 1}}
		},
		"kind":       func(fn *problem.Functions) { fn.Regularizer = problem.Regularizer{Kind: 17} },
		"piece":      func(fn *problem.Functions) { fn.Pieces = []problem.Piece{{Constraint: 1, Term: 0}} },
		"piece term": func(fn *problem.Functions) { fn.Pieces = []problem.Piece{{Constraint: 0, Term: 1}} },
	} {
		t.Run(name, func(t *testing.T) {
			fn := line()
			change(&fn)
			if _, err := fn.New([]float64{0}); !errors.Is(err, problem.ErrSettings) {
				t.Errorf("error %v, want ErrSettings", err)
			}
		})
	}
}
