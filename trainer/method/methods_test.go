package method_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/internal/testproblems"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// entry is one method of the shared table. The test runs every method on every problem of the
// table, in float64 and float32, except the problems that the entry excludes.
type entry struct {
	name string
	make func() trainer.Method
	// tolerance is the KKT epsilon that the method must reach within tableIterations. A value other
	// than 1e-6 has a comment with the reason.
	tolerance float64
	why       string
	single    float64 // smallest tolerance in float32; 0: singleTolerance
	kinks     bool    // the method takes constraints with kinks directly, without the split form
	cannot    map[string]string
}

const (
	tableIterations = 10000
	singleTolerance = 2e-4 // a float32 gradient of size 10 has a rounding error of 1e-6 in each term
)

// tableProblems returns the problems of the table: the whole library.
func tableProblems() []string {
	var names []string
	for _, tp := range testproblems.All() {
		names = append(names, tp.Name)
	}
	return names
}

// where returns the problems of a category, each with the reason why.
func where(why string, in func(tp testproblems.Problem) bool) map[string]string {
	cannot := map[string]string{}
	for _, tp := range testproblems.All() {
		if in(tp) {
			cannot[tp.Name] = why
		}
	}
	return cannot
}

func because(why string, names ...string) map[string]string {
	cannot := map[string]string{}
	for _, name := range names {
		cannot[name] = why
	}
	return cannot
}

func either(sets ...map[string]string) map[string]string {
	cannot := map[string]string{}
	for _, s := range sets {
		maps.Copy(cannot, s)
	}
	return cannot
}

// binding reports whether a constraint, or a bound that the table turns into a constraint, has a
// multiplier.
func binding(tp testproblems.Problem) bool {
	tp = tp.Split()
	if tp.Lower != nil {
		if _, _, ok := testkit.Uniform(tp); !ok {
			tp = tp.BoundsAsConstraints()
		}
	}
	return slices.ContainsFunc(tp.Multipliers, func(nu float64) bool { return nu > 0 })
}

