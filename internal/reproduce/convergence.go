package reproduce

import (
	"fmt"
	"math"
	"strings"

	"ppal/internal/compare"
	"ppal/internal/config"
	"ppal/internal/study"
	"ppal/trainer"
)

// decays fits the mean of the squared residuals over the iterations. The theorems predict a slope
// of about -1 or less.
func decays(contender string) test {
	return func(o *compare.Outcome) (study.Verdict, bool) {
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
		holds, texts := len(slopes[0]) > 0, []string{}
		for i, name := range []string{"stationarity", "infeasibility", "complementarity"} {
			s := compare.NewStatistic(slopes[i])
			texts = append(texts, fmt.Sprintf("%s k^%v", name, s))
			holds = holds && (s.N == 0 || s.Mean <= decayLimit)
		}
		return study.Verdict{Ruling: study.Ruled(holds), Numbers: "means of squares decay like " + strings.Join(texts, ", ")}, len(o.Of(contender)) > 0
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

// insensitive tests whether all contenders end feasible with the same loss.
func insensitive(names []string) test {
	return func(o *compare.Outcome) (study.Verdict, bool) {
		low, high, worst := math.Inf(1), math.Inf(-1), 0.0
		var texts []string
		for _, name := range names {
			f, v := o.Final(name, func(r *trainer.Record) (float64, bool) { return r.Objective, true }), lastViolation().value(o, name)
			if f.N == 0 {
				return study.Verdict{Ruling: study.NotConfirmed, Numbers: name + " failed"}, len(o.Of(name)) > 0
			}
			low, high, worst = min(low, f.Mean), max(high, f.Mean), max(worst, v.Mean)
			texts = append(texts, fmt.Sprintf("%s: loss %v, violation %v", name, f, v))
		}
		texts = append(texts, fmt.Sprintf("the losses differ by %.2g %%", 100*(high-low)/math.Abs(high)))
		return study.Verdict{Ruling: study.Ruled(high-low <= sameLoss*math.Abs(high) && worst <= sameViolation), Numbers: strings.Join(texts, "; ")}, true
	}
}

// multipliersSettle tests two conditions for each contender. |lambda - mu| ends below a tenth of
// its largest value. The multipliers change by less than a twentieth of their size over the last
// quarter.
func multipliersSettle(names []string) test {
	return func(o *compare.Outcome) (study.Verdict, bool) {
		holds, known := true, false
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
				holds = holds && gap(last) <= 0.1*largest && move <= 0.05
				texts = append(texts, fmt.Sprintf("%s, seed %d: |lambda - mu| %.3g of at most %.3g, lambda %.4g, moved by %.2g%% over the last quarter",
					name, r.Seed, gap(last), largest, last.Multipliers[0], 100*move))
			}
		}
		return study.Verdict{Ruling: study.Ruled(holds), Numbers: strings.Join(texts, "; ")}, known
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
	return func(o *compare.Outcome) (study.Verdict, bool) {
		holds := len(o.Of(name)) > 0
		var texts []string
		for _, r := range o.Of(name) {
			rho, ok := rhoOf(r.Config)
			if !ok {
				return study.Verdict{}, false
			}
			debt, violation := gap(r.Last())/rho, r.Last().MaxViolation
			holds = holds && violation > r.Config.Session.Settings.FeasibilityTolerance && math.Abs(debt-violation) <= 0.1*violation
			texts = append(texts, fmt.Sprintf("%s, seed %d: violation %.4g, |lambda - mu|/rho %.4g", name, r.Seed, violation, debt))
		}
		return study.Verdict{Ruling: study.Ruled(holds), Numbers: strings.Join(texts, "; ")}, len(o.Of(name)) > 0
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
