package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// fairNodes adds a fairness problem to the graph of the scores.
type fairNodes func(scores *gorgonia.Node, rows *constraints.Population) (f, g *gorgonia.Node, inputs gorgonia.Nodes, err error)

// plain returns a problem without additional inputs.
func plain(goal graphcases.Goal) fairNodes {
	return func(scores *gorgonia.Node, rows *constraints.Population) (f, g *gorgonia.Node, inputs gorgonia.Nodes, err error) {
		f, g, err = goal.Nodes(scores, rows)
		return f, g, nil, err
	}
}

// sampled returns the problem of one drawn group.
func sampled(goal graphcases.Goal) fairNodes {
	return func(scores *gorgonia.Node, rows *constraints.Population) (f, g *gorgonia.Node, inputs gorgonia.Nodes, err error) {
		system, err := goal(rows)
		if err != nil {
			return nil, nil, nil, err
		}
		sample, err := system.On(rows)
		if err != nil {
			return nil, nil, nil, err
		}
		f, g, weights, err := sample.SampledNodes(scores)
		if err != nil {
			return nil, nil, nil, err
		}
		draws, err := sample.NewDraws(scores.Dtype(), 1)
		if err != nil {
			return nil, nil, nil, err
		}
		return f, g, gorgonia.Nodes{weights}, gorgonia.Let(weights, draws.Weights(3))
	}
}

// fairProblems returns problems of all kinds and forms. The groups have one row, several rows or
// all rows.
func fairProblems() map[string]fairNodes {
	list := map[string]fairNodes{}
	for _, phi := range constraints.Phis() {
		for _, form := range constraints.Forms() {
			list[fmt.Sprintf("parity/%v/%v", phi, form)] = plain(graphcases.Parity(0.1, constraints.Margins{Objective: constraints.Logistic, Constraints: phi, Form: form}))
			list[fmt.Sprintf("odds/%v/%v", phi, form)] = plain(graphcases.Odds(0.1, 0.1, constraints.Margins{Objective: constraints.Hinge, Constraints: phi, Form: form}))
		}
		of := constraints.Margins{Objective: constraints.Hinge, Constraints: phi}
		list[fmt.Sprintf("groups/%v/each", phi)] = plain(graphcases.Groups(0.1, of))
		list[fmt.Sprintf("groups/%v/expectation", phi)] = plain(graphcases.MeanOfGroups(0.1, of))
		list[fmt.Sprintf("groups/%v/sampled", phi)] = sampled(graphcases.MeanOfGroups(0.1, of))
	}
	return list
}

func buildFair(dtype tensor.Dtype, nodes fairNodes, name string) func(g *gorgonia.ExprGraph) (graph.Definition, error) {
	return func(g *gorgonia.ExprGraph) (d graph.Definition, err error) {
		const n, features = 13, 4
		rng := rand.New(rand.NewPCG(1, 8))
		spec := models.Spec{Inputs: features, Hidden: []int{3}, Outputs: 1, Activation: models.ReLU}
		weights, err := models.Init(spec, rng)
		if err != nil {
			return d, err
		}
		for _, w := range weights {
			for i, x := range w.Data {
				w.Data[i] = float64(float32(x))
			}
		}
		net, err := models.New(g, spec, dtype, weights)
		if err != nil {
			return d, err
		}
		x := matrix(g, dtype, "x", n, features, normals(rng, n*features))
		scores, err := net.Scores(x, nil)
		if err != nil {
			return d, err
		}
		rows := &constraints.Population{Classes: []string{"no", "yes"}, Groups: []constraints.Group{{Name: "0"}, {Name: "1"}, {Name: "2", Rows: []int{4}}}}
		overlap := name[:6] == "groups"
		for i := range n {
			rows.Labels = append(rows.Labels, 1-i/2%2)
			if i%2 == 0 || overlap {
				rows.Groups[0].Rows = append(rows.Groups[0].Rows, i)
			}
			if i%2 == 1 || overlap && i%3 == 0 {
				rows.Groups[1].Rows = append(rows.Groups[1].Rows, i)
			}
		}
		if !overlap {
			rows.Groups = rows.Groups[:2]
		}
		f, c, inputs, err := nodes(scores, rows)
		return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: net.Parameters(),
			Inputs: append(gorgonia.Nodes{x}, inputs...)}, err
	}
}

