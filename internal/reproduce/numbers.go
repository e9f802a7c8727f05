package reproduce

import (
	"strings"

	"ppal/internal/compare"
	"ppal/trainer"
)

// number is a quantity of a contender. Smaller is better.
type number struct {
	name  string
	value func(o *compare.Outcome, contender string) compare.Statistic
	// without returns the reason why a contender has no number. worst is true if a missing number
	// is worse than any number.
	without func(o *compare.Outcome, contender string) string
	worst   bool
}

// lastOf returns a number of a run's last record. The function of reads the number.
func lastOf(name string, value func(r *trainer.Record) (float64, bool)) number {
	return number{name: name, value: func(o *compare.Outcome, contender string) compare.Statistic { return o.Final(contender, value) },
		without: func(o *compare.Outcome, contender string) string { return "every run failed" }}
}

// bestObjective is the best objective among the feasible records.
func bestObjective() number {
	return number{name: "best feasible loss", value: func(o *compare.Outcome, contender string) compare.Statistic { return o.Best(contender) },
		without: func(*compare.Outcome, string) string { return "never feasible" }, worst: true}
}

// lastViolation is the violation of the last record.
func lastViolation() number {
	return lastOf("violation", func(r *trainer.Record) (float64, bool) { return r.MaxViolation, true })
}

// lastStationarity is the stationarity of the last record.
func lastStationarity() number {
	return lastOf("stationarity", func(r *trainer.Record) (float64, bool) { return r.Stationarity, true })
}

// lastMeasure is the named measure of the last record.
func lastMeasure(name string) number {
	return lastOf(strings.ReplaceAll(name, "_", " "), func(r *trainer.Record) (float64, bool) { return r.Measured(name) })
}

// lastNear is the near stationarity of the last record with this measure. Some records do not
// measure the near stationarity.
func lastNear() number {
	last := func(r *compare.Run) (distance float64, reason string) {
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
		value: func(o *compare.Outcome, contender string) compare.Statistic {
			var values []float64
			for _, r := range o.Of(contender) {
				if v, reason := last(&r); reason == "" {
					values = append(values, v)
				}
			}
			return compare.NewStatistic(values)
		},
		without: func(o *compare.Outcome, contender string) string {
			_, reason := last(&o.Of(contender)[0])
			return reason
		}}
}

// lossSlack is the largest distance above the reference's feasible loss at which the loss counts
// as reached. The distance is absolute.
const lossSlack = 1e-3

// secondsToLoss is the training time up to the first feasible record whose objective is at most
// the reference's best feasible objective plus lossSlack. A run without this record has no number.
func secondsToLoss(reference string) number {
	return number{name: "seconds to that loss", value: func(o *compare.Outcome, contender string) compare.Statistic {
		goal := o.Best(reference)
		var values []float64
		for _, r := range o.Of(contender) {
			for i := range r.Records {
				at := &r.Records[i]
				if goal.N > 0 && at.MaxViolation <= r.Config.Session.Settings.FeasibilityTolerance && at.Objective <= goal.Mean+lossSlack {
					values = append(values, at.Seconds)
					break
				}
			}
		}
		return compare.NewStatistic(values)
	}, without: func(*compare.Outcome, string) string { return "never reached" }, worst: true}
}
