package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

func TestAgreesWithTape(t *testing.T) {
	networks(t, func(t *testing.T, c network) {
		agree(t, c, 3, []int{0, 4})
	})
}

// agree compares the plans of both dtypes with the tape in float64.
func agree(t *testing.T, c network, seed uint64, blocks []int) {
	problem, p := lower(t, c.build(tensor.Float64, seed))
	each(p, func(s plan.Step) {
		if o, opaque := s.(*plan.Opaque); opaque {
			t.Errorf("%T %v (nodes %v) has no typed step", o.Op, o.Op, s.Nodes())
		}
	})
	_, m := problem.Dims()
	weights := weightsOf(m)
	want := tape(t, problem, weights)
	_, single := lower(t, c.build(tensor.Float32, seed))
	for _, block := range blocks {
		compare(t, reference[float64](t, p, block, weights), want, 1e-12, p)
		compare(t, reference[float32](t, single, block, weights), want, 2e-5, single)
	}
}

// The test draws widths, numbers of rows and numbers of classes at random.
func TestRandomShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 13))
	for range 60 {
		c := network{phi: constraints.Phis()[rng.IntN(3)], centered: rng.IntN(2) == 0}
		c.spec = models.Spec{Inputs: 1 + rng.IntN(13), Outputs: 2 + rng.IntN(4)}
		for range rng.IntN(4) {
			c.spec.Hidden = append(c.spec.Hidden, 1+rng.IntN(17))
		}
		if len(c.spec.Hidden) > 0 {
			c.spec.Activation = []models.Activation{models.Sigmoid, models.ReLU, models.Tanh}[rng.IntN(3)]
			c.spec.Heads = []models.Heads{models.Shared, models.Separate}[rng.IntN(2)]
		}
		for class := range c.spec.Outputs {
			for range 1 + rng.IntN(9) {
				c.labels = append(c.labels, class)
			}
		}
		if rng.IntN(2) == 0 {
			rng.Shuffle(len(c.labels), func(i, j int) { c.labels[i], c.labels[j] = c.labels[j], c.labels[i] })
		}
		seed, block := rng.Uint64(), 1+rng.IntN(12)
		t.Run(c.String(), func(t *testing.T) { agree(t, c, seed, []int{block}) })
	}
}

// The size of the blocks of rows does not change the bits: sums run in float64 in the order of the
// rows.
func TestBlocksDoNotMatter(t *testing.T) {
	_, p := lower(t, classes(models.Separate, 7, 23).build(tensor.Float32, 1))
	whole := reference[float32](t, p, 0, weightsOf(3))
	for _, block := range []int{1, 5, 1000} {
		got := reference[float32](t, p, block, weightsOf(3))
		if diff := cmp.Diff(whole.gradient, got.gradient); diff != "" {
			t.Errorf("block %d: %s", block, diff)
		}
	}
}

func each(p *plan.Plan, f func(s plan.Step)) {
	for _, half := range [][]plan.Region{p.Forward, p.Backward} {
		for _, r := range half {
			for _, s := range r.Steps {
				f(s)
			}
		}
	}
}

// classes returns a network with the default shape: four classes of n rows.
func classes(heads models.Heads, width, n int) network {
	c := network{spec: models.Spec{Inputs: 10, Hidden: []int{width}, Outputs: 4, Heads: heads}, phi: constraints.Sigmoid, centered: true}
	for k := range 4 {
		for range n {
			c.labels = append(c.labels, k)
		}
	}
	return c
}

// count returns the number of regions over rows and the number of products in these regions.
func count(half []plan.Region) (regions, products int) {
	for _, r := range half {
		if r.Rows == 0 {
			continue
		}
		regions++
		for _, s := range r.Steps {
			if _, ok := s.(*plan.Product); ok {
				products++
			}
		}
	}
	return regions, products
}

// The cases state a network, its rows and its groups of classes. The command counts prints the
// numbers of regions over the rows and of the products in them; the command plan prints the plan.
// No step has the data's shape, and the data are no right factor: both would copy the data.
func TestPlans(t *testing.T) {
	require.Cases(t, "testdata/plans.txt", func(t *testing.T, k *require.Case) string {
		c := network{spec: models.Spec{Inputs: 10, Outputs: 4, Heads: models.Heads(k.Arg("heads")), Activation: models.Activation(k.Arg("activation"))},
			phi: constraints.Sigmoid, centered: k.Has("centered")}
		for _, width := range k.List("hidden") {
			c.spec.Hidden = append(c.spec.Hidden, number(t, width))
		}
		for class := range c.spec.Outputs {
			c.labels = append(c.labels, slices.Repeat([]int{class}, number(t, k.Arg("rows")))...)
		}
		_, p := lower(t, c.build(tensor.Float32, 1))
		data := p.Inputs[0].Buffer
		each(p, func(s plan.Step) {
			out := s.Writes()[0]
			if out.Rows == len(c.labels) && out.Cols == c.spec.Inputs {
				t.Errorf("%v has the data's shape", s)
			}
			if product, ok := s.(*plan.Product); ok && product.B.Buffer == data {
				t.Errorf("%v: the data is a right factor", s)
			}
		})
		if k.Command == "plan" {
			return p.String()
		}
		forward, products := count(p.Forward)
		backward, grads := count(p.Backward)
		return fmt.Sprintf("forward: %d regions, %d products; backward: %d regions, %d products", forward, products, backward, grads)
	})
}