// table returns every method of the package, some of them in several forms.
func table() []entry {
	momentum, rule, quasi := step.Settings{Kind: step.Nesterov}, step.Settings{Kind: step.Gradient}, step.Settings{Kind: step.LBFGS}
	boxed := where("quasi-Newton steps do not support a box", func(tp testproblems.Problem) bool { return tp.Lower != nil })
	slow := func(names ...string) map[string]string {
		return because("slower than the table's iterations", names...)
	}
	scaled := where("badly scaled: no one setting fits, those of its own are in TestLibrary",
		func(tp testproblems.Problem) bool { return tp.BadlyScaled })
	tuned := func(names ...string) map[string]string {
		return because("needs a slower delta or a scale: TestLibrary has them", names...)
	}
	perturbed := either(scaled, slow("HS21", "HS113"), tuned("rosenbrock-cubic-line", "HS17", "HS23", "HS33", "HS57"))
	kinks := []string{"abs-two-kinks", "abs-branch-and-kink", "abs-circle-kink", "max-kink", "max-of-abs", "hinge-kink"}
	chatter := because("the subgradient step chatters at a kink", append(kinks, "abs-kink")...)
	inner := because("the error of the inner steps grows with lambda, and the curvature rule takes the kink for curvature", kinks...)
	oscillates := because("oscillates or diverges at this dual step",
		"qp-vertex", "qp-duplicate", "qp-redundant-active", "qp-no-interior", "qp-random-50x20", "rosenbrock-unit-disc",
		"rosenbrock-cubic-line", "circle-exterior", "annulus", "circle-and-line", "ball-and-disc-exterior",
		"abs-kink", "abs-two-kinks", "abs-circle-kink", "abs-circle-branch", "max-one-piece", "max-of-abs", "hinge-branch", "hinge-kink",
		"HS2", "HS4", "HS12", "HS17", "HS23", "HS29", "HS30", "HS33", "HS34", "HS44", "HS45", "HS65", "HS66", "HS76", "HS113")
	return append(switchingTable(), []entry{
		{name: "ppala", make: func() trainer.Method { return &method.PPALA{Primal: momentum} }, tolerance: 1e-6,
			cannot: either(perturbed, tuned("HS86"))},
		{name: "ppala as a rule", make: func() trainer.Method { return method.FromRule(&method.PPALA{Primal: momentum}) }, tolerance: 1e-6,
			cannot: either(perturbed, where("the iterates are those of ppala: TestFromRule", func(tp testproblems.Problem) bool { return len(tp.Start) > 2 }))},
		{name: "ppala gradient", make: func() trainer.Method { return &method.PPALA{Primal: rule} }, tolerance: 1e-6,
			cannot: either(perturbed, tuned("HS86"), slow("qp-random-50x20", "rosenbrock-disc", "largest-small-polygon-10",
				"HS1", "HS29", "HS34", "HS44", "HS65", "HS66"))},
		{name: "plada", make: func() trainer.Method { return &method.PLADA{Primal: momentum} }, tolerance: 1e-6, kinks: true,
			cannot: either(perturbed, tuned("HS86"), slow("qp-random-50x20"))},
		{name: "plada box", make: func() trainer.Method {
			// The step on the box is rho times as long and needs a delta_k that falls sooner.
			return &method.PLADA{BoxStep: true, Sigma0: 0.5, Perturbation: method.Perturbation{DeltaP: 0.1}}
		}, tolerance: 1e-6, kinks: true, cannot: either(perturbed, slow("qp-random-50x20"))},
		{name: "plada subgradient", make: func() trainer.Method { return &method.PLADA{XStep: method.Subgradient} },
			tolerance: 1e-6, kinks: true, cannot: either(perturbed, tuned("HS86"), chatter, slow("qp-random-50x20"))},
		{name: "plada inner", make: func() trainer.Method { return &method.PLADA{XStep: method.Inner} },
			tolerance: 1e-6, single: 1e-3, kinks: true, // the output is a mean of float32 iterates
			cannot: either(perturbed, tuned("HS86"), inner, slow("qp-random-50x20", "rosenbrock-disc", "HS1", "HS34"))},
		// In float32 the steps end where x rounds to itself.
		{name: "alm lbfgs", make: func() trainer.Method { return &method.ALM{Primal: quasi} }, tolerance: 1e-6, single: 5e-5, cannot: boxed},
		{name: "unconstrained lbfgs", make: func() trainer.Method { return &method.Unconstrained{Primal: quasi} }, tolerance: 1e-6,
			cannot: either(boxed, where("the constraints move the minimiser", binding))},
		{name: "gdpa", make: func() trainer.Method { return &method.GDPA{Primal: &rule, Automatic: true} },
			tolerance: 3e-2, why: "the perturbation leaves a violation of tau lambda/beta_r, and beta_r grows like r^(1/3)",
			cannot: either(scaled, slow("HS34"), because("the multipliers are large: so is tau lambda/beta_r",
				"abs-sigmoid-gap", "HS4", "HS11", "HS23", "HS31", "HS86", "HS113"))},
		{name: "penalty", make: func() trainer.Method { return &method.Penalty{Growth: 4, Period: 1000} },
			tolerance: 5e-4, why: "the violation is lambda/c, c = 10 4^9 at the end, and the last stage is ill-conditioned",
			cannot: either(scaled, slow("HS29", "HS113"), because("unbounded below at the first c, or diverges where c grows",
				"abs-sigmoid-gap", "HS2", "HS10", "HS11", "HS23", "HS31", "HS33", "HS43", "HS86"))},
		{name: "gda", make: func() trainer.Method {
			return &method.GDA{DualStep: 0.2, Primal: step.Settings{Momentum: 0.5}}
		}, tolerance: 1e-6, cannot: either(scaled, oscillates, because("oscillates", "largest-small-polygon-10"), slow("HS1", "HS57"))},
		{name: "nupi", make: func() trainer.Method {
			return &method.NuPI{Integral: 0.2, Proportional: 2, Memory: 0.5, Primal: step.Settings{Momentum: 0.5}}
		}, tolerance: 1e-6, cannot: either(scaled, because("oscillates or diverges at these gains", "rosenbrock-cubic-line", "HS2", "HS33"),
			slow("HS1", "HS34", "HS57"))},
		{name: "extragradient", make: func() trainer.Method { return &method.Extragradient{} }, tolerance: 1e-6,
			cannot: either(scaled, slow("rosenbrock-unit-disc", "rosenbrock-disc", "rosenbrock-cubic-line", "largest-small-polygon-10", "mishra-bird", "HS1", "HS2",
				"HS16", "HS17", "HS57", "HS86"), because("the Lagrangian has no saddle point there", "HS23", "HS24", "HS33", "HS45"))},
		{name: "alm", make: func() trainer.Method { return &method.ALM{Primal: step.Settings{Momentum: 0.9}} }, tolerance: 1e-6,
			cannot: either(scaled, slow("rosenbrock-cubic-line", "HS33", "HS57", "HS113"))},
		{name: "unconstrained", make: func() trainer.Method { return &method.Unconstrained{Primal: momentum} }, tolerance: 1e-6,
			cannot: either(scaled, where("the constraints move the minimiser", binding))},
	}...)
}

