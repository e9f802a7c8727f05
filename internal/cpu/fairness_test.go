package cpu_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/cpu/kernel"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
)

// goal is what the fairness problems have in common.
type goal interface {
	Nodes(scores *gorgonia.Node, rows constraints.Rows) (f, terms *gorgonia.Node, err error)
	Pieces() []constraints.Piece
}

// fairness is a fairness problem on random rows.
type fairness struct {
	name string
	spec models.Spec
	n    int
	goal goal
	// groups draws the problem's groups.
	groups func(rng *rand.Rand) []constraints.Group
}

func (f fairness) problem(t testing.TB, dtype tensor.Dtype, engine graph.Engine) *graph.Problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(f.n), 7))
	weights, err := models.Init(f.spec, rng)
	if err != nil {
		t.Fatal(err)
	}
	rows := constraints.Rows{Labels: make([]int, f.n), Groups: f.groups(rng)}
	for i := range rows.Labels {
		rows.Labels[i] = 1 - 2*(i*i%3%2)
	}
	p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, err := models.New(g, f.spec, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		x := random(g, dtype, rng, "rows", f.n, f.spec.Inputs)
		scores, err := net.Scores(x, nil)
		if err != nil {
			return graph.Definition{}, err
		}
		objective, terms, err := f.goal.Nodes(scores, rows)
		return graph.Definition{Objective: objective, Constraints: gorgonia.Nodes{terms}, Parameters: net.Parameters(),
			Regularizer: trainer.Regularizer{}, Inputs: gorgonia.Nodes{x}, Watch: gorgonia.Nodes{scores}}, err
	}, engine)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// scattered draws m groups that overlap, each with that share of the n rows and at least one.
func scattered(n, m int, share float64) func(rng *rand.Rand) []constraints.Group {
	return func(rng *rand.Rand) []constraints.Group {
		groups := make([]constraints.Group, m)
		for k := range groups {
			groups[k] = constraints.Group{Name: fmt.Sprint(k), Rows: []int{k % n}}
			for i := range n {
				if i != k%n && rng.Float64() < share {
					groups[k].Rows = append(groups[k].Rows, i)
				}
			}
		}
		return groups
	}
}

func numbered(m int) []string {
	names := make([]string, m)
	for k := range names {
		names[k] = fmt.Sprint(k)
	}
	return names
}

