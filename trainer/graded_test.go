package trainer

import (
	"slices"
	"testing"

	"ppal/trainer/problem"
)

// offset is a problem whose coarse passes add 1 to f and to the constraint.
type offset struct {
	problem.Problem
	coarse bool
}

func (o *offset) Grades() []problem.Grade {
	return []problem.Grade{{Share: 1, Roundoff: 1e-5}, {Share: 1}}
}
func (o *offset) SetGrade(k int) { o.coarse = k == 0 }

func (o *offset) Grade() int {
	if o.coarse {
		return 0
	}
	return 1
}

func (o *offset) Forward(g []float64) (float64, error) {
	f, err := o.Problem.Forward(g)
	if o.coarse {
		f++
		g[0]++
	}
	return f, err
}

// coarsened is a method whose passes are coarse.
type coarsened struct{ scripted }

func (m *coarsened) Iterate(p problem.Problem, at *problem.Point) error {
	problem.FeaturesOf(p).Graded.SetGrade(0)
	return m.scripted.Iterate(p, at)
}

// Records, checks of the tolerance and results have accurate values. The method goes on with its
// own coarse values, so that the interval of records does not change the run.
func TestCoarsePassesAreNotMeasured(t *testing.T) {
	for _, every := range []int{1, 2} {
		p := &offset{Problem: begin(t, square(problem.Regularizer{}), 4), coarse: true}
		m := &coarsened{scripted{moves: []float64{-1}}}
		l := &journal{}
		m.nu = []float64{0}
		r := trained(t, p, m, Settings{Iterations: 4, RecordEvery: every, CheckEvery: 1, Tolerance: 1e-3, Recorder: l})
		if want := []float64{8, 5.5, 3, 1.5}; !slices.Equal(m.seen, want) {
			t.Errorf("every %d: the method saw f = %v, want %v", every, m.seen, want)
		}
		for _, record := range l.records {
			x := 4 - float64(record.Iteration)
			if record.Objective != x*x/2 || record.Constraints[0] != x-1 {
				t.Errorf("every %d: record %+v, want f = %v", every, record, x*x/2)
			}
		}
		if r.Status != Converged || r.Iterations != 4 || r.Objective != 0 || r.Point.Objective != 0 || r.Point.Constraints[0] != -1 || p.coarse {
			t.Errorf("every %d: %+v at %+v, coarse %v", every, r, r.Point, p.coarse)
		}
	}
}
