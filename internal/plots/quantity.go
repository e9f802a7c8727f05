package plots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ppal/trainer"
)

// quantity is a chart without its horizontal axis.
type quantity struct {
	name, title, label string
	logarithmic        bool
	series             []series
	levels             []level
	records            []trainer.Record
}

// series is one line with a value for each record; known is false if a record has no value.
type series struct {
	name  string // empty: no entry in the legend
	style style
	of    func(r *trainer.Record) (value float64, known bool)
}

// level is a horizontal line.
type level struct {
	name  string
	value float64
}

// mostPoints is the largest number of records in a line; more records are thinned out evenly.
const mostPoints = 1000

// charts returns the run's quantities that its method has.
func (run Run) charts() []quantity {
	records := thin(run.Records)
	all := []quantity{run.losses(), run.violations(), residuals(), run.multipliers()}
	all = slices.DeleteFunc(all, func(q quantity) bool { return len(q.series) == 0 })
	for i := range all {
		all[i].records = records
		all[i].title = fmt.Sprintf("%s: %s", run.Title, all[i].title)
	}
	return all
}

// thin returns the first and the last record and an even selection of the others.
func thin(records []trainer.Record) []trainer.Record {
	every := (len(records) + mostPoints - 1) / mostPoints
	if every <= 1 {
		return records
	}
	var kept []trainer.Record
	for i := 0; i < len(records)-1; i += every {
		kept = append(kept, records[i])
	}
	return append(kept, records[len(records)-1])
}

// element returns the function that reads element j of a slice, which a record may lack.
func element(values func(r *trainer.Record) []float64, j int) func(r *trainer.Record) (float64, bool) {
	return func(r *trainer.Record) (float64, bool) {
		v := values(r)
		if j >= len(v) {
			return 0, false
		}
		return v[j], true
	}
}

// mostConstraints is the largest number of constraints in a plot. If a run has more, the plot shows
// the constraints with the largest final values.
const mostConstraints = 12

func (run Run) shown() []int {
	all := make([]int, len(run.Constraints))
	for j := range all {
		all[j] = j
	}
	last := run.Records[len(run.Records)-1].Constraints
	if len(all) <= mostConstraints || len(last) < len(all) {
		return all
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(last[b], last[a]) })
	all = all[:mostConstraints]
	slices.Sort(all)
	return all
}

// bounded returns the name of the bounded quantity in the singular and in the plural.
func (run Run) bounded() (one, several string) {
	one = cmp.Or(run.Bounded, "value")
	if strings.HasSuffix(one, "s") {
		return one, one + "es"
	}
	return one, one + "s"
}

func (run Run) losses() quantity {
	one, several := run.bounded()
	q := quantity{name: "objective", title: "objective and bounded " + several, label: one, logarithmic: true}
	name := "objective"
	if run.Objective != "" {
		name += " (" + run.Objective + ")"
	}
	q.series = append(q.series, series{name, objectiveStyle(), func(r *trainer.Record) (float64, bool) { return r.Objective, true }})
	for k, j := range run.shown() {
		constraint, bound := run.Constraints[j], run.Bounds[j]
		g := element(func(r *trainer.Record) []float64 { return r.Constraints }, j)
		q.series = append(q.series, series{constraint, constraintStyle(k), func(r *trainer.Record) (float64, bool) {
			v, ok := g(r)
			return v + bound, ok
		}})
		if !slices.ContainsFunc(q.levels, func(l level) bool { return l.value == bound }) {
			q.levels = append(q.levels, level{fmt.Sprintf("bound %g", bound), bound})
		}
	}
	return q
}

func (run Run) violations() quantity {
	one, _ := run.bounded()
	q := quantity{name: "violations", title: "violation of each bound", label: fmt.Sprintf("max(0, %s - bound)", one), logarithmic: true}
	for k, j := range run.shown() {
		g := element(func(r *trainer.Record) []float64 { return r.Constraints }, j)
		name := run.Constraints[j]
		if !strings.Contains(name, " <= ") && !strings.Contains(name, " >= ") { // the name does not have the bound
			name = fmt.Sprintf("%s (bound %g)", name, run.Bounds[j])
		}
		q.series = append(q.series, series{name, constraintStyle(k), func(r *trainer.Record) (float64, bool) {
			v, ok := g(r)
			return max(0, v), ok
		}})
	}
	return q
}

func residuals() quantity {
	return quantity{name: "residuals", title: "KKT residuals", label: "residual", logarithmic: true, series: []series{
		{"stationarity", constraintStyle(4), func(r *trainer.Record) (float64, bool) { return r.Stationarity, true }},
		{"infeasibility", constraintStyle(0), func(r *trainer.Record) (float64, bool) { return r.Infeasibility, true }},
		{"complementarity", constraintStyle(2), func(r *trainer.Record) (float64, bool) { return r.Complementarity, true }},
	}}
}

// multipliers draws lambda, and mu dashed if the method has it.
func (run Run) multipliers() quantity {
	q := quantity{name: "multipliers", title: "multipliers", label: "multiplier"}
	has := func(values func(r *trainer.Record) []float64) bool {
		return slices.ContainsFunc(run.Records, func(r trainer.Record) bool { return values(&r) != nil })
	}
	lambda := func(r *trainer.Record) []float64 { return r.Multipliers }
	mu := func(r *trainer.Record) []float64 { return r.Auxiliary }
	shown := run.shown()
	for k, j := range shown {
		if has(lambda) {
			q.series = append(q.series, series{run.Constraints[j], constraintStyle(k), element(lambda, j)})
		}
		if has(mu) {
			name := ""
			if k == len(shown)-1 {
				name = "dashed: auxiliary (mu)"
			}
			q.series = append(q.series, series{name, constraintStyle(k).dashed(), element(mu, j)})
		}
	}
	return q
}
