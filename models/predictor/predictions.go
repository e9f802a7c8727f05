package predictor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/newrows"
	"ppal/internal/option"
	"ppal/internal/textvalue"
	"ppal/internal/vec"
	"ppal/trainer/session/results"
)

// Predictions are the decisions of any model in a table, beside the labels and the groups of the
// rows: of a model that no run of ppal describes.
type Predictions struct {
	// TableOptions name the file and its label, and say how to read both. Attributes, features and
	// the split do not apply. Missing must not be MissingImputed.
	tabular.TableOptions
	// Decision is the column with the decision of each row in the texts of the label, or a condition
	// that the rows with a positive decision meet: approved=1, p>=0.5. "": the decisions follow from
	// Scores.
	Decision string
	// Scores are columns of numbers. With one column, a decision is positive if the score is above
	// Threshold. With a column for each class, in the order of the classes, the decision is the first
	// class with the largest score.
	Scores    []string
	Threshold float64
}

// Evaluate counts the decisions like [Model.Evaluate]. The constraints are those of Subject.
func (p *Predictions) Evaluate(ctx context.Context, o EvaluateOptions) (*Evaluation, error) {
	by, crossed, err := o.groupedBy()
	if err != nil {
		return nil, err
	}
	own := *p
	if o.Weight != nil {
		own.Weight = *o.Weight
	}
	m, rows, err := own.read(ctx, o.Subject, by)
	if err != nil {
		return nil, err
	}
	e, _, err := m.judge(rows, o.Subject, crossed, o.Earlier)
	return e, err
}

// read reads the rows with the attributes that the constraints and by name. The model describes
// the classes alone.
func (p *Predictions) read(ctx context.Context, subject []constraints.Constraint, by []string) (*Model, *labelled, error) {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("predictor: %s: %w: %s", p.File, dataerr.ErrOption, fmt.Sprintf(format, args...))
	}
	switch {
	case (p.Decision == "") == (len(p.Scores) == 0):
		return nil, nil, wrong("name either the column with the decisions (--decision COLUMN), or the columns with the scores (--score COLUMN --threshold T)")
	case p.Missing == tabular.MissingImputed:
		return nil, nil, wrong("a missing decision has no mean: use --missing %s, %s or %s", tabular.MissingRefused, tabular.MissingDropped, tabular.MissingFlagged)
	case p.Decision != "" && p.Decision == p.Label:
		return nil, nil, wrong("%s is both the label and the decision", p.Label)
	}
	needs := constraints.NeedsOf(constraints.Rate{}, subject)
	options := p.TableOptions
	options.Split = tabular.Split{Train: 100}
	options.Attributes = nil
	values := slices.DeleteFunc(slices.Clone(needs.Values), func(v string) bool { return !columnar.Comparison(v) })
	for _, name := range slices.Concat(needs.Attributes, values, by) {
		if !slices.Contains(options.Attributes, name) {
			options.Attributes = append(options.Attributes, name)
		}
	}
	named, at := len(options.Attributes), slices.Index(options.Attributes, p.Decision)
	if at < 0 && p.Decision != "" {
		at, options.Attributes = named, append(options.Attributes, p.Decision)
	}
	options.Features, options.Raw = slices.Clone(p.Scores), p.Scores
	if p.Decision != "" {
		column := p.Decision
		if name, _, _ := columnar.CutOperator(p.Decision); name != "" {
			column = name
		} else {
			options.Categorical = append(slices.Clone(options.Categorical), column)
		}
		options.Features = []string{column}
	}
	t, err := datasets.LoadTableContext(ctx, "", datasets.CSV, options)
	if err != nil {
		wrong := new(dataerr.Condition)
		if at >= 0 && errors.As(err, &wrong) && wrong.Text == p.Decision && !errors.Is(err, dataerr.ErrColumn) {
			err = fmt.Errorf("%w; if these are scores: --score %s --threshold T", err, textvalue.FlagNames(p.Decision))
		}
		return nil, nil, err
	}
	rows := &labelled{source: t.Train.Source, missing: t.LeftOut, weight: p.Weight}
	rows.Classes, rows.Weights = t.Train.Classes, t.Train.Weights
	for _, y := range t.Train.Labels {
		rows.Labels = append(rows.Labels, tabular.ClassOf(y, len(rows.Classes)))
	}
	if at < 0 {
		rows.decisions, err = p.scored(t.Train)
	} else {
		rows.decisions, err = p.decided(t, at)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, a := range t.Train.Attributes[:named] {
		rows.Attributes, rows.trained = append(rows.Attributes, constraints.Attribute(a)), append(rows.trained, 0)
	}
	m := &Model{}
	for k, value := range t.Label.Values() {
		m.description.Decision.Classes = append(m.description.Decision.Classes, results.Class{Value: value, Name: rows.Classes[k]})
	}
	return m, rows, nil
}

// scored returns the decisions by the scores.
func (p *Predictions) scored(t *tabular.Table) (list []int, err error) {
	if !slices.Equal(t.Columns, p.Scores) { // a category has other features
		return nil, fmt.Errorf("predictor: %s: %w: --score %s: not columns of numbers", p.File, dataerr.ErrColumn, textvalue.FlagNames(p.Scores...))
	}
	n, width := t.Features.Dims()
	scores := make([]float64, n*width)
	t.Features.Float64(scores, 0, n)
	switch {
	case width == len(t.Classes):
		population := constraints.Population{Labels: t.Labels, Classes: t.Classes}
		return population.Decide(scores)
	case width != 1 || len(t.Classes) != 2:
		return nil, fmt.Errorf("predictor: %s: %w: --score names %s, and the label has the classes %s: name a column for each, in this order, or one column and the positive class (--label COLUMN=VALUE)",
			p.File, dataerr.ErrOption, option.Counted(width, "column"), textvalue.Listed(t.Classes, 20))
	}
	for _, s := range scores {
		list = append(list, vec.Indicator(s > p.Threshold))
	}
	return list, nil
}

// decided returns the decisions in attribute at of the rows.
func (p *Predictions) decided(t *tabular.Tables, at int) (list []int, err error) {
	a := t.Train.Attributes[at]
	fail := func(err error, advice string) error {
		return dataerr.Advise(&dataerr.FileError{Path: p.File, Offset: -1, Err: err}, advice)
	}
	if _, op, _ := columnar.CutOperator(p.Decision); op != "" && slices.Contains(a.Values, columnar.TheRest) { // a condition
		if len(t.Train.Classes) != 2 {
			return nil, fail(fmt.Errorf("%w: %s tells two decisions apart, and the label has %d classes", dataerr.ErrLabel, p.Decision, len(t.Train.Classes)),
				"name the positive class: --label COLUMN=VALUE")
		}
		for _, v := range a.Of {
			list = append(list, vec.Indicator(v == 0)) // the first value is the condition
		}
		return list, nil
	}
	classes, err := newrows.LabelClasses(&t.Label, a.Values)
	if err != nil {
		return nil, fail(fmt.Errorf("column %q: %w", p.Decision, errors.Unwrap(err)), fmt.Sprintf("if the column has two values, name the positive one: --decision %s=VALUE", textvalue.FlagNames(p.Decision)))
	}
	for i, v := range a.Of {
		if v < 0 || classes[v] < 0 {
			return nil, fail(fmt.Errorf("column %q: row %d has no decision", p.Decision, t.Train.Source[i]+1), "use --missing drop")
		}
		list = append(list, classes[v])
	}
	return list, nil
}
