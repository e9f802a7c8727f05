//go:build gpu

package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/datasets/matrix"
	"ppal/internal/cuda/double"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// trace collects the numbers of a run's records.
type trace struct{ numbers []float64 }

func (c *trace) Record(r *trainer.Record) error {
	c.numbers = append(c.numbers, r.Objective, r.MaxViolation)
	if r.StepSize != nil {
		c.numbers = append(c.numbers, *r.StepSize)
	}
	return nil
}

// Steps whose size the device computes have the bits of steps whose size the host computes, for
// every regularizer, with and without momentum, with a cap, and with records between the steps.
func TestSizedStepsHaveTheHostsBits(t *testing.T) {
	for _, dtype := range dtypes {
		for _, r := range []problem.Regularizer{{}, {Kind: problem.Ball, Radius: 3}, {Kind: problem.Box, Lower: -0.4, Upper: 0.5},
			{Kind: problem.L1, Weight: 0.01}, {Kind: problem.SquaredL2, Weight: 0.02}, {Kind: problem.GroupL1, Weight: 0.01}} {
			for _, s := range []step.Settings{{Kind: step.Nesterov}, {Kind: step.Gradient}, {Kind: step.Nesterov, Eta: 0.3, Momentum: 0.8}} {
				for _, every := range []int{1, 25} {
					if every == 1 && r.Kind != problem.Ball {
						continue
					}
					t.Run(fmt.Sprint(dtype, r.Kind, s.Kind, s.Eta, every), func(t *testing.T) {
						var got [2][]float64
						for i, host := range []bool{false, true} {
							got[i] = trained(t, dtype, r, &method.PPALA{Primal: s}, cuda.Options{HostSteps: host}, every)
						}
						if !slices.Equal(got[0], got[1]) || slices.ContainsFunc(got[0], math.IsNaN) {
							t.Errorf("by the device %v,\nby the host   %v", got[0], got[1])
						}
					})
				}
			}
		}
	}
}

