package trainer

import (
	"ppal/trainer/certify/near"
	"ppal/trainer/internal/estimate"
)

// nearMargin is rho^ over the estimate at the start, twice the modulus there: that is estimated
// from below and grows with the weights (on the fairness problems to 1.4 times), and a proximal
// problem that is not convex has no one solution to be near to. More would only make more of them
// infeasible, the constraints' balls being of the radius ||grad g||/rho^.
const nearMargin = 2

// settleNear fixes rho^ at the start, where records are to tell near stationarity: distances
// compare only at the same rho^.
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

// near measures near stationarity for the record where it is due.
func (t *run) near(r *Record, ending bool) error {
	if t.set.NearEvery == 0 || r.Iteration%(t.every*t.set.NearEvery) != 0 && !ending {
		return nil
	}
	n, err := near.Measure(t.full, t.fullAt, t.set.Near)
	r.NearStationarity, r.NearReason = &n, n.Reason
	return err
}

// nearMeasure is near stationarity's name among the measures.
const nearMeasure = "near_stationarity"

// Measured is a measure of the record by its name, or near stationarity, "near_stationarity"; false
// where the record has none.
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
