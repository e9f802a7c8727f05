package step

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// tilted is a problem whose samples add a multiple of x_0 to f and to all constraints.
type tilted struct {
	problem.Problem
	grade  int
	passes []int  // the grades of the forward passes
	counts [3]int // the backward passes of each grade
}

// The shares of the samples, and the multiples of x_0.
var (
	shares = []float64{0.125, 0.25, 1}
	tilts  = []float64{0.4, 0.2, 0}
)

func (s *tilted) Grades() (list []problem.Grade) {
	for _, share := range shares {
		list = append(list, problem.Grade{Share: share})
	}
	return list
}
func (s *tilted) SetGrade(k int) { s.grade = k }
func (s *tilted) Grade() int     { return s.grade }

func (s *tilted) Forward(g []float64) (float64, error) {
	s.passes = append(s.passes, s.grade)
	f, err := s.Problem.Forward(g)
	for j := range g {
		g[j] += tilts[s.grade] * iterate(s)[0]
	}
	return f + tilts[s.grade]*iterate(s)[0], err
}

func (s *tilted) Backward(coefficients []float64, d problem.Vector) error {
	s.counts[s.grade]++
	err := s.Problem.Backward(coefficients, d)
	x := make([]float64, s.Space().Len())
	s.Space().Read(x, d)
	for _, c := range coefficients {
		x[0] += c * tilts[s.grade]
	}
	s.Space().Write(d, x)
	return err
}

// sampled returns the step of a problem with samples, after its first forward pass on all rows.
func sampled(t *testing.T) (s *tilted, at *problem.Point, q *QuasiNewton) {
	t.Helper()
	s = &tilted{Problem: newProblem(t, quadratic(3), []float64{3, 2, 1}), grade: len(shares) - 1}
	point := problem.NewPoint(s)
	require.NoError(t, point.Forward(s))
	q = require.Value(NewQuasiNewton(s))(t)
	return s, &point, q
}

// The passes begin on the smallest sample with the first gradient, rise through the samples, never
// fall, and the minimiser is that of all rows. The gradients count by the shares.
func TestSamplesFirst(t *testing.T) {
	s, at, q := sampled(t)
	for range 60 {
		predict(t, s, at, q)
		try(t, s, at, q)
		if at.Part < 0 || at.Part >= 1 {
			t.Fatalf("%v parts of a gradient", at.Part)
		}
	}
	if s.passes[0] != 2 || s.passes[1] != 0 || q.Sampled() {
		t.Errorf("the grades of the passes are %v, want all rows, then the sample, and all rows at the end", s.passes)
	}
	last := 0
	for i, k := range s.passes[1:] {
		measured := i+2 < len(s.passes) && k == 1 && s.passes[i+2] == 0 // of V
		if k < last && !measured && s.passes[i] != 1 {
			t.Errorf("pass %d falls to grade %d: %v", i+1, k, s.passes)
		}
		if last = max(last, k); measured {
			last = 0
		}
	}
	work := float64(s.counts[0])/8 + float64(s.counts[1])/4 + float64(s.counts[2])
	if s.counts[0] < 4 || s.counts[1] == 0 || float64(at.GradientEvaluations)+at.Part != work {
		t.Errorf("%d gradients and %v for %v of the grades, which are %v", at.GradientEvaluations, at.Part, s.counts, work)
	}
	for i, v := range iterate(s) {
		if want := 1 / float64(1+i); !(math.Abs(v-want) <= 1e-8) {
			t.Errorf("x_%d = %v at the end, want %v", i, v, want)
		}
	}
}

// The first gradient is that of the sample, so that both gradients of each pair are.
func TestPairsOfOneSample(t *testing.T) {
	s, at, q := sampled(t)
	for q.stage <= firstPass+1 {
		predict(t, s, at, q)
		if q.stage > firstPass+1 {
			break
		}
		from := iterate(s)
		if !try(t, s, at, q) || len(q.order) == 0 {
			continue
		}
		slot := q.order[len(q.order)-1]
		move, change := make([]float64, 3), make([]float64, 3)
		s.Space().Read(move, q.s[slot])
		s.Space().Read(change, q.y[slot])
		for i := range move { // the Hessian is diag(1, 2, 3)
			if want := float64(1+i) * move[i]; !(math.Abs(change[i]-want) <= 1e-12) {
				t.Fatalf("from %v the gradient changes by %v with the move %v", from, change, move)
			}
		}
	}
}