// The plan knows every op of the fairness problems. It runs each problem in one forward pass and
// one backward pass over the rows.
func TestFairnessProblems(t *testing.T) {
	for name, nodes := range fairProblems() {
		t.Run(name, func(t *testing.T) {
			problem, p := lower(t, buildFair(tensor.Float64, nodes, name))
			_, single := lower(t, buildFair(tensor.Float32, nodes, name))
			_, m := problem.Dims()
			weights := weightsOf(m)
			want := tape(t, problem, weights)
			for _, block := range []int{0, 5} {
				compare(t, reference[float64](t, p, block, weights), want, 1e-12, p)
				compare(t, reference[float32](t, single, block, weights), want, 2e-5, single)
			}
			each(p, func(s plan.Step) {
				if o, opaque := s.(*plan.Opaque); opaque {
					t.Errorf("%T %v is not recognised", o.Op, o.Op)
				}
			})
			forward, _ := count(p.Forward)
			backward, _ := count(p.Backward)
			if forward != 1 || backward != 1 {
				t.Errorf("%d passes over the rows forward and %d backward, want 1 and 1\n%v", forward, backward, p)
			}
		})
	}
}

// The plans of problems on pairs give the values of Gorgonia's machine, without opaque steps. Their
// rows cannot be divided among processes that have only their own rows.
func TestPairs(t *testing.T) {
	for i, c := range graphcases.Ranked() {
		r := graphcases.Rankings()[i]
		t.Run(c.Name, func(t *testing.T) {
			var l *graph.Lagrangian
			problem := require.Value(c.Problem(tensor.Float64, capture{halves: &l}))(t)
			p := require.Value(graphcases.Lower(l))(t)
			if err := p.Check(); err != nil {
				t.Fatalf("%v\n%v", err, p)
			}
			_, m := problem.Dims()
			weights := weightsOf(m)
			want := tape(t, problem, weights)
			for _, block := range []int{0, 4} {
				compare(t, reference[float64](t, p, block, weights), want, 1e-12, p)
			}
			means, slopes := 0, 0
			each(p, func(s plan.Step) {
				switch s.(type) {
				case *plan.PairMeans:
					means++
				case *plan.PairMeansGrad:
					slopes++
				case *plan.Opaque:
					t.Errorf("opaque: %v", s)
				}
			})
			if surrogates := map[bool]int{true: 1, false: 2}[r.Objective == r.Constraints]; means != surrogates || slopes != surrogates {
				t.Errorf("%d means and %d derivatives for %d surrogates\n%v", means, slopes, surrogates, p)
			}
			if _, err := p.Divide(2, 0); err == nil || !strings.Contains(err.Error(), "reads all rows of") {
				t.Errorf("divided: %v", err)
			}
		})
	}
}

// Convolutions and max-pooling have steps of their own. The loops that define the steps give the
// values and gradients of Gorgonia's machine.
func TestConvolutions(t *testing.T) {
	for _, c := range graphcases.PictureCases() {
		if c.Name == "parts" {
			continue // slow in plain loops
		}
		t.Run(c.Name, func(t *testing.T) {
			var l *graph.Lagrangian
			problem := require.Value(c.Problem(tensor.Float64, capture{halves: &l}))(t)
			p := require.Value(graphcases.Lower(l))(t)
			if err := p.Check(); err != nil {
				t.Fatalf("%v\n%v", err, p)
			}
			each(p, func(s plan.Step) {
				if _, opaque := s.(*plan.Opaque); opaque {
					t.Errorf("an opaque step: %v", s)
				}
			})
			weights := weightsOf(1)
			want := tape(t, problem, weights)
			for _, block := range []int{0, 2} {
				compare(t, reference[float64](t, p, block, weights), want, 1e-12, p)
			}
		})
	}
}

// A convolution of the picture 1 2 3 / 4 5 6 / 7 8 9 with the filter 1 0 / 2 -1, and its
// derivatives, computed by hand.
func TestConvolutionByHand(t *testing.T) {
	var x, f *gorgonia.Node
	_, p := lower(t, func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		four := func(name string, h, w int, data ...float64) *gorgonia.Node {
			return gorgonia.NewTensor(g, tensor.Float64, 4, gorgonia.WithName(name), gorgonia.WithShape(1, 1, h, w),
				gorgonia.WithValue(tensor.New(tensor.WithShape(1, 1, h, w), tensor.WithBacking(data))))
		}
		x, f = four("x", 3, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9), four("f", 2, 2, 1, 0, 2, -1)
		y := must(gorgonia.Conv2d(x, f, tensor.Shape{2, 2}, []int{0, 0}, []int{1, 1}, []int{1, 1}))
		weighted := must(gorgonia.HadamardProd(y, four("d", 2, 2, 1, 10, 100, 1000)))
		return graph.Definition{Objective: must(gorgonia.Sum(weighted)), Parameters: gorgonia.Nodes{x, f}, Watch: gorgonia.Nodes{y}}, nil
	})
	got := reference[float64](t, p, 0, []float64{1})
	if want := []float64{4 + 60 + 1000 + 12000, 4, 6, 10, 12}; !slices.Equal(got.values, want) {
		t.Errorf("values %v, want %v", got.values, want)
	}
	want := []float64{1, 10, 0, 102, 1019, -10, 200, 1900, -1000, 5421, 6532, 8754, 9865}
	if !slices.Equal(got.gradient, want) {
		t.Errorf("gradient %v, want %v", got.gradient, want)
	}
}

