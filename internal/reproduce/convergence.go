package reproduce

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"ppal/internal/config"
	"ppal/internal/study"
	"ppal/trainer"
)

// decays fits the mean of the squared residuals over the iterations. The theorems predict a slope
// of about -1 or less.
func decays(contender string) test {
	return func(o *study.Compared) (study.Verdict, bool) {
		var slopes [3][]float64
		for _, r := range o.Of(contender) {
			for i, residual := range []func(r *trainer.Record) float64{
				func(r *trainer.Record) float64 { return r.Stationarity },
				func(r *trainer.Record) float64 { return r.Infeasibility },
				func(r *trainer.Record) float64 { return r.Complementarity },
			} {
				if slope, ok := decay(r.Records, residual); ok {
					slopes[i] = append(slopes[i], slope)
				}
			}
		}
		ruling, texts := study.Confirmed, []string{}
		for i, name := range []string{"stationarity", "infeasibility", "complementarity"} {
			texts = append(texts, fmt.Sprintf("%s k^%v", name, study.NewStatistic(slopes[i])))
			if i > 0 && len(slopes[i]) == 0 { // 0 in all runs
				continue
			}
			for k := range slopes[i] {
				slopes[i][k] -= decayLimit
			}
			ruling = study.Both(ruling, ruled(slopes[i]))
		}
		return study.Verdict{Ruling: ruling, Numbers: "means of squares decay like " + strings.Join(texts, ", ")}, len(o.Of(contender)) > 0
	}
}

// decayLimit is the largest slope that counts as 1/k. The limit exceeds -1, because the theorems
// omit a logarithm.
const decayLimit = -0.9

// decay returns the least-squares slope of log(running mean of squares) against log(iteration).
// The fit omits the first tenth of the records.
func decay(records []trainer.Record, residual func(r *trainer.Record) float64) (slope float64, ok bool) {
	var n, sx, sy, sxx, sxy, squares float64
	count := 0.0
	for i := range records {
		if records[i].Iteration == 0 {
			continue
		}
		v := residual(&records[i])
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

// The ranges that count as insensitive.
const (
	sameLoss      = 0.01 // relative
	sameViolation = 1e-3
)

// insensitive tests whether all contenders are feasible at the end with the same loss.
func insensitive(names []string) test {
	return func(o *study.Compared) (study.Verdict, bool) {
		losses, beyond, texts := map[uint64][]float64{}, map[uint64]float64{}, []string(nil)
		for _, name := range names {
			texts = append(texts, fmt.Sprintf("loss of %s, violation of %s", tailOf("loss", study.Objective).told(o, name), tailViolation().told(o, name)))
			for _, r := range o.Of(name) {
				f, known := r.Tail(study.Objective)
				v, _ := r.Tail(study.Violation)
				if !known {
					f = math.Inf(1)
				}
				losses[r.Seed], beyond[r.Seed] = append(losses[r.Seed], f), max(beyond[r.Seed], amount(known && v <= sameViolation))
			}
		}
		var differ, excess, failed []float64
		for _, seed := range slices.Sorted(maps.Keys(losses)) {
			f := losses[seed]
			low, high := slices.Min(f), slices.Max(f)
			if failed = append(failed, beyond[seed]); math.IsInf(high, 1) {
				continue
			}
			differ = append(differ, 100*(high-low)/math.Abs(high))
			excess = append(excess, high-low-sameLoss*math.Abs(high))
		}
		texts = append(texts, fmt.Sprintf("the losses differ by %.2g %%", study.NewStatistic(differ).Mean))
		return study.Verdict{Ruling: study.Both(ruled(failed), ruled(excess)), Numbers: strings.Join(texts, "; ")}, len(losses) > 0
	}
}

// multipliersSettle tests two conditions for each run of the contenders. |lambda - mu| ends below a
// tenth of its largest value. The multipliers change by less than a twentieth of their size over
// the last quarter.
func multipliersSettle(names []string) test {
	return func(o *study.Compared) (study.Verdict, bool) {
		fail := map[uint64]float64{}
		var texts []string
		for _, name := range names {
			var ends, moves []float64
			settled := 0
			for _, r := range o.Of(name) {
				if r.Last().Multipliers == nil || r.Last().Auxiliary == nil {
					continue
				}
				largest := 0.0
				for i := range r.Records {
					largest = max(largest, gap(&r.Records[i]))
				}
				last, before := r.Last(), &r.Records[len(r.Records)*3/4]
				move := 0.0
				for j := range last.Multipliers {
					move = max(move, math.Abs(last.Multipliers[j]-before.Multipliers[j])/(1e-12+math.Abs(last.Multipliers[j])))
				}
				holds := gap(last) <= 0.1*largest && move <= 0.05
				fail[r.Seed] = max(fail[r.Seed], amount(holds))
				ends, moves = append(ends, gap(last)/max(largest, 1e-300)), append(moves, 100*move)
				settled += 1 - int(amount(holds))
			}
			if len(ends) > 0 {
				texts = append(texts, fmt.Sprintf("%s: in %d of %d runs, |lambda - mu| over its largest value %v, lambda moved by %v%% over the last quarter",
					name, settled, len(ends), study.NewStatistic(ends), study.NewStatistic(moves)))
			}
		}
		amounts := make([]float64, 0, len(fail))
		for _, seed := range slices.Sorted(maps.Keys(fail)) {
			amounts = append(amounts, fail[seed])
		}
		return study.Verdict{Ruling: ruled(amounts), Numbers: strings.Join(texts, "; ")}, len(fail) > 0
	}
}

// gap returns |lambda - mu|.
func gap(r *trainer.Record) float64 {
	sum := 0.0
	for j := range r.Multipliers {
		if j < len(r.Auxiliary) {
			sum += (r.Multipliers[j] - r.Auxiliary[j]) * (r.Multipliers[j] - r.Auxiliary[j])
		}
	}
	return math.Sqrt(sum)
}

// remaining tests whether a contender ends infeasible by (lambda - mu)/rho, with a tolerance of a
// tenth.
func remaining(name string) test {
	return func(o *study.Compared) (study.Verdict, bool) {
		var fail, violations, debts []float64
		for _, r := range o.Of(name) {
			rho, ok := rhoOf(r.Config)
			if !ok {
				return study.Verdict{}, false
			}
			debt, violation := gap(r.Last())/rho, r.Last().MaxViolation
			fail = append(fail, amount(violation > r.Config.Session.Settings.FeasibilityTolerance && math.Abs(debt-violation) <= 0.1*violation))
			violations, debts = append(violations, violation), append(debts, debt)
		}
		return study.Verdict{Ruling: ruled(fail), Numbers: fmt.Sprintf("%s: violation %v, |lambda - mu|/rho %v", name, study.NewStatistic(violations), study.NewStatistic(debts))},
			len(fail) > 0
	}
}

// rhoOf returns the rho of a PPALA or PLADA run.
func rhoOf(c config.Train) (rho float64, ok bool) {
	m, err := c.TrainerMethod()
	if err != nil {
		return 0, false
	}
	p, ok := m.(interface{ Rho() float64 })
	if !ok {
		return 0, false
	}
	return p.Rho(), true
}
