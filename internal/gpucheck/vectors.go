package gpucheck

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// vectors compares every operation of the device's space with the host's loops in the same
// precision, in units of roundings.
func vectors(o Options) ([]Result, error) {
	var list []Result
	err := withDevice(o, cuda.Options{}, func(d *cuda.Device) error {
		for _, t := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			worst, where := 0.0, ""
			for _, n := range []int{1, 3, 301, 5003} {
				for _, r := range regularizers(n) {
					e, err := spaceError(d, t, n, r)
					if err != nil {
						return err
					}
					if !(e <= worst) {
						worst, where = e, fmt.Sprintf("worst: %v of %d", r.Kind, n)
					}
				}
			}
			r := AtMost(fmt.Sprintf("operations on vectors of %v", t), worst, spaceBound, "roundings")
			r.Detail = where
			list = append(list, r)
		}
		return nil
	})
	return list, err
}

// spaceBound is the largest error, in unit roundoffs of 1 + |x|, after the operations of
// spaceError.
const spaceBound = 200

// regularizers returns regularizers of every kind on n variables, with sets small enough that
// vectors are outside.
func regularizers(n int) []problem.Regularizer {
	size := math.Sqrt(float64(n))
	list := []problem.Regularizer{
		{}, {Kind: problem.Ball, Radius: 0.7 * size}, {Kind: problem.Ball, Radius: 9 * size}, {Kind: problem.Box, Lower: -0.5, Upper: 1},
		{Kind: problem.Box, Lower: 0.5, Upper: math.Inf(1)}, {Kind: problem.L1, Weight: 0.7}, {Kind: problem.SquaredL2, Weight: 0.7},
	}
	if n > 2 {
		list = append(list, problem.Regularizer{Kind: problem.GroupL1, Weight: 0.7, Groups: []int{n / 3, n/3 + 1, n}},
			problem.Regularizer{Kind: problem.GroupL1, Weight: 50, Groups: []int{n/2 + 1, n}})
	}
	return list
}

// spaceError runs all operations in sequence on the device and on the host, each from the host's
// numbers, and returns the largest difference in unit roundoffs.
func spaceError(d *cuda.Device, t tensor.Dtype, n int, r problem.Regularizer) (float64, error) {
	rng := rand.New(rand.NewPCG(31, uint64(n)))
	start := draw(rng, n)
	compiled, err := vectorProblem(t, start, r, graph.On(d))
	if err != nil {
		return 0, err
	}
	host, device := problem.NewHostSpace(start, r).Space(), compiled.Space()
	if t == tensor.Float32 {
		host = problem.NewHostSpace(narrow(start), r).Space()
	}
	c := &comparison{host: host, device: device, n: n}
	for range 4 {
		v := draw(rng, n)
		a, b := host.New(), device.New()
		if a != b {
			return 0, fmt.Errorf("gpu-check: vector %d of the device is vector %d of the host", b, a)
		}
		c.list = append(c.list, a)
		host.Write(a, v)
	}
	v, w, y, z := c.list[0], c.list[1], c.list[2], c.list[3]
	c.each(func(s *problem.Space) []float64 { s.Combine(y, 0.3, v, -1.25, w); return nil })
	c.each(func(s *problem.Space) []float64 { s.Combine(y, 0.3, y, 0, w); return nil })
	c.each(func(s *problem.Space) []float64 { return []float64{s.Dot(v, w), s.Dot(v, v), s.Distance(v, w)} })
	// Within one group of blocks, over two groups, over two launches, and over two waits.
	for _, count := range []int{1, 8, 9, 48, 49, 300} {
		list, coefficients := make([]problem.Vector, count), make([]float64, count)
		for i := range list {
			list[i], coefficients[i] = c.list[(i+i/3)%len(c.list)], 1/float64(i-3*(i%2)+4)
		}
		c.each(func(s *problem.Space) []float64 {
			dots := make([]float64, 3*count)
			s.Dots(dots, []problem.Vector{v, w, y}, list)
			return dots
		})
		c.each(func(s *problem.Space) []float64 { s.Sum(list[0], coefficients, list); return nil })
	}
	c.each(func(s *problem.Space) []float64 { s.Sum(z, nil, nil); return nil })
	c.each(func(s *problem.Space) []float64 { s.Sum(z, []float64{1, 0.5}, []problem.Vector{v, w}); return nil })
	for _, momentum := range []float64{0, 0.9} {
		c.each(func(s *problem.Space) []float64 {
			s.Descend(problem.Descent{Direction: v, Velocity: w, Step: 0.3, Momentum: momentum, Length: 0.8})
			moved, norm := s.Moved()
			return []float64{moved, norm}
		})
	}
	c.each(func(s *problem.Space) []float64 { s.Prox(0.4, y); return nil })
	c.each(func(s *problem.Space) []float64 { s.Combine(z, 1, z, -1, z); s.Adam(v, y, z, 0.2, 3); return nil })
	c.each(func(s *problem.Space) []float64 { s.Combine(z, 1, z, -1, z); s.Adagrad(v, z, 0.2); return nil })
	c.each(func(s *problem.Space) []float64 { s.Prox(0.4, problem.Iterate); return nil })
	_, err = compiled.Forward(nil) // reports earlier failures
	return c.worst, err
}

// comparison holds two spaces whose vectors have the same handles.
type comparison struct {
	host, device *problem.Space
	n            int
	list         []problem.Vector
	worst        float64
}

// each runs an operation in both spaces from the host's numbers, and compares the vectors and the
// returned values.
func (c *comparison) each(operation func(s *problem.Space) []float64) {
	all := append([]problem.Vector{problem.Iterate}, c.list...)
	x, y := make([]float64, c.n), make([]float64, c.n)
	for _, v := range all {
		c.host.Read(x, v)
		c.device.Write(v, x)
	}
	want, got := operation(c.host), operation(c.device)
	for i := range want { // sums of n terms of size 1
		c.differ(got[i], want[i], float64(c.n))
	}
	for _, v := range all {
		c.host.Read(x, v)
		c.device.Read(y, v)
		for i := range x {
			c.differ(y[i], x[i], 1)
		}
	}
}

func (c *comparison) differ(got, want, size float64) {
	e := math.Abs(got-want) / (c.host.Roundoff() * (size + math.Abs(want)))
	if !(e <= c.worst) {
		c.worst = e
	}
}

// vectorProblem returns a problem with the iterate x; f is the sum of its elements.
func vectorProblem(t tensor.Dtype, x []float64, r problem.Regularizer, e graph.Engine) (*graph.Problem, error) {
	return graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		var backing any = append([]float64{}, x...)
		if t == tensor.Float32 {
			backing = narrow(x)
		}
		node := gorgonia.NewMatrix(g, t, gorgonia.WithShape(1, len(x)), gorgonia.WithName("x"),
			gorgonia.WithValue(tensor.New(tensor.WithShape(1, len(x)), tensor.WithBacking(backing))))
		f, err := gorgonia.Sum(node)
		return graph.Definition{Objective: f, Parameters: gorgonia.Nodes{node}, Regularizer: r}, err
	}, e)
}

// draw returns numbers that float32 represents exactly.
func draw(rng *rand.Rand, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(float32(rng.NormFloat64()))
	}
	return list
}

func narrow(x []float64) []float32 {
	list := make([]float32, len(x))
	for i, v := range x {
		list[i] = float32(v)
	}
	return list
}
