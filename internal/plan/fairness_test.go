package plan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
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
