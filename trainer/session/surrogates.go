package session

import (
	"cmp"
	"math"
	"strconv"

	"ppal/constraints"
	"ppal/internal/rates"
	"ppal/internal/statistics"
	"ppal/trainer"
)

// meaning is a quantity of decisions that some constraints on surrogates approximate.
type meaning struct {
	measure     string // name in the constraint language
	constraints []int  // constraints that state the quantity, which is their largest value
	// interval returns the 95% interval of the quantity on held-out rows; nil: not known.
	interval func(t *RateTable) *[2]float64
}

// surrogateOutcome returns the outcome of a task with bounds on surrogates. The outcome lists the
// quantities that the constraints approximate, counted on decisions, and the values of the
// surrogates. surrogateOutcome returns nil if the task does not measure decisions.
func (a *assembly) surrogateOutcome(r *Result) *Outcome {
	st := a.builder.statement
	if len(r.Splits) == 0 || len(r.Splits[0].Decisions) != 1+len(st.Constraints) {
		return nil
	}
	meanings := st.meanings
	if meanings == nil {
		for j, c := range st.Constraints {
			meanings = append(meanings, meaning{measure: c.Name, constraints: []int{j}})
		}
	}
	tolerance := cmp.Or(a.options.Settings.FeasibilityTolerance, trainer.DefaultFeasibilityTolerance)
	o := &Outcome{BoundsOn: OnSurrogate, GradientEvaluations: r.Training.Point.GradientEvaluations}
	o.Objective.Name = cmp.Or(st.minimise, st.Objective, "objective")
	for _, m := range meanings {
		bound := st.Constraints[m.constraints[0]].Bound
		surrogate := math.Inf(-1)
		for _, j := range m.constraints {
			surrogate = max(surrogate, r.Constraints[j]+bound)
		}
		met := surrogate-bound <= tolerance
		multiplier := 0.0
		for _, j := range m.constraints {
			multiplier += r.Certificate.Nu[j]
		}
		c := ConstraintOutcome{Multiplier: multiplier, Constraint: m.measure + " <= " + strconv.FormatFloat(bound, 'g', -1, 64), Bound: bound, Surrogate: &surrogate, SurrogateMet: &met}
		for _, split := range r.Splits {
			value := math.Inf(-1)
			for _, j := range m.constraints {
				value = max(value, split.Decisions[1+j])
			}
			setFinite(&c.SplitValues, split.Name, value)
			if split.Name != Training && split.Rates != nil && m.interval != nil {
				c.Interval = m.interval(split.Rates) // from the test rows, the last split
				if split.Name == Validation {
					c.ValidationInterval = c.Interval
				}
			}
		}
		c.State = constraints.NotMet // of the training decisions, without a tolerance
		if c.Met = c.Train != nil && *c.Train <= bound; c.Met {
			c.State = constraints.Met
		}
		o.Constraints = append(o.Constraints, c)
	}
	for _, split := range r.Splits {
		setFinite(&o.Objective.SplitValues, split.Name, split.Decisions[0])
		if split.Rates != nil && !math.IsNaN(split.Rates.Acceptance()) {
			if o.AcceptanceRate == nil {
				o.AcceptanceRate = &SplitValues{}
			}
			setFinite(o.AcceptanceRate, split.Name, split.Rates.Acceptance())
		}
	}
	objectiveIntervals(o, r.Splits)
	return o
}

// objectiveIntervals sets the intervals of the minimised rate on held-out rows, if the rate is a
// rate of all rows or of a class.
func objectiveIntervals(o *Outcome, splits []SplitMeasures) {
	for _, split := range splits {
		if split.Rates == nil || split.Name == Training {
			continue
		}
		t := split.Rates
		rate, complement := t.Overall[o.Objective.Name], false
		switch name := o.Objective.Name; {
		case name == constraints.FNR().Name():
			rate, complement = t.Overall[rates.TruePositiveRate], true
		case len(t.Classes) > 2:
			for _, class := range t.Classes {
				if name == constraints.Error(class).String() {
					rate, complement = t.Overall[rates.RecallOf(class)], true
				}
			}
		}
		if rate.Interval == nil {
			continue
		}
		i := *rate.Interval
		if complement {
			i = [2]float64{1 - i[1], 1 - i[0]}
		}
		o.Objective.Interval = &i // from the test rows, the last split
		if split.Name == Validation {
			o.Objective.ValidationInterval = &i
		}
	}
}

// setFinite sets a value unless the value is infinite or not a number.
func setFinite(v *SplitValues, split Split, x float64) {
	if !math.IsNaN(x) && !math.IsInf(x, 0) {
		v.Set(split, x)
	}
}

// gapInterval returns the interval of the largest gap between the task's two groups, the first of
// the table, among the named rates.
func gapInterval(names ...string) func(t *RateTable) *[2]float64 {
	return func(t *RateTable) *[2]float64 {
		level := 1 - (1-rates.Level)/float64(len(names))
		all := [2]float64{}
		for _, name := range names {
			var counts []statistics.Count
			for _, g := range t.ByGroup[:2] {
				rate, ok := g.Rates[name]
				if !ok {
					return nil
				}
				counts = append(counts, rate.Count())
			}
			i := statistics.Gap(counts, level)
			all = [2]float64{max(all[0], i.Low), max(all[1], i.High)}
		}
		return &all
	}
}

// excessInterval returns the interval of the largest error of the groups first to end-1 minus the
// error of all rows. Groups without rows are left out.
func excessInterval(first, end int) func(t *RateTable) *[2]float64 {
	return func(t *RateTable) *[2]float64 {
		var groups []statistics.Count
		for _, g := range t.ByGroup[first:end] {
			if own, ok := g.Rates[rates.Error]; ok {
				groups = append(groups, own.Count())
			}
		}
		if groups == nil {
			return nil
		}
		i := statistics.Excess(t.Overall[rates.Error].Count(), groups, rates.Level)
		return &[2]float64{i.Low, i.High}
	}
}

// classInterval returns the interval of the error of class k.
func classInterval(k int) func(t *RateTable) *[2]float64 {
	return func(t *RateTable) *[2]float64 {
		recall, ok := t.Overall[rates.RecallOf(t.Classes[k])]
		if len(t.Classes) == 2 {
			recall, ok = t.Overall[rates.TruePositiveRate] // classes 0 and 1, the second bounded
		}
		if !ok || recall.Interval == nil {
			return nil
		}
		return &[2]float64{1 - recall.Interval[1], 1 - recall.Interval[0]}
	}
}