// halves are two groups that alternate, every seventh row in neither.
func halves(n int) func(rng *rand.Rand) []constraints.Group {
	return func(*rand.Rand) []constraints.Group {
		groups := []constraints.Group{{Name: "0"}, {Name: "1"}}
		for i := range n {
			if i%7 != 6 {
				groups[i%2].Rows = append(groups[i%2].Rows, i)
			}
		}
		return groups
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fairnesses are the problems in all forms, on layouts with groups of one row, overlapping groups and rows in none.
func fairnesses() []fairness {
	var list []fairness
	phis := constraints.Phis()
	for _, n := range []int{8, 301, 700} {
		for i, spec := range []models.Spec{{Inputs: 5, Outputs: 1}, {Inputs: 9, Hidden: []int{12}, Outputs: 1, Activation: models.ReLU}} {
			for k, phi := range phis {
				psi, two := phis[(k+i)%len(phis)], numbered(2)
				for _, form := range constraints.GapForms() {
					name, eps := fmt.Sprintf("%v/%v/%v", phi, psi, form), []float64{0.1, 0.2}
					list = append(list,
						fairness{"parity/" + name, spec, n, must(constraints.NewDemographicParity(two, eps[0], phi, psi, form)), halves(n)},
						fairness{"odds/" + name, spec, n, must(constraints.NewEqualizedOdds(two, eps, phi, psi, form)), halves(n)})
				}
				for _, form := range constraints.GroupForms() {
					for _, share := range []float64{0, 0.05, 0.5} {
						m := 3 + 10*k
						list = append(list, fairness{fmt.Sprintf("groups/%v/%v/%v/%d,%g", phi, psi, form, m, share), spec, n,
							must(constraints.NewIntersectional(numbered(m), []float64{0.1}, phi, psi, form)), scattered(n, m, share)})
					}
				}
			}
		}
	}
	return list
}

// On every level, with any number of threads, the device agrees with Gorgonia's machine in float64.
func TestFairnessAgreesWithGorgonia(t *testing.T) {
	for _, f := range fairnesses() {
		want := numbers(t, f.problem(t, tensor.Float64, graph.Tape{}))
		for _, level := range kernel.Levels() {
			for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
				threads := 1 + int(level)
				got := numbers(t, f.problem(t, dtype, engine(t, level, threads)))
				for i, what := range []string{"f and g", "gradient", "scores"} {
					if d := distance(got[i], want[i]); !(d <= bound) {
						t.Errorf("%s, %d rows, %v, %d threads, %v: %s differ by %.2g", f.name, f.n, level, threads, dtype, what, d)
					}
				}
			}
		}
	}
}

// 200 iterations take both engines the same way in float64: PLADA with the exact x-step for |h| - eps, and each of 40 groups bounded.
func TestFairTrainingAgreesWithGorgonia(t *testing.T) {
	const n = 300
	const hinge = constraints.Hinge
	parity := must(constraints.NewDemographicParity(numbered(2), 0.01, constraints.Logistic, constraints.Sigmoid, constraints.Absolute))
	groups := must(constraints.NewIntersectional(numbered(40), []float64{0.01}, hinge, hinge, constraints.Each))
	linear := models.Spec{Inputs: 6, Outputs: 1}
	network := models.Spec{Inputs: 6, Hidden: []int{5}, Outputs: 1, Activation: models.ReLU}
	for _, c := range []struct {
		fairness
		zero float64 // f at zero weights
		step trainer.XStep
	}{
		{fairness{"parity", linear, n, parity, halves(n)}, math.Ln2, trainer.ProxLinear},
		{fairness{"groups", network, n, groups, scattered(n, 40, 0.2)}, 1, trainer.Subgradient},
	} {
		run := func(e graph.Engine) ([]float64, trainer.Point) {
			var p trainer.Problem = c.problem(t, tensor.Float64, e)
			if pieces := c.goal.Pieces(); pieces != nil {
				p = piecewise(t, p, pieces)
			}
			r, err := trainer.Train(context.Background(), p, &trainer.PLADA{XStep: c.step}, trainer.Settings{Iterations: 200})
			if err != nil {
				t.Fatal(err)
			}
			size, _ := p.Dims()
			x := make([]float64, size)
			p.Read(x, trainer.Iterate)
			return x, r.Point
		}
		got, at := run(engine(t, kernel.Best(), 2))
		want, _ := run(graph.Tape{})
		if d := distance(got, want); d > 1e-6 { // rounding, amplified along the path
			t.Errorf("%s: after 200 iterations the weights differ by %.2g", c.name, d)
		}
		if v := trainer.MaxViolation(at.Constraints); !(v < 0.02) || !(at.Objective < c.zero) {
			t.Errorf("%s: f = %g, %g at zero weights, violation %g", c.name, at.Objective, c.zero, v)
		}
	}
}

// piecewise makes |h| - eps of the terms, from pieces that are those of trainer.Abs.
func piecewise(t *testing.T, p trainer.Problem, pieces []constraints.Piece) trainer.Piecewise {
	t.Helper()
	converted := make([]trainer.Piece, len(pieces))
	for i, b := range pieces {
		converted[i] = trainer.Piece(b)
	}
	if d := cmp.Diff(trainer.Abs(-pieces[0].Offset), converted); d != "" {
		t.Error(d)
	}
	w, err := trainer.MakePiecewise(p, converted)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// BenchmarkIntersectional is a forward and a backward pass of intersectional fairness on rows of the shape of Communities and Crime: the
// groups' cost is the difference to one group.
func BenchmarkIntersectional(b *testing.B) {
	const n = 1994
	for _, hidden := range []int{64, 256} {
		for _, c := range []struct {
			m     int
			share float64
		}{{1, 0.16}, {800, 0.02}, {800, 0.16}, {800, 0.5}} {
			goal := must(constraints.NewIntersectional(numbered(c.m), []float64{0.05}, constraints.Hinge, constraints.Hinge, constraints.Each))
			f := fairness{n: n, goal: goal, groups: scattered(n, c.m, c.share),
				spec: models.Spec{Inputs: 145, Hidden: []int{hidden}, Outputs: 1, Activation: models.ReLU}}
			b.Run(fmt.Sprintf("hidden=%d/groups=%d/share=%g", hidden, c.m, c.share), func(b *testing.B) {
				p := f.problem(b, tensor.Float32, engine(b, kernel.Best(), 0))
				g, d, weights := make([]float64, c.m), p.NewVector(), make([]float64, 1+c.m)
				for i := range weights {
					weights[i] = 1 / float64(1+i)
				}
				for b.Loop() {
					if _, err := p.Forward(g); err != nil {
						b.Fatal(err)
					}
					if err := p.Backward(weights, d); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
