package trainer

import (
	"ppal/trainer/certify"
	"ppal/trainer/internal/estimate"
)

// nearMargin is the ratio of rho^ to the estimate at the start. The estimate is twice the modulus
// of weak convexity at the start. The estimate is a lower bound, and the modulus grows with the
// weights (on the fairness problems by up to 1.4 times). If rho^ is too small, the proximal problem
// is not convex, and the distance to its solution is not unique. A larger margin makes more
// proximal problems infeasible: the radius of the constraints' balls is ||grad g||/rho^.
const nearMargin = 2

// settleNear fixes rho^ at the start if the run measures near stationarity: distances are
// comparable only at the same rho^.
func (t *run) settleNear() error {
	if err := t.set.Near.Validate(); err != nil || t.set.NearEvery == 0 || t.set.Near.RhoHat > 0 {
		return err
	}
	if err := t.evaluate(); err != nil {
		return err
	}
	uncounted := *t.fullAt
	measured, err := estimate.Curvatures(t.full, &uncounted, true)
	if err != nil {
		return err
	}
	rho, _ := estimate.Proximity(0, t.set.Near.Modulus, measured)
	t.set.Near.RhoHat = nearMargin * rho
	return nil
}

// near measures near stationarity if Settings.NearEvery selects the record or the run is ending.
func (t *run) near(r *Record, ending bool) error {
	if t.set.NearEvery == 0 || r.Iteration%(t.every*t.set.NearEvery) != 0 && !ending {
		return nil
	}
	n, err := certify.MeasureNear(t.ctx, t.full, t.fullAt, t.set.Near)
	r.NearStationarity, r.NearReason = &n, n.Reason
	return err
}

// nearMeasure is the name of near stationarity among the measures.
const nearMeasure = "near_stationarity"

// Measured returns the named measure of the record, or near stationarity for "near_stationarity",
// and false if the record lacks the measure.
func (r *Record) Measured(name string) (float64, bool) {
	if name == nearMeasure {
		if r.NearStationarity == nil || r.NearReason != "" {
			return 0, false
		}
		return r.NearStationarity.Distance, true
	}
	v, ok := r.Measures[name]
	return v, ok
}
