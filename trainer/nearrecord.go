package trainer

import (
	"encoding/json"

	"ppal/trainer/internal/vec"
)

// nearMargin is rho^ over the estimate at the start, twice the modulus there: that is estimated from below and grows with the weights (on
// the fairness problems to 1.4 times), and a proximal problem that is not convex has no one solution to be near to. More would only
// make more of them infeasible, the constraints' balls being of the radius ||grad g||/rho^.
const nearMargin = 2

// settleNear fixes rho^ at the start, where records are to tell near stationarity: distances compare only at the same rho^.
func (t *run) settleNear() error {
	if err := t.set.Near.validate(); err != nil || t.set.NearEvery == 0 || t.set.Near.RhoHat > 0 {
		return err
	}
	if err := t.evaluate(); err != nil {
		return err
	}
	uncounted := *t.fullAt
	measured, err := estimateSmoothness(t.full, &uncounted, true)
	if err != nil {
		return err
	}
	rho, _ := proximity(0, t.set.Near.Modulus, measured)
	t.set.Near.RhoHat = nearMargin * rho
	return nil
}

// near measures near stationarity for the record where it is due.
func (t *run) near(r *Record, ending bool) error {
	if t.set.NearEvery == 0 || r.Iteration%(t.every*t.set.NearEvery) != 0 && !ending {
		return nil
	}
	n, err := MeasureNearStationarity(t.full, t.fullAt, t.set.Near)
	r.NearStationarity, r.NearReason = &n, n.Reason
	return err
}

// nearMeasure is near stationarity's name among the measures.
const nearMeasure = "near_stationarity"

// Measured is a measure of the record by its name, or near stationarity, "near_stationarity"; false where the record has none.
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

// MarshalJSON implements json.Marshaler: the distance, null where there is none.
func (n NearStationarity) MarshalJSON() ([]byte, error) {
	if n.Reason != "" || !vec.Finite(n.Distance) {
		return []byte("null"), nil
	}
	return json.Marshal(n.Distance)
}

// UnmarshalJSON implements json.Unmarshaler: the distance alone.
func (n *NearStationarity) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &n.Distance) }