// Whatever follows a descent that waits for a forward half, the descent comes first.
func TestWaitingDescentsComeFirst(t *testing.T) {
	read := func(p *graph.Problem, v problem.Vector) []float64 {
		n, _ := p.Dims()
		x := make([]float64, n)
		p.Space().Read(x, v)
		return x
	}
	c := graphcases.Network(models.Spec{Inputs: 3, Hidden: []int{4}}, []int{30, 20}, constraints.Sigmoid, false, graphcases.Dense)
	rows := c.Rows
	after := map[string]func(p, other *graph.Problem, d problem.Vector) []float64{
		"a read": func(p, _ *graph.Problem, _ problem.Vector) []float64 { return read(p, problem.Iterate) },
		"the lengths": func(p, _ *graph.Problem, _ problem.Vector) []float64 {
			a, b := p.Space().Moved()
			return []float64{a, b}
		},
		"the state": func(p, _ *graph.Problem, _ problem.Vector) []float64 {
			s := p.Space().Sized().Sizing()
			return []float64{s.Step, s.Curvature, s.Length}
		},
		"a gradient": func(p, _ *graph.Problem, d problem.Vector) []float64 {
			if err := p.Backward([]float64{1, 2}, d); err != nil {
				t.Error(err)
			}
			return append(read(p, d), read(p, problem.Iterate)...)
		},
		"another problem": func(p, other *graph.Problem, _ problem.Vector) []float64 {
			if _, err := other.Forward(make([]float64, 1)); err != nil {
				t.Error(err)
			}
			return read(p, problem.Iterate)
		},
		"an input": func(p, _ *graph.Problem, _ problem.Vector) []float64 {
			if err := p.Bind(0, &matrix.Dense{Rows: rows, Cols: 3, Data: make([]float64, 3*rows)}); err != nil {
				t.Error(err)
			}
			g := make([]float64, 1)
			f, err := p.Forward(g)
			if err != nil {
				t.Error(err)
			}
			return append([]float64{f}, g...)
		},
		"a forward half": func(p, _ *graph.Problem, _ problem.Vector) []float64 {
			g := make([]float64, 1)
			f, err := p.Forward(g)
			if err != nil {
				t.Error(err)
			}
			return append([]float64{f}, g...)
		},
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		var want []float64
		for _, o := range []cuda.Options{{NoGraphs: true}, {}} {
			emulated := double.Computing(double.Options{})
			d := require.Value(cuda.On(emulated, o))(t)
			p := require.Value(c.Problem(tensor.Float64, graph.On(d)))(t)
			other := require.Value(c.Problem(tensor.Float64, graph.On(d)))(t)
			now, last := p.Space().New(), p.Space().New()
			var got []float64
			for k := range 9 {
				if k < 8 {
					require.Value(p.Forward(make([]float64, 1)))(t)
				}
				require.NoError(t, p.Backward([]float64{1, 0.5}, now))
				s := problem.SizedDescent{Direction: now, Previous: last, Decay: 0.9, PeakDecay: 0.9, Scale: 1,
					Constants: problem.SizingConstants{Margin: 0.1 + 0.01*float64(k), Share: 1, Growth: 1, Raise: 1, Run: 3, Leap: 4}}
				if k == 0 {
					s.Start = &problem.Sizing{Curvature: 2, Step: 0.1}
					s.Distance, s.Norm = 0.1, 1
				}
				p.Space().Sized().DescendSized(&s, p.Space().Regularizer)
				if k > 3 {
					got = append(got, after[name](p, other, last)...)
				}
				now, last = last, now
			}
			if err := errors.Join(d.Close(), p.Space().Err()); err != nil || emulated.Violations() != nil {
				t.Errorf("%s: error %v, violations %v", name, err, emulated.Violations())
			}
			if o.NoGraphs {
				want = got
			} else if !slices.Equal(got, want) || slices.ContainsFunc(got, math.IsNaN) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
}

// trained returns the records and the last state of a training on the emulated device.
func trained(t *testing.T, dtype tensor.Dtype, r problem.Regularizer, m trainer.Method, o cuda.Options, every int) []float64 {
	t.Helper()
	emulated := double.Computing(double.Options{})
	d := require.Value(cuda.On(emulated, o))(t)
	c := graphcases.Network(models.Spec{Inputs: 3, Hidden: []int{4}}, []int{30, 20}, constraints.Sigmoid, false, graphcases.Bytes)
	if c.Regularizer = r; r.Kind == problem.GroupL1 {
		c.Regularizer.Groups = []int{6, 12, 26}
	}
	p := require.Value(c.Problem(dtype, graph.On(d)))(t)
	seen := &trace{}
	result := require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 50, RecordEvery: every, Recorder: seen}))(t)
	if err := d.Close(); err != nil || emulated.Violations() != nil {
		t.Errorf("error %v, violations %v", err, emulated.Violations())
	}
	for _, parts := range []map[string][]float64{result.State.Numbers, result.State.Vectors} {
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			seen.numbers = append(seen.numbers, parts[name]...)
		}
	}
	return seen.numbers
}

// An iteration with a quasi-Newton step waits for the device twice: for f and g, and for the inner
// products.
func TestQuasiNewtonStepsWaitTwice(t *testing.T) {
	emulated := double.Computing(double.Options{})
	d := require.Value(cuda.On(emulated, cuda.Options{}))(t)
	whole := require.Value(graphcases.Network(models.Spec{Inputs: 3, Hidden: []int{4}}, []int{30, 20}, constraints.Sigmoid, false, graphcases.Bytes).Problem(tensor.Float64, graph.On(d)))(t)
	p := struct{ problem.Problem }{whole} // its functions have no kinks, which it would not say
	m, at := &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}, problem.NewPoint(p)
	require.NoError(t, errors.Join(at.Forward(p), m.Init(p, &at)))
	waits := map[int]int{}
	for range 30 {
		from := emulated.Count("Synchronize")
		require.NoError(t, m.Iterate(p, &at))
		waits[emulated.Count("Synchronize")-from]++
		at.Iteration++
	}
	if waits[2] < 15 || waits[1] > 0 {
		t.Errorf("iterations by their waits: %v, want mostly two", waits)
	}
	if err := d.Close(); err != nil || emulated.Violations() != nil {
		t.Errorf("error %v, violations %v", err, emulated.Violations())
	}
}
