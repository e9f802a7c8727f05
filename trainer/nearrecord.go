package trainer

import "encoding/json"

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
	rho, strong := t.set.Near.proximity().choose(measured)
	t.set.Near.RhoHat, t.set.Near.Modulus = rho, rho-strong
	return nil
}

// near measures near stationarity for the record where it is due.
func (t *run) near(r *Record) error {
	if t.set.NearEvery == 0 || r.Iteration%(t.every*t.set.NearEvery) != 0 && r.Iteration < t.set.Iterations {
		return nil
	}
	n, err := MeasureNearStationarity(t.full, t.fullAt, t.set.Near)
	r.NearStationarity, r.NearReason = &n, n.Reason
	return err
}

// MarshalJSON implements json.Marshaler: the distance, null where there is none.
func (n NearStationarity) MarshalJSON() ([]byte, error) {
	if n.Reason != "" || !finite(n.Distance) {
		return []byte("null"), nil
	}
	return json.Marshal(n.Distance)
}

// UnmarshalJSON implements json.Unmarshaler: the distance alone.
func (n *NearStationarity) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &n.Distance) }