func TestEveryMethodOnEveryProblem(t *testing.T) {
	require.NoRace(t, "the methods start no goroutine on the problems of the library")
	for _, e := range table() {
		for _, name := range tableProblems() {
			if e.cannot[name] != "" {
				continue
			}
			t.Run(e.name+" "+name, func(t *testing.T) { e.run(t, testkit.Named(t, name), testkit.New, e.tolerance, 1e-12) })
			if name == "largest-small-polygon-10" {
				continue // long, and the other problems show what float32 changes
			}
			t.Run(e.name+" "+name+" float32", func(t *testing.T) {
				e.run(t, testkit.Named(t, name), testkit.NewNarrow, max(e.tolerance, e.single, singleTolerance), 1e-6)
			})
		}
	}
}

// run trains on tp to the tolerance.
func (e entry) run(t *testing.T, tp testproblems.Problem, form func(testing.TB, problem.Functions, []float64) problem.Problem,
	tolerance, rounding float64) {
	if !e.kinks {
		tp = tp.Split()
	}
	p, m := form(t, testkit.FunctionsOf(tp), tp.Start), e.make()
	check := newIdentities(t, p, m)
	check.rounding = rounding
	r := require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{
		Iterations: tableIterations, RecordEvery: 10, CheckEvery: 10, Tolerance: tolerance, Recorder: check}))(t)
	// The certificate may find a better multiplier than the method's, by which a record stops the run.
	if r.Status != trainer.Converged && !(r.Certificate.Epsilon <= tolerance) {
		t.Fatalf("%v after %d iterations: %+v", r.Status, r.Iterations, r.Certificate)
	}
	if check.steps != r.Iterations {
		t.Errorf("the identities were checked in %d of %d steps", check.steps, r.Iterations)
	}
}

// Every type of the package with the method Report() Report is a Method, and must be in the table.
func TestEveryMethodIsInTheTable(t *testing.T) {
	// The multiplier model needs problems that draw one group at a time (DrawnGroup). The table has no
	// such problem. multipliermodel_test.go tests the model.
	tested := map[string]bool{"MultiplierModel": true}
	for _, e := range table() {
		tested[reflect.TypeOf(e.make()).Elem().Name()] = true
		if e.tolerance > 1e-6 && e.why == "" {
			t.Errorf("%s: a tolerance of %g without a reason", e.name, e.tolerance)
		}
		for name := range e.cannot {
			if !slices.Contains(tableProblems(), name) {
				t.Errorf("%s: %q is not a problem of the table", e.name, name)
			}
		}
	}
	names := require.Value(filepath.Glob("*.go"))(t)
	found := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := require.Value(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "Report" {
				continue
			}
			found++
			star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				t.Errorf("a Report method of %v, want a pointer receiver", fn.Recv.List[0].Type)
				continue
			}
			if name := star.X.(*ast.Ident).Name; !tested[name] {
				t.Errorf("the method %s is not in the table of methods", name)
			}
		}
	}
	if found < 7 {
		t.Errorf("found %d methods: the search is broken", found)
	}
}

