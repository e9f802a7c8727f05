//go:build gpu

package cuda_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/cuda/double"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/ranks"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

func contains(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}

// spread runs f in n processes, which are goroutines, each with a GPU of its own. At the end the
// GPUs close without violations.
func spread(t *testing.T, n int, o cuda.Options, f func(c ranks.Collective, r *double.Driver, d plan.Device)) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range ranks.Goroutines(n) {
		r := double.Computing(double.Options{})
		d := require.Value(cuda.On(r, o))(t)
		all.Go(func() {
			ended := false
			defer func() {
				if !ended { // by t.Fatal or a panic: the others may wait
					c.Abort(errors.New("the test failed"))
				}
				if err := d.Close(); err != nil || r.Violations() != nil {
					t.Errorf("process %d: error %v, violations %v", c.Rank(), err, r.Violations())
				}
			}()
			f(c, r, d.Among(c))
			ended = true
		})
	}
	all.Wait()
}

// values are f, g, the scores and the gradients of one point, each computed several times.
func values(t *testing.T, c graphcases.Case, dtype tensor.Dtype, engine graph.Engine) (all []float64) {
	t.Helper()
	p := require.Value(c.Problem(dtype, engine))(t)
	n, m := p.Dims()
	g, w, d, got := make([]float64, m), make([]float64, m+1), p.Space().New(), make([]float64, n)
	for i := range w {
		w[i] = 1 / float64(i+1)
	}
	for range 3 { // launch by launch, then as graphs
		f := require.Value(p.Forward(g))(t)
		require.NoError(t, p.Backward(w, d))
		p.Space().Read(got, d)
		all = append(append(append(all, f), g...), got...)
	}
	v := require.Value(p.Watched(0))(t)
	switch data := v.Data().(type) {
	case []float64:
		return append(all, data...)
	case []float32:
		for _, x := range data {
			all = append(all, float64(x))
		}
	}
	require.NoError(t, p.Space().Err())
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

// Processes compute the same values as one, up to rounding, and the same bits when they are asked
// again, in all forms of data and products.
func TestProcessesAgreeWithOne(t *testing.T) {
	for _, test := range []struct {
		processes int
		options   cuda.Options
		dtype     tensor.Dtype
		most      float64
	}{
		{2, cuda.Options{}, tensor.Float64, 1e-13}, {3, cuda.Options{}, tensor.Float64, 1e-13}, {2, cuda.Options{}, tensor.Float32, 2e-6},
		{3, cuda.Options{Products: cuda.Int8x3}, tensor.Float32, 2e-6}, {2, cuda.Options{MicroBatch: 20, Copies: true}, tensor.Float64, 1e-13},
	} {
		chosen, want := []graphcases.Case{}, map[string][]float64{}
		for i, c := range graphcases.All() {
			if c.Rows >= 3 && c.Rows <= 320 && i%9 == test.processes {
				chosen = append(chosen, c)
			}
		}
		spread(t, 1, test.options, func(_ ranks.Collective, _ *double.Driver, d plan.Device) {
			for _, c := range chosen {
				want[c.Name] = values(t, c, test.dtype, graph.On(d))
			}
		})
		if len(want) == 0 {
			t.Fatal("no cases")
		}
		spread(t, test.processes, test.options, func(r ranks.Collective, _ *double.Driver, d plan.Device) {
			for i, c := range chosen {
				got := values(t, c, test.dtype, graph.On(d))
				if d := far(got, want[c.Name]); !(d <= test.most) {
					t.Errorf("%+v, %s: process %d differs by %.2g", test, c.Name, r.Rank(), d)
				}
				if i%2 == 0 && !slices.Equal(got, values(t, c, test.dtype, graph.On(d))) {
					t.Errorf("%+v, %s: process %d has other bits when repeated", test, c.Name, r.Rank())
				}
			}
		})
	}
}

// An objective of the weights alone counts once, and constraints that are sums over the rows are
// added: f = sum w^2, g = sum of the scores.
func TestObjectiveOfTheWeights(t *testing.T) {
	run := func(n int) (all []float64) {
		spread(t, n, cuda.Options{}, func(c ranks.Collective, _ *double.Driver, d plan.Device) {
			must := gorgonia.Must
			p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
				rng := rand.New(rand.NewPCG(1, 2))
				x, w := graphcases.Normal(g, tensor.Float64, rng, "x", 40, 3), graphcases.Normal(g, tensor.Float64, rng, "w", 3, 2)
				return graph.Definition{Objective: must(gorgonia.Sum(must(gorgonia.Square(w)))), Parameters: gorgonia.Nodes{w},
					Constraints: gorgonia.Nodes{must(gorgonia.Sum(must(gorgonia.Mul(x, w)), 0))}, Inputs: gorgonia.Nodes{x}}, nil
			}, graph.On(d))
			if err != nil {
				t.Error(err)
				return
			}
			g, v, gradient := make([]float64, 2), p.Space().New(), make([]float64, 6)
			f, err := p.Forward(g)
			if err := errors.Join(err, p.Backward([]float64{1, 2, 3}, v)); err != nil {
				t.Error(err)
			}
			p.Space().Read(gradient, v)
			if c.Rank() == n-1 {
				all = append(append(g, f), gradient...)
			}
		})
		return all
	}
	if got, want := run(3), run(1); !(far(got, want) <= 1e-14) {
		t.Errorf("3 processes give %v, one gives %v", got, want)
	}
}

