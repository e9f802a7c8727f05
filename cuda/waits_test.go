package cuda_test

import (
	"errors"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// An iteration of PPALA, PLADA and GDPA with automatic steps waits for the device once, for f and
// g. A record, whose report has the step size, does not add a wait to the next iteration. With
// HostSteps an iteration waits twice.
func TestAutomaticStepsWaitOnce(t *testing.T) {
	for _, r := range []problem.Regularizer{{}, {Kind: problem.Ball, Radius: 2}, {Kind: problem.GroupL1, Weight: 0.1, Groups: []int{100, 263}}} {
		for _, host := range []bool{false, true} {
			for _, kind := range []step.Kind{step.Nesterov, step.Gradient} {
				d, rec := recorded(t, cuda.Options{HostSteps: host}, 0)
				c := small(t)
				c.Regularizer = r
				p := require.Value(c.Problem(tensor.Float32, graph.On(d)))(t)
				for _, m := range []trainer.Method{&method.PPALA{Primal: step.Settings{Kind: kind}},
					&method.PLADA{Primal: step.Settings{Kind: kind}, XStep: method.Subgradient}, &method.GDPA{Primal: &step.Settings{Kind: kind}}} {
					at := problem.NewPoint(p)
					require.NoError(t, errors.Join(at.Forward(p), m.Init(p, &at)))
					want := 1
					if host {
						want = 2
					}
					for k := range 8 {
						from := rec.Count("Synchronize")
						require.NoError(t, m.Iterate(p, &at))
						if got := rec.Count("Synchronize") - from; k > 1 && got != want {
							t.Errorf("%v, %s, host %v, iteration %d: %d waits, want %d", r.Kind, m.Name(), host, k, got, want)
						}
						at.Iteration++
						if k == 5 {
							m.Report()
						}
					}
				}
			}
		}
	}
}

// A step rule measures the change of the gradient and the last step in each iteration, and waits
// for the device once.
func TestMeasurementsWaitOnce(t *testing.T) {
	d, r := recorded(t, cuda.Options{}, 0)
	p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
	a, b := p.Space().New(), p.Space().New()
	for range 3 {
		p.Space().Descend(problem.Descent{Direction: a, Step: 0.1, Length: 0.1})
		from := r.Count("Synchronize")
		p.Space().Distance(a, b)
		p.Space().Moved()
		p.Space().Moved()
		if got := r.Count("Synchronize") - from; got != 1 {
			t.Errorf("waited %d times", got)
		}
	}
}

// A steady iteration with automatic steps launches the graph of the backward half, and then the
// graph of the descent and the next forward half, and waits once. A record between the descents
// changes nothing later.
func TestDescentsAreGraphsWithTheNextHalf(t *testing.T) {
	for _, kind := range []step.Kind{step.Nesterov, step.Gradient} {
		for _, r := range []problem.Regularizer{{}, {Kind: problem.Ball, Radius: 2}, {Kind: problem.GroupL1, Weight: 0.1, Groups: []int{100, 263}}} {
			d, rec := recorded(t, cuda.Options{}, 0)
			c := small(t)
			c.Regularizer = r
			p := require.Value(c.Problem(tensor.Float32, graph.On(d)))(t)
			m, at := &method.PPALA{Primal: step.Settings{Kind: kind}}, problem.NewPoint(p)
			require.NoError(t, errors.Join(at.Forward(p), m.Init(p, &at)))
			for k := range 16 {
				from := len(rec.Calls())
				require.NoError(t, m.Iterate(p, &at))
				at.Iteration++
				var kinds []string
				for _, call := range rec.Calls()[from:] {
					if !call.Captured {
						kinds = append(kinds, call.Kind)
					}
				}
				if want := []string{"LaunchGraph", "LaunchGraph", "Synchronize"}; k > 7 && k != 12 && !slices.Equal(kinds, want) {
					t.Errorf("%v, %v, iteration %d: %v, want %v", kind, r.Kind, k, kinds, want)
				}
				if k == 11 {
					m.Report()
					p.Space().Moved()
				}
			}
		}
	}
}

// A descent with an automatic step size takes two launches, and four with groups. With the ball,
// the launches read and write nine vectors: x, d, v and the direction before, and then x, d and v
// with the new x and v; the sums are small.
func TestLaunchesOfADescent(t *testing.T) {
	for kind, want := range map[problem.RegularizerKind][]string{
		problem.Ball: {"step_sums_f32", "descend_sized_f32"}, problem.L1: {"step_sums_f32", "descend_sized_f32"},
		problem.GroupL1: {"step_sums_f32", "sizing_f32", "group_factors_f32", "group_descend_f32"},
	} {
		d, rec := recorded(t, cuda.Options{NoGraphs: true}, 0)
		c := graphcases.Network(models.Spec{Inputs: 9, Hidden: []int{2000}}, []int{6, 4, 3}, constraints.Sigmoid, true, graphcases.Bytes)
		c.Regularizer = problem.Regularizer{Kind: kind, Radius: 2, Weight: 0.1, Groups: []int{100, 26003}}
		p := require.Value(c.Problem(tensor.Float32, graph.On(d)))(t)
		n, _ := p.Dims()
		s := problem.SizedDescent{Direction: p.Space().New(), Previous: p.Space().New(), Velocity: p.Space().New(), Ramp: 0.9, Start: &problem.Sizing{}}
		from := len(rec.Calls())
		p.Space().Sized().DescendSized(&s, p.Space().Regularizer)
		var names []string
		bytes := 0
		for _, call := range rec.Calls()[from:] {
			if call.Kind == "Launch" {
				names = append(names, call.Name)
				for _, span := range slices.Concat(call.Reads, call.Writes) {
					bytes += span.Bytes
				}
			}
		}
		if !slices.Equal(names, want) || kind == problem.Ball && (bytes < 9*4*n || bytes > 9*4*n+1<<14) {
			t.Errorf("%v: launches %v of %d bytes for %d weights, want %v", kind, names, bytes, n, want)
		}
	}
}

// At most four graphs of a descent and a forward half are kept, whatever the directions.
func TestMostLinks(t *testing.T) {
	d, rec := recorded(t, cuda.Options{}, 0)
	p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
	iterate(t, p, 3, p.Space().New())
	captures, sized := rec.Count("EndCapture"), p.Space().Sized()
	var list [6]problem.Vector
	for i := range list {
		list[i] = p.Space().New()
	}
	for range 3 {
		for i := range list {
			sized.DescendSized(&problem.SizedDescent{Direction: list[i], Previous: list[(i+1)%len(list)]}, p.Space().Regularizer)
			require.Value(p.Forward(make([]float64, 2)))(t)
		}
	}
	if got := rec.Count("EndCapture") - captures; got != 4 {
		t.Errorf("%d graphs, want 4", got)
	}
}
