package cmd

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/option"
	"ppal/internal/report"
	"ppal/internal/rundir"
	"ppal/models/predictor"
	"ppal/trainer/session/results"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	rows        rowsFlags
	by          []string
	list        string
	dataDir     string
	values      config.Values // of tableFlags
	predictions predictionsFlags
	json        bool
	allow       bool
}

func (a *app) diffCommand() *cobra.Command {
	f := diffFlags{values: config.Values{}}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare the decisions of two runs, or of any two models in files, on the same rows",
		Long: `Diff pairs the decisions of an old and a new model on the same labelled rows: how many changed (churn) and in which groups,
the rates of each group before and after with 95% intervals of the paired differences, and whether each constraint holds.

OLD and NEW are two runs, on the rows of --input, or without it on the test rows of both in the file that they were trained
from; or two files of predictions, as for evaluate --predictions, whose rows are paired by their place or by --key.

` + exitText,
		Example: `  ppal diff runs/may runs/june --input new.csv --by sex --subject-to "churn(old) <= 2%"
  ppal diff may.csv june.csv --label default=yes --score p --threshold 0.5 --key id --by 'sex*race' --changed changed.csv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("give two runs or two files, OLD and NEW, not %s", option.Counted(len(args), "argument"))
			}
			return nil
		},
		RunE: a.once(func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func() error { return a.diff(cmd, args[0], args[1], &f) })
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.by, "by", nil, "count by `ATTRIBUTE`: a column, a condition such as age<25, or intersections such as sex*race; may be repeated")
	addSelected(cmd, f.values, "subject-to")
	flags.Lookup("subject-to").Usage = "end with exit status 3 if the new decisions do not meet these `CONSTRAINTS`; churn(old) is about the old decisions; may be repeated"
	flags.Var(&path{&f.list, "FILE"}, "changed", "write the rows whose decision changed, as CSV")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	addAllowViolation(cmd, &f.allow, "a constraint")
	f.rows.add(cmd)
	flags.Lookup("input").Usage = "runs: read the labelled rows from `FILE`, plain or gzip (default: the test rows of both runs)"
	flags.Lookup("input").DefValue = ""
	f.rows.input = ""
	flags.StringVar(&f.dataDir, "data-dir", "", "runs: `DIR` of the data sets (default: PPAL_DATA or the cache)")
	f.predictions.add(cmd, f.values)
	flags.Lookup("key").Usage = "predictions: pair the rows by this column"
	return cmd
}

// diff runs the command.
func (a *app) diff(cmd *cobra.Command, old, new string, f *diffFlags) error {
	options, err := f.rows.options(a)
	if err != nil {
		return err
	}
	o := predictor.EvaluateOptions{Options: options, By: f.by}
	if o.Subject, err = subjectOf(f.values); err != nil {
		return err
	}
	read := a.decidedFiles
	var folders [2]bool
	for k, path := range []string{old, new} {
		info, err := os.Stat(path)
		if err != nil {
			return asMissing(err)
		}
		folders[k] = info.IsDir()
	}
	ofRuns := folders[0]
	if ofRuns != folders[1] {
		return usage{fmt.Errorf("%s and %s: give two runs, or two files of predictions", old, new)}
	}
	if ofRuns {
		read = a.decidedRuns
	}
	if err := applicable(cmd, !ofRuns, "runs", "files of predictions", "input", "weights", "unknown", "data-dir"); err != nil {
		return err
	}
	before, after, err := read(cmd, old, new, f, o)
	if place, ok := errors.AsType[*constraints.SyntaxError](err); ok {
		return usage{fmt.Errorf("--by %q: %s", place.Text, place.Detail())}
	}
	if err != nil {
		return advise(err)
	}
	d, err := predictor.Diff(before, after, o.Subject)
	if err != nil {
		return usage{err}
	}
	if f.list != "" {
		if err := a.writeChanged(f.list, d); err != nil {
			return fmt.Errorf("--changed: %w", err)
		}
	}
	if f.json {
		err = printJSON(a.stdout, d)
	} else {
		err = printDiff(printing{a.stdout}, d)
	}
	if err != nil || f.allow {
		return err
	}
	broken := &results.Outcome{BoundsOn: constraints.OnDecisions}
	for _, c := range d.Broken() {
		broken.Constraints = append(broken.Constraints, *c.Outcome())
	}
	if broken.Constraints == nil {
		return nil
	}
	return &report.Unmet{Outcome: broken, List: broken.Constraints, On: "these rows"}
}

// decidedFiles reads two files of predictions.
func (a *app) decidedFiles(cmd *cobra.Command, old, new string, f *diffFlags, o predictor.EvaluateOptions) (before, after *predictor.Decided, err error) {
	own, key := maps.Clone(f.values), f.values["key"]
	delete(own, "key")
	read := func(file string, o predictor.EvaluateOptions) (*predictor.Decided, error) {
		p, err := f.predictions.table(file, own, &f.rows)
		if err != nil {
			return nil, err
		}
		return p.Decide(cmd.Context(), o, key)
	}
	if before, err = read(old, predictor.EvaluateOptions{}); err == nil {
		after, err = read(new, o)
	}
	return before, after, err
}

// decidedRuns decides the same rows by two runs.
func (a *app) decidedRuns(_ *cobra.Command, old, new string, f *diffFlags, o predictor.EvaluateOptions) (before, after *predictor.Decided, err error) {
	var models [2]*predictor.Model
	for k, run := range []string{old, new} {
		if models[k], err = a.loadModel(run, f.rows.weights); err != nil {
			return nil, nil, err
		}
	}
	var only []int
	if f.rows.input == "" {
		if f.rows.input, only, err = a.commonTestRows(old, new, models, f.dataDir); err != nil {
			return nil, nil, err
		}
	} else if f.rows.input == standard {
		return nil, nil, usage{errors.New("--input -: two runs read the rows, so give a file")}
	}
	read := func(m *predictor.Model, o predictor.EvaluateOptions) (*predictor.Decided, error) {
		if m.Pictures() {
			return nil, usage{errors.New("the runs are for pictures without labels: write the decisions with ppal predict, and compare the files")}
		}
		in, name, done, err := f.rows.open(a, m)
		if err != nil {
			return nil, err
		}
		defer done()
		return m.DecideRows(in, name, o, only)
	}
	if before, err = read(models[0], predictor.EvaluateOptions{Options: o.Options}); err == nil {
		after, err = read(models[1], o)
	}
	return before, after, err
}

// commonTestRows returns the file from which both runs took their rows, and the numbers, from 0, of
// the rows that are test rows of both.
func (a *app) commonTestRows(old, new string, models [2]*predictor.Model, dataDir string) (file string, rows []int, err error) {
	give := func(format string, args ...any) (string, []int, error) {
		return "", nil, usage{fmt.Errorf("%s; give labelled rows with --input", fmt.Sprintf(format, args...))}
	}
	var files [2]string
	var tests [2]map[int]bool
	for k, run := range []string{old, new} {
		c, err := config.ReadFile(rundir.Dir(run).Config())
		if err != nil {
			return "", nil, err
		}
		if files[k] = c.Value("file"); files[k] == "" {
			name := c.Value("dataset")
			dir, err := datasets.DirOf(name, cmp.Or(dataDir, c.Value("data-dir")), a.getenv)
			if err != nil {
				return "", nil, err
			}
			paths, err := datasets.Paths(dir, name)
			if err != nil || len(paths) != 1 {
				return give("%s: the rows of %s are not in one file", run, name)
			}
			files[k] = paths[0]
		}
		if models[k].Description().Rows == "" || files[k] == standard {
			return give("%s does not say which rows were its test rows", run)
		}
		list, err := rundir.Dir(run).ReadRows(models[k].Description().Rows)
		if err != nil {
			return "", nil, err
		}
		tests[k] = map[int]bool{}
		for _, r := range list {
			if r.Split == results.Test && r.File == "" {
				tests[k][r.Number-1] = true
			}
		}
	}
	if first, second := filepath.Clean(files[0]), filepath.Clean(files[1]); first != second {
		return give("%s was trained from %s, and %s from %s", old, first, new, second)
	}
	for n := range tests[1] {
		if tests[0][n] {
			rows = append(rows, n)
		}
	}
	if rows == nil {
		return give("%s and %s have no test row in common", old, new)
	}
	slices.Sort(rows)
	return files[1], rows, nil
}

// printDiff prints the changes, the rates before and after, and the constraints as tables.
func printDiff(out io.Writer, d *predictor.Difference) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	positive := ""
	if len(d.Classes) == 2 {
		positive = "\tto " + d.Classes[1]
	}
	fmt.Fprintf(w, "changed decisions\trows\tchanged\tchurn%s\tnow right\tnow wrong", positive)
	for _, c := range d.Changed {
		fmt.Fprintf(w, "\n%s\t%d\t%d\t%s", cmp.Or(c.Group, "all"), c.Rows, c.Count, interval(report.Number(&c.Churn), &c.Interval))
		if positive != "" {
			fmt.Fprintf(w, "\t%d", c.Positive)
		}
		fmt.Fprintf(w, "\t%d\t%d", c.Corrected, c.Spoiled)
	}
	fmt.Fprint(w, "\n\nrates\trate\tbefore\tafter\tdifference")
	group := "-"
	for _, r := range d.Rates {
		name := ""
		if r.Group != group {
			group, name = r.Group, cmp.Or(r.Group, "all")
		}
		fmt.Fprintf(w, "\n%s\t%s\t%s\t%s\t%s", name, r.Rate, report.Number(&r.Before), report.Number(&r.After), interval(report.Number(&r.Difference), &r.Interval))
	}
	if len(d.Constraints) > 0 {
		fmt.Fprint(w, "\n\nconstraint\tbefore\tafter\tholds on these rows")
	}
	var texts []string
	for k, c := range d.Constraints {
		if c.Value == nil {
			fmt.Fprintf(w, "\n%s\t-\t-\tnot counted: %s", c.Constraint, c.Reason)
			continue
		}
		o, before := c.Outcome(), "-"
		if v := d.Before[k].Value; v != nil && !ofChurn(c.Constraint) {
			before = o.Number(v)
		}
		fmt.Fprintf(w, "\n%s\t%s\t%s\t%s", c.Constraint, before, interval(o.Number(c.Value), c.Interval), report.CellText(&results.Outcome{}, o))
		if text := (&results.Outcome{}).Explain(o); text != "" {
			texts = append(texts, text)
		}
	}
	fmt.Fprintln(w)
	for _, text := range texts {
		fmt.Fprintln(w, text)
	}
	if d.Unpaired != [2]int{} {
		fmt.Fprintf(w, "\n%s of OLD and %d of NEW have no partner\n", option.Counted(d.Unpaired[0], "row"), d.Unpaired[1])
	}
	return w.Flush()
}

// writeChanged writes the rows whose decision changed.
func (a *app) writeChanged(name string, d *predictor.Difference) error {
	out, err := a.create(name)
	if err != nil {
		return err
	}
	defer out.discard()
	var text strings.Builder
	w := csv.NewWriter(&text)
	head := []string{"row", "label", "before", "after"}
	keyed := slices.ContainsFunc(d.List, func(r predictor.ChangedRow) bool { return r.Key != "" })
	if keyed {
		head = append(head, "key")
	}
	_ = w.Write(head) // a strings.Builder has no errors
	for _, r := range d.List {
		line := []string{strconv.Itoa(r.Row), r.Label, r.Before, r.After}
		if keyed {
			line = append(line, r.Key)
		}
		_ = w.Write(line)
	}
	w.Flush()
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	return out.commit()
}
