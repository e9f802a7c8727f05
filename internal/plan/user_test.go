package plan_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// user holds the nodes of a graph that a user writes by hand.
type user struct {
	x, w, b, v *gorgonia.Node // x [n, d] data; w [d, h], b [1, h], v [h, 1] parameters
}

// must panics on an error: Gorgonia's Must with a shorter name.
func must(n *gorgonia.Node, err error) *gorgonia.Node { return gorgonia.Must(n, err) }

var userGraphs = []struct {
	name string
	// opaque is the number of Opaque steps.
	opaque int
	build  func(u user) (f *gorgonia.Node, g gorgonia.Nodes)
}{
	{"squares", 0, func(u user) (*gorgonia.Node, gorgonia.Nodes) {
		return must(gorgonia.Sum(must(gorgonia.Square(u.w)))), gorgonia.Nodes{
			must(gorgonia.Sum(must(gorgonia.Add(must(gorgonia.Square(u.b)), u.b)))), must(gorgonia.Mean(must(gorgonia.Square(u.v))))}
	}},
	{"regression", 0, func(u user) (*gorgonia.Node, gorgonia.Nodes) {
		z := must(models.AddBias(must(gorgonia.Mul(u.x, u.w)), u.b))
		y := must(gorgonia.Mul(must(gorgonia.Tanh(z)), u.v))
		f := must(gorgonia.Mean(must(gorgonia.Square(y))))
		return f, gorgonia.Nodes{must(gorgonia.Sub(must(gorgonia.Sum(must(gorgonia.Square(u.w)))), f))}
	}},
	{"scalars", 0, func(u user) (*gorgonia.Node, gorgonia.Nodes) {
		half := gorgonia.NewConstant(0.5)
		f := must(gorgonia.Mul(half, must(gorgonia.Sum(must(gorgonia.Neg(must(gorgonia.Sigmoid(u.w))))))))
		h := must(gorgonia.HadamardProd(u.b, must(gorgonia.Add(u.b, half))))
		return f, gorgonia.Nodes{must(gorgonia.Sum(must(gorgonia.HadamardDiv(h, must(gorgonia.Add(must(gorgonia.Square(u.b)), gorgonia.NewConstant(2.0)))))))}
	}},
	{"functions", 0, func(u user) (*gorgonia.Node, gorgonia.Nodes) {
		z := must(gorgonia.Mul(u.x, u.w))
		f := must(gorgonia.Mean(must(gorgonia.Softplus(z))))
		e := must(gorgonia.Mean(must(gorgonia.Exp(must(gorgonia.Cos(z))))))
		r := must(gorgonia.Sum(must(gorgonia.Log1p(must(gorgonia.Square(must(gorgonia.Sin(u.b))))))))
		return f, gorgonia.Nodes{e, r, must(gorgonia.Mean(must(gorgonia.Cube(must(gorgonia.Rectify(z))))))}
	}},
	{"axes", 0, func(u user) (*gorgonia.Node, gorgonia.Nodes) {
		z := must(gorgonia.Mul(u.x, u.w))
		columns := must(gorgonia.Sum(z, 0))
		rows := must(gorgonia.Sum(z, 1))
		f := must(gorgonia.Mean(must(gorgonia.Square(columns))))
		return f, gorgonia.Nodes{must(gorgonia.Mean(must(gorgonia.Tanh(rows))))}
	}},
	{"activation and its derivative's data twice", 0, func(u user) (*gorgonia.Node, gorgonia.Nodes) {
		z := must(gorgonia.Mul(u.x, u.w))
		a := must(gorgonia.Sigmoid(z))
		p, q := must(gorgonia.Mul(a, u.v)), must(gorgonia.Mul(must(gorgonia.Rectify(z)), u.v))
		return must(gorgonia.Mean(must(gorgonia.Square(p)))), gorgonia.Nodes{must(gorgonia.Mean(q)), must(gorgonia.Mean(must(gorgonia.HadamardProd(p, q))))}
	}},
	{"gram", 0, func(u user) (*gorgonia.Node, gorgonia.Nodes) { // products of computed matrices, over all rows at once
		z := must(gorgonia.Mul(u.x, u.w))
		y := must(gorgonia.Mul(z, u.v))
		return must(gorgonia.Sum(must(gorgonia.Mul(u.v, must(gorgonia.Mul(u.b, u.v)))))), gorgonia.Nodes{must(gorgonia.Mean(must(gorgonia.HadamardProd(y, y))))}
	}},
	{"unknown op", 2, func(u user) (*gorgonia.Node, gorgonia.Nodes) {
		t := must(gorgonia.Transpose(u.w, 1, 0))
		return must(gorgonia.Sum(must(gorgonia.Square(must(gorgonia.Tanh(t)))))), gorgonia.Nodes{must(gorgonia.Sum(must(gorgonia.Square(u.b)))), must(gorgonia.Sum(must(gorgonia.Square(u.v))))}
	}},
}

