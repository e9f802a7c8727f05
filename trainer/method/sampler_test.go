package method

import (
	"context"
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// batchMeans is the problem min mean_i (x - a_i)^2/2. Each batch holds a single a_i.
type batchMeans struct {
	problem.Problem
	a     []float64
	now   *float64
	asked []int
}

func newBatchMeans(t *testing.T, a []float64) *batchMeans {
	t.Helper()
	now := new(float64)
	p := require.Value(problem.Functions{
		N:        1,
		F:        func(x []float64) float64 { return (x[0] - *now) * (x[0] - *now) / 2 },
		Gradient: func(dst, x []float64) { dst[0] = x[0] - *now },
	}.New([]float64{0}))(t)
	return &batchMeans{Problem: p, a: a, now: now}
}

func (b *batchMeans) Sample(k int) error {
	b.asked = append(b.asked, k)
	*b.now = b.a[k%len(b.a)]
	return nil
}

// The trainer asks for batch k once, before it evaluates x_k. The steps use the batches. The
// records and the result use the full problem.
func TestSamplerTrainsOnBatchesAndRecordsTheWhole(t *testing.T) {
	a := []float64{1, 2, 6}
	full := require.Value(problem.Functions{
		N: 1,
		F: func(x []float64) float64 {
			sum := 0.0
			for _, v := range a {
				sum += (x[0] - v) * (x[0] - v) / 2 / 3
			}
			return sum
		},
		Gradient: func(dst, x []float64) { dst[0] = x[0] - 3 },
	}.New([]float64{0}))(t)
	p := newBatchMeans(t, a)
	var objectives, epochs []float64
	m := &Unconstrained{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.5}}
	r := require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 3, RecordEvery: 1, Full: full, IterationsPerEpoch: 3,
		Recorder: recorderFunc(func(r *trainer.Record) {
			objectives = append(objectives, r.Objective)
			epochs = append(epochs, r.Epoch)
		})}))(t)
	x, want := 0.0, []float64{}
	for k := range 4 {
		want = append(want, ((x-1)*(x-1)+(x-2)*(x-2)+(x-6)*(x-6))/6)
		if k < 3 {
			x -= 0.5 * (x - a[k])
		}
	}
	for k := range want {
		if math.Abs(objectives[k]-want[k]) > 1e-15 || epochs[k] != float64(k)/3 {
			t.Errorf("record %d: objective %v at epoch %v, want %v at %v", k, objectives[k], epochs[k], want[k], float64(k)/3)
		}
	}
	if len(p.asked) != 4 || p.asked[0] != 0 || p.asked[3] != 3 {
		t.Errorf("batches asked for: %v, want 0, 1, 2, 3", p.asked)
	}
	if math.Abs(r.Point.Objective-want[3]) > 1e-15 || math.Abs(r.Certificate.Stationarity-math.Abs(x-3)) > 1e-15 {
		t.Errorf("result %+v, %+v, want the full problem's at %v", r.Point, r.Certificate, x)
	}
}

// A resumed run that starts at iteration k uses the batches from k on.
func TestSamplerResumes(t *testing.T) {
	a := []float64{1, 2, 6, 4}
	make := func() (*batchMeans, trainer.Method) {
		return newBatchMeans(t, a), &Unconstrained{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.3}}
	}
	value := func(p problem.Problem) float64 {
		x := []float64{0}
		p.Space().Read(x, problem.Iterate)
		return x[0]
	}
	p, m := make()
	require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 7, Full: newBatchMeans(t, a)}))(t)
	want := value(p)
	p, m = make()
	half := require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{Iterations: 3, Full: newBatchMeans(t, a)}))(t)
	p, m = make()
	at := problem.Point{Iteration: 3}
	require.Value(trainer.Train(context.Background(), p, m, trainer.Settings{
		Iterations: 7, Full: newBatchMeans(t, a), Resume: half.State, ResumeAt: at}))(t)
	if got := value(p); got != want {
		t.Errorf("resumed at 3: x = %v, uninterrupted %v", got, want)
	}
}

// constrained is min stiff x^2/2 subject to x - bound <= 0, as a single batch.
func constrained(t *testing.T, stiff, bound float64) *batchMeans {
	t.Helper()
	p := require.Value(problem.Functions{N: 1, M: 1,
		F:         func(x []float64) float64 { return stiff * x[0] * x[0] / 2 },
		Gradient:  func(dst, x []float64) { dst[0] = stiff * x[0] },
		G:         func(dst, x []float64) { dst[0] = x[0] - bound },
		JacobianT: func(dst, _, w []float64) { dst[0] = w[0] },
	}.New([]float64{1}))(t)
	return &batchMeans{Problem: p, a: []float64{0}, now: new(float64)}
}

// The warnings about the start describe the full problem, not the first batch.
func TestSamplerIsDiagnosedOnTheWhole(t *testing.T) {
	for _, test := range []struct {
		name        string
		batch, full *batchMeans
		want        []string
	}{
		{"batch infeasible and stiff", constrained(t, 1000, 0), constrained(t, 1, 2), nil},
		{"whole infeasible", constrained(t, 1, 2), constrained(t, 1, 0.5), []string{"the start is infeasible: the largest violation is 0.5 (--init starts from other weights)"}},
	} {
		m := &PLADA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.05}} // the bound on eta is 0.056 for a stiffness of 1
		r := require.Value(trainer.Train(context.Background(), test.batch, m, trainer.Settings{Full: test.full}))(t)
		if !slices.Equal(r.Warnings.Texts(), test.want) {
			t.Errorf("%s: warnings %q, want %q", test.name, r.Warnings, test.want)
		}
	}
}

type recorderFunc func(r *trainer.Record)

func (f recorderFunc) Record(r *trainer.Record) error { f(r); return nil }
