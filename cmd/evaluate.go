package cmd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/config"
	"ppal/internal/newrows"
	"ppal/internal/option"
	"ppal/internal/report"
	"ppal/models/predictor"
	"ppal/trainer/session/results"
)

// evaluateFlags are the flags of evaluate.
type evaluateFlags struct {
	rows        rowsFlags
	by, earlier []string
	labels      string
	weight      string
	values      config.Values // of tableFlags
	predictions predictionsFlags
	json        bool
	page        string
}

func (a *app) evaluateCommand() *cobra.Command {
	f := evaluateFlags{values: config.Values{}}
	cmd := &cobra.Command{
		Use:   "evaluate RUN | evaluate --predictions FILE",
		Short: "Count decisions on labelled rows: a trained model's, or those of any model in a file",
		Long: `Evaluate counts decisions on rows with labels: all rates of all rows and of each group, the differences and ratios of the
groups, the confusion matrix, and whether each constraint holds on these rows. Intervals are for new rows, at 95%.

Of a RUN, evaluate reads the rows as predict does. Groups are those of the run and of --by. Columns, labels and missing
values mean what they meant in training, and constraints compare the groups that they compared there. Pictures need their
labels in a second file.

--predictions reads the decisions or scores of any model, and the labels and groups, from the columns of one file.

The exit status is 0 whether the constraints hold or not.`,
		Example: `  ppal evaluate runs/20260101-120000-rates-alm --input new.csv
  ppal evaluate RUN --input new.csv --by race --by 'age<25' --json
  ppal evaluate RUN --input new.csv --earlier old-decisions-on-new.csv
  ppal evaluate RUN --input t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz
  ppal evaluate --predictions scored.csv --label default=yes --score p --threshold 0.5 --by 'sex*race'
  ppal evaluate --predictions scored.csv --label default --decision decided --subject-to "gap(tpr, sex) <= 0.05" --page page.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("predictions") {
				return noArguments(cmd, args)
			}
			return oneRun(cmd, args)
		},
		RunE: a.once(func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func() error {
				if err := applicable(cmd, f.predictions.file != "", "a RUN", "--predictions FILE", "input", "weights", "unknown", "labels"); err != nil {
					return err
				}
				e, err := a.evaluate(cmd, append(args, "")[0], &f)
				if err != nil {
					return advise(err)
				}
				if f.page != "" {
					if err := writeEvaluation(f.page, f.title(args), e); err != nil {
						return fmt.Errorf("--page: %w", err)
					}
				}
				if f.json {
					return printJSON(a.stdout, e)
				}
				return printEvaluation(printing{a.stdout}, e)
			})
		}),
	}
	cmd.Flags().SortFlags = false
	f.rows.add(cmd)
	cmd.Flags().StringArrayVar(&f.by, "by", nil, "also count by `ATTRIBUTE`: a column, a condition such as age<25, or intersections such as sex*race; may be repeated")
	cmd.Flags().StringArrayVar(&f.earlier, "earlier", nil, "count a churn against the earlier decisions on these rows in `FILE`, as predict writes them;"+
		" OLD=FILE for one of several files that the constraints name; may be repeated")
	cmd.Flags().StringVar(&f.labels, "labels", "", "pictures: read the labels from `FILE`, in IDX")
	cmd.Flags().StringVar(&f.weight, "weight", "", "count each row with the weight in this `COLUMN`; \"\" counts each row once [default: as in training]")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.Flags().Var(&path{&f.page, "FILE"}, "page", "also write a page, in HTML")
	addSelected(cmd, f.values, "subject-to")
	cmd.Flags().Lookup("subject-to").Usage = "check these `CONSTRAINTS` instead of the run's; may be repeated"
	cmd.Flags().Var(&path{&f.predictions.file, "FILE"}, "predictions", "read any model's decisions or scores, labels and groups from this table, plain or gzip (- is the standard input)")
	f.predictions.add(cmd, f.values)
	return cmd
}

// evaluate counts the decisions.
func (a *app) evaluate(cmd *cobra.Command, run string, f *evaluateFlags) (*predictor.Evaluation, error) {
	options, err := f.rows.options(a)
	if err != nil {
		return nil, err
	}
	o := predictor.EvaluateOptions{Options: options, By: f.by, Earlier: map[string]string{}}
	if cmd.Flags().Changed("weight") {
		o.Weight = &f.weight
	}
	for _, text := range f.earlier {
		old, file, found := strings.Cut(text, "=")
		if !found {
			old, file = "", text
		}
		o.Earlier[old] = file
	}
	if o.Subject, err = subjectOf(f.values); err != nil {
		return nil, err
	}
	e, err := a.evaluateRows(cmd, run, f, o)
	if place, ok := errors.AsType[*constraints.SyntaxError](err); ok {
		return nil, usage{fmt.Errorf("--by %q: %s", place.Text, place.Detail())}
	}
	return e, err
}

// subjectOf returns the constraints of --subject-to; nil: none.
func subjectOf(values config.Values) (list []constraints.Constraint, err error) {
	for _, text := range option.SplitStatements(values["subject-to"]) {
		c, err := constraints.Parse(text)
		if err != nil {
			detail := err.Error()
			if place, ok := errors.AsType[*constraints.SyntaxError](err); ok {
				detail = place.Detail()
			}
			return nil, usage{fmt.Errorf("--subject-to %q: %s", text, detail)}
		}
		list = append(list, c)
	}
	return list, nil
}

// evaluateRows counts the decisions of a run, or those in a file of predictions.
func (a *app) evaluateRows(cmd *cobra.Command, run string, f *evaluateFlags, o predictor.EvaluateOptions) (*predictor.Evaluation, error) {
	if f.predictions.file != "" {
		p, err := f.predictions.table(f.predictions.file, f.values, &f.rows)
		if err != nil {
			return nil, err
		}
		return p.Evaluate(cmd.Context(), o)
	}
	m, err := a.loadModel(run, f.rows.weights)
	if err != nil {
		return nil, err
	}
	pictures := m.Pictures()
	if pictures != (f.labels != "") {
		if pictures {
			return nil, usage{fmt.Errorf("--labels: the run is for pictures: give the file of their labels")}
		}
		return nil, usage{fmt.Errorf("--labels: the run is for tables, whose labels are in the input, or beside arrays and IDX files of your own (--table FILE)")}
	}
	if pictures {
		file, err := os.Open(f.labels)
		if err != nil {
			return nil, asMissing(fmt.Errorf("--labels: %w", err))
		}
		defer file.Close()
		if o.Labels, err = newrows.ReadIDXLabels(file, f.labels); err != nil {
			return nil, err
		}
	}
	in, name, done, err := f.rows.open(a, m)
	if err != nil {
		return nil, err
	}
	defer done()
	return m.Evaluate(in, name, o)
}

// printEvaluation prints the rates, the confusion matrix and the constraints as tables.
func printEvaluation(out io.Writer, e *predictor.Evaluation) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if e.Ranking != nil {
		printRanking(w, e)
	} else {
		printRowRates(w, e)
	}
	printDifferences(w, e.Comparisons)
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
		fmt.Fprintf(w, "\n%s\t%s\t%s", c.Constraint, interval(o.Number(c.Value), c.Interval), report.CellText(&results.Outcome{}, o))
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
				fmt.Fprintf(w, "\t%s%s", interval(report.Number(&r.Value), r.Interval), extreme(extremes[rate]))
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
	by := "rows by class"
	if e.Weight != "" {
		by = "weights by class"
		fmt.Fprintf(w, "\n\nrates are weighted by %s", e.Weight)
	}
	fmt.Fprintf(w, "\n\n%s", by)
	for _, class := range e.Classes {
		fmt.Fprintf(w, "\tdecided %s", class)
	}
	for k, row := range e.Confusion {
		fmt.Fprintf(w, "\n%s", e.Classes[k])
		for _, n := range row {
			fmt.Fprintf(w, "\t%.10g", n)
		}
	}
}

// printDifferences prints the differences and the ratios of the rates between groups.
func printDifferences(w io.Writer, list []results.Comparison) {
	if len(list) == 0 {
		return
	}
	fmt.Fprint(w, "\n\nbetween groups of\trate\tdifference\tratio\tlargest\tsmallest")
	for k, c := range list {
		attribute := c.Groups
		if k > 0 && list[k-1].Groups == attribute {
			attribute = ""
		}
		ratio := "-"
		if c.Ratio != nil {
			ratio = interval(report.Number(&c.Ratio.Value), &c.Ratio.Interval)
		}
		fmt.Fprintf(w, "\n%s\t%s\t%s\t%s\t%s\t%s", attribute, c.Rate, interval(report.Number(&c.Difference.Value), &c.Difference.Interval), ratio, c.Largest, c.Smallest)
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
			text = interval(report.Number(s.Error), s.Interval)
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
	if ofChurn(c.Constraint) {
		return " (--earlier)"
	}
	return ""
}

// ofChurn reports whether a constraint bounds a churn.
func ofChurn(text string) bool {
	c, err := constraints.Parse(text)
	return err == nil && c.Measure().IsChurn()
}

// interval adds an interval to a value's text: 0.0512 [0.0401, 0.0650].
func interval(text string, i *[2]float64) string {
	if i == nil {
		return text
	}
	return fmt.Sprintf("%s [%.4f, %.4f]", text, i[0], i[1])
}

// predictionsFlags are the flags for a file of predictions.
type predictionsFlags struct {
	file      string
	decision  string
	scores    []string
	threshold float64
	given     func(name string) bool
}

// predictionsOnly are the flags of predictionsFlags without the file, and tableFlags those of train
// that say how to read it.
var (
	predictionsOnly = []string{"decision", "score", "threshold"}
	tableFlags      = []string{"label", "classes", "key", "missing", "decimal", "header", "columns", "skip", "quote", "missing-values"}
)

// add adds the flags without the file.
func (f *predictionsFlags) add(cmd *cobra.Command, values config.Values) {
	flags := cmd.Flags()
	f.given = flags.Changed
	flags.StringVar(&f.decision, "decision", "", "predictions: the `COLUMN` with the decisions, in the texts of the label, or a condition on a column that positive decisions meet, such as approved=1 or p>=0.5")
	flags.StringSliceVar(&f.scores, "score", nil, "predictions: the `COLUMN` with the scores; of three classes or more, one column for each class, in their order: the largest decides")
	flags.Float64Var(&f.threshold, "threshold", 0, "predictions: a score above this `T` is a positive decision")
	addSelected(cmd, values, tableFlags...)
	for _, name := range tableFlags {
		flags.Lookup(name).Usage = "predictions: as for ppal train"
	}
	flags.Lookup("label").Usage = "predictions: name the label's column, or the condition that positive rows meet: pay=high, mass>=4000"
}

// applicable returns an error if a flag is given that applies to runs and not to files, or to files
// and not to runs. ofRuns are the flags that apply to runs; runs and files name the two.
func applicable(cmd *cobra.Command, given bool, runs, files string, ofRuns ...string) (err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch {
		case given && slices.Contains(ofRuns, flag.Name):
			err = usage{fmt.Errorf("--%s applies to %s, not to %s", flag.Name, runs, files)}
		case !given && slices.Contains(slices.Concat(predictionsOnly, tableFlags), flag.Name):
			err = usage{fmt.Errorf("--%s applies to %s; a run knows its columns", flag.Name, files)}
		}
	})
	return err
}

// table returns the predictions in a file.
func (f *predictionsFlags) table(file string, values config.Values, rows *rowsFlags) (*predictor.Predictions, error) {
	if len(f.scores) == 1 && !f.given("threshold") {
		return nil, usage{fmt.Errorf("--threshold: missing; --score %s needs the score above which a decision is positive, as in --threshold 0.5", f.scores[0])}
	}
	if len(f.scores) != 1 && f.given("threshold") {
		return nil, usage{fmt.Errorf("--threshold: needs one column of scores (--score COLUMN)")}
	}
	if values["label"] == "" && !tabular.NamesArchive(file) {
		return nil, usage{errors.New("--label: missing; name the column with the labels, or with the positive class too, as in --label default=yes")}
	}
	own := maps.Clone(values)
	delete(own, "subject-to")
	own["file"] = file
	for name, text := range map[string]string{"separator": rows.separator, "table": rows.table} {
		if text != "" {
			own[name] = text
		}
	}
	own[option.NameDataset] = datasets.CSV
	cfg, err := config.Resolve(own, nil)
	if err != nil {
		return nil, err
	}
	return &predictor.Predictions{TableOptions: cfg.TableOptions(), Decision: f.decision, Scores: f.scores, Threshold: f.threshold}, nil
}

// title names what is evaluated.
func (f *evaluateFlags) title(args []string) string {
	if f.predictions.file != "" {
		return filepath.Base(f.predictions.file)
	}
	return filepath.Base(args[0]) + " on " + filepath.Base(f.rows.input)
}

// writeEvaluation writes the page of an evaluation.
func writeEvaluation(path, title string, e *predictor.Evaluation) error {
	o := &results.Outcome{}
	var uncounted []string
	for _, c := range e.Constraints {
		if c.Value == nil {
			uncounted = append(uncounted, c.Constraint+" is not counted: "+c.Reason+advice(c))
			continue
		}
		own := c.Outcome()
		own.Interval = c.Interval
		o.Constraints = append(o.Constraints, *own)
	}
	return report.WriteEvaluation(path, &report.Evaluation{Title: title, Version: version(), Outcome: o, Uncounted: uncounted,
		Rates: &results.RateTable{Rows: e.Rows, Overall: e.Rates.Overall, ByGroup: e.Rates.ByGroup, Classes: e.Classes, Confusion: e.Confusion}, Comparisons: e.Comparisons})
}
