package constraints_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// everyRate lists constraints that need every kind of cell of two classes.
var everyRate = []string{"positive_rate <= 0.5", "tpr[u=x] >= 0.1", "fpr <= 0.9", "tnr[c0] >= 0.1", "fnr <= 0.9", "precision >= 0.2",
	"error[v=1] <= 0.5", "accuracy[c0] >= 0.2", "gap(tpr, v) <= 0.1", "ratio(positive_rate, u) >= 0.3",
	"churn(old) <= 0.4", "excess(error, groups) <= 0.1", "distance(tpr, v) <= 0.1"}

// everyClassRate lists such constraints for more than two classes.
var everyClassRate = []string{"positive_rate[*] <= 0.5", "recall[c1, u=x] >= 0.1", "fpr[c2] <= 0.9", "tnr[c0] >= 0.1", "precision[c1] >= 0.2",
	"error[v=1] <= 0.5", "accuracy >= 0.2", "gap(error, v) <= 0.1", "ratio(positive_rate[c1], u) >= 0.3",
	"churn(old) <= 0.4", "excess(error, groups) <= 0.1", "distance(recall[c1], v) <= 0.1"}

// systems returns systems of two and three classes on random rows, with and without losses.
func systems(t testing.TB, rng *rand.Rand) (list []*constraints.System, rows []*constraints.Population) {
	for _, classes := range []int{2, 3} {
		for _, minimized := range []string{"fnr[c1]", "loss", "balanced_error[c1]"} {
			p := &constraints.Population{Attributes: []constraints.Attribute{{Name: "u", Values: []string{"x", "y"}}, {Name: "v", Values: []string{"1", "2", "3"}}}}
			for c := range classes {
				p.Classes = append(p.Classes, fmt.Sprintf("c%d", c))
			}
			old := []int{}
			p.Groups = []constraints.Group{{Name: "first", Rows: []int{0, 1, 2, 3, 4, 5, 6}}, {Name: "middle", Rows: []int{5, 6, 30, 31, 32}}}
			for i := range 60 {
				p.Labels = append(p.Labels, i%classes)
				p.Attributes[0].Of = append(p.Attributes[0].Of, i/3%2)
				p.Attributes[1].Of = append(p.Attributes[1].Of, i/7%4-1)
				old = append(old, rng.IntN(classes+1)-1)
			}
			p.Earlier = map[string][]int{"old": old}
			minimize := require.Value(constraints.ParseRate(minimized))(t)
			texts := everyRate
			if classes > 2 {
				texts = everyClassRate
			}
			if minimized == "loss" {
				texts = append([]string{"loss[u=x] <= 1", "loss[c0] <= 1"}, texts...)
			}
			var subject []constraints.Constraint
			for _, text := range texts {
				c := require.Value(constraints.Parse(text))(t)
				subject = append(subject, c)
			}
			s := require.Value(constraints.NewSystem(minimize, subject, p))(t)
			list, rows = append(list, s), append(rows, p)
		}
	}
	return list, rows
}

// onScores returns a problem whose parameters are the scores [n, C].
func onScores(t testing.TB, s *constraints.System, p *constraints.Population, dtype tensor.Dtype, engine graph.Engine, scores []float64) *graph.Problem {
	t.Helper()
	return scored(t, s, p, dtype, engine, scores, func(sample *constraints.Sample, n *gorgonia.Node) (*gorgonia.Node, gorgonia.Nodes, error) {
		f, rates, err := sample.Nodes(n)
		return f, gorgonia.Nodes{rates}, err
	})
}

// scored returns a problem with the given nodes, whose parameters are the scores [n, C].
func scored(t testing.TB, s *constraints.System, p *constraints.Population, dtype tensor.Dtype, engine graph.Engine, scores []float64,
	nodes func(sample *constraints.Sample, n *gorgonia.Node) (*gorgonia.Node, gorgonia.Nodes, error)) *graph.Problem {
	t.Helper()
	sample := require.Value(s.On(p))(t)
	problem := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		cols := len(scores) / p.Len()
		n := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("scores"), gorgonia.WithShape(p.Len(), cols), gorgonia.WithValue(tensorOf(dtype, scores, p.Len(), cols)))
		f, bounded, err := nodes(sample, n)
		return graph.Definition{Objective: f, Constraints: bounded, Parameters: gorgonia.Nodes{n}}, err
	}, engine))(t)
	return problem
}

func tensorOf(dtype tensor.Dtype, values []float64, shape ...int) *tensor.Dense {
	if dtype == tensor.Float64 {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(append([]float64(nil), values...)))
	}
	single := make([]float32, len(values))
	for i, v := range values {
		single[i] = float32(v)
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(single))
}

// engines returns the engines under test: the CPU's plan and Gorgonia's own machine.
func engines(t testing.TB) map[string]graph.Engine {
	plan := require.Value(graph.CPU(2))(t)
	return map[string]graph.Engine{"plan": plan, "tape": graph.Tape{}}
}

