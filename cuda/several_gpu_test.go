//go:build gpu

package cuda_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/cuda/double"
	"ppal/cuda/driver"
	"ppal/internal/graphcases"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// several opens devices that share rows. At the end of the test they close without violations.
func several(t *testing.T, o cuda.Options, n int) *cuda.Several {
	t.Helper()
	return together(t, double.ComputingMachine(double.Options{}, n), o)
}

// values are f, g, the scores and the gradients of one point, each computed several times.
func values(t *testing.T, c graphcases.Case, dtype tensor.Dtype, engine graph.Engine) (all []float64) {
	t.Helper()
	p, err := c.Problem(dtype, engine)
	if err != nil {
		t.Fatal(err)
	}
	n, m := p.Dims()
	g, w, d, got := make([]float64, m), make([]float64, m+1), p.Space().New(), make([]float64, n)
	for i := range w {
		w[i] = 1 / float64(i+1)
	}
	for range 3 { // launch by launch, then as graphs
		f, err := p.Forward(g)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Backward(w, d); err != nil {
			t.Fatal(err)
		}
		p.Space().Read(got, d)
		all = append(append(append(all, f), g...), got...)
	}
	v, err := p.Watched(0)
	if err != nil {
		t.Fatal(err)
	}
	switch data := v.Data().(type) {
	case []float64:
		return append(all, data...)
	case []float32:
		for _, x := range data {
			all = append(all, float64(x))
		}
	}
	if err := p.Space().Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func far(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	d, n := 0.0, 0.0
	for i := range got {
		d, n = d+(got[i]-want[i])*(got[i]-want[i]), n+want[i]*want[i]
	}
	return math.Sqrt(d) / max(math.Sqrt(n), 1e-3)
}

// Two and three GPUs compute the same values as one, up to rounding, and the same bits when they
// are asked again, in all forms of data and products.
func TestSeveralAgreeWithOne(t *testing.T) {
	for _, test := range []struct {
		options cuda.Options
		dtype   tensor.Dtype
		most    float64
	}{{cuda.Options{}, tensor.Float64, 1e-13}, {cuda.Options{Products: cuda.Int8x3}, tensor.Float32, 2e-6},
		{cuda.Options{GPUSums: cuda.HostSums}, tensor.Float32, 2e-6},
		{cuda.Options{MicroBatch: 20, Copies: true}, tensor.Float64, 1e-13}} {
		for _, n := range []int{2, 3} {
			s, one := several(t, test.options, n), several(t, test.options, 1)
			for i, c := range graphcases.All() {
				if c.Rows < 3 || c.Rows > 320 || i%9 != n {
					continue
				}
				got := values(t, c, test.dtype, graph.On(s))
				if d := far(got, values(t, c, test.dtype, graph.On(one))); !(d <= test.most) {
					t.Errorf("%+v, %d GPUs, %s: the values differ by %.2g", test.options, n, c.Name, d)
				}
				if i%2 == 0 && !slices.Equal(got, values(t, c, test.dtype, graph.On(s))) {
					t.Errorf("%+v, %d GPUs, %s: other bits when repeated", test.options, n, c.Name)
				}
			}
		}
	}
}

// An objective of the weights alone counts once, and constraints that are sums over the rows are
// added: f = sum w^2, g = sum of the scores.
func TestSeveralObjectiveOfTheWeights(t *testing.T) {
	run := func(n int) (all []float64) {
		must := gorgonia.Must
		p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			rng := rand.New(rand.NewPCG(1, 2))
			x, w := graphcases.Normal(g, tensor.Float64, rng, "x", 40, 3), graphcases.Normal(g, tensor.Float64, rng, "w", 3, 2)
			return graph.Definition{Objective: must(gorgonia.Sum(must(gorgonia.Square(w)))), Parameters: gorgonia.Nodes{w},
				Constraints: gorgonia.Nodes{must(gorgonia.Sum(must(gorgonia.Mul(x, w)), 0))}, Inputs: gorgonia.Nodes{x}}, nil
		}, graph.On(several(t, cuda.Options{}, n)))
		if err != nil {
			t.Fatal(err)
		}
		g, d, gradient := make([]float64, 2), p.Space().New(), make([]float64, 6)
		f, err := p.Forward(g)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Backward([]float64{1, 2, 3}, d); err != nil {
			t.Fatal(err)
		}
		p.Space().Read(gradient, d)
		return append(append(g, f), gradient...)
	}
	if got, want := run(3), run(1); !(far(got, want) <= 1e-14) {
		t.Errorf("3 GPUs give %v, one gives %v", got, want)
	}
}