// trainedOver is the end of a training in n processes. Process 0 leads; the others serve.
func trainedOver(t *testing.T, n int, o cuda.Options, s step.Settings, iterations int) (x []float64) {
	t.Helper()
	spread(t, n, o, func(c ranks.Collective, _ *double.Driver, d plan.Device) {
		team := ranks.NewTeam(c)
		rows := small(t)
		rows.Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: 5}
		p, err := rows.Problem(tensor.Float64, graph.On(ranks.Device(d, team)))
		if err != nil {
			t.Error(err)
			return
		}
		if c.Rank() > 0 {
			if err := team.Serve(); err != nil {
				t.Error(err)
			}
			return
		}
		if _, err := trainer.Train(t.Context(), p, &method.PPALA{Primal: s}, trainer.Settings{Iterations: iterations}); err != nil {
			t.Error(err)
		}
		x = make([]float64, p.Space().Len())
		p.Space().Read(x, problem.Iterate)
		if err := errors.Join(p.Space().Err(), team.Release()); err != nil {
			t.Error(err)
		}
	})
	return x
}

// 200 iterations with fixed steps over three processes end within 1e-12 of one process's weights,
// and 60 with momentum and automatic steps within 1e-7. They repeat to the bit, also if the device
// copies f, g and the coefficients.
func TestProcessesTrainAsOne(t *testing.T) {
	for _, test := range []struct {
		step       step.Settings
		iterations int
		most       float64
	}{{step.Settings{Kind: step.Gradient, Eta: 0.02, Fixed: true}, 200, 1e-12}, {step.Settings{Kind: step.Nesterov}, 60, 1e-7}} {
		one, three := trainedOver(t, 1, cuda.Options{}, test.step, test.iterations), trainedOver(t, 3, cuda.Options{}, test.step, test.iterations)
		if d := far(three, one); !(d <= test.most) || len(one) == 0 || one[0] == 0 {
			t.Errorf("%v: three processes end %.2g away from %v", test.step.Kind, d, one)
		}
		if !slices.Equal(three, trainedOver(t, 3, cuda.Options{Copies: true}, test.step, test.iterations)) {
			t.Errorf("%v: three processes do not repeat", test.step.Kind)
		}
	}
}

// In a steady iteration a process allocates and captures nothing. It waits for f and g, and for
// each of the sums that the host adds.
func TestProcessesSteadyCalls(t *testing.T) {
	spread(t, 2, cuda.Options{}, func(_ ranks.Collective, r *double.Driver, d plan.Device) {
		for i, c := range graphcases.All() {
			if c.Rows < 2 || c.Rows > 320 || i%7 != 0 {
				continue
			}
			p, err := c.Problem(tensor.Float32, graph.On(d))
			if err != nil {
				t.Error(err)
				return
			}
			a, b := p.Space().New(), p.Space().New()
			iterate(t, p, 6, a, b)
			from := len(r.Calls())
			iterate(t, p, 1, a)
			waits, graphs := 0, 0
			for _, call := range r.Calls()[from:] {
				switch call.Kind {
				case "Synchronize":
					waits++
				case "LaunchGraph":
					graphs++
				case "Allocate", "BeginCapture", "Pinned":
					t.Errorf("%s: a steady iteration has the call %s", c.Name, call.Kind)
				}
			}
			if graphs < 2 || graphs > 5 || waits < 1 || waits > 4 {
				t.Errorf("%s: %d graphs are launched, %d waits", c.Name, graphs, waits)
			}
		}
	})
}

