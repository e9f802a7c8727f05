package reproduce

import (
	"fmt"
	"math"
	"strings"

	"ppal/internal/compare"
	"ppal/trainer"
)

// claim is a sentence of the paper with its test on a comparison's outcome.
type claim struct {
	text string
	test test
}

// test judges a claim; ok is false where the comparison has nothing to say about it.
type test func(o *compare.Outcome) (v verdict, ok bool)

// verdict is a claim's, with its numbers.
type verdict struct {
	Confirmed bool
	Numbers   string
}

// number is one quantity of a contender, the smaller the better.
type number struct {
	name string
	of   func(o *compare.Outcome, contender string) compare.Statistic
}

func lastOf(name string, of func(r *trainer.Record) (float64, bool)) number {
	return number{name, func(o *compare.Outcome, contender string) compare.Statistic { return o.Final(contender, of) }}
}

func bestObjective() number {
	return number{"best feasible loss", func(o *compare.Outcome, contender string) compare.Statistic { return o.Best(contender) }}
}

func lastViolation() number {
	return lastOf("violation", func(r *trainer.Record) (float64, bool) { return r.MaxViolation, true })
}

func lastStationarity() number {
	return lastOf("stationarity", func(r *trainer.Record) (float64, bool) { return r.Stationarity, true })
}

func lastMeasure(name string) number {
	return lastOf(strings.ReplaceAll(name, "_", " "), func(r *trainer.Record) (float64, bool) { v, ok := r.Measures[name]; return v, ok })
}

// lastNear is the last near stationarity that a run measured: not every record has one.
func lastNear() number {
	return number{"near stationarity", func(o *compare.Outcome, contender string) compare.Statistic {
		var values []float64
		for _, r := range o.Of(contender) {
			for i := len(r.Records) - 1; i >= 0 && r.Failure == ""; i-- {
				if v, ok := r.Records[i].Measures["near_stationarity"]; ok {
					values = append(values, v)
					break
				}
			}
		}
		return compare.NewStatistic(values)
	}}
}

// lossSlack is how near to the reference's feasible loss counts as reaching it.
const lossSlack = 1e-3

// secondsToLoss is the training time to the first feasible record whose objective is at most the reference's best feasible one and a
// little; none where it was not reached.
func secondsToLoss(reference string) number {
	return number{"seconds to its loss", func(o *compare.Outcome, contender string) compare.Statistic {
		goal := o.Best(reference)
		var values []float64
		for _, r := range o.Of(contender) {
			for i := range r.Records {
				at := &r.Records[i]
				if goal.N > 0 && at.MaxViolation <= r.Config.FeasibilityTolerance && at.Objective <= goal.Mean+lossSlack {
					values = append(values, at.Seconds)
					break
				}
			}
		}
		return compare.NewStatistic(values)
	}}
}

// within is the relative difference that counts as equal.
const within = 1e-3

// ahead says that a contender has a smaller number than each of the others, or that they have none.
func ahead(contender string, others []string, n number) test {
	return func(o *compare.Outcome) (verdict, bool) {
		own := n.of(o, contender)
		texts := []string{fmt.Sprintf("%s of %s %v", n.name, contender, own)}
		confirmed, compared := own.N > 0, 0
		for _, other := range others {
			if len(o.Of(other)) == 0 {
				continue
			}
			compared++
			s := n.of(o, other)
			texts = append(texts, fmt.Sprintf("%s %v", other, s))
			if s.N > 0 && own.Mean > s.Mean+within*math.Abs(s.Mean) {
				confirmed = false
			}
		}
		return verdict{confirmed, strings.Join(texts, "; ")}, compared > 0 && len(o.Of(contender)) > 0
	}
}

// fails says that a contender diverged or ended infeasible where the reference did not.
func fails(contender, reference string) test {
	return func(o *compare.Outcome) (verdict, bool) {
		if len(o.Of(contender)) == 0 {
			return verdict{}, false
		}
		bad := func(name string) (n int) {
			for _, r := range o.Of(name) {
				if r.Failure != "" || r.Last().MaxViolation > r.Config.FeasibilityTolerance {
					n++
				}
			}
			return n
		}
		a, b := bad(contender), bad(reference)
		return verdict{a > b, fmt.Sprintf("%s diverged or ended infeasible in %d of %d runs, %s in %d; stationarity %v and %v", contender, a,
			len(o.Of(contender)), reference, b, lastStationarity().of(o, contender), lastStationarity().of(o, reference))}, true
	}
}

