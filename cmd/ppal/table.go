package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session"
)

// printTable prints the result of the run on stdout: the constraints and the objective on
// decisions, the effect of the threshold step, the certificate, the times and the files.
func (r *trainRun) printTable(result *session.Result) error {
	sum := r.session.Summary()
	out := &failOnce{out: printing{r.stdout}}
	if sum.Verdict != "" { // what a reader must know first
		indented(out, "", 0, sum.Verdict)
		fmt.Fprintln(out)
	}
	problem := ", " + r.cfg.Data.Problem
	if r.cfg.SubjectTo != nil { // the table states the problem
		problem = ""
	}
	fmt.Fprintf(out, "%s on %s%s: %d iterations (%s)\n", r.cfg.Method.Name, r.cfg.Dataset, problem, sum.Iterations, sum.Status)
	if o := result.Outcome; o != nil {
		fmt.Fprintln(out)
		printOutcome(out, o, result)
		if r.flags.byGroup || len(o.Constraints) == 0 {
			printRates(out, result)
		}
	}
	fmt.Fprintln(out)
	paragraph(out, "certificate", certificate(sum))
	if sum.OutputIteration != sum.Iterations {
		reason := "--output " + r.cfg.Output
		switch {
		case r.cfg.Select != trainer.OutputLast:
			reason = "--select " + r.cfg.Select
		case result.Outcome != nil && result.Outcome.BoundsOn == session.OnDecisions:
			reason = "the best round"
		}
		paragraph(out, "output", fmt.Sprintf("iteration %d (%s)", sum.OutputIteration, reason))
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
	paragraph(out, "files", r.session.Dir())
	return out.err
}

// mostLines is the largest number of constraints in the table. The table shows the constraints
// closest to their bounds.
const mostLines = 12

// printOutcome prints a line for each constraint, the objective and the acceptance rate, and
// explains the column met.
func printOutcome(out io.Writer, o *session.Outcome, result *session.Result) {
	first := "constraint"
	if len(o.Constraints) == 0 {
		first = ""
	}
	head := []string{first, "bound", "train", "valid.", "test", "95% interval", "met"}
	g := grid{head}
	shown := o.Closest(mostLines)
	for _, j := range shown {
		c := &o.Constraints[j]
		bound := strconv.FormatFloat(c.Bound, 'g', -1, 64)
		if o.BoundsOn != session.OnSurrogate { // on surrogates all bounds are upper bounds
			bound = c.Relation() + " " + bound
		}
		g = append(g, []string{c.Measure(), bound, c.Number(c.Train), c.Number(c.Validation), c.Number(c.Test), span(c.Interval), met(o, c)})
	}
	rest := ""
	if n := len(o.Constraints) - len(shown); n > 0 {
		rest = fmt.Sprintf("and %d more, further from their bounds", n)
		g = append(g, []string{rest, "", "", "", "", "", ""})
	}
	value := func(name string, v *session.SplitValues) {
		g = append(g, []string{name, "", number(v.Train), number(v.Validation), number(v.Test), "", ""})
	}
	value(o.Objective.Name+" (minimised)", &o.Objective.SplitValues)
	if o.AcceptanceRate != nil {
		value("positive decisions", o.AcceptanceRate)
	}
	g.without().print(out)
	fmt.Fprintln(out)
	if len(o.Constraints) == 0 {
		paragraph(out, "bounds", fmt.Sprintf("none: the model is plain. To bound a rate of its decisions, add for example --subject-to '%s'; "+
			"see docs/reference/language.md.", exampleBound(result)))
	}
	for _, text := range sentences(o, shown) {
		paragraph(out, text.name, text.text)
	}
	for _, note := range []string{oneSided(o, result), result.Overfitting} {
		if note != "" {
			paragraph(out, "note", note)
		}
	}
}

// exampleBound returns a bound that fits the classes and groups of the run.
func exampleBound(result *session.Result) string {
	if len(result.Splits) > 0 && result.Splits[0].Rates != nil {
		t := result.Splits[0].Rates
		if len(t.Classes) > 2 {
			return constraints.Recall(t.Classes[0]).AtLeast(0.9).String()
		}
		if len(t.ByGroup) > 0 {
			if column, _, ok := strings.Cut(t.ByGroup[0].Group, "="); ok {
				return constraints.Gap(constraints.PositiveRate, constraints.Attribute{Name: column}.Quoted()).AtMost(0.05).String()
			}
		}
	}
	return constraints.FPR().AtMost(0.05).String()
}

// sentence is a line below the table.
type sentence struct{ name, text string }

// sentences explain the outcome in words. shown are the constraints of the table.
func sentences(o *session.Outcome, shown []int) (list []sentence) {
	add := func(name, format string, args ...any) {
		list = append(list, sentence{name, fmt.Sprintf(format, args...)})
	}
	held := "held-out rows"
	for _, c := range o.Constraints {
		if c.Test != nil {
			held = "the test rows"
		} else if c.Validation != nil {
			held = "the validation rows"
		}
	}
	values := "The values are of counted decisions; the interval is of " + held + "."
	if !slices.ContainsFunc(o.Constraints, func(c session.ConstraintOutcome) bool { return c.Interval != nil }) {
		values = "The values are of counted decisions."
	}
	if o.BoundsOn == session.OnSurrogate && len(o.Constraints) > 0 {
		add("values", "%s", values)
		var surrogates []string
		for _, j := range shown {
			if v := o.Constraints[j].Surrogate; v != nil {
				value := number(v)
				if len(shown) > 1 {
					value = o.Constraints[j].Measure() + " " + value
				}
				surrogates = append(surrogates, value)
			}
		}
		add("surrogates", "The bounds are on surrogates, smooth functions of the scores of the training rows: %s.", strings.Join(surrogates, ", "))
	} else if len(o.Constraints) > 0 {
		add("values", "%s Met: within the bound on the training rows. To one row: exceeded by at most one row of the smaller group. Training only: met on the training rows, exceeded on held-out rows.", values)
	}
	list = append(list, explained(o, shown)...)
	if text := promised(o); text != "" {
		add("new rows", "%s", text)
	}
	if o.Threshold != 0 || o.Offsets != nil {
		step := fmt.Sprintf("moved by %s", short(o.Threshold))
		if o.Offsets != nil {
			step = "moved for each class"
		}
		switch cost := o.ThresholdCost; {
		case cost > rundir.Rounding:
			add("threshold", "%s after training, to meet the bounds: this cost %s of %s on the training rows", step, number(&cost), o.Objective.Name)
		case cost < -rundir.Rounding:
			gain := -cost
			add("threshold", "%s after training: this gained %s of %s on the training rows", step, number(&gain), o.Objective.Name)
		default:
			add("threshold", "%s after training, without a change of %s on the training rows", step, o.Objective.Name)
		}
	}
	return list
}

// oneSided returns a sentence if the model makes the same decision for all training rows, or never
// decides for a class. Otherwise it returns "".
func oneSided(o *session.Outcome, result *session.Result) string {
	for _, w := range result.Training.Warnings { // the training says so already
		if strings.HasPrefix(w, "the model rejects everybody") || strings.HasPrefix(w, "the model accepts everybody") || strings.HasPrefix(w, "the model decides ") {
			return ""
		}
	}
	if a := o.AcceptanceRate; a != nil && a.Train != nil {
		switch *a.Train {
		case 0:
			return "The model rejects everybody: it decides every training row as negative."
		case 1:
			return "The model accepts everybody: it decides every training row as positive."
		}
		return ""
	}
	if len(result.Splits) == 0 || result.Splits[0].Rates == nil {
		return ""
	}
	t := result.Splits[0].Rates
	var never, decided []string
	for k, class := range t.Classes {
		rows := 0
		for _, row := range t.Confusion {
			rows += row[k]
		}
		if rows == 0 {
			never = append(never, class)
		} else {
			decided = append(decided, class)
		}
	}
	switch {
	case len(decided) == 1:
		return "The model decides every training row as " + decided[0] + "."
	case len(never) > 0:
		return "The model decides no training row as " + strings.Join(never, ", ") + "."
	}
	return ""
}

// met returns the cell that says how a constraint stands.
func met(o *session.Outcome, c *session.ConstraintOutcome) string {
	s := o.Standing(c)
	switch {
	case o.BoundsOn == session.OnSurrogate && c.SurrogateMet != nil:
		return s.String()
	case s.State == constraints.NotMet:
		return "no"
	case s.State.Holds() && s.Beyond != nil:
		return "training only"
	case s.State == constraints.Met:
		return "yes"
	}
	return string(s.State)
}

// mostExplained is the largest number of constraints that the lines below the table explain.
const mostExplained = 4

// explained says what the column met cannot say: see Outcome.Explain.
func explained(o *session.Outcome, shown []int) (list []sentence) {
	rest := 0
	for _, j := range shown {
		text := o.Explain(&o.Constraints[j])
		switch {
		case text == "":
		case len(list) == mostExplained:
			rest++
		default:
			list = append(list, sentence{[]string{"bounds", ""}[min(1, len(list))], text})
		}
	}
	if rest > 0 {
		list = append(list, sentence{"", fmt.Sprintf("The same holds for %d more: summary.json has their numbers.", rest)})
	}
	return list
}

// certificate describes the certificate in one line.
func certificate(sum session.Summary) string {
	c := sum.Certificate
	most := "" // with kinks the stationarity is an upper bound
	if c.UpperBound || c.NotResolved {
		most = "at most "
	}
	text := "epsilon " + most + brief(c.Epsilon)
	if o := sum.Outcome; o == nil || o.BoundsOn == session.OnSurrogate {
		text += ", the largest KKT residual in float64"
	} else {
		text += ": KKT residual of the smooth problem"
		if largest := largestShift(o.BoundShifts); largest > 0 {
			text += ", bounds shifted by up to " + brief(largest)
		}
	}
	if c.NotResolved {
		text += "; not resolved: other multipliers may show a smaller epsilon"
	}
	if own := c.Own; own != nil && own.Epsilon > ownFactor*c.Epsilon {
		text += fmt.Sprintf("; with the method's own multipliers epsilon is %s%s", most, brief(own.Epsilon))
	}
	return text
}

// ownFactor is the ratio of the epsilon of the method's own multipliers to the epsilon of the
// certificate above which the table shows both.
const ownFactor = 3

// largestShift returns the largest size of a shift.
func largestShift(shifts []float64) (largest float64) {
	for _, s := range shifts {
		largest = max(largest, math.Abs(s))
	}
	return largest
}

// promised returns the sentences about the bounds that hold on new rows, or "" for a run without a
// confidence.
func promised(o *session.Outcome) string {
	if o.Confidence == 0 {
		return ""
	}
	var kept []string
	for _, c := range o.Constraints {
		if c.Promise != nil && c.Promise.Holds {
			kept = append(kept, c.Constraint)
		}
	}
	with := fmt.Sprintf("with %g%% confidence", 100*o.Confidence)
	if len(kept) == 0 {
		return "No bound is promised for new rows " + with + ": see the warnings."
	}
	text := strings.Join(kept, " and ") + " on new rows from the same source, " + with + "; the validation rows chose the threshold for it"
	if len(kept) < len(o.Constraints) {
		return text + ". The other bounds are not promised: see the warnings."
	}
	return text + "."
}

// number formats a rate, a gap or a loss with four decimals; "" for nil.
func number(x *float64) string {
	if x == nil {
		return ""
	}
	return rundir.Number(*x, 4)
}

// span formats an interval with three decimals, and small numbers with more; "" for nil.
func span(i *[2]float64) string {
	if i == nil {
		return ""
	}
	digits := rundir.IntervalDecimals(*i)
	return fmt.Sprintf("%.*f to %.*f", digits, i[0], digits, i[1])
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

// brief formats a number with two significant digits.
func brief(x float64) string { return strconv.FormatFloat(x, 'g', 2, 64) }

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

// unmet is the error of a run whose files are complete, and whose constraints in the list give the
// exit status 3.
type unmet struct {
	outcome *session.Outcome
	list    []session.ConstraintOutcome
}

// failing returns the constraints that give the exit status 3: those that are not met, cannot be
// judged or are not promised, and with strict those that are met to one row.
func failing(o *session.Outcome, strict bool) []session.ConstraintOutcome {
	list := o.Unmet()
	for j := range o.Constraints {
		if c := &o.Constraints[j]; strict && o.Standing(c).Holds() && o.Standing(c).State == constraints.MetToOneRow {
			list = append(list, *c)
		}
	}
	return list
}

func (e *unmet) Error() string {
	c := &e.list[0]
	others := func(what, text string) string {
		head := "a constraint " + what
		if n := len(e.list); n > 1 {
			head, text = fmt.Sprintf("%d constraints %s", n, strings.Replace(what, "is ", "are ", 1)), text+", and others"
		}
		return "finished, but " + head + ": " + text + "; --allow-violation makes the exit status 0"
	}
	s := e.outcome.Standing(c)
	switch {
	case s.State.Holds() && s.Unpromised:
		return fmt.Sprintf("finished, but a constraint is not promised for new rows: %s (the validation rows support the bound %s with %g%% confidence); "+
			"--allow-violation makes the exit status 0", c.Constraint, number(&c.Promise.Supported), 100*e.outcome.Confidence)
	case s.State == constraints.NotJudged:
		return others("cannot be judged", strings.TrimSuffix(strings.Replace(e.outcome.Explain(c), " cannot be judged", "", 1), "."))
	}
	what, value := "the surrogate of "+c.Measure(), c.Surrogate
	if e.outcome.BoundsOn != session.OnSurrogate || value == nil {
		what, value = c.Measure(), c.Train
	}
	is := "has no value"
	if value != nil {
		is = "is " + c.Number(value)
	}
	how := "is not met"
	if s.State == constraints.MetToOneRow {
		how = "is met to one row only (--strict)"
	}
	return others(how, fmt.Sprintf("on the training rows %s %s, want %s %s", what, is, c.Relation(), strconv.FormatFloat(c.Bound, 'g', -1, 64)))
}
