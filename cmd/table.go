package cmd

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"ppal/constraints"
	"ppal/internal/report"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// printTable prints the result of the run on stdout.
func (r *trainRun) printTable(result *session.Result) error {
	sum := r.session.Summary()
	out := &failOnce{out: printing{r.stdout}}
	title := r.cfg.Method.Name + " on " + results.DataName(r.cfg.Dataset, r.cfg.Table.File)
	if r.cfg.Text("subject-to") == "" { // otherwise the table states the problem
		title += ", " + r.cfg.Data.Problem
	}
	printHead(out, &sum, title)
	if result.Outcome != nil {
		v := r.view(result)
		printView(out, v)
		if r.flags.byGroup || len(v.Rows) == 0 {
			printRates(out, result)
		}
	}
	if r.tried != nil {
		printChoice(out, r.tried, result.Outcome)
	}
	output, selected := "--output "+r.cfg.Text("output"), r.cfg.Text("select")
	switch {
	case selected != string(trainer.OutputLast):
		output = "--select " + selected
	case result.Outcome != nil && result.Outcome.BoundsOn == constraints.OnDecisions:
		output = "the best round"
	}
	printFacts(out, &sum, output)
	paragraph(out, "files", r.session.Dir())
	return out.err
}

// printSummary prints the run's summary.json.
func (r *trainRun) printSummary(*session.Result) error {
	text, err := os.ReadFile(rundir.Dir(r.session.Dir()).Summary())
	if err == nil {
		_, err = r.stdout.Write(text)
	}
	return err
}

// printHead prints what a reader must know first, and how the run ended.
func printHead(out io.Writer, sum *results.Summary, title string) {
	if sum.Verdict != "" {
		indented(out, "", 0, sum.Verdict)
		fmt.Fprintln(out)
	}
	if sum.Certificate == nil { // no iterations
		fmt.Fprintf(out, "%s: %s\n", title, sum.Status)
		return
	}
	fmt.Fprintf(out, "%s: %d iterations (%s)\n", title, sum.Iterations, sum.Status)
}

// printFacts prints the certificate, the times, the memory and the warnings. output says why the
// weights are not those of the last iteration; "" does not say it.
func printFacts(out io.Writer, sum *results.Summary, output string) {
	fmt.Fprintln(out)
	paragraph(out, "certificate", report.Certificate(sum))
	if sum.OutputIteration != sum.Iterations && output != "" {
		paragraph(out, "output", fmt.Sprintf("iteration %d (%s)", sum.OutputIteration, output))
	}
	paragraph(out, "time", fmt.Sprintf("%s s: reading %s s, training %s s, rounds %s s, certificates %s s,",
		seconds(sum.SecondsTotal), seconds(sum.SecondsReading), seconds(sum.Seconds), seconds(sum.SecondsRounds), seconds(sum.SecondsCertificates)))
	opening := ""
	if sum.SecondsOpening > 0 {
		opening = fmt.Sprintf("; the GPU opened in %s s, beside reading", seconds(sum.SecondsOpening))
	}
	rest := sum.SecondsMeasuring - sum.SecondsRounds - sum.SecondsCertificates - sum.SecondsRecords - sum.SecondsPlots
	paragraph(out, "", fmt.Sprintf("records %s s, measures %s s, plots %s s%s", seconds(sum.SecondsRecords), seconds(max(0, rest)), seconds(sum.SecondsPlots), opening))
	paragraph(out, "memory", fmt.Sprintf("%.0f MB at most", float64(sum.PeakBytes)/1e6))
	if len(sum.Warnings) == 0 {
		paragraph(out, "warnings", "none")
	}
	for i, warning := range sum.Warnings {
		paragraph(out, []string{"warnings", ""}[min(i, 1)], warning)
	}
}

// view returns the view of the outcome, with notes about the training.
func (r *trainRun) view(result *session.Result) *report.View {
	sum := r.session.Summary()
	v := report.NewView(result.Outcome, sum.Rates)
	if !result.Training.Warnings.Has(session.WarnOneSided) { // the training says so already
		v.Note(report.NeverDecided(sum.Rates[results.Training]))
	}
	v.Note(result.Overfitting)
	return v
}

// printView prints the rows and the sentences that explain them.
func printView(out io.Writer, v *report.View) {
	fmt.Fprintln(out)
	rowsOf(v).print(out)
	fmt.Fprintln(out)
	for _, s := range v.Sentences {
		paragraph(out, s.Name, s.Text)
	}
}

// rowsOf returns a line for each constraint, the objective and the share of positive decisions.
func rowsOf(v *report.View) grid {
	first := "constraint"
	if len(v.Rows) == 0 {
		first = ""
	}
	g := grid{{first, "bound", "train", "valid.", "test", "95% interval", "met"}}
	line := func(name string, row *report.Row) {
		g = append(g, []string{name, row.Bound, row.Of(results.Training), row.Of(results.Validation), row.Of(results.Test), report.Span(row.Interval), row.Cell})
	}
	for i := range v.Rows {
		line(v.Rows[i].Name, &v.Rows[i])
	}
	if n := len(v.More); n > 0 {
		line(fmt.Sprintf("and %d more, further from their bounds", n), &report.Row{})
	}
	line(v.Objective.Name+" (minimised)", &v.Objective)
	if v.Positive.Values != nil {
		line(v.Positive.Name, &v.Positive)
	}
	return g.without()
}