// shapesOf returns the numbers of scores per row to test: 1 or 2 for two classes, otherwise one
// score for each class.
func shapesOf(p *constraints.Population) []int {
	if len(p.Classes) == 2 {
		return []int{1, 2}
	}
	return []int{len(p.Classes)}
}

// TestNodes compares the nodes on both engines, in both types, with the host's formulas, and their
// gradients with finite differences.
func TestNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	list, rows := systems(t, rng)
	for k, s := range list {
		p := rows[k]
		for _, cols := range shapesOf(p) {
			scores := make([]float64, p.Len()*cols)
			for i := range scores {
				scores[i] = float64(float32(3 * rng.NormFloat64()))
			}
			sample := require.Value(s.On(p))(t)
			smooth := func(scores []float64) []float64 {
				f, h, err := sample.Smooth(scores)
				require.NoError(t, err)
				return append([]float64{f}, h...)
			}
			want := smooth(scores)
			weights := make([]float64, len(want))
			for r := range weights {
				weights[r] = rng.NormFloat64()
			}
			differences := make([]float64, len(scores))
			const h = 1e-5
			for i := range scores {
				x := scores[i]
				scores[i] = x + h
				up := smooth(scores)
				scores[i] = x - h
				down := smooth(scores)
				scores[i] = x
				for r, w := range weights {
					differences[i] += w * (up[r] - down[r]) / (2 * h)
				}
			}
			for name, engine := range engines(t) {
				for _, dtype := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
					tolerance := 1e-9
					if dtype == tensor.Float32 {
						tolerance = 3e-6
					}
					q := onScores(t, s, p, dtype, engine, scores)
					got := make([]float64, len(s.Rates))
					f := require.Value(q.Forward(got))(t)
					for r, v := range append([]float64{f}, got...) {
						if math.IsNaN(v) || math.Abs(v-want[r]) > tolerance {
							t.Errorf("system %d, %d scores, %s, %v: value %d (%s) is %v, want %v", k, cols, name, dtype, r, s.Rates[max(0, r-1)].Name, v, want[r])
						}
					}
					d := q.Space().New()
					require.NoError(t, q.Backward(weights, d))
					gradient := make([]float64, len(scores))
					q.Space().Read(gradient, d)
					for i, g := range gradient {
						if math.IsNaN(g) || math.Abs(g-differences[i]) > 1e-8+tolerance {
							t.Fatalf("system %d, %d scores, %s, %v: gradient %d is %v, want %v", k, cols, name, dtype, i, g, differences[i])
						}
					}
				}
			}
		}
	}
}

// TestLossNode compares the mean loss and its gradient with the formulas of the logistic loss and
// of the cross-entropy, on both engines and in both types.
func TestLossNode(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	list, rows := systems(t, rng)
	for k, s := range list {
		p := rows[k]
		n := float64(p.Len())
		for _, cols := range shapesOf(p) {
			scores := make([]float64, p.Len()*cols)
			for i := range scores {
				scores[i] = float64(float32(3 * rng.NormFloat64()))
			}
			want, gradient := 0.0, make([]float64, len(scores))
			for i, y := range p.Labels {
				if cols == 1 {
					sign := float64(2*y - 1)
					want += math.Log1p(math.Exp(-sign*scores[i])) / n
					gradient[i] = -sign / (1 + math.Exp(sign*scores[i])) / n
					continue
				}
				own, sum := scores[i*cols:(i+1)*cols], 0.0
				for _, v := range own {
					sum += math.Exp(v)
				}
				want += (math.Log(sum) - own[y]) / n
				for j, v := range own {
					gradient[i*cols+j] = math.Exp(v) / sum / n
				}
				gradient[i*cols+y] -= 1 / n
			}
			for name, engine := range engines(t) {
				for _, dtype := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
					tolerance := 1e-12
					if dtype == tensor.Float32 {
						tolerance = 1e-6
					}
					q := scored(t, s, p, dtype, engine, scores, func(sample *constraints.Sample, n *gorgonia.Node) (*gorgonia.Node, gorgonia.Nodes, error) {
						loss, err := sample.LossNode(n)
						return loss, nil, err
					})
					got := require.Value(q.Forward(nil))(t)
					if math.IsNaN(got) || math.Abs(got-want) > tolerance*(1+want) {
						t.Errorf("system %d, %d scores, %s, %v: the loss is %v, want %v", k, cols, name, dtype, got, want)
					}
					d := q.Space().New()
					require.NoError(t, q.Backward([]float64{1}, d))
					slopes := make([]float64, len(scores))
					q.Space().Read(slopes, d)
					for i, v := range slopes {
						if math.IsNaN(v) || math.Abs(v-gradient[i]) > tolerance {
							t.Fatalf("system %d, %d scores, %s, %v: slope %d is %v, want %v", k, cols, name, dtype, i, v, gradient[i])
						}
					}
				}
			}
		}
	}
}

