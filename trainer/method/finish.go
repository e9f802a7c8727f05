package method

import (
	"slices"

	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// finish describes the last iterations of a run on mini-batches, which use all rows. From iteration
// finish.from on, the method takes quasi-Newton steps on finish.whole, the problem on all rows in
// the space of the problem on batches. The steps begin at the mean of the iterates of the second
// half of the iterations on batches, because the mean cancels the batches' noise (Polyak and
// Juditsky 1992). They begin at the last iterate if the augmented Lagrangian on all rows is smaller
// there. The steps begin with the batches' multipliers, except those of constraints with pieces:
// the noise of g_j = |h| - eps on batches has a positive mean, so that multipliers grow beyond
// those on all rows. The other state of the method begins anew.
type finish struct {
	method finisher
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

// finisher is a quasiNewton that can take its last iterations with quasi-Newton steps.
type finisher interface {
	quasiNewton
	// setFinish sets the last iterations before Init.
	setFinish(f *finish)
	// restart is Init with quasi-Newton steps and the present multipliers.
	restart(p problem.Problem, at *problem.Point) error
}

var (
	_ finisher = (*PPALA)(nil)
	_ finisher = (*PLADA)(nil)
	_ finisher = (*ALM)(nil)
	_ finisher = (*Unconstrained)(nil)
)

// FinishOn lets a run of m on mini-batches take quasi-Newton steps on whole, the problem on all
// rows with the space of the mini-batches, from the given iteration on, and reports whether m does
// so. m does if its primal step on the batches is step.Nesterov, also by the choice of step.Auto,
// and step.LBFGS suits whole: see ChoosePrimal. The caller calls FinishOn before Init. For other
// methods it does nothing.
func FinishOn(m trainer.Method, whole problem.Problem, from int) bool {
	f, ok := m.(finisher)
	if !ok || f.refuses(whole) != "" {
		return false
	}
	// a repeated or resumed run names the step that step.Auto chose
	if kind := primalOf(f); kind != step.Auto && kind != step.Nesterov {
		return false
	}
	f.setFinish(&finish{method: f, whole: whole, from: from, mean: whole.Space().New()})
	return true
}

// problemAt returns the problem of the iteration at the point: p, or the problem on all rows.
func (f *finish) problemAt(p problem.Problem, at *problem.Point) (problem.Problem, error) {
	switch {
	case f == nil || at.Iteration < f.from:
		return p, nil
	case !f.begun:
		f.begun = true
		if f.err = f.takeMean(at); f.err == nil {
			f.err = f.method.restart(f.whole, at)
		}
	}
	return f.whole, f.err
}

// moved adds the iterate after the iteration at the point to the mean.
func (f *finish) moved(at *problem.Point) {
	if f == nil || f.begun || at.Iteration+1 <= f.from/2 {
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
	report := f.method.Report()
	phi := step.Augmented{Multipliers: report.Multipliers, Penalty: meanPenalty}
	if report.Auxiliary != nil {
		phi.Multipliers = report.Auxiliary
	}
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

// visitState shows to v whether the last iterations have begun. If they have begun in a restored
// run, the method restarts before v visits the state of its steps.
func (f *finish) visitState(v problem.StateVisitor) {
	if f == nil {
		return
	}
	begun := f.begun
	v.Count("finish.count", &f.count)
	v.Vector("finish.mean", f.mean)
	problem.VisitFlag(v, "finish.begun", &begun)
	if begun && !f.begun {
		f.begun = true
		at := problem.NewPoint(f.whole)
		if f.err = at.Forward(f.whole); f.err == nil {
			f.err = f.method.restart(f.whole, &at)
		}
	}
}

// setFinish implements finisher.
func (f *firstOrder) setFinish(last *finish) { f.finish = last }

func (m *PPALA) restart(p problem.Problem, at *problem.Point) error {
	mu := slices.Clone(m.dual.mu)
	defer quasiNewtonSteps(&m.Primal)()
	if err := m.Init(p, at); err != nil {
		return err
	}
	m.dual.resume(mu)
	return nil
}

func (m *PLADA) restart(p problem.Problem, at *problem.Point) error {
	mu := slices.Clone(m.dual.mu)
	defer quasiNewtonSteps(&m.Primal)()
	if err := m.Init(p, at); err != nil {
		return err
	}
	if m.smooth == nil {
		m.dual.resume(mu)
	}
	return nil
}

func (m *ALM) restart(p problem.Problem, at *problem.Point) error {
	lambda := slices.Clone(m.lambda)
	defer quasiNewtonSteps(&m.Primal)()
	if err := m.Init(p, at); err != nil {
		return err
	}
	copy(m.lambda, lambda)
	return nil
}

func (m *Unconstrained) restart(p problem.Problem, at *problem.Point) error {
	defer quasiNewtonSteps(&m.Primal)()
	return m.Init(p, at)
}

// quasiNewtonSteps changes the settings to quasi-Newton steps, and returns a function that restores
// them.
func quasiNewtonSteps(s *step.Settings) (restore func()) {
	given := *s
	*s = step.Settings{Kind: step.LBFGS}
	return func() { *s = given }
}

// resume sets the multipliers of quasi-Newton steps to max(0, mu). mu is smoother than lambda,
// which follows the noise of the batches' constraints.
func (d *perturbed) resume(mu []float64) {
	for j, v := range mu {
		d.mu[j] = max(0, v)
		d.lambda[j] = d.mu[j]
	}
}