// decays fits mean squared residuals over the iterations: the theorems say a slope of at most about -1.
func decays(contender string) test {
	return func(o *compare.Outcome) (verdict, bool) {
		var slopes [3][]float64
		for _, r := range o.Of(contender) {
			for i, of := range []func(r *trainer.Record) float64{
				func(r *trainer.Record) float64 { return r.Stationarity },
				func(r *trainer.Record) float64 { return r.Feasibility },
				func(r *trainer.Record) float64 { return r.Complementarity },
			} {
				if slope, ok := decay(r.Records, of); ok {
					slopes[i] = append(slopes[i], slope)
				}
			}
		}
		confirmed, texts := len(slopes[0]) > 0, []string{}
		for i, name := range []string{"stationarity", "feasibility", "complementarity"} {
			s := compare.NewStatistic(slopes[i])
			texts = append(texts, fmt.Sprintf("%s k^%v", name, s))
			confirmed = confirmed && (s.N == 0 || s.Mean <= decayLimit)
		}
		return verdict{confirmed, "means of squares decay like " + strings.Join(texts, ", ")}, len(o.Of(contender)) > 0
	}
}

// decayLimit is the slope that counts as 1/k: the theorems hide a logarithm.
const decayLimit = -0.9

// decay is the least-squares slope of the logarithm of the running mean of squares over that of the iteration, from the first tenth of the
// records on.
func decay(records []trainer.Record, of func(r *trainer.Record) float64) (slope float64, ok bool) {
	var n, sx, sy, sxx, sxy, squares float64
	count := 0.0
	for i := range records {
		if records[i].Iteration == 0 {
			continue
		}
		v := of(&records[i])
		squares += v * v
		count++
		if i < len(records)/10 || squares == 0 {
			continue
		}
		x, y := math.Log(float64(records[i].Iteration)), math.Log(squares/count)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if n < 3 {
		return 0, false
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx), true
}

// The spreads that count as insensitive.
const (
	sameLoss      = 0.01 // relative
	sameViolation = 1e-3
)

// insensitive says that contenders end at the same loss, all feasibly.
func insensitive(names []string) test {
	return func(o *compare.Outcome) (verdict, bool) {
		low, high, worst := math.Inf(1), math.Inf(-1), 0.0
		var texts []string
		for _, name := range names {
			f, v := o.Final(name, func(r *trainer.Record) (float64, bool) { return r.Objective, true }), lastViolation().of(o, name)
			if f.N == 0 {
				return verdict{false, name + " failed"}, len(o.Of(name)) > 0
			}
			low, high, worst = min(low, f.Mean), max(high, f.Mean), max(worst, v.Mean)
			texts = append(texts, fmt.Sprintf("%s: loss %v, violation %v", name, f, v))
		}
		return verdict{high-low <= sameLoss*high && worst <= sameViolation, strings.Join(texts, "; ")}, true
	}
}

// multipliersSettle says that in each contender |lambda - mu| ends below a tenth of its largest value, and the multipliers change by less than
// a twentieth of their size over the last quarter.
func multipliersSettle(names []string) test {
	return func(o *compare.Outcome) (verdict, bool) {
		confirmed, known := true, false
		var texts []string
		for _, name := range names {
			for _, r := range o.Of(name) {
				if r.Last().Multipliers == nil || r.Last().Auxiliary == nil {
					continue
				}
				known = true
				largest := 0.0
				for i := range r.Records {
					largest = max(largest, gap(&r.Records[i]))
				}
				last, before := r.Last(), &r.Records[len(r.Records)*3/4]
				move := 0.0
				for j := range last.Multipliers {
					move = max(move, math.Abs(last.Multipliers[j]-before.Multipliers[j])/(1e-12+math.Abs(last.Multipliers[j])))
				}
				confirmed = confirmed && gap(last) <= 0.1*largest && move <= 0.05
				texts = append(texts, fmt.Sprintf("%s, seed %d: |lambda - mu| %.3g of at most %.3g, lambda %.4g, moved by %.2g%% over the last quarter",
					name, r.Seed, gap(last), largest, last.Multipliers[0], 100*move))
			}
		}
		return verdict{confirmed, strings.Join(texts, "; ")}, known
	}
}

// gap is |lambda - mu|.
func gap(r *trainer.Record) float64 {
	sum := 0.0
	for j := range r.Multipliers {
		if j < len(r.Auxiliary) {
			sum += (r.Multipliers[j] - r.Auxiliary[j]) * (r.Multipliers[j] - r.Auxiliary[j])
		}
	}
	return math.Sqrt(sum)
}

// owed says that a contender ends infeasible by (lambda - mu)/rho, to a tenth.
func owed(name string) test {
	return func(o *compare.Outcome) (verdict, bool) {
		confirmed := len(o.Of(name)) > 0
		var texts []string
		for _, r := range o.Of(name) {
			rho := r.Config.Alpha / (1 + r.Config.Alpha*r.Config.Beta)
			debt, violation := gap(r.Last())/rho, r.Last().MaxViolation
			confirmed = confirmed && violation > r.Config.FeasibilityTolerance && math.Abs(debt-violation) <= 0.1*violation
			texts = append(texts, fmt.Sprintf("%s, seed %d: violation %.4g, |lambda - mu|/rho %.4g", name, r.Seed, violation, debt))
		}
		return verdict{confirmed, strings.Join(texts, "; ")}, len(o.Of(name)) > 0
	}
}