// TestLossNodeRefuses checks that scores of another shape are refused.
func TestLossNodeRefuses(t *testing.T) {
	list, rows := systems(t, rand.New(rand.NewPCG(17, 18)))
	sample := require.Value(list[0].On(rows[0]))(t)
	g := gorgonia.NewGraph()
	n := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(rows[0].Len()+1, 1))
	if _, err := sample.LossNode(n); err == nil || !strings.Contains(err.Error(), "scores of shape") {
		t.Errorf("error %v", err)
	}
}

// TestSharpScoresCountDecisions checks that the smooth rates of large scores equal the counted
// rates, without overflow, in both types and on both engines.
func TestSharpScoresCountDecisions(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	list, rows := systems(t, rng)
	for k, s := range list {
		if s.NeedsSmooth() {
			continue
		}
		p := rows[k]
		sample := require.Value(s.On(p))(t)
		for _, cols := range shapesOf(p) {
			scores := make([]float64, p.Len()*cols)
			for i := range scores {
				scores[i] = float64(1+rng.IntN(1000)) * math.Copysign(1000, rng.Float64()-0.5)
			}
			decisions := require.Value(sample.Decide(scores))(t)
			counted := require.Value(sample.Count(decisions))(t)
			for name, engine := range engines(t) {
				for _, dtype := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
					q := onScores(t, s, p, dtype, engine, scores)
					got := make([]float64, len(s.Rates))
					f := require.Value(q.Forward(got))(t)
					if math.Abs(f-counted.Objective.Value) > 1e-6 {
						t.Errorf("%s %v: the objective is %v, want %v", name, dtype, f, counted.Objective.Value)
					}
					for r, v := range got {
						if math.IsNaN(v) || math.Abs(v-counted.Terms[r]) > 1e-6 {
							t.Errorf("%s %v, %d scores: %s is %v, counted %v", name, dtype, cols, s.Rates[r].Name, v, counted.Terms[r])
						}
					}
					d := q.Space().New()
					ones := make([]float64, 1+len(got))
					for r := range ones {
						ones[r] = 1
					}
					require.NoError(t, q.Backward(ones, d))
					gradient := make([]float64, len(scores))
					q.Space().Read(gradient, d)
					for i, g := range gradient {
						if math.IsNaN(g) || math.IsInf(g, 0) {
							t.Fatalf("%s %v: gradient %d is %v", name, dtype, i, g)
						}
					}
				}
			}
		}
	}
}

// TestNodesRunOnThePlan checks that the plan knows every op of the nodes. Every device then runs
// the ops with its own kernels.
func TestNodesRunOnThePlan(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	list, rows := systems(t, rng)
	for k, s := range list {
		for _, cols := range shapesOf(rows[k]) {
			q := onScores(t, s, rows[k], tensor.Float32, engines(t)["plan"], make([]float64, rows[k].Len()*cols))
			for _, op := range []string{"Softmax", "RowMaximum", "ClassColumn", "ShiftedExp", "CrossEntropy"} {
				if text := q.Explain(); strings.Contains(text, op) {
					t.Errorf("system %d, %d scores: the plan does not know %s:\n%s", k, cols, op, text)
				}
			}
		}
	}
}

// TestEntriesAreTheCells compares the entries of the rows with the counts of the cells.
func TestEntriesAreTheCells(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	list, rows := systems(t, rng)
	for k, s := range list {
		p := rows[k]
		sample := require.Value(s.On(p))(t)
		decisions := make([]int, p.Len())
		for i := range decisions {
			decisions[i] = rng.IntN(len(p.Classes))
		}
		smooth := make([]float64, s.Terms())
		counted := require.Value(sample.CountWith(decisions, smooth))(t)
		got := make([]float64, len(s.Rates))
		entries := sample.Entries()
		for i, d := range decisions {
			for _, e := range entries(i) {
				if e.Class == d {
					got[e.Rate] += e.Weight
				}
			}
		}
		for r, v := range got {
			if math.Abs(v-counted.Terms[r]) > 1e-12 {
				t.Errorf("system %d: %s is %v, counted %v", k, s.Rates[r].Name, v, counted.Terms[r])
			}
		}
	}
}

// TestComposed shows, without training, that the nodes combine with other nodes of the same graph.
func TestComposed(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	list, rows := systems(t, rng)
	s, p := list[0], rows[0]
	sample := require.Value(s.On(p))(t)
	q := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		n := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(p.Len(), 1), gorgonia.WithValue(tensorOf(tensor.Float64, make([]float64, p.Len()), p.Len(), 1)))
		f, rates, err := sample.Nodes(n)
		if err != nil {
			return graph.Definition{}, err
		}
		energy, err := gorgonia.Mean(gorgonia.Must(gorgonia.Square(n)))
		if err != nil {
			return graph.Definition{}, err
		}
		f, err = gorgonia.Add(f, energy)
		return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{rates, energy}, Parameters: gorgonia.Nodes{n}}, err
	}, engines(t)["plan"]))(t)
	if m := problem.Constraints(q); m != len(s.Rates)+1 {
		t.Errorf("%d terms, want %d", m, len(s.Rates)+1)
	}
}