// A GPU that fails in one process ends all processes with an error that names the process and the
// GPU.
func TestProcessGPUFails(t *testing.T) {
	lost := errors.New("lost")
	for _, call := range []string{"Synchronize", "Download", "Upload", "LaunchGraph"} {
		for failing := range 3 {
			errs := make([]error, 3)
			spread(t, 3, cuda.Options{}, func(c ranks.Collective, r *double.Driver, d plan.Device) {
				team := ranks.NewTeam(c)
				p, err := small(t).Problem(tensor.Float64, graph.On(ranks.Device(d, team)))
				if err != nil {
					t.Error(err)
					return
				}
				if c.Rank() == failing {
					r.FailAt(call, 3, lost)
				}
				if c.Rank() > 0 {
					errs[c.Rank()] = team.Serve()
					return
				}
				_, err = trainer.Train(t.Context(), p, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{Iterations: 50})
				errs[0] = errors.Join(err, team.Release()) // the GPU of process 0 may fail while the others wait for a call
			})
			for rank, err := range errs {
				if !errors.Is(err, lost) || !contains(err, "cuda:0: ") || rank != failing && !contains(err, fmt.Sprintf("process %d ended the run", failing)) {
					t.Errorf("%s of process %d fails: process %d: %v", call, failing, rank, err)
				}
			}
		}
	}
}

// A failure of any call gives an error that wraps it, and the GPU releases every object.
func TestFailuresAmongProcesses(t *testing.T) {
	lost := errors.New("lost")
	c := graphcases.Expressions()[1]
	for _, kind := range []string{"Allocate", "Pinned", "Launch", "LaunchGraph", "Copy", "Download", "Upload", "BeginCapture", "Synchronize"} {
		for k := 1; ; k += 3 {
			r := double.New(double.Options{})
			r.FailAt(kind, k, lost)
			err := func() error {
				d, err := cuda.On(r, cuda.Options{})
				if err != nil {
					return err
				}
				defer func() { _ = d.Close() }() // a call of Close may be the one that fails
				p, err := c.Problem(tensor.Float32, graph.On(d.Among(ranks.Goroutines(1)[0])))
				if err != nil {
					return err
				}
				_, m := p.Dims()
				v := p.Space().New()
				for range 3 {
					if _, err := p.Forward(make([]float64, m)); err != nil {
						return err
					}
					if err := p.Backward(make([]float64, m+1), v); err != nil {
						return err
					}
				}
				return p.Space().Err()
			}()
			if err == nil {
				if k == 1 && kind != "Copy" {
					t.Errorf("%s: the first call failed and nothing said so", kind)
				}
				break
			}
			// If the first launch of a capture fails, the capture is empty, which the double refuses.
			if !errors.Is(err, lost) || kind != "Launch" && r.Violations() != nil {
				t.Fatalf("%s %d: error %v, violations %v", kind, k, err, r.Violations())
			}
		}
	}
}

// The parts of several processes need a row for each process.
func TestProcessesRefuseFewRows(t *testing.T) {
	c := graphcases.Expressions()[0]
	c.Rows = 3
	spread(t, 4, cuda.Options{}, func(_ ranks.Collective, _ *double.Driver, d plan.Device) {
		if _, err := c.Problem(tensor.Float64, graph.On(d)); !contains(err, "3 rows cannot be divided among 4 processes") {
			t.Errorf("error %v", err)
		}
	})
	if from, to := plan.PartOf(1000, 1, 3); from != 256 || to != 640 {
		t.Errorf("part 1 of 3 has the rows %d to %d", from, to)
	}
}