// binary is a model with one score for each row, a mean loss and a gap between two rates.
type binary struct {
	spec       models.Spec
	loss, rate constraints.Phi
	n          int
	vector     bool // the scores are [n]
}

func (c binary) String() string {
	return fmt.Sprintf("%d-%v/%v/%v/n=%d/vector=%v", c.spec.Inputs, c.spec.Hidden, c.loss, c.rate, c.n, c.vector)
}

func (c binary) build(dtype tensor.Dtype) func(g *gorgonia.ExprGraph) (graph.Definition, error) {
	return func(g *gorgonia.ExprGraph) (d graph.Definition, err error) {
		rng := rand.New(rand.NewPCG(4, uint64(c.n)))
		weights, err := models.Init(c.spec, rng)
		if err != nil {
			return d, err
		}
		for _, w := range weights {
			for i, x := range w.Data {
				w.Data[i] = float64(float32(x))
			}
		}
		net, err := models.New(g, c.spec, dtype, weights)
		if err != nil {
			return d, err
		}
		scores, err := net.Scores(matrix(g, dtype, "x", c.n, c.spec.Inputs, normals(rng, c.n*c.spec.Inputs)), nil)
		if err != nil {
			return d, err
		}
		if c.vector {
			scores = must(gorgonia.Reshape(scores, tensor.Shape{c.n}))
		}
		labels, all, gap := make([]int, c.n), constraints.Group{}, constraints.Group{}
		for i := range labels {
			labels[i] = 1 - 2*(i%2) // the first label is not -1, so the loss differs from the rate
			all.Rows = append(all.Rows, i)
			if i%3 != 0 || c.n == 1 {
				gap.Rows, gap.Weights = append(gap.Rows, i), append(gap.Weights, float64(i%3)-1.5)
			}
		}
		loss, err := constraints.NewSignedLoss(labels, c.loss)
		if err != nil {
			return d, err
		}
		rates, err := constraints.NewRates(c.n, c.rate)
		if err != nil {
			return d, err
		}
		mean, err := meanOf(must(loss.Apply(scores)), all)
		if err != nil {
			return d, err
		}
		h, err := meanOf(must(rates.Apply(scores)), gap)
		return graph.Definition{Objective: mean, Constraints: gorgonia.Nodes{h}, Parameters: net.Parameters(),
			Watch: gorgonia.Nodes{scores}}, err
	}
}

func meanOf(values *gorgonia.Node, group constraints.Group) (*gorgonia.Node, error) {
	m, err := constraints.NewMembership(values.Shape()[0], []constraints.Group{group})
	if err != nil {
		return nil, err
	}
	op, err := constraints.NewGroupMean(m, 0)
	if err != nil {
		return nil, err
	}
	return op.Apply(values)
}

// Losses of one score for each row have typed steps. The plan adds up their derivatives in place.
func TestSignedLosses(t *testing.T) {
	for _, spec := range []models.Spec{{Inputs: 3, Outputs: 1}, {Inputs: 4, Hidden: []int{5}, Outputs: 1, Activation: models.ReLU}} {
		for _, loss := range constraints.Phis() {
			for _, rate := range constraints.Phis() {
				for _, n := range []int{1, 2, 11} {
					for _, vector := range []bool{false, true} {
						c := binary{spec, loss, rate, n, vector}
						t.Run(c.String(), func(t *testing.T) { c.agree(t) })
					}
				}
			}
		}
	}
}

func (c binary) agree(t *testing.T) {
	problem, p := lower(t, c.build(tensor.Float64))
	_, single := lower(t, c.build(tensor.Float32))
	weights := weightsOf(1)
	want := tape(t, problem, weights)
	for _, block := range []int{0, 4} {
		compare(t, reference[float64](t, p, block, weights), want, 1e-12, p)
		compare(t, reference[float32](t, single, block, weights), want, 2e-5, single)
	}
	losses, gradients, added := 0, 0, 0
	each(p, func(s plan.Step) {
		switch s := s.(type) {
		case *plan.SignedLoss:
			losses++
		case *plan.SignedLossGrad:
			gradients++
			if s.Add {
				added++
			}
		case *plan.Opaque:
			t.Errorf("%v is not recognised", s)
		}
	})
	if losses != 2 || gradients != 2 || added != 1 {
		t.Errorf("%d losses, %d derivatives of which %d added, want 2, 2 and 1\n%v", losses, gradients, added, p)
	}
}