func TestUserGraphs(t *testing.T) {
	for _, test := range userGraphs {
		for _, n := range []int{1, 6} {
			if n == 1 && test.name == "axes" {
				continue // Gorgonia computes wrong shapes here
			}
			t.Run(test.name, func(t *testing.T) {
				problem, p := lower(t, func(g *gorgonia.ExprGraph) (graph.Definition, error) {
					rng := rand.New(rand.NewPCG(7, uint64(n)))
					const d, h = 4, 3
					u := user{x: matrix(g, tensor.Float64, "x", n, d, normals(rng, n*d)), w: matrix(g, tensor.Float64, "w", d, h, normals(rng, d*h)),
						b: matrix(g, tensor.Float64, "b", 1, h, normals(rng, h)), v: matrix(g, tensor.Float64, "v", h, 1, normals(rng, h))}
					f, gs := test.build(u)
					parameters := gorgonia.Nodes{u.w}
					for _, x := range (gorgonia.Nodes{u.b, u.v}) {
						if reaches(g, append(gorgonia.Nodes{f}, gs...), x) {
							parameters = append(parameters, x)
						}
					}
					return graph.Definition{Objective: f, Constraints: gs, Parameters: parameters}, nil
				})
				_, m := problem.Dims()
				weights := weightsOf(m)
				want := tape(t, problem, weights)
				for _, block := range []int{0, 4} {
					compare(t, reference[float64](t, p, block, weights), want, 1e-12, p)
				}
				opaque := 0
				each(p, func(s plan.Step) {
					if _, ok := s.(*plan.Opaque); ok {
						opaque++
					}
				})
				if opaque != test.opaque {
					t.Errorf("%d opaque steps, want %d\n%v", opaque, test.opaque, p)
				}
			})
		}
	}
}

// reaches reports whether one of the outputs depends on x.
func reaches(g *gorgonia.ExprGraph, outputs gorgonia.Nodes, x *gorgonia.Node) bool {
	for _, n := range outputs {
		if n == x {
			return true
		}
		var children gorgonia.Nodes
		for it := g.From(n.ID()); it != nil && it.Next(); {
			children = append(children, it.Node().(*gorgonia.Node))
		}
		if reaches(g, children, x) {
			return true
		}
	}
	return false
}

// Two data matrices with different numbers of rows share the parameters, so the plan has two row
// spaces.
func TestTwoBlocksOfData(t *testing.T) {
	problem, p := lower(t, func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		rng := rand.New(rand.NewPCG(7, 7))
		w := matrix(g, tensor.Float64, "w", 4, 3, normals(rng, 12))
		loss := func(name string, n int) *gorgonia.Node {
			x := matrix(g, tensor.Float64, name, n, 4, normals(rng, 4*n))
			return must(gorgonia.Mean(must(gorgonia.Square(must(gorgonia.Tanh(must(gorgonia.Mul(x, w))))))))
		}
		return graph.Definition{Objective: loss("x0", 9), Constraints: gorgonia.Nodes{loss("x1", 5)}, Parameters: gorgonia.Nodes{w}}, nil
	})
	weights := weightsOf(1)
	want := tape(t, problem, weights)
	for _, block := range []int{0, 2} {
		compare(t, reference[float64](t, p, block, weights), want, 1e-12, p)
	}
	if regions, products := count(p.Backward); regions != 2 || products != 2 {
		t.Errorf("backward: %d regions with %d products, want 2 with 2\n%v", regions, products, p)
	}
}

