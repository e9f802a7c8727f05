package reproduce

import (
	"strings"

	"ppal/internal/study"
	"ppal/trainer"
)

// number is a quantity of a run. Smaller is better.
type number struct {
	name string
	of   func(o *study.Compared, r *study.ComparedRun) (value float64, known bool)
	// without returns the reason why a run has no number. worst is true if a missing number is worse
	// than any number.
	without func(r *study.ComparedRun) string
	worst   bool
}

// tailOf returns the mean of a number over the last tenth of a run's records.
func tailOf(name string, value func(r *trainer.Record) (float64, bool)) number {
	return number{name: name, of: func(_ *study.Compared, r *study.ComparedRun) (float64, bool) { return r.Tail(value) },
		without: func(r *study.ComparedRun) string {
			if r.Failure != "" {
				return "failed"
			}
			return "not measured"
		}}
}

// bestObjective is the best objective among the feasible records.
func bestObjective() number {
	return number{name: "best feasible loss", of: func(_ *study.Compared, r *study.ComparedRun) (float64, bool) { return r.Best() },
		without: func(*study.ComparedRun) string { return "never feasible" }, worst: true}
}

// tailViolation is the mean violation at the end.
func tailViolation() number { return tailOf("violation", study.Violation) }

// tailStationarity is the mean stationarity at the end.
func tailStationarity() number {
	return tailOf("stationarity", func(r *trainer.Record) (float64, bool) { return r.Stationarity, true })
}

// tailMeasure is the mean of the named measure at the end.
func tailMeasure(name string) number {
	return tailOf(strings.ReplaceAll(name, "_", " "), func(r *trainer.Record) (float64, bool) { return r.Measured(name) })
}

// lastNear is the near stationarity of the last record with this measure. Some records do not
// measure the near stationarity.
func lastNear() number {
	last := func(r *study.ComparedRun) (distance float64, reason string) {
		reason = "not measured"
		for i := len(r.Records) - 1; i >= 0 && r.Failure == ""; i-- {
			if v, ok := r.Records[i].Measured("near_stationarity"); ok {
				return v, ""
			}
			if text := r.Records[i].NearReason; text != "" {
				reason = text
			}
		}
		return 0, reason
	}
	return number{name: "near stationarity",
		of: func(_ *study.Compared, r *study.ComparedRun) (float64, bool) {
			v, reason := last(r)
			return v, reason == ""
		},
		without: func(r *study.ComparedRun) string {
			_, reason := last(r)
			return reason
		}}
}

// lossSlack is the largest distance above the reference's feasible loss at which the loss counts
// as reached. The distance is absolute.
const lossSlack = 1e-3

// gradientsToLoss is the number of gradients up to the first feasible record whose objective is at
// most the reference's best feasible objective with the same seed, plus lossSlack. A run without
// this record has no number. Seconds would depend on what else the machine does.
func gradientsToLoss(reference string) number {
	return number{name: "gradients to that loss", of: func(o *study.Compared, r *study.ComparedRun) (float64, bool) {
		for _, other := range o.Of(reference) {
			goal, known := other.Best()
			if other.Seed != r.Seed || !known {
				continue
			}
			for i := range r.Records {
				at := &r.Records[i]
				if at.Feasible(r.Config.Session.Settings.FeasibilityTolerance) && at.Objective <= goal+lossSlack {
					return float64(at.GradientEvaluations), true
				}
			}
		}
		return 0, false
	}, without: func(*study.ComparedRun) string { return "never reached" }, worst: true}
}
