package trainer

import (
	"fmt"
	"math"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// record measures the iterate, or the point that the method would return, unless it has been
// measured, and calls the recorder if written says so. ending marks the last record of the run.
func (t *run) record(ending, written bool) error {
	if t.recorded != t.at.Iteration {
		if err := t.returned(func() error { return t.recordIterate(ending) }); err != nil {
			return err
		}
	}
	if !written {
		return nil
	}
	return t.write()
}

// write passes the last record to the recorder, with the means over the records, if the recorder
// has not received it.
func (t *run) write() error {
	if !t.unwritten {
		return nil
	}
	t.unwritten = false
	t.residuals.add(&t.last)
	if t.set.Recorder == nil {
		return nil
	}
	return t.set.Recorder.Record(&t.last)
}

// recordIterate measures the current iterate.
func (t *run) recordIterate(ending bool) error {
	if err := t.evaluate(); err != nil {
		return err
	}
	report, at := t.m.Report(), t.fullAt
	c, err := certify.Measure(t.full, at, report.Nu, t.set.Certificate)
	if err != nil {
		return err
	}
	if !vec.Finite(c.Epsilon) {
		return &problem.NonFiniteError{Term: "gradient", Iteration: t.at.Iteration, Value: c.Stationarity}
	}
	t.p.Space().Read(t.x, problem.Iterate)
	r := Record{
		Iteration: t.at.Iteration, Epoch: t.set.epochs(t.at.Iteration), Seconds: t.seconds,
		GradientEvaluations: t.at.GradientEvaluations,
		Objective:           at.Objective + t.p.Space().Regularizer.Value(t.x), Constraints: slices.Clone(at.Constraints),
		MaxViolation: problem.MaxViolation(at.Constraints), Infeasibility: c.Infeasibility,
		Stationarity: c.Stationarity, Complementarity: c.Complementarity,
		Multipliers: report.Multipliers, Auxiliary: report.Auxiliary, Slack: report.Slack,
		Delta: known(report.Delta), StepSize: known(report.StepSize), Certificate: c,
	}
	if err := t.near(&r, ending); err != nil {
		return err
	}
	if t.set.Measure != nil {
		if r.Measures, err = t.set.Measure(); err != nil {
			return fmt.Errorf("trainer: measures at iteration %d: %w", t.at.Iteration, err)
		}
	}
	if r.MaxViolation <= t.set.FeasibilityTolerance && !t.set.GivenUp(r.Objective) && (t.best == nil || r.Objective < t.best.Objective) {
		t.keepBest(&r)
	}
	if ending || t.at.Iteration%t.check == 0 {
		t.selects(&r, report.Nu)
	}
	t.x = t.trend.add(&r, t.x)
	t.last, t.lastNu, t.recorded, t.unwritten = r, slices.Clone(report.Nu), t.at.Iteration, true
	return nil
}

// known returns a pointer to x, or nil if x is NaN.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// keepBest makes the record the best feasible record, with a copy of the iterate, which t.x holds.
func (t *run) keepBest(r *Record) {
	if t.best == nil {
		t.best = &Best{}
	}
	t.best.Iteration, t.best.Objective, t.best.X = r.Iteration, r.Objective, append(t.best.X[:0], t.x...)
}