// Any node can be watched: an input, a node inside a fused pass, a part of another node.
func TestWatchAnything(t *testing.T) {
	problem, p := lower(t, func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		rng := rand.New(rand.NewPCG(7, 7))
		x, w := matrix(g, tensor.Float64, "x", 7, 4, normals(rng, 28)), matrix(g, tensor.Float64, "w", 4, 3, normals(rng, 12))
		other := matrix(g, tensor.Float64, "other", 4, 3, normals(rng, 12))
		z, y := must(gorgonia.Mul(x, w)), must(gorgonia.Mul(x, other))
		a := must(gorgonia.Rectify(z))
		f := must(gorgonia.Mean(must(gorgonia.Square(a))))
		return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{f, must(gorgonia.Mean(must(gorgonia.Tanh(y))))},
			Parameters: gorgonia.Nodes{w, other}, Watch: gorgonia.Nodes{x, z, y, a, w}}, nil
	})
	weights := weightsOf(2)
	compare(t, reference[float64](t, p, 3, weights), tape(t, problem, weights), 1e-12, p)
}

// Groups may overlap, weigh their rows, and leave rows in no group.
func TestGroups(t *testing.T) {
	for _, weights := range [][]float64{nil, {0.5, -2, 1}} {
		problem, p := lower(t, func(g *gorgonia.ExprGraph) (d graph.Definition, err error) {
			rng := rand.New(rand.NewPCG(7, 7))
			x, w := matrix(g, tensor.Float64, "x", 8, 4, normals(rng, 32)), matrix(g, tensor.Float64, "w", 4, 2, normals(rng, 8))
			scores := must(gorgonia.Mul(x, w))
			loss, err := constraints.NewMarginLoss([]int{0, 1, 0, 0, 1, 1, 0, 1}, 2, constraints.Logistic)
			if err != nil {
				return d, err
			}
			losses := must(loss.Apply(scores))
			all, err := constraints.NewMembership(8, []constraints.Group{{Name: "all", Rows: []int{0, 1, 2, 3, 4, 5, 6, 7}}})
			if err != nil {
				return d, err
			}
			some, err := constraints.NewMembership(8, []constraints.Group{{Name: "a", Rows: []int{5, 1, 2}, Weights: weights}, {Name: "b", Rows: []int{2}},
				{Name: "c", Rows: []int{7, 5}}})
			if err != nil {
				return d, err
			}
			mean, err := constraints.NewGroupMean(all, 0)
			if err != nil {
				return d, err
			}
			means, err := constraints.NewGroupMeans(some, []float64{0.1, 0.2, 0.3})
			if err != nil {
				return d, err
			}
			return graph.Definition{Objective: must(mean.Apply(losses)), Constraints: gorgonia.Nodes{must(means.Apply(losses))},
				Parameters: gorgonia.Nodes{w}}, nil
		})
		lambda := weightsOf(3)
		want := tape(t, problem, lambda)
		for _, block := range []int{0, 3} {
			compare(t, reference[float64](t, p, block, lambda), want, 1e-12, p)
		}
	}
}

func TestLowerRefuses(t *testing.T) {
	g := gorgonia.NewGraph()
	single := gorgonia.NewScalar(g, tensor.Float32, gorgonia.WithName("single"))
	double := must(gorgonia.ConvType(single, tensor.Float32, tensor.Float64))
	x := gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("x"))
	good := plan.Source{Graph: g, Dtype: tensor.Float64, Objective: x, Parameters: gorgonia.Nodes{x}, Gradients: gorgonia.Nodes{x}}
	require.Value(plan.Lower(good))(t)
	for _, test := range []struct {
		want   string
		damage func(s *plan.Source)
	}{
		{"is of float32", func(s *plan.Source) { s.Objective = double }},
		{"gradient for each", func(s *plan.Source) { s.Gradients = nil }},
		{"want an input node", func(s *plan.Source) { s.Inputs = gorgonia.Nodes{single} }},
		{"not of int", func(s *plan.Source) { s.Dtype = tensor.Int }},
	} {
		s := good
		test.damage(&s)
		if _, err := plan.Lower(s); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want an error with %q", err, test.want)
		}
	}
}
