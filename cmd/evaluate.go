package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ppal/constraints"
	"ppal/internal/ending"
	"ppal/internal/newrows"
	"ppal/models/predictor"
	"ppal/trainer/session/results"
)

func (a *app) evaluateCommand() *cobra.Command {
	var rows rowsFlags
	var by, earlier []string
	var labels string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "evaluate RUN",
		Short: "Count a trained model's decisions on labelled rows",
		Long: `Evaluate reads rows with their labels, as predict does, and counts the decisions: all rates of all rows and of each group, the
confusion matrix, and whether each constraint of the run holds on these rows. Intervals are for new rows, at 95%. Groups
are those of the run and of --by. Columns, labels and missing values mean what they meant in training, and constraints
compare the groups that they compared there.

The exit status is 0 whether the constraints hold or not. Pictures need their labels in a second file.`,
		Example: `  ppal evaluate runs/20260101-120000-rates-alm --input new.csv
  ppal evaluate RUN --input new.csv --by race --by 'age<25' --json
  ppal evaluate RUN --input new.csv --earlier old-decisions-on-new.csv
  ppal evaluate RUN --input t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz`,
		Args: oneRun,
		RunE: a.once(func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func() error {
				e, err := a.evaluate(args[0], rows, by, earlier, labels)
				if err != nil {
					return advise(err)
				}
				if asJSON {
					out := json.NewEncoder(a.stdout)
					out.SetEscapeHTML(false)
					out.SetIndent("", "  ")
					return out.Encode(e)
				}
				return printEvaluation(printing{a.stdout}, e)
			})
		}),
	}
	cmd.Flags().SortFlags = false
	rows.add(cmd)
	cmd.Flags().StringArrayVar(&by, "by", nil, "also count by `ATTRIBUTE`: a column, a condition such as age<25, or intersections such as sex*race; may be repeated")
	cmd.Flags().StringArrayVar(&earlier, "earlier", nil, "count a churn against the earlier decisions on these rows in `FILE`, as predict writes them;"+
		" OLD=FILE for one of several files that the constraints name; may be repeated")
	cmd.Flags().StringVar(&labels, "labels", "", "pictures: read the labels from `FILE`, in IDX")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// evaluate counts the decisions.
func (a *app) evaluate(run string, flags rowsFlags, by, earlier []string, labels string) (*predictor.Evaluation, error) {
	options, err := flags.options(a)
	if err != nil {
		return nil, err
	}
	o := predictor.EvaluateOptions{Options: options, By: by, Earlier: map[string]string{}}
	for _, text := range earlier {
		old, file, found := strings.Cut(text, "=")
		if !found {
			old, file = "", text
		}
		o.Earlier[old] = file
	}
	m, err := a.loadModel(run, flags.weights)
	if err != nil {
		return nil, err
	}
	pictures := m.Pictures()
	if pictures != (labels != "") {
		if pictures {
			return nil, usage{fmt.Errorf("--labels: the run is for pictures: give the file of their labels")}
		}
		return nil, usage{fmt.Errorf("--labels: the run is for tables, whose labels are in the input")}
	}
	if pictures {
		f, err := os.Open(labels)
		if err != nil {
			return nil, asMissing(fmt.Errorf("--labels: %w", err))
		}
		defer f.Close()
		if o.Labels, err = newrows.ReadIDXLabels(f, labels); err != nil {
			return nil, err
		}
	}
	in, name, done, err := flags.open(a, m)
	if err != nil {
		return nil, err
	}
	defer done()
	e, err := m.Evaluate(in, name, o)
	if place, ok := errors.AsType[*constraints.SyntaxError](err); ok {
		return nil, usage{fmt.Errorf("--by %q: %s", place.Text, place.Detail())}
	}
	return e, err
}

