package cmd

import (
	"fmt"
	"io"
	"strconv"

	"ppal/internal/ending"
	"ppal/trainer"
	"ppal/trainer/session"
)

// printTable prints the result of the run on stdout.
func (r *trainRun) printTable(result *session.Result) error {
	sum := r.session.Summary()
	out := &failOnce{out: printing{r.stdout}}
	title := r.cfg.Method.Name + " on " + r.cfg.Dataset
	if r.cfg.SubjectTo == nil { // otherwise the table states the problem
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
	output, selected := "--output "+r.cfg.Text("output"), r.cfg.Text("select")
	switch {
	case selected != string(trainer.OutputLast):
		output = "--select " + selected
	case result.Outcome != nil && result.Outcome.BoundsOn == session.OnDecisions:
		output = "the best round"
	}
	printFacts(out, &sum, output)
	paragraph(out, "files", r.session.Dir())
	return out.err
}

// printHead prints what a reader must know first, and how the run ended.
func printHead(out io.Writer, sum *session.Summary, title string) {
	if sum.Verdict != "" {
		indented(out, "", 0, sum.Verdict)
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%s: %d iterations (%s)\n", title, sum.Iterations, sum.Status)
}

// printFacts prints the certificate, the times, the memory and the warnings. output says why the
// weights are not those of the last iteration; "" does not say it.
func printFacts(out io.Writer, sum *session.Summary, output string) {
	fmt.Fprintln(out)
	paragraph(out, "certificate", ending.Certificate(sum))
	if sum.OutputIteration != sum.Iterations && output != "" {
		paragraph(out, "output", fmt.Sprintf("iteration %d (%s)", sum.OutputIteration, output))
	}
	paragraph(out, "time", fmt.Sprintf("%s s: reading %s s, training %s s, rounds %s s, certificates %s s,",
		seconds(sum.SecondsTotal), seconds(sum.SecondsReading), seconds(sum.Seconds), seconds(sum.SecondsRounds), seconds(sum.SecondsCertificates)))
	rest := sum.SecondsMeasuring - sum.SecondsRounds - sum.SecondsCertificates - sum.SecondsRecords - sum.SecondsPlots
	paragraph(out, "", fmt.Sprintf("records %s s, measures %s s, plots %s s", seconds(sum.SecondsRecords), seconds(max(0, rest)), seconds(sum.SecondsPlots)))
	paragraph(out, "memory", fmt.Sprintf("%.0f MB at most", float64(sum.PeakBytes)/1e6))
	if len(sum.Warnings) == 0 {
		paragraph(out, "warnings", "none")
	}
	for i, warning := range sum.Warnings {
		paragraph(out, []string{"warnings", ""}[min(i, 1)], warning)
	}
}

// view returns the view of the outcome, with notes about the training.
func (r *trainRun) view(result *session.Result) *ending.View {
	sum := r.session.Summary()
	v := ending.New(result.Outcome, sum.Rates)
	if !result.Training.Warnings.Has(session.WarnOneSided) { // the training says so already
		v.Note(ending.OneSided(result.Outcome, sum.Rates))
	}
	v.Note(result.Overfitting)
	return v
}

// printView prints the rows and the sentences that explain them.
func printView(out io.Writer, v *ending.View) {
	fmt.Fprintln(out)
	rowsOf(v).print(out)
	fmt.Fprintln(out)
	for _, s := range v.Sentences {
		paragraph(out, s.Name, s.Text)
	}
}

// rowsOf returns a line for each constraint, the objective and the share of positive decisions.
func rowsOf(v *ending.View) grid {
	first := "constraint"
	if len(v.Rows) == 0 {
		first = ""
	}
	g := grid{{first, "bound", "train", "valid.", "test", "95% interval", "met"}}
	line := func(name string, row *ending.Row) {
		g = append(g, []string{name, row.Bound, row.Of(session.Training), row.Of(session.Validation), row.Of(session.Test), ending.Span(row.Interval), row.Cell})
	}
	for i := range v.Rows {
		line(v.Rows[i].Name, &v.Rows[i])
	}
	if n := len(v.More); n > 0 {
		line(fmt.Sprintf("and %d more, further from their bounds", n), &ending.Row{})
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
