package trainer

import (
	"fmt"

	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// collapseStationarity is the stationarity below which a collapsed objective counts as a stationary
// point. An objective of at least collapseShare of its largest value means that the model no longer
// decides for the class of the objective.
const (
	collapseStationarity = 1e-3
	collapseShare        = 0.9
)

// GivenUp reports whether the objective is near its largest value, 2 CollapseAbove: the model no
// longer decides for the class of the objective, and the point does not count as feasible.
func (s Settings) GivenUp(objective float64) bool {
	return s.CollapseAbove > 0 && objective >= collapseShare*2*s.CollapseAbove
}

// finish chooses the output and completes the result. The result of a failed run describes the last
// record.
func (t *run) finish(status Status, failure error) (*Result, error) {
	r := &Result{Status: status, Iterations: t.at.Iteration, Seconds: t.seconds,
		Infeasible: t.conflict.proof, Attainable: t.conflict.attained, Trend: t.trend.end(&t.last, t.p), BestFeasible: t.best, Output: t.at.Iteration, Decay: t.residuals.decay()}
	if failure == nil {
		r.State = Capture(t.p, t.m) // with the accuracy of the passes
	}
	if problem.Coarse(t.graded) {
		problem.MakeAccurate(t.graded)
		if failure == nil {
			if err := t.at.Forward(t.p); err != nil {
				return nil, err
			}
		}
	}
	if failure == nil {
		if _, err := t.showReturned(); err != nil {
			return nil, err
		}
		if t.lastAt != t.fullAt { // the run ends after a record of the sample
			if err := t.evaluate(); err != nil {
				return nil, err
			}
			t.last.Objective += t.fullAt.Objective - t.lastAt.Objective
			t.lastAt = t.fullAt
		}
		if t.hooks.concluder != nil {
			warnings, notes := t.hooks.concluder.Conclude(t.fullAt, t.last.Certificate)
			if status != Infeasible { // the advice of the warnings does not help
				t.warn(WarnConclusion, warnings...)
			}
			r.Notes = append(r.Notes, notes...)
		}
		stage(t.set.Recorder, "certifying")
		began := t.now()
		if err := t.choose(r); err != nil {
			return nil, err
		}
		if err := t.improve(); err != nil {
			return nil, err
		}
		if err := t.checkDescent(status); err != nil {
			return nil, err
		}
		if note := problem.FeaturesOf(t.p).Note; note != "" {
			r.Notes = append(r.Notes, note)
		}
		t.times.Certificates = t.now().Sub(began).Seconds()
		if f := t.fullAt.Objective; t.set.GivenUp(f) ||
			t.set.CollapseAbove > 0 && f >= t.set.CollapseAbove && t.last.Certificate.Stationarity <= collapseStationarity {
			t.warn(WarnCollapsed, fmt.Sprintf("collapsed: the objective, %.3g, is at least %.3g: the model does not decide for the class of the objective, "+
				"so that met bounds say nothing about its quality; "+
				"use a smaller step size (--eta), looser bounds or another --seed", f, t.set.CollapseAbove))
		}
	}
	r.Objective, r.Certificate, r.Warnings = t.last.Objective, t.last.Certificate, t.warnings
	r.Times = t.times
	r.Point = *t.lastAt
	for _, v := range []problem.Vector{t.selection.at, t.drawnAt, t.iterateAt} {
		if v != problem.Iterate {
			t.p.Space().Free(v)
		}
	}
	return r, nil
}

// choose makes the output the iterate, and sets f, g and the certificate of the output.
func (t *run) choose(r *Result) error {
	from, nu := problem.Iterate, []float64(nil)
	switch {
	case t.selection.chosen:
		from, nu, r.Output = t.selection.at, t.selection.nu, t.selection.iteration
		r.Merit = &t.selection.merit
	case t.set.Output == OutputBest:
		t.warn(WarnOutput, "no recorded iterate was feasible: the output is the last iterate (use more iterations or a larger --feasibility-tolerance)")
	case t.drawn > 0:
		from, nu, r.Output = t.drawnAt, t.drawnNu, t.drawn
	case t.set.Output == OutputRandom && t.at.Iteration > 0:
		t.warn(WarnOutput, "no iterate had a weight in the draw of the random output: the output is the last iterate (use more iterations)")
	}
	if r.Output == t.at.Iteration {
		return nil
	}
	t.p.Space().Combine(problem.Iterate, 1, from, 0, from)
	if t.full == t.p {
		if err := t.at.Forward(t.p); err != nil {
			return err
		}
	} else if err := t.evaluate(); err != nil {
		return err
	}
	c, err := t.certify(nu)
	if err != nil {
		return err
	}
	t.p.Space().Read(t.x, problem.Iterate)
	t.last.Objective, t.last.Certificate = t.fullAt.Objective+t.p.Space().Regularizer.Value(t.x), c
	t.lastNu = nil
	return nil
}

// improve replaces the certificate of the last record, which has the method's own multiplier, by
// the better certificate (certify.Better). A record has the method's own multiplier because its
// certificate costs a single backward pass.
func (t *run) improve() (err error) {
	if t.lastNu == nil || t.set.OwnMultiplier {
		return nil
	}
	t.last.Certificate, err = t.certify(t.lastNu)
	return err
}

// certify certifies the iterate with the better of nu, the method's own multiplier, and another, or
// with nu alone if the settings say so.
func (t *run) certify(nu []float64) (certify.Certificate, error) {
	if t.set.OwnMultiplier {
		return certify.Measure(t.full, t.fullAt, nu, t.set.Certificate)
	}
	return certify.Better(t.full, t.fullAt, nu, nil, t.set.Certificate)
}
