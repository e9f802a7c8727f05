package method

import (
	"slices"

	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// finish describes the last iterations of a run on mini-batches, which use all rows. From iteration
// finish.from on, the method of multipliers (ALM) takes quasi-Newton steps on finish.whole, the
// problem on all rows in the space of the problem on batches. The steps begin at the mean of the
// iterates of the second half of the iterations on batches, because the mean cancels the batches'
// noise (Polyak and Juditsky 1992). They begin at the last iterate if the augmented Lagrangian on
// all rows is smaller there. The steps begin with the batches' multipliers.
type finish struct {
	method finisher       // of the iterations on batches
	last   trainer.Method // of the last iterations: ALM, or Unconstrained
	whole  problem.Problem
	from   int
	mean   problem.Vector // of counted iterates
	count  int
	begun  bool
	err    error // of a start in VisitState
}

// meanPenalty is the penalty of the augmented Lagrangian that compares the mean of the iterates
// with the last iterate.
const meanPenalty = 10

// finisher is a method whose run on mini-batches can end with quasi-Newton steps on all rows.
type finisher interface {
	chooser
	// setFinish sets the last iterations before Init.
	setFinish(f *finish)
	// onAllRows returns the method of the last iterations.
	onAllRows() trainer.Method
}

// FinishOn lets a run of m on mini-batches end with the method of multipliers on whole, the problem
// on all rows with the space of the mini-batches, from the given iteration on, and reports whether
// m does so. m does if its primal step on the batches is step.Nesterov, also by the choice of
// step.Auto, and quasi-Newton steps suit whole. The caller calls FinishOn before Init. For other
// methods it does nothing.
func FinishOn(m trainer.Method, whole problem.Problem, from int) bool {
	f, ok := m.(finisher)
	if !ok || step.QuasiNewtonRefuses(whole) != "" {
		return false
	}
	// a repeated or resumed run names the step that step.Auto chose
	if kind := primalOf(f); kind != step.Auto && kind != step.Nesterov {
		return false
	}
	f.setFinish(&finish{method: f, last: f.onAllRows(), whole: whole, from: from, mean: whole.Space().New()})
	return true
}

// setFinish implements finisher.
func (f *firstOrder) setFinish(last *finish) { f.finish = last }

// takesOver reports whether f.last takes the iteration at the point.
func (f *finish) takesOver(at *problem.Point) (bool, error) {
	switch {
	case f == nil || at.Iteration < f.from:
		return false, nil
	case !f.begun && f.err == nil:
		if f.err = f.takeMean(at); f.err == nil {
			f.err = f.begin(at)
		}
	}
	return true, f.err
}

// begin begins the last iterations at the point, with the multipliers of the iterations on batches.
func (f *finish) begin(at *problem.Point) error {
	w := slices.Clone(f.multipliers())
	f.begun = true
	if err := f.last.Init(f.whole, at); err != nil {
		return err
	}
	if m, ok := f.last.(interface{ beginWith(multipliers []float64) }); ok {
		m.beginWith(w)
	}
	return nil
}

// multipliers returns the multipliers of the iterations on batches: mu if the method has mu, which
// is smoother than lambda, because lambda follows the noise of the batches' constraints.
func (f *finish) multipliers() []float64 {
	r := f.method.Report()
	if r.Auxiliary != nil {
		return r.Auxiliary
	}
	return r.Multipliers
}

// moved adds the iterate after the iteration at the point to the mean.
func (f *finish) moved(at *problem.Point) {
	if f == nil || at.Iteration+1 <= f.from/2 {
		return
	}
	f.count++
	space, share := f.whole.Space(), 1/float64(f.count)
	space.Combine(f.mean, 1-share, f.mean, share, problem.Iterate)
}

// takeMean replaces the iterate by the mean if the mean has the smaller augmented Lagrangian.
func (f *finish) takeMean(at *problem.Point) error {
	if f.count == 0 {
		return nil
	}
	phi := step.Augmented{Multipliers: f.multipliers(), Penalty: meanPenalty}
	space, last := f.whole.Space(), f.whole.Space().New()
	defer space.Free(last)
	space.Combine(last, 1, problem.Iterate, 0, problem.Iterate)
	value := phi.Value(at.Objective, at.Constraints)
	space.Combine(problem.Iterate, 1, f.mean, 0, f.mean)
	if err := at.Forward(f.whole); err != nil || phi.Value(at.Objective, at.Constraints) <= value {
		return err
	}
	space.Combine(problem.Iterate, 1, last, 0, last)
	return at.Forward(f.whole)
}

// visitState shows the state of the last iterations to v, and reports whether they have begun, so
// that the state of the iterations on batches is no longer needed. If they have begun in a restored
// run, they begin before v visits the state of their method.
func (f *finish) visitState(v problem.StateVisitor) bool {
	if f == nil {
		return false
	}
	begun := f.begun
	v.Count("finish.count", &f.count)
	v.Vector("finish.mean", f.mean)
	problem.VisitFlag(v, "finish.begun", &begun)
	if begun && !f.begun {
		at := problem.NewPoint(f.whole)
		if f.err = at.Forward(f.whole); f.err == nil {
			f.err = f.begin(&at)
		}
	}
	if f.begun && f.err == nil {
		f.last.VisitState(v)
	}
	return begun
}
