package step

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// rounded is a problem whose coarse passes evaluate f at x rounded to multiples of the grain.
type rounded struct {
	problem.Problem
	coarse bool
	passes []bool // whether each forward pass was coarse
}

const grain = 1e-4

func (r *rounded) Grades() []problem.Grade {
	return []problem.Grade{{Share: 1, Roundoff: grain}, {Share: 1}}
}
func (r *rounded) SetGrade(k int) { r.coarse = k == 0 }

func (r *rounded) Grade() int {
	if r.coarse {
		return 0
	}
	return 1
}

// The stages of a problem with two grades.
const (
	coarsePasses   = firstPass + 1
	accuratePasses = firstPass + 2
)

func (r *rounded) Forward(g []float64) (f float64, err error) {
	r.passes = append(r.passes, r.coarse)
	r.at(func() { f, err = r.Problem.Forward(g) })
	return f, err
}

func (r *rounded) Backward(coefficients []float64, d problem.Vector) (err error) {
	r.at(func() { err = r.Problem.Backward(coefficients, d) })
	return err
}

// at runs a pass at the rounded iterate if the passes are coarse.
func (r *rounded) at(pass func()) {
	if !r.coarse {
		pass()
		return
	}
	x := make([]float64, r.Space().Len())
	r.Space().Read(x, problem.Iterate)
	near := make([]float64, len(x))
	for i, v := range x {
		near[i] = math.Round(v/grain) * grain
	}
	r.Space().Write(problem.Iterate, near)
	pass()
	r.Space().Write(problem.Iterate, x)
}

// graded returns the step of a problem with coarse passes, after its first forward pass.
func graded(t *testing.T) (r *rounded, at *problem.Point, q *QuasiNewton) {
	t.Helper()
	r = &rounded{Problem: newProblem(t, quadratic(3), []float64{1, 1, 1})}
	point := problem.NewPoint(r)
	require.NoError(t, point.Forward(r))
	q = require.Value(NewQuasiNewton(r))(t)
	return r, &point, q
}

// The passes are coarse from the first trial on until the planned steps are short, and then
// accurate for the rest of the run. The minimiser is as accurate as without coarse passes.
func TestCoarsePassesFirst(t *testing.T) {
	r, at, q := graded(t)
	for range 60 {
		predict(t, r, at, q)
		try(t, r, at, q)
	}
	from := 0
	for i, coarse := range r.passes {
		switch {
		case i == 0 && coarse:
			t.Error("the first pass is coarse")
		case i == 1 && !coarse:
			t.Error("the first trial is accurate")
		case coarse && from > 0:
			t.Errorf("pass %d is coarse, after accurate passes", i)
		case i > 0 && !coarse && from == 0:
			from = i
		}
	}
	if from < 4 || q.stage != accuratePasses {
		t.Errorf("%d of %d passes before the accurate ones, stage %d", from, len(r.passes), q.stage)
	}
	for i, v := range iterate(r) {
		if want := 1 / float64(1+i); !(math.Abs(v-want) <= 1e-8) {
			t.Errorf("x_%d = %v at the end, want %v", i, v, want)
		}
	}
}

// Passes become accurate if the predicted decrease, or the length of the step, is below the bound.
func TestTooCoarse(t *testing.T) {
	_, at, q := graded(t)
	at.Objective = 1
	phi := Augmented{Penalty: 1}
	const least, short = noiseRoundoffs * grain, coarseMove * grain * 3
	for _, c := range []struct {
		stage            int
		decrease, length float64
		want             bool
	}{
		{coarsePasses, 1.01 * least, 1.01 * short, false},
		{coarsePasses, 0.99 * least, 1.01 * short, true},
		{coarsePasses, 1.01 * least, 0.99 * short, true},
		{coarsePasses, math.NaN(), 1.01 * short, true},
		{firstPass, 0, 0, false},
		{accuratePasses, 0, 0, false},
	} {
		q.stage, q.length, q.plan.norm = c.stage, c.length, 2
		if got := q.tooCoarse(at, phi, c.decrease); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// When the passes become accurate, Predict evaluates f and the gradient again.
func TestAccurateFromPredict(t *testing.T) {
	r, at, q := graded(t)
	predict(t, r, at, q)
	if !try(t, r, at, q) || !r.coarse {
		t.Fatal("the first trial is not coarse, or was rejected")
	}
	q.radius = grain
	forwards, gradients := len(r.passes), at.GradientEvaluations
	predict(t, r, at, q)
	if r.coarse || len(r.passes) != forwards+1 || at.GradientEvaluations != gradients+1 {
		t.Errorf("coarse %v, %d forward passes and %d gradients more", r.coarse, len(r.passes)-forwards, at.GradientEvaluations-gradients)
	}
	want := problem.NewPoint(r)
	if err := want.Forward(r); err != nil || want.Objective != at.Objective {
		t.Errorf("f = %v, want %v (%v)", at.Objective, want.Objective, err)
	}
}

// A restored step gives the passes the accuracy of its stage, whatever it did before, and has the
// rounding errors of these passes. A problem without the stage has its last one.
func TestStageRestored(t *testing.T) {
	for stage, coarse := range []bool{firstPass: false, coarsePasses: true, accuratePasses: false, accuratePasses + 1: false} {
		for before := range accuratePasses + 1 {
			r, _, q := graded(t)
			q.stage = stage
			other, _, restored := graded(t)
			restored.stage = before
			restored.grade()
			restore(q, r.Space(), restored, other.Space())
			if restored.stage != min(stage, accuratePasses) || other.coarse != coarse {
				t.Errorf("stage %d after %d: restored %d, coarse %v", stage, before, restored.stage, other.coarse)
			}
			want := other.Space().Roundoff()
			if coarse {
				want = grain
			}
			if got := restored.roundoff(); got != want {
				t.Errorf("stage %d: rounding errors of %v, want %v", stage, got, want)
			}
		}
	}
	plain := newProblem(t, quadratic(3), []float64{1, 1, 1})
	q := require.Value(NewQuasiNewton(plain))(t)
	r, _, from := graded(t)
	from.stage = accuratePasses
	restore(from, r.Space(), q, plain.Space())
	if q.stage != firstPass+1 {
		t.Errorf("stage %d without grades, want %d", q.stage, firstPass+1)
	}
}

// If the first trial is rejected, f is that of a coarse pass, as in a run that is resumed there.
func TestFirstTrialRejected(t *testing.T) {
	r, at, q := graded(t)
	r.Space().Write(problem.Iterate, []float64{1.00004, 1, 1})
	require.NoError(t, at.Forward(r))
	accurate := at.Objective
	predict(t, r, at, q)
	q.plan.decrease = 1e9
	if try(t, r, at, q) {
		t.Fatal("the trial was accepted")
	}
	want := problem.NewPoint(r)
	if err := want.Forward(r); err != nil || !r.coarse || at.Objective != want.Objective || at.Objective == accurate {
		t.Errorf("f = %v, want the coarse %v, not %v (%v)", at.Objective, want.Objective, accurate, err)
	}
}