// printEvaluation prints the rates, the confusion matrix and the constraints as tables.
func printEvaluation(out io.Writer, e *predictor.Evaluation) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if e.Ranking != nil {
		printRanking(w, e)
	} else {
		printRowRates(w, e)
	}
	if len(e.Constraints) > 0 {
		fmt.Fprint(w, "\n\nconstraint\tvalue\tholds on these rows")
	}
	var texts []string
	for _, c := range e.Constraints {
		if c.Value == nil {
			fmt.Fprintf(w, "\n%s\t-\tnot counted: %s", c.Constraint, c.Reason+advice(c))
			continue
		}
		o := c.Outcome()
		fmt.Fprintf(w, "\n%s\t%s\t%s", c.Constraint, interval(o.Number(c.Value), c.Interval), ending.Cell(&results.Outcome{}, o))
		if text := (&results.Outcome{}).Explain(o); text != "" {
			texts = append(texts, text)
		}
	}
	fmt.Fprintln(w)
	for _, text := range texts {
		fmt.Fprintln(w, text)
	}
	if e.LeftOut > 0 {
		fmt.Fprintf(w, "\n%d rows with missing values were left out, as in training\n", e.LeftOut)
	}
	if e.NewValues != nil {
		fmt.Fprintf(w, "\nnew values, which no training row had and no constraint compares: %s\n", strings.Join(e.NewValues, ", "))
	}
	if e.Unknown > 0 {
		fmt.Fprintf(w, "\n%s\n", ignored(e.Unknown))
	}
	return w.Flush()
}

// printRowRates prints the rates by group and the confusion matrix.
func printRowRates(w io.Writer, e *predictor.Evaluation) {
	fmt.Fprintf(w, "%d rows\t", e.Rows)
	names := (&results.RateTable{Classes: e.Classes}).Order()
	for _, name := range names {
		fmt.Fprintf(w, "\t%s", name)
	}
	line := func(name string, rows int, values results.Rates, extremes map[string]results.Extreme) {
		fmt.Fprintf(w, "\n%s\t%d", name, rows)
		for _, rate := range names {
			if r, ok := values[rate]; ok {
				fmt.Fprintf(w, "\t%s%s", interval(ending.Number(&r.Value), r.Interval), extreme(extremes[rate]))
			} else {
				fmt.Fprint(w, "\t-")
			}
		}
	}
	line("all", e.Rows, e.Rates.Overall, nil)
	left := 0
	for k, g := range e.Rates.ByGroup {
		if k >= mostGroups && len(g.Extremes) == 0 {
			left++
			continue
		}
		line(g.Group, g.Rows, g.Rates, g.Extremes)
	}
	if left > 0 {
		fmt.Fprintf(w, "\nand %d more groups, with --json", left)
	}
	fmt.Fprint(w, "\n\nrows by class")
	for _, class := range e.Classes {
		fmt.Fprintf(w, "\tdecided %s", class)
	}
	for k, row := range e.Confusion {
		fmt.Fprintf(w, "\n%s", e.Classes[k])
		for _, n := range row {
			fmt.Fprintf(w, "\t%d", n)
		}
	}
}

// printRanking prints the pair errors by group and the gaps of the queries.
func printRanking(w io.Writer, e *predictor.Evaluation) {
	r := e.Ranking
	fmt.Fprintf(w, "%d rows of %d queries, %d of them with pairs", e.Rows, r.Queries, r.Paired)
	for _, name := range slices.Sorted(maps.Keys(r.NDCG)) {
		fmt.Fprintf(w, "\nNDCG%s\t%.4f", name, r.NDCG[name])
	}
	fmt.Fprint(w, "\n\nmore relevant\tless relevant\tpairs\tpair error")
	line := func(relevant, other string, s predictor.PairShare) {
		text := "-"
		if s.Error != nil {
			text = interval(ending.Number(s.Error), s.Interval)
		}
		fmt.Fprintf(w, "\n%s\t%s\t%d\t%s", relevant, other, s.Pairs, text)
	}
	line("all", "all", r.Error)
	for _, s := range r.Pairs {
		line(s.Relevant, s.Other, s)
	}
	if len(r.PerQuery) > 0 {
		fmt.Fprint(w, "\n\ngaps of queries across groups\tqueries\tmean\t90th percentile\tlargest")
	}
	for _, g := range r.PerQuery {
		fmt.Fprintf(w, "\n%s: %s\t%d\t%.4f\t%.4f\t%.4f", g.Attribute, g.Groups, g.Queries, g.Mean, g.P90, g.Largest)
	}
}

// advice returns what to do about a constraint that is not counted.
func advice(c predictor.Checked) string {
	if parsed, err := constraints.Parse(c.Constraint); err == nil && parsed.Measure().IsChurn() {
		return " (--earlier)"
	}
	return ""
}

// interval adds an interval to a value's text: 0.0512 [0.0401, 0.0650].
func interval(text string, i *[2]float64) string {
	if i == nil {
		return text
	}
	return fmt.Sprintf("%s [%.4f, %.4f]", text, i[0], i[1])
}
