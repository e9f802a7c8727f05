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
	at, err := t.judged(ending)
	if err != nil {
		return err
	}
	report := t.m.Report()
	c, err := t.measured(at, report.Nu)
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
	r.GivenUp = t.set.GivenUp(r.Objective)
	if err := t.near(&r, ending); err != nil {
		return err
	}
	measure := t.set.Measure
	if t.sample != nil {
		r.Sample = t.sample.Rows
		if !ending {
			measure = t.sample.Measure
		}
	}
	if measure != nil {
		if r.Measures, err = measure(); err != nil {
			return fmt.Errorf("trainer: measures at iteration %d: %w", t.at.Iteration, err)
		}
	}
	if at == t.fullAt && r.Feasible(t.set.FeasibilityTolerance) && (t.best == nil || r.Objective < t.best.Objective) {
		t.keepBest(&r)
	}
	if ending || t.at.Iteration%t.check == 0 {
		t.selects(&r, report.Nu)
	}
	t.x = t.trend.add(&r, t.x)
	t.last, t.lastAt, t.lastNu, t.recorded, t.unwritten = r, at, slices.Clone(report.Nu), t.at.Iteration, true
	return nil
}

// judged evaluates the iterate on the rows of a record, and returns their point: of the sample if
// there is one and the run is not ending, and of all rows otherwise.
func (t *run) judged(ending bool) (*problem.Point, error) {
	if t.sample == nil || ending {
		return t.fullAt, t.evaluate()
	}
	return &t.sampleAt, t.copyTo(t.sample.Problem, &t.sampleAt)
}

// measured certifies the iterate, whose values are at, with the multiplier nu. The gradient is that
// of the sample if there is one.
func (t *run) measured(at *problem.Point, nu []float64) (certify.Certificate, error) {
	if t.sample == nil {
		return certify.Measure(t.full, at, nu, t.set.Certificate)
	}
	if at != &t.sampleAt {
		if _, err := t.judged(false); err != nil {
			return certify.Certificate{}, err
		}
	}
	c, err := certify.Measure(t.sample.Problem, &t.sampleAt, nu, t.set.Certificate)
	c.Infeasibility, c.Complementarity = certify.Residuals(at.Constraints, c.Nu)
	c.Epsilon = max(c.Stationarity, c.Infeasibility, c.Complementarity, c.Domain)
	return c, err
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
