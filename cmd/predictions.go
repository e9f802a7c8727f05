package cmd

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/spf13/cobra"

	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/config"
	"ppal/internal/option"
	"ppal/internal/report"
	"ppal/models/predictor"
	"ppal/trainer/session/results"
)

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
