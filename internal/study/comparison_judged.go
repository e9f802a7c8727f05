package study

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/internal/chart"
	"ppal/internal/report"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// onDecisions reports whether the run's bounds are on counted decisions, which its summary judges.
func (r *ComparedRun) onDecisions() bool {
	return r.Summary != nil && r.Summary.Outcome != nil && r.Summary.Outcome.BoundsOn == constraints.OnDecisions
}

// Met reports whether the run ended with all bounds met: by the judgement of its summary, or by the
// last record of a run without one. A run that gave up the class of the objective does not count.
func (r *ComparedRun) Met() bool {
	switch {
	case r.Failure != "":
		return false
	case r.onDecisions():
		return r.Summary.Outcome.Met()
	}
	return r.violation() <= r.Config.Session.Settings.FeasibilityTolerance && !r.Last().GivenUp
}

// tail returns the last tenth of the records. A single record of a method that switches between
// objective and constraints, or that swings around a bound, is left to chance.
func (r *ComparedRun) tail() []trainer.Record {
	return r.Records[len(r.Records)-max(1, int(judged*float64(len(r.Records)))):]
}

// Tail returns the mean of a number over the last tenth of the records that have it; false if none
// has it, or if the run failed.
func (r *ComparedRun) Tail(value func(r *trainer.Record) (value float64, known bool)) (mean float64, known bool) {
	sum, n := 0.0, 0
	for _, at := range r.tail() {
		if v, ok := value(&at); ok {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(max(n, 1)), n > 0 && r.Failure == ""
}

// Objective returns the objective of a record, for Tail.
func Objective(r *trainer.Record) (value float64, known bool) { return r.Objective, true }

// Violation returns the largest violation of a record, for Tail.
func Violation(r *trainer.Record) (value float64, known bool) { return r.MaxViolation, true }

// MetThroughout reports whether the run did not fail and each record of its last tenth is feasible.
func (r *ComparedRun) MetThroughout() bool {
	return r.Failure == "" && !slices.ContainsFunc(r.tail(), func(at trainer.Record) bool { return !r.feasible(&at) })
}

// feasible reports whether a record meets the bounds.
func (r *ComparedRun) feasible(at *trainer.Record) bool {
	return at.Feasible(r.Config.Session.Settings.FeasibilityTolerance)
}

// violation returns the largest violation of the smooth constraints at the end.
func (r *ComparedRun) violation() float64 {
	if r.Summary != nil {
		return r.Summary.MaxViolation
	}
	return r.Last().MaxViolation
}

// excess returns the largest amount by which the counted training decisions are beyond a bound.
func (r *ComparedRun) excess() (largest float64) {
	for j := range r.Summary.Outcome.Constraints {
		if c := &r.Summary.Outcome.Constraints[j]; c.Train != nil && c.Over(*c.Train) > results.Rounding {
			largest = max(largest, c.Over(*c.Train))
		}
	}
	return largest
}

// measured returns a measure at the end, such as test_error.
func (r *ComparedRun) measured(name string) (value float64, known bool) {
	if r.Summary != nil {
		for _, split := range results.Splits() {
			if measure, ok := strings.CutPrefix(name, results.MeasureKey(split, "")); ok {
				value, known = r.Summary.MeasuresOf(split)[measure]
				return value, known
			}
		}
	}
	return r.Last().Measured(name)
}

// onDecisions reports whether the bounds of the comparison are on counted decisions.
func (o *Compared) onDecisions() bool {
	return slices.ContainsFunc(o.Runs, func(r ComparedRun) bool { return r.onDecisions() })
}

// judgedBy says in a sentence when a bound counts as met.
func (o *Compared) judgedBy() string {
	if o.onDecisions() {
		return "Bounds are judged as by `ppal train`: on counted training decisions."
	}
	text := fmt.Sprintf("A bound counts as met if no smooth constraint exceeds it by more than %g. A column of the last tenth is a mean over the last tenth of the records, or counts the runs in which each of these records meets the bounds.", o.tolerance())
	if slices.ContainsFunc(o.Runs, func(r ComparedRun) bool {
		return slices.ContainsFunc(r.Records, func(at trainer.Record) bool { return at.GivenUp })
	}) {
		text += " A record whose model no longer decides for the class of the objective does not count."
	}
	return text
}

// objective returns the minimised value at the end: the rate of counted training decisions if the
// bounds are on decisions.
func (o *Compared) objective(r *ComparedRun) (float64, bool) {
	switch {
	case r.onDecisions():
		return *r.Summary.Outcome.Objective.Train, true
	case r.Summary != nil:
		return r.Summary.Objective, true
	}
	return r.Last().Objective, true
}

// Statistic returns the statistic of a number over the contender's runs that did not fail. value
// returns false if a run does not have the number.
func (o *Compared) Statistic(contender string, value func(r *ComparedRun) (value float64, known bool)) Statistic {
	var values []float64
	for _, r := range o.Of(contender) {
		if r.Failure != "" {
			continue
		}
		if v, known := value(&r); known {
			values = append(values, v)
		}
	}
	return NewStatistic(values)
}

// comparedColumn is one column of the table: the statistic of a number of the runs, or a text.
type comparedColumn struct {
	title    string
	value    func(r *ComparedRun) (value float64, known bool)
	text     func(contender string) string // if value is nil
	met      bool                          // the text counts the runs that meet the bounds; the page says this in words
	compared bool                          // methods are compared by the number
}

// cell returns the text of a cell.
func (o *Compared) cell(c comparedColumn, contender string) string {
	if c.value == nil {
		return c.text(contender)
	}
	return o.Statistic(contender, c.value).String()
}

// columns returns the columns of the table: what the summaries of the runs say, and the counts of
// the last records.
func (o *Compared) columns() []comparedColumn {
	last := func(value func(r *trainer.Record) float64) func(r *ComparedRun) (float64, bool) {
		return func(r *ComparedRun) (float64, bool) { return value(r.Last()), true }
	}
	residual := func(at func(c *results.Certificate) float64, record func(r *trainer.Record) float64) func(r *ComparedRun) (float64, bool) {
		return func(r *ComparedRun) (float64, bool) {
			if r.Summary != nil && r.Summary.Certificate != nil {
				return at(r.Summary.Certificate), true
			}
			return record(r.Last()), true
		}
	}
	var columns []comparedColumn
	if o.onDecisions() {
		for _, split := range results.Splits() {
			columns = append(columns, comparedColumn{title: o.minimised() + ", " + split.Word(), compared: true, value: func(r *ComparedRun) (float64, bool) {
				v := r.Summary.Outcome.Objective.Of(split)
				if v == nil {
					return 0, false
				}
				return *v, true
			}})
		}
		columns = append(columns, comparedColumn{title: "largest excess", compared: true, value: func(r *ComparedRun) (float64, bool) { return r.excess(), true }},
			comparedColumn{title: "bounds met", text: o.metBy, met: true})
	} else {
		columns = []comparedColumn{
			{title: "objective", value: o.objective, compared: true},
			{title: "largest violation", value: func(r *ComparedRun) (float64, bool) { return r.violation(), true }},
			{title: "objective, last tenth", value: func(r *ComparedRun) (float64, bool) { return r.Tail(Objective) }, compared: true},
			{title: "violation, last tenth", value: func(r *ComparedRun) (float64, bool) { return r.Tail(Violation) }, compared: true},
			{title: "stationarity", value: residual(func(c *results.Certificate) float64 { return c.Stationarity }, func(r *trainer.Record) float64 { return r.Stationarity })},
			{title: "complementarity", value: residual(func(c *results.Certificate) float64 { return c.Complementarity }, func(r *trainer.Record) float64 { return r.Complementarity })},
			{title: "bounds met", text: o.metBy, met: true},
			{title: "met in the last tenth", text: o.metThroughout},
			{title: "best feasible objective", value: (*ComparedRun).Best, compared: true},
		}
	}
	columns = append(columns, comparedColumn{title: "iterations", value: last(func(r *trainer.Record) float64 { return float64(r.Iteration) })},
		comparedColumn{title: "gradients", value: last(func(r *trainer.Record) float64 { return float64(r.GradientEvaluations) })},
		comparedColumn{title: "seconds", value: last(func(r *trainer.Record) float64 { return r.Seconds })})
	for _, name := range o.Comparison.Measures {
		if o.onDecisions() && name == results.MeasureKey(results.Test, o.minimised()) {
			continue // the column exists
		}
		columns = append(columns, comparedColumn{title: strings.ReplaceAll(name, "_", " "), compared: true, value: func(r *ComparedRun) (float64, bool) { return r.measured(name) }})
	}
	return columns
}

// minimised returns the name of the minimised rate.
func (o *Compared) minimised() string {
	for _, r := range o.Runs {
		if r.onDecisions() {
			return r.Summary.Outcome.Objective.Name
		}
	}
	return "objective"
}

// metBy returns text such as "3 of 5", and counts failed runs.
func (o *Compared) metBy(contender string) string {
	met, failed, all := 0, 0, o.Of(contender)
	for _, r := range all {
		switch {
		case r.Failure != "":
			failed++
		case r.Met():
			met++
		}
	}
	text := fmt.Sprintf("%d of %d", met, len(all))
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	return text
}

// metThroughout returns text such as "2 of 5": the runs that are feasible in every record of their
// last tenth.
func (o *Compared) metThroughout(contender string) string {
	met, all := 0, o.Of(contender)
	for _, r := range all {
		if r.MetThroughout() {
			met++
		}
	}
	return fmt.Sprintf("%d of %d", met, len(all))
}

// runHead returns the head of runRows.
func (o *Compared) runHead() []string {
	if o.onDecisions() {
		return []string{"constraint", "bound", "train", "valid.", "test", "met"}
	}
	return []string{"objective", "violation", "met", "iterations", "seconds"}
}

// runRows returns the lines of a run: with bounds on decisions, those of the table of `ppal train`,
// a line for each constraint and for the minimised rate.
func (o *Compared) runRows(r *ComparedRun) (rows [][]string) {
	last := r.Last()
	switch {
	case r.onDecisions():
	case o.onDecisions():
		return [][]string{{"", "", "", "", "", "failed"}}
	default:
		met := map[bool]string{true: "yes", false: "no"}[r.Met()]
		if r.Failure != "" {
			met = "failed"
		}
		objective, _ := o.objective(r)
		return [][]string{{chart.Number(objective), chart.Number(r.violation()), met, strconv.Itoa(last.Iteration), chart.Number(last.Seconds)}}
	}
	view := report.NewView(r.Summary.Outcome, nil)
	line := func(name string, row *report.Row) {
		rows = append(rows, []string{name, row.Bound, row.Of(results.Training), row.Of(results.Validation), row.Of(results.Test), row.Cell})
	}
	for i := range view.Rows {
		line(view.Rows[i].Name, &view.Rows[i])
	}
	if n := len(view.More); n > 0 {
		line(fmt.Sprintf("and %d more, further from their bounds", n), &report.Row{})
	}
	line(view.Objective.Name+" (minimised)", &view.Objective)
	return rows
}

// eachRun writes the table of all runs if the bounds are on decisions.
func (o *Compared) eachRun(out io.Writer) {
	if !o.onDecisions() {
		return
	}
	table := [][]string{append([]string{"method", "seed"}, o.runHead()...)}
	for _, r := range o.Runs {
		for _, row := range o.runRows(&r) {
			table = append(table, append([]string{r.Contender, fmt.Sprint(r.Seed)}, row...))
		}
	}
	fmt.Fprintln(out)
	writeMarkdown(out, table)
}
