package rundir

import (
	"encoding/json"
	"math"

	"ppal/trainer"
	"ppal/trainer/certify"
)

// Schema is the version of the keys of summary.json, config.yaml and metrics.jsonl. A key that is
// removed or changes its meaning raises the version. A new key does not.
const Schema = 1

// record is a trainer.Record with the keys of metrics.jsonl. The conversion between the two needs
// the same fields in the same order. The keys of near stationarity and of the measures follow
// (encode).
type record struct {
	Iteration           int                   `json:"iteration"`
	Epoch               float64               `json:"epoch"`
	Seconds             float64               `json:"seconds"`
	GradientEvaluations int                   `json:"gradient_evaluations"`
	Objective           float64               `json:"objective"`
	Constraints         []float64             `json:"constraints"`
	MaxViolation        float64               `json:"max_violation"`
	Infeasibility       float64               `json:"feasibility"`
	Stationarity        float64               `json:"stationarity"`
	Complementarity     float64               `json:"complementarity"`
	Multipliers         []float64             `json:"multipliers"`
	Auxiliary           []float64             `json:"auxiliary_multipliers"`
	Slack               []float64             `json:"slack"`
	Delta               *float64              `json:"delta"`
	StepSize            *float64              `json:"step_size"`
	MeanStationarity    *float64              `json:"mean_stationarity"`
	MeanInfeasibility   *float64              `json:"mean_feasibility"`
	MeanComplementarity *float64              `json:"mean_complementarity"`
	Sample              int                   `json:"sample,omitempty"`
	GivenUp             bool                  `json:"given_up,omitempty"`
	NearStationarity    *certify.Stationarity `json:"-"`
	NearReason          string                `json:"-"`
	Certificate         certify.Certificate   `json:"-"`
	Measures            map[string]float64    `json:"-"`
}

// The keys of near stationarity in metrics.jsonl: the distance, null with a reason if there is
// none.
const (
	nearKey       = "near_stationarity"
	nearReasonKey = "near_stationarity_reason"
)

// appendNear appends the keys of near stationarity to an object without its closing brace.
func appendNear(line []byte, r *trainer.Record) ([]byte, error) {
	if n := r.NearStationarity; n != nil {
		var distance *float64
		if n.Reason == "" && !math.IsNaN(n.Distance) && !math.IsInf(n.Distance, 0) {
			distance = &n.Distance
		}
		value, err := json.Marshal(distance)
		if err != nil {
			return nil, err
		}
		line = append(append(line, `,"`+nearKey+`":`...), value...)
	}
	if r.NearReason != "" {
		value, err := json.Marshal(r.NearReason)
		if err != nil {
			return nil, err
		}
		line = append(append(line, `,"`+nearReasonKey+`":`...), value...)
	}
	return line, nil
}

// readNear sets the near stationarity of a record: the distance alone.
func readNear(r *trainer.Record, all map[string]json.RawMessage) error {
	if value, ok := all[nearKey]; ok {
		var distance *float64
		if err := json.Unmarshal(value, &distance); err != nil {
			return err
		}
		if distance != nil {
			r.NearStationarity = &certify.Stationarity{Distance: *distance}
		}
	}
	if value, ok := all[nearReasonKey]; ok {
		return json.Unmarshal(value, &r.NearReason)
	}
	return nil
}