func number(t *testing.T, text string) int {
	return require.Value(strconv.Atoi(text))(t)
}

// Only two group means read the losses of the default network, and only the derivative of the loss
// reads the factors of both groups. With a second reader of either vector the analysis reports no
// single consumer.
func TestConsumers(t *testing.T) {
	_, p := lower(t, classes(models.Shared, 8, 6).build(tensor.Float64, 1))
	var loss, grad plan.Step
	var means []*plan.GroupMeans
	var factors []*plan.GroupMeansGrad
	each(p, func(s plan.Step) {
		switch s := s.(type) {
		case *plan.MarginLoss:
			loss = s
		case *plan.MarginLossGrad:
			grad = s
		case *plan.GroupMeans:
			means = append(means, s)
		case *plan.GroupMeansGrad:
			factors = append(factors, s)
		}
	})
	c := p.FindConsumers()
	if got := c.Means[loss]; len(got) != 2 || got[0] != means[0] || got[1] != means[1] {
		t.Errorf("the losses' means are %v, want %v", got, means)
	}
	if got := c.Factors[grad]; len(got) != 2 || got[0] != factors[0] || got[1] != factors[1] {
		t.Errorf("the derivative's factors are %v, want %v", got, factors)
	}
	if c.Loss[factors[0]] != grad || c.Loss[factors[1]] != grad {
		t.Errorf("the factors' losses are %v, want %v", c.Loss, grad)
	}
	forward, backward := &p.Forward[len(p.Forward)-1], &p.Backward[0]
	forward.Steps = append(forward.Steps, &plan.Sums{Over: plan.OverAll, In: loss.Writes()[0].View, Out: means[0].Out})
	backward.Steps = append(backward.Steps, &plan.Sums{Over: plan.OverAll, In: factors[0].Out, Out: means[0].Out})
	if c := p.FindConsumers(); len(c.Means) != 0 || len(c.Factors) != 0 || len(c.Loss) != 0 {
		t.Errorf("vectors with other readers: %+v", c)
	}
}

// Layers of pictures that the backward half computes again have the bits of layers that it reads,
// and nothing as wide as a picture is kept.
func TestRecompute(t *testing.T) {
	engine := require.Value(graph.CPU(2))(t)
	type of func(dtype tensor.Dtype, engine graph.Engine) (*graph.Problem, error)
	cases := map[string]of{}
	for _, c := range graphcases.PictureCases() {
		if c.Channels*c.Height*c.Width > 12 && c.Name != "parts" {
			cases[c.Name] = c.Problem
		}
	}
	for _, o := range graphcases.Operations() {
		if o.Name == "resnet" || o.Name == "conv with group norm" {
			cases[o.Name] = o.Problem
		}
	}
	for name, c := range cases {
		for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			var bits [2][]float64
			for again := range 2 {
				t.Run("", func(t *testing.T) {
					if again == 1 {
						plan.SetKeptBytes(t, -1)
						var l *graph.Lagrangian
						require.Value(c(dtype, capture{halves: &l}))(t)
						p := require.Value(graphcases.Lower(l))(t)
						if err := p.Check(); err != nil {
							t.Errorf("%s: %v\n%v", name, err, p)
						}
						for _, b := range p.Buffers {
							if b.Class == plan.Kept && b.RowWise && b.Cols > 12 {
								t.Errorf("%s: a buffer of %d columns is kept\n%v", name, b.Cols, p)
							}
						}
					}
					p := require.Value(c(dtype, engine))(t)
					bits[again] = everything(t, p)
				})
			}
			if !slices.Equal(bits[0], bits[1]) {
				t.Errorf("%s, %v: the bits differ", name, dtype)
			}
		}
	}
}

// everything returns f, g and the gradients of f and of the first constraint.
func everything(t *testing.T, p *graph.Problem) []float64 {
	t.Helper()
	n, m := p.Dims()
	g := make([]float64, m)
	f := require.Value(p.Forward(g))(t)
	all := append(g, f)
	d := p.Space().New()
	for k := range 2 {
		coefficients := make([]float64, m+1)
		coefficients[k] = 1
		require.NoError(t, p.Backward(coefficients, d))
		x := make([]float64, n)
		p.Space().Read(x, problem.Vector(d))
		all = append(all, x...)
	}
	return all
}
