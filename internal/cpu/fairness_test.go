package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

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
	Smooth() bool
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

// BenchmarkIntersectional is a forward and a backward pass of intersectional fairness on rows of the shape of Communities and Crime: the
// groups' cost is the difference to one group.
func BenchmarkIntersectional(b *testing.B) {
	const n = 1994
	for _, hidden := range []int{64, 256} {
		for _, c := range []struct {
			m     int
			share float64
		}{{1, 0.16}, {800, 0.02}, {800, 0.16}, {800, 0.5}} {
			goal, err := constraints.NewIntersectional(numbered(c.m), []float64{0.05}, constraints.Hinge, constraints.Hinge, constraints.Each)
			if err != nil {
				b.Fatal(err)
			}
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

// On every level and any number of threads fairness problems agree with Gorgonia's machine in float64, with every surrogate.
func TestFairnessAgreesWithGorgonia(t *testing.T) {
	const n = 517
	for _, psi := range constraints.Phis() {
		parity, err := constraints.NewDemographicParity(numbered(2), 0.1, constraints.Logistic, psi, constraints.GapForms()[0])
		if err != nil {
			t.Fatal(err)
		}
		each, err := constraints.NewIntersectional(numbered(30), []float64{0.05}, psi, constraints.Sigmoid, constraints.Each)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []fairness{
			{name: "parity", spec: models.Spec{Inputs: 7, Outputs: 1}, n: n, goal: parity, groups: halves(n)},
			{name: "each", spec: models.Spec{Inputs: 9, Hidden: []int{18}, Outputs: 1, Activation: models.ReLU}, n: n, goal: each, groups: scattered(n, 30, 0.2)},
		} {
			want := numbers(t, f.problem(t, tensor.Float64, graph.Tape{}))
			for _, level := range kernel.Levels() {
				for _, threads := range []int{1, 3} {
					for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
						got := numbers(t, f.problem(t, dtype, engine(t, level, threads)))
						for i, what := range []string{"f and g", "gradient", "scores"} {
							if d := distance(got[i], want[i]); !(d <= bound) {
								t.Errorf("%s, psi %v, %v, %d threads, %v: %s differ by %.2g", f.name, psi, level, threads, dtype, what, d)
							}
						}
					}
				}
			}
		}
	}
}