// switchingTable holds the entries of the switching subgradient methods and the proximal point
// methods.
func switchingTable() []entry {
	scaled := where("badly scaled: no one setting fits", func(tp testproblems.Problem) bool { return tp.BadlyScaled })
	tooSlow := func(names ...string) map[string]string {
		return because("slower than the table's iterations", names...)
	}
	room := "without an interior, or at a kink, there is no iterate that counts to stay at"
	thin := because(room, "qp-no-interior", "abs-kink", "max-of-abs")
	thinner := because(room, "abs-two-kinks", "abs-branch-and-kink", "abs-circle-kink")
	onePiece := because("the linearisation sees one piece of the kink", "abs-two-kinks", "max-kink", "max-of-abs")
	sphere := because("a step on g, and a mean, leaves the sphere, and with it the sphere's multiplier",
		"ball-linear", "ball-and-plane", "ball-and-disc-exterior", "ball-indefinite")
	return []entry{
		{name: "ssg", make: func() trainer.Method { return &method.SSG{} }, tolerance: 5e-2, kinks: true,
			why: "the iterates cross the boundary by steps that fall like 1/sqrt(k)", cannot: either(scaled, thin, sphere, because(room, "max-kink"),
				tooSlow("rosenbrock-unit-disc", "rosenbrock-disc", "abs-upper-branch", "abs-lower-branch", "abs-sigmoid-gap",
					"HS1", "HS2", "HS11", "HS12", "HS17", "HS29", "HS31", "HS43", "HS86", "HS113"))},
		{name: "ssg constant", make: func() trainer.Method {
			return &method.SSG{Step: 0.01, StepRule: method.StepConstant, ViolationRule: method.StepDecay, ViolationStep: 0.3}
		}, tolerance: 5e-2, kinks: true, why: "the iterates cross the boundary by as much as a step", cannot: either(scaled, thin, thinner,
			because(room, "max-kink"), tooSlow("qp-random-50x20", "HS113"),
			because("a step of 0.01 is too long", "rosenbrock-unit-disc", "rosenbrock-disc", "mishra-bird",
				"HS1", "HS2", "HS11", "HS16", "HS31", "HS43", "HS65", "HS86"))},
		{name: "ipp-ssg", make: func() trainer.Method {
			return &method.IPPSSG{ProximalPoint: method.ProximalPoint{RhoHat: 4, Inner: 300}}
		}, tolerance: 5e-2, kinks: true, why: "a centre, the mean of the iterates that count, is inside by about 1/(s N)",
			cannot: either(scaled, sphere, thin, thinner, because(room, "hinge-kink"),
				tooSlow("qp-several-active", "qp-vertex", "qp-random-50x20", "rosenbrock-unit-disc", "rosenbrock-disc", "abs-lower-branch",
					"HS1", "HS2", "HS11", "HS12", "HS16", "HS17", "HS29", "HS31", "HS33", "HS34", "HS43", "HS44", "HS45", "HS65", "HS86", "HS113"))},
		{name: "ipp-conex", make: func() trainer.Method { return &method.IPPConEx{} }, tolerance: 1e-6, kinks: true,
			cannot: either(scaled, tooSlow("rosenbrock-disc", "largest-small-polygon-10", "HS1", "HS16", "HS17", "HS23", "HS24", "HS33", "HS34", "HS43",
				"HS44", "HS45", "HS57", "HS113"), onePiece, because("the linearisation sees one piece of the kink", "abs-circle-kink"))},
		{name: "ipp-conex restart", make: func() trainer.Method {
			return &method.IPPConEx{ProximalPoint: method.ProximalPoint{RhoHat: 1, Inner: 300}, Restart: true}
		}, tolerance: 5e-2, kinks: true, why: "y starts from 0 in each inner loop", cannot: either(scaled, sphere, onePiece,
			tooSlow("qp-random-50x20", "rosenbrock-disc", "abs-branch-and-kink", "HS1", "HS11", "HS12", "HS16", "HS23", "HS29", "HS31", "HS33", "HS34",
				"HS43", "HS44", "HS45", "HS86", "HS113"))},
		{name: "nl-iapial", make: func() trainer.Method { return &method.NLIAPIAL{} }, tolerance: 1e-6,
			cannot: either(scaled, tooSlow("rosenbrock-disc", "HS1", "HS33", "HS57"))},
	}
}