// seconds formats a duration with one decimal, or two digits if it is short.
func seconds(x float64) string {
	if x < 1 {
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// short formats a number with four significant digits.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// rounded returns x rounded to the digits of short.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(short(x), 64)
	if err != nil {
		panic(err) // short always returns a number
	}
	return y
}

// failOnce keeps the first error of a writer.
type failOnce struct {
	out io.Writer
	err error
}

func (f *failOnce) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.out.Write(p)
	f.err = err
	return n, err
}

// mostGroups is the largest number of groups in the table of rates.
const mostGroups = 24

// printRates prints the rates of every group on the rows of each split. With more than two classes,
// the rates are the recall and the precision of every class, and the error and the recalls of every
// group.
func printRates(out io.Writer, result *session.Result) {
	for _, split := range result.Splits {
		t := split.Rates
		if t == nil {
			continue
		}
		head := fmt.Sprintf("rates of decisions on %s rows, in percent", split.Name.Word())
		if t.Weight > 0 {
			head += ", by weight"
		}
		if split.Name != results.Training {
			head += ", with 95% intervals"
		}
		fmt.Fprintf(out, "\n%s\n", head)
		if len(t.Classes) != 2 {
			printClasses(out, t)
			continue
		}
		names := []string{"positive_rate", "tpr", "fpr", "error"}
		g := grid{append([]string{"group", "rows"}, names...)}
		line := func(name string, rows int, values map[string]results.Rate, extremes map[string]results.Extreme) {
			cells := []string{name, strconv.Itoa(rows)}
			for _, n := range names {
				cells = append(cells, rateCell(values, n)+extreme(extremes[n]))
			}
			g = append(g, cells)
		}
		line("all rows", t.Rows, t.Overall, nil)
		name := groupNames(t)
		for _, k := range t.Shown(mostGroups) {
			group := &t.ByGroup[k]
			line(name(group.Group), group.Rows, group.Rates, group.Extremes)
		}
		g.print(out)
		printRest(out, t)
	}
}

// printRest prints the number of groups that a table of rates leaves out.
func printRest(out io.Writer, t *results.RateTable) {
	if n := len(t.ByGroup) - mostGroups; n > 0 {
		fmt.Fprintf(out, "and %d more groups, in summary.json\n", n)
	}
}

// mostRecalls is the largest number of classes whose recalls the table of groups shows.
const mostRecalls = 4

// printClasses prints the recall and the precision of every class, and the error and the recalls of
// every group.
func printClasses(out io.Writer, t *results.RateTable) {
	g := grid{{"class", "rows", "recall", "precision"}}
	for _, class := range t.Classes {
		rows := t.Overall["recall["+class+"]"].Rows // none: the rate is missing
		g = append(g, []string{trimmed(class), strconv.Itoa(rows), rateCell(t.Overall, "recall["+class+"]"), rateCell(t.Overall, "precision["+class+"]")})
	}
	g.print(out)
	if len(t.ByGroup) == 0 {
		return
	}
	names := []string{"error"}
	for _, class := range t.Classes[:min(len(t.Classes), mostRecalls)] {
		names = append(names, "recall["+class+"]")
	}
	g = grid{{"group", "rows"}}
	for _, name := range names {
		g[0] = append(g[0], trimmed(name))
	}
	trim := groupNames(t)
	for _, k := range t.Shown(mostGroups) {
		group := &t.ByGroup[k]
		cells := []string{trim(group.Group), strconv.Itoa(group.Rows)}
		for _, name := range names {
			cells = append(cells, rateCell(group.Rates, name)+extreme(group.Extremes[name]))
		}
		g = append(g, cells)
	}
	fmt.Fprintln(out)
	g.print(out)
	printRest(out, t)
	if n := len(t.Classes) - mostRecalls; n > 0 {
		fmt.Fprintf(out, "the recalls of %d more classes by group are in summary.json\n", n)
	}
}

// rateCell formats a rate in percent with its interval.
func rateCell(values map[string]results.Rate, name string) string {
	rate, ok := values[name]
	if !ok {
		return "-"
	}
	text := fmt.Sprintf("%.1f", 100*rate.Value)
	if i := rate.Interval; i != nil {
		text += fmt.Sprintf(" (%.1f-%.1f)", 100*i[0], 100*i[1])
	}
	return text
}

// extreme marks the largest and the smallest rate of the groups of a bound.
func extreme(e results.Extreme) string {
	return map[results.Extreme]string{results.Largest: " max", results.Smallest: " min"}[e]
}

// groupNames returns a function that shortens the names of the shown groups, if the short names
// differ.
func groupNames(t *results.RateTable) func(string) string {
	short := map[string]bool{}
	for _, k := range t.Shown(mostGroups) {
		name := trimmed(t.ByGroup[k].Group)
		if short[name] {
			return func(name string) string { return name }
		}
		short[name] = true
	}
	return trimmed
}

// trimmed shortens the name of a group to the width of its column.
func trimmed(name string) string {
	const most = 20
	if text := []rune(name); len(text) > most {
		return string(text[:most-3]) + "..."
	}
	return name
}
