package plan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/plan"
	"ppal/models"
	"ppal/trainer/graph"
)

// fairNodes adds a fairness problem to the graph of the scores.
type fairNodes func(scores *gorgonia.Node, rows constraints.Rows) (f, g *gorgonia.Node, inputs gorgonia.Nodes, err error)

// plain returns a problem without additional inputs.
func plain(nodes func(*gorgonia.Node, constraints.Rows) (f, g *gorgonia.Node, err error)) fairNodes {
	return func(scores *gorgonia.Node, rows constraints.Rows) (f, g *gorgonia.Node, inputs gorgonia.Nodes, err error) {
		f, g, err = nodes(scores, rows)
		return f, g, nil, err
	}
}

// sampled returns the problem of one drawn group.
func sampled(p *constraints.Intersectional) fairNodes {
	return func(scores *gorgonia.Node, rows constraints.Rows) (f, g *gorgonia.Node, inputs gorgonia.Nodes, err error) {
		f, g, weights, err := p.SampledNodes(scores, rows)
		if err != nil {
			return nil, nil, nil, err
		}
		draws, err := p.NewDraws(rows, scores.Dtype(), 1)
		if err != nil {
			return nil, nil, nil, err
		}
		return f, g, gorgonia.Nodes{weights}, gorgonia.Let(weights, draws.Weights(3))
	}
}

// fairProblems returns problems of all kinds and forms. The groups have one row, several rows or
// all rows.
func fairProblems(t *testing.T) map[string]fairNodes {
	t.Helper()
	list := map[string]fairNodes{}
	two := []string{"0", "1"}
	for _, phi := range constraints.Phis() {
		for _, form := range constraints.GapForms() {
			parity, err := constraints.NewDemographicParity(two, 0.1, constraints.Logistic, phi, form)
			if err != nil {
				t.Fatal(err)
			}
			odds, err := constraints.NewEqualizedOdds(two, []float64{0.1}, constraints.Hinge, phi, form)
			if err != nil {
				t.Fatal(err)
			}
			list[fmt.Sprintf("parity/%v/%v", phi, form)] = plain(parity.Nodes)
			list[fmt.Sprintf("odds/%v/%v", phi, form)] = plain(odds.Nodes)
		}
		for _, form := range constraints.GroupForms() {
			groups, err := constraints.NewIntersectional([]string{"0", "1", "2"}, []float64{0.1}, constraints.Hinge, phi, form)
			if err != nil {
				t.Fatal(err)
			}
			list[fmt.Sprintf("groups/%v/%v", phi, form)] = plain(groups.Nodes)
			if form == constraints.Expectation {
				list[fmt.Sprintf("groups/%v/sampled", phi)] = sampled(groups)
			}
		}
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
		rows := constraints.Rows{Groups: []constraints.Group{{Name: "0"}, {Name: "1"}, {Name: "2", Rows: []int{4}}}}
		overlap := name[:6] == "groups"
		for i := range n {
			rows.Labels = append(rows.Labels, 1-2*(i/2%2))
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
	for name, nodes := range fairProblems(t) {
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
