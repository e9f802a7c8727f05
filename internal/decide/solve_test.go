package decide

import (
	"context"
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// still is a method that warns before a run and never moves.
type still struct{}

func (still) Name() string                               { return "still" }
func (still) Needs() trainer.Needs                       { return trainer.Needs{} }
func (still) Init(problem.Problem, *problem.Point) error { return nil }
func (still) Report() trainer.Report                     { return trainer.NewReport(math.NaN(), nil) }
func (still) VisitState(problem.StateVisitor)            {}
func (still) Iterate(p problem.Problem, at *problem.Point) error {
	return at.Forward(p)
}
func (still) Diagnose(context.Context, problem.Problem, *problem.Point) ([]string, error) {
	return []string{"at the start"}, nil
}

// A round passes on the warnings of its start, and its seconds are those of all rounds.
func TestSolveARound(t *testing.T) {
	f := fourRows(t, 0)
	l := require.Value(newLoop(f.Smooth, still{}, trainer.Settings{Iterations: 40}, f))(t)
	l.seconds, l.warnings.closing = 100, true // after an earlier round
	require.Value(l.solve(t.Context()))(t)
	if !slices.Equal(l.warnings.told.Texts(), []string{"at the start"}) {
		t.Errorf("warnings %q", l.warnings.told)
	}
	if l.result.Seconds != l.seconds || l.seconds < 100 {
		t.Errorf("%v seconds in the result, %v in all rounds", l.result.Seconds, l.seconds)
	}
}

// If the scores of a row are equal, the Hessian is singular along the slope. The Newton step moves
// the intercepts.
func TestSoftmaxNewtonOfEqualScores(t *testing.T) {
	f := newSoftmaxFit(rowsOf([]float64{1, 1, 1, 1, 2, 2}, []int{0, 1, 1}, 2))
	step, slope, ok := f.newton([]float64{0, 0})
	// The targets of class 1 are 1/3, 3/4 and 3/4, at probabilities of 1/2.
	if want := (1./3 + 2*3./4 - 3./2) / (3. / 4); !ok || !(math.Abs(step[1]-want) < 1e-9) || !(slope < 0) {
		t.Errorf("step %v, slope %v, %v, want an intercept's step of %v", step, slope, ok, want)
	}
}
