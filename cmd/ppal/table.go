package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"ppal/trainer"
	"ppal/trainer/session"
)

// printTable prints the result of the run on stdout.
func (r *trainRun) printTable(result *session.Result) error {
	sum := r.session.Summary()
	out := &failOnce{out: r.stdout}
	fmt.Fprintf(out, "%s on %s, %s: %d iterations in %s s (%s)\n\n",
		r.cfg.Method.Name, r.cfg.Dataset, r.cfg.Data.Problem, sum.Iterations, short(sum.Seconds), sum.Status)
	r.printConstraints(out, sum, result)
	r.printMeasures(out, result)
	c := sum.Certificate
	kinks := "" // with kinks the stationarity is an upper bound
	if c.UpperBound {
		kinks = "at most "
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nobjective\t%s\n", short(sum.Objective))
	fmt.Fprintf(w, "violation\t%s (%s counts as met)\n", short(sum.MaxViolation), short(r.cfg.FeasibilityTolerance))
	fmt.Fprintf(w, "certificate\tepsilon %s (stationarity %s%s, infeasibility %s, complementarity %s)\n",
		short(c.Epsilon), kinks, short(c.Stationarity), short(c.Infeasibility), short(c.Complementarity))
	if sum.OutputIteration != sum.Iterations {
		flag, chosen := "output", r.cfg.Output
		if r.cfg.Select != trainer.OutputLast {
			flag, chosen = "select", r.cfg.Select
		}
		fmt.Fprintf(w, "output\titeration %d (--%s %s)\n", sum.OutputIteration, flag, chosen)
	}
	fmt.Fprintf(w, "memory\t%.0f MB at most\n", float64(sum.PeakBytes)/1e6)
	if len(sum.Warnings) == 0 {
		fmt.Fprintf(w, "warnings\tnone\n")
	}
	for i, warning := range sum.Warnings {
		fmt.Fprintf(w, "%s\t%s\n", []string{"warnings", ""}[min(i, 1)], warning)
	}
	fmt.Fprintf(w, "files\t%s\n", r.session.Dir())
	if err := w.Flush(); err != nil {
		return err
	}
	return out.err
}

// mostLines is the number of constraints that the table shows: those closest to their bounds.
const mostLines = 12

// printConstraints prints a line for the objective and for each constraint.
func (r *trainRun) printConstraints(out io.Writer, sum session.Summary, result *session.Result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	d := r.session.Describe()
	title, decisions := "term\tvalue", "decided"
	if r.byClass() {
		title, decisions = "class\tloss", "error"
	}
	title += "\tbound\tmet\tmultiplier nu"
	for _, split := range result.Splits {
		title += "\t" + splitTitle(split.Name, decisions)
	}
	fmt.Fprintln(w, title)
	line := func(name string, k int, bound, met, nu string) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s", name, short(result.Values[k]), bound, met, nu)
		for _, split := range result.Splits {
			fmt.Fprintf(w, "\t%s", percent(split.Decisions[k]))
		}
		fmt.Fprintln(w)
	}
	line(d.Objective, 0, "-", "objective", "-")
	names, shown := d.Constraints, worst(sum.Constraints)
	for _, j := range shown {
		met := "yes"
		if over := sum.Constraints[j]; over > r.cfg.FeasibilityTolerance {
			met = "no, " + short(over) + " over"
		}
		line(names[j], 1+j, short(sum.Bounds[j]), met, short(sum.Certificate.Nu[j]))
	}
	_ = w.Flush() // out keeps the error
	if rest := len(names) - len(shown); rest > 0 {
		fmt.Fprintf(out, "and %d more, further below their bounds\n", rest)
	}
}

// worst returns the indices of the constraints to show, in order: all, or those with the largest
// values.
func worst(g []float64) []int {
	all := make([]int, len(g))
	for j := range all {
		all[j] = j
	}
	if len(all) <= mostLines {
		return all
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(g[b], g[a]) })
	all = all[:mostLines]
	slices.Sort(all)
	return all
}

// byClass reports whether objective and constraints are losses of classes, so that the measures on
// decisions are errors of classes.
func (r *trainRun) byClass() bool { return r.cfg.Data.Problem == session.NameNeymanPearson }

// splitTitle returns the column title for the measures on the decisions of one split.
func splitTitle(name session.Split, decisions string) string {
	if name == session.Training {
		return decisions + " on training rows"
	}
	return fmt.Sprintf("on %s rows", name)
}

// printMeasures prints the measures that do not belong to a single constraint, for every split.
func (r *trainRun) printMeasures(out io.Writer, result *session.Result) {
	if r.byClass() {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nmeasure")
	for _, split := range result.Splits {
		title := string(split.Name)
		if split.Name == session.Training {
			title = "training"
		}
		fmt.Fprintf(w, "\t%s rows", title)
	}
	for _, name := range slices.Sorted(maps.Keys(result.Splits[0].Named)) {
		fmt.Fprintf(w, "\n%s", strings.ReplaceAll(name, "_", " "))
		for _, split := range result.Splits {
			fmt.Fprintf(w, "\t%s", short(split.Named[name]))
		}
	}
	fmt.Fprintln(w)
	_ = w.Flush() // out keeps the error
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

// percent formats a share with one decimal.
func percent(x float64) string {
	return strconv.FormatFloat(math.Round(1000*x)/10+0, 'f', 1, 64) + " %"
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
