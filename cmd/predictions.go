package cmd

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"

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

// rankedLines are the rows of the last query, which may go on in the next batch.
type rankedLines struct {
	query  string
	rows   []int64
	scores []float64
	kept   [][]string // of each row
}

// rank writes the lines of the queries that end in the batch. Without queries, the lines have the
// scores alone.
func (p *predictions) rank(b *predictor.Batch) error {
	at := len(p.keep) // the place of the query among the kept texts
	if p.rows == 0 {
		p.unqueried = at == len(b.Kept) || len(b.Kept[at]) > 0 && b.Kept[at][0] == ""
		if p.unqueried {
			p.lines = append(p.lines, "row,score\n"...)
		} else {
			p.header()
		}
	}
	for i, score := range b.Scores {
		row := int64(b.First + i + 1)
		if p.unqueried {
			p.lines = append(appendNumber(append(strconv.AppendInt(p.lines, row, 10), ','), score), '\n')
			continue
		}
		l := &p.ranked
		if query := b.Kept[at][i]; query != l.query {
			p.flush()
			l.query = query
		}
		texts := make([]string, at)
		for k := range texts {
			texts[k] = b.Kept[k][i]
		}
		l.rows, l.scores, l.kept = append(l.rows, row), append(l.scores, score), append(l.kept, texts)
	}
	p.rows += len(b.Scores)
	p.unknown += b.Unknown
	_, err := p.out.Write(p.lines)
	return err
}

// flush appends the lines of the last query.
func (p *predictions) flush() {
	l := &p.ranked
	for i, rank := range predictor.Ranks(l.scores) {
		line := appendField(append(strconv.AppendInt(p.lines, l.rows[i], 10), ','), l.query)
		line = strconv.AppendInt(append(appendNumber(append(line, ','), l.scores[i]), ','), int64(rank), 10)
		for _, text := range l.kept[i] {
			line = appendField(append(line, ','), text)
		}
		p.lines = append(line, '\n')
	}
	l.rows, l.scores, l.kept = l.rows[:0], l.scores[:0], l.kept[:0]
}

// end writes the lines of the last query.
func (p *predictions) end() error {
	p.lines = p.lines[:0]
	p.flush()
	_, err := p.out.Write(p.lines)
	return err
}