// A run of PPALA with momentum and automatic steps takes the same way on two and three GPUs as on
// one, up to rounding, and repeats to the bit.
func TestSeveralTrain(t *testing.T) {
	run := func(n int, o cuda.Options) []float64 {
		s := several(t, o, n)
		c := small(t)
		c.Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: 5}
		p, err := c.Problem(tensor.Float64, graph.On(s))
		if err != nil {
			t.Fatal(err)
		}
		result, err := trainer.Train(t.Context(), p, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{Iterations: 60})
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, p.Space().Len())
		p.Space().Read(x, problem.Iterate)
		return append(x, float64(result.Iterations))
	}
	want := run(1, cuda.Options{})
	for _, n := range []int{2, 3} {
		got := run(n, cuda.Options{})
		if d := far(got, want); !(d <= 1e-7) {
			t.Errorf("%d GPUs end %.2g away", n, d)
		}
		if !slices.Equal(got, run(n, cuda.Options{})) {
			t.Errorf("%d GPUs do not repeat", n)
		}
		if !slices.Equal(got, run(n, cuda.Options{GPUSums: cuda.HostSums, Copies: true})) {
			t.Errorf("%d GPUs have other bits if the host adds", n)
		}
	}
}

// liar changes a bit of what the host uploads while it is armed.
type liar struct {
	driver.Driver
	armed bool
}

func (l *liar) Upload(s driver.Stream, at driver.Pointer, host []byte) error {
	if l.armed {
		host = append([]byte(nil), host...)
		host[len(host)-2] ^= 1
	}
	return l.Driver.Upload(s, at, host)
}

// GPUs with different numbers are an error that names them: when a vector is read, and when every
// GPU computes f and g from the sums.
func TestSeveralNoticeDifferentBits(t *testing.T) {
	const want = "cuda: the GPUs 0 and 1 have different bits in "
	compared := 0
	for i, c := range graphcases.All() {
		if c.Rows < 3 || c.Rows > 320 || i%5 != 0 {
			continue
		}
		machine := double.ComputingMachine(double.Options{}, 2)
		second := &liar{Driver: machine[1]}
		s, err := cuda.OpenSeveral([]int{0, 1}, func(n int) (driver.Driver, error) { return []driver.Driver{machine[0], second}[n], nil },
			cuda.Options{GPUSums: cuda.HostSums, Copies: true})
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Problem(tensor.Float64, graph.On(s))
		if err != nil {
			t.Fatal(err)
		}
		n, m := p.Dims()
		x := make([]float64, n)
		p.Space().Read(x, problem.Iterate)
		if err := p.Space().Err(); err != nil {
			t.Fatal(err)
		}
		second.armed = true // the sums that the host uploads
		if _, err := p.Forward(make([]float64, m)); err != nil {
			if compared++; !strings.Contains(err.Error(), want+"f and g") {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
		p.Space().Write(problem.Iterate, x)
		second.armed = false
		p.Space().Read(x, problem.Iterate)
		if err := p.Space().Err(); err == nil || !strings.HasPrefix(err.Error(), want+"a vector") {
			t.Errorf("%s: reading: %v", c.Name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if compared == 0 {
		t.Error("no f and g were compared")
	}
}