// V follows from f on the next sample at the same point, which stays the iterate with its values. A
// predicted decrease of at most 0.15 V (1/s - 1) ends the sample.
func TestMisled(t *testing.T) {
	s, at, q := sampled(t)
	predict(t, s, at, q)
	f := at.Objective
	phi := Augmented{Penalty: 1}
	misled := func(decrease float64) bool {
		t.Helper()
		return require.Value(q.misled(s, at, phi, decrease))(t)
	}
	for steps, want := range map[int]int{sampleSteps - 1: 0, sampleSteps: 1} {
		q.sampling = sampling{steps: steps}
		passes := len(s.passes)
		misled(1)
		if len(s.passes) != passes+want {
			t.Errorf("%d passes for V after %d trials, want %d", len(s.passes)-passes, steps, want)
		}
	}
	// x_0 = 3: f differs by 0.2 x_0, and 1/s - 1/t = 8 - 4.
	q.sampling = sampling{steps: sampleSteps}
	const v = 0.2 * 3 / 4
	const bound = 0.15 * v * 7
	if misled(1.001*bound) || !(math.Abs(q.sampling.spread-v) <= 1e-12) || q.sampling.steps != 0 {
		t.Errorf("V = %v after a measurement, want %v; %d steps", q.sampling.spread, v, q.sampling.steps)
	}
	if at.Objective != f || s.grade != 0 || !at.Stale() {
		t.Errorf("f = %v of grade %d after the measurement, want %v of grade 0, to be repeated", at.Objective, s.grade, f)
	}
	for decrease, want := range map[float64]bool{0.999 * bound: true, 1.001 * bound: false, 0: true, math.NaN(): true} {
		if misled(decrease) != want {
			t.Errorf("misled with the predicted decrease %v: %v", decrease, !want)
		}
	}
	// On the larger sample, V stays and 1/s - 1 = 3. No pass is needed.
	q.stage++
	q.sampling.steps = sampleSteps
	passes := len(s.passes)
	if misled(1.001*bound*3/7) || !misled(0.999*bound*3/7) || len(s.passes) != passes {
		t.Error("the larger sample has another bound, or measures")
	}
	q.stage++
	if misled(0) {
		t.Error("all rows are misled")
	}
}

// A measurement of V compares the augmented Lagrangians, and leaves the constraints as they were.
func TestMisledWithConstraints(t *testing.T) {
	fn := quadratic(3)
	fn.M, fn.G = 1, func(dst, x []float64) { dst[0] = x[1] - 1 }
	fn.JacobianT = func(dst, _, w []float64) { clear(dst); dst[1] = w[0] }
	s := &tilted{Problem: newProblem(t, fn, []float64{3, 2, 1})}
	at := problem.NewPoint(s)
	require.NoError(t, at.Forward(s))
	q := require.Value(NewQuasiNewton(s))(t)
	q.stage, q.sampling.steps = firstPass+1, sampleSteps
	require.Value(q.misled(s, &at, Augmented{Multipliers: []float64{0.5}, Penalty: 2}, 1))(t)
	// f falls by 0.2 x_0 and g from 2.2 to 1.6: (lambda + c g)^2/(2c) falls by (4.9^2 - 3.7^2)/4.
	want := (0.2*3 + (4.9*4.9-3.7*3.7)/4) / 4
	if math.Abs(q.sampling.spread-want) > 1e-12 || math.Abs(at.Constraints[0]-2.2) > 1e-12 {
		t.Errorf("V = %v, want %v; g = %v, want 2.2", q.sampling.spread, want, at.Constraints)
	}
}

// A search that has ended on a sample goes on after the rise.
func TestExhaustedSample(t *testing.T) {
	s, at, q := sampled(t)
	predict(t, s, at, q)
	q.exhausted = true
	if decrease, _ := predict(t, s, at, q); !(decrease > 0) || q.stage != firstPass+2 || q.exhausted {
		t.Errorf("decrease %v in stage %d, want the next sample's", decrease, q.stage)
	}
	want := problem.NewPoint(s)
	if err := want.Forward(s); err != nil || want.Objective != at.Objective {
		t.Errorf("f = %v, want %v (%v)", at.Objective, want.Objective, err)
	}
}

// PredictOnAllRows leaves all samples at once.
func TestPredictOnAllRows(t *testing.T) {
	s, at, q := sampled(t)
	predict(t, s, at, q)
	if _, _, err := q.PredictOnAllRows(s, at, Augmented{}); err != nil || q.Sampled() || s.grade != 2 {
		t.Errorf("grade %d after PredictOnAllRows (%v)", s.grade, err)
	}
	x := iterate(s)
	if want := x[0]*x[0]/2 - x[0] + x[1]*x[1] - x[1] + 3*x[2]*x[2]/2 - x[2]; math.Abs(at.Objective-want) > 1e-12 {
		t.Errorf("f = %v, want %v on all rows", at.Objective, want)
	}
}

// A restored step has the grade and the sampling error of the saved one, and goes on to the same
// iterates.
func TestSampleRestored(t *testing.T) {
	for _, before := range []int{0, 3, 6, 12, 20} {
		s, at, q := sampled(t)
		for range before {
			predict(t, s, at, q)
			try(t, s, at, q)
		}
		other, _, restored := sampled(t)
		other.Space().Write(problem.Iterate, iterate(s))
		restore(q, s.Space(), restored, other.Space())
		if restored.stage != q.stage || restored.sampling != q.sampling || other.grade != s.grade {
			t.Fatalf("after %d steps: stage %d, %+v, want %d, %+v", before, restored.stage, restored.sampling, q.stage, q.sampling)
		}
		from := problem.NewPoint(other)
		require.NoError(t, from.Forward(other))
		for range 15 {
			predict(t, s, at, q)
			try(t, s, at, q)
			predict(t, other, &from, restored)
			try(t, other, &from, restored)
		}
		if !slices.Equal(iterate(s), iterate(other)) || s.grade != other.grade {
			t.Errorf("after %d steps: %v of grade %d, want %v of grade %d", before, iterate(other), other.grade, iterate(s), s.grade)
		}
	}
}
