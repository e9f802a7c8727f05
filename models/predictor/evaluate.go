package predictor

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/dataerr"
	"ppal/internal/columnar"
	"ppal/internal/loader"
	"ppal/internal/rates"
	"ppal/trainer/session/results"
)

// EvaluateOptions say how to evaluate a model on labelled rows.
type EvaluateOptions struct {
	Options
	// By names attributes for rates by group, in addition to the attributes of the constraints.
	// Each name is a column, a condition on a column such as age<25, or the intersections of several,
	// such as sex*race.
	By []string
	// Labels are the class numbers of pictures, as in an IDX file of labels.
	Labels []byte
	// Earlier are the files of earlier decisions on these rows, in the format of ppal predict, for
	// each file that a churn constraint names. A churn without decisions is not counted. The key ""
	// stands for every other file.
	Earlier map[string]string
	// Weight is the column with the weights of the rows; "": each row counts once; nil: as in the
	// training.
	Weight *string
	// Subject are the constraints to check. nil checks the constraints of the training.
	Subject []constraints.Constraint
}

// Evaluation holds the rates of a model's decisions on labelled rows.
type Evaluation struct {
	Rows    int      `json:"rows"`
	Weight  string   `json:"weight,omitempty"`   // the column of the weights that the rates count; "": none
	Unknown int      `json:"unknown_categories"` // unknown categories that Evaluate ignored
	LeftOut int      `json:"left_out"`           // rows with missing values, which the training left out too
	Classes []string `json:"classes"`
	// NewValues are values of attributes that the training rows did not have. No constraint of the
	// training compares them.
	NewValues []string `json:"new_values,omitempty"`
	// Rates holds the rates of all rows and by group, with 95% intervals.
	Rates RateTable `json:"rates"`
	// Confusion counts rows, or adds up their weights: the model decides Confusion[a][d] rows of class
	// a as class d.
	Confusion [][]float64 `json:"confusion"`
	// Comparisons compares the groups of each attribute, and the intersections of several, by each
	// rate.
	Comparisons []results.Comparison `json:"comparisons,omitempty"`
	// Constraints holds the constraints, counted on these rows.
	Constraints []Checked `json:"decisions"`
	// Ranking is the evaluation of a model that ranks documents, whose rows have no rates; nil for
	// other models.
	Ranking *RankedEvaluation `json:"ranking,omitempty"`
}

// RateTable holds the rates of all rows and of groups of rows.
type RateTable struct {
	Overall results.Rates        `json:"overall"`
	ByGroup []results.GroupRates `json:"by_group"`
}

// Checked is a constraint on counted decisions.
type Checked struct {
	Constraint string  `json:"constraint"`
	Bound      float64 `json:"bound"`
	AtLeast    bool    `json:"at_least,omitempty"`
	// Value is the constraint's value on these rows, or nil with a Reason if the rows do not
	// determine the value. Test is the same number, under the key that summary.json uses for
	// held-out rows.
	Value *float64 `json:"value"`
	Test  *float64 `json:"test"`
	// Interval is the 95% interval of the value on new rows, or nil if the value is not a rate or a
	// combination of rates.
	Interval *[2]float64 `json:"interval"`
	// Met reports whether the constraint counts as met on these rows. Met is nil without a value.
	Met *bool `json:"met"`
	// State, Tolerance and Exceeded are the judgement of these rows: see constraints.Judgement.
	State     constraints.State     `json:"state,omitempty"`
	Tolerance *float64              `json:"tolerance"`
	Exceeded  *constraints.Exceeded `json:"exceeded,omitempty"`
	Reason    string                `json:"reason,omitempty"`
}

// Outcome returns the constraint in the form of summary.json, with the value on these rows as the
// value on training rows, for texts.
func (c *Checked) Outcome() *results.ConstraintOutcome {
	return &results.ConstraintOutcome{Constraint: c.Constraint, Bound: c.Bound, AtLeast: c.AtLeast, SplitValues: results.SplitValues{Train: c.Value},
		Met: c.Met != nil && *c.Met, State: c.State, Exceeded: c.Exceeded}
}

// Evaluate reads rows with their labels like [Model.Read], counts decisions and checks the
// constraints. Columns, labels, groups and missing values mean what they meant in the training, and
// the constraints compare the groups that they compared in the training.
//
// Of a model that ranks documents, Evaluate counts the pairs of documents of a query: see
// RankedEvaluation.
func (m *Model) Evaluate(r io.Reader, name string, o EvaluateOptions) (*Evaluation, error) {
	if m.Ranks() {
		return m.evaluateRanking(r, name, o)
	}
	subject, smooth := o.Subject, []string(nil)
	if subject == nil {
		subject, smooth = m.subject()
	}
	by, crossed, err := o.groupedBy()
	if err != nil {
		return nil, err
	}
	rows, err := m.labelled(r, name, o, m.attributes(subject, by))
	if err != nil {
		return nil, err
	}
	if d, err := datasets.Lookup(m.description.Dataset); err == nil && d.Filter != "" && o.Warn != nil {
		o.Warn(fmt.Sprintf("the training read %s: %s; evaluate counts all rows of its input", d.Name, d.Filter))
	}
	e, _, err := m.judge(rows, subject, crossed, o.Earlier)
	if err != nil {
		return nil, err
	}
	for _, text := range smooth {
		e.Constraints = append(e.Constraints, Checked{Constraint: text, Reason: "it bounds a smooth function of the scores, not a rate of decisions"})
	}
	return e, nil
}

// judge counts decisions on rows, and checks the constraints subject. Each constraint of crossed
// has intersections whose rates are counted, too. The groups are those of the rates.
func (m *Model) judge(rows *labelled, subject, crossed []constraints.Constraint, earlier map[string]string) (*Evaluation, []results.Group, error) {
	if err := m.earlier(rows, subject, earlier); err != nil {
		return nil, nil, err
	}
	population, groups := m.population(rows), rows.groups()
	var checked []Checked
	var bounds []constraints.BoundGroups
	intersections := map[string][]string{}
	for _, c := range append(slices.Clip(subject), crossed...) {
		sample, err := m.sample(c, population)
		if err == nil {
			var own []constraints.Group
			if own, err = sample.Intersections(); err != nil {
				return nil, nil, err
			}
			attribute := strings.Join(c.Measure().Attributes(), "*")
			for _, g := range own {
				if !slices.Contains(intersections[attribute], g.Name) {
					intersections[attribute] = append(intersections[attribute], g.Name)
				}
				if !slices.ContainsFunc(groups, func(known results.Group) bool { return known.Name == g.Name }) {
					groups = append(groups, results.Group{Name: g.Name, Rows: g.Rows})
				}
			}
		}
		if len(checked) < len(subject) {
			checked = append(checked, m.checked(c, rows, sample, err))
			if err == nil {
				bounds = append(bounds, sample.System().BoundGroups()...)
			}
		} else if err != nil {
			return nil, nil, fmt.Errorf("predictor: %w", err)
		}
	}
	table, err := rates.NewTable(rates.Rows{Labels: rows.Labels, Decisions: rows.decisions, Weights: rows.Weights}, rows.Classes, groups, false)
	if err != nil {
		return nil, nil, err
	}
	table.MarkExtremes(bounds)
	e := &Evaluation{Rows: len(rows.Labels), Weight: rows.weight, Unknown: rows.unknown, LeftOut: rows.missing, Classes: rows.Classes, Confusion: table.Confusion,
		Rates: RateTable{table.Overall, table.ByGroup}, Constraints: append([]Checked{}, checked...)}
	for k, a := range rows.Attributes {
		if n := rows.trained[k]; n > 0 {
			for _, value := range a.Values[n:] {
				e.NewValues = append(e.NewValues, a.Name+"="+value)
			}
		}
	}
	for _, a := range population.Attributes {
		var names []string
		for _, v := range a.Values {
			names = append(names, constraints.GroupName(a.Name, v))
		}
		e.Comparisons = append(e.Comparisons, rates.Compare(table, a.Name, names)...)
	}
	for _, attribute := range slices.Sorted(maps.Keys(intersections)) {
		e.Comparisons = append(e.Comparisons, rates.Compare(table, attribute, intersections[attribute])...)
	}
	return e, groups, nil
}

// weight returns the column of the weights.
func (o *EvaluateOptions) weight(m *Model) string {
	switch trained := m.reading().Weight; {
	case o.Weight != nil:
		return *o.Weight
	case trained != nil:
		return trained.Column
	}
	return ""
}

// groupedBy returns the attributes of By, and for each text such as sex*race a constraint whose
// groups are the intersections. It reads a text as a comparison in the language of constraints
// does. A condition (age=25) and the name of a column that the language would quote are read as
// --group reads them. The error is a *constraints.SyntaxError.
func (o EvaluateOptions) groupedBy() (by []string, crossed []constraints.Constraint, err error) {
	for _, text := range o.By {
		names, err := constraints.ParseAttributes(text)
		_, op, _ := columnar.CutOperator(text)
		switch {
		case err == nil:
		case op == "" && strings.ContainsAny(text, `*"`):
			return nil, nil, fmt.Errorf("predictor: groups: %w", err)
		default:
			names = []string{text}
		}
		if by = append(by, names...); len(names) > 1 {
			crossed = append(crossed, constraints.Excess(constraints.Error, names...).AtMost(1))
		}
	}
	return by, crossed, nil
}

// Unmet returns the constraints that do not hold on the rows.
func (e *Evaluation) Unmet() (list []Checked) {
	for _, c := range e.Constraints {
		if c.Met != nil && !*c.Met {
			list = append(list, c)
		}
	}
	return list
}

// subject returns the constraints of the training, and the texts that the language of constraints
// does not cover.
func (m *Model) subject() (list []constraints.Constraint, other []string) {
	for _, text := range m.description.Constraints {
		if c, err := constraints.Parse(text); err == nil {
			list = append(list, c)
		} else {
			other = append(other, text)
		}
	}
	return list, other
}

// attributes returns the attributes of the training, in their order, followed by the others that
// the constraints and the caller name.
func (m *Model) attributes(subject []constraints.Constraint, by []string) (list []string) {
	own := func(name string) bool { // the groups make the attribute
		return name == m.description.GroupsAttribute && name != "" ||
			name == constraints.GroupsName && m.description.Groups != nil && m.description.GroupsAttribute == ""
	}
	add := func(name string) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, a := range m.description.Attributes { // includes the attributes that values such as Female determine
		add(a.Name)
	}
	for _, name := range constraints.NeedsOf(constraints.Rate{}, subject).Attributes {
		if !own(name) {
			add(name)
		}
	}
	for _, name := range by {
		add(name)
	}
	return list
}

// checked counts one constraint. err says why there is no sample.
func (m *Model) checked(c constraints.Constraint, rows *labelled, sample *constraints.Sample, err error) Checked {
	out := Checked{Constraint: c.String(), Bound: c.Bound(), AtLeast: c.IsAtLeast()}
	for _, file := range constraints.NeedsOf(constraints.Rate{}, []constraints.Constraint{c}).Files {
		if rows.Earlier[file] == nil {
			out.Reason = "the earlier decisions on these rows are not known"
			return out
		}
	}
	var counted *constraints.Counted
	if err == nil {
		counted, err = m.count(sample, rows)
	}
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	v := counted.Values[0]
	if !v.Defined {
		out.Reason = "no rows to count"
		return out
	}
	judged := counted.Judge(0)
	met := judged.State.Holds()
	out.State, out.Tolerance, out.Exceeded = judged.State, &judged.Tolerance, judged.Exceeded
	out.Value, out.Test, out.Met = &v.Value, &v.Value, &met
	if m.Ranks() {
		out.Interval = rates.IntervalAround(v.Value, counted.QueryError(0), rates.Level)
	} else {
		out.Interval = rates.IntervalOf(c, counted.CountedSets(0), rates.Level)
	}
	return out
}

// earlier reads the earlier decisions on the rows.
func (m *Model) earlier(rows *labelled, subject []constraints.Constraint, files map[string]string) error {
	var texts [][]string
	for _, c := range m.description.Decision.Classes {
		texts = append(texts, []string{c.Value, c.Name})
	}
	named := constraints.NeedsOf(constraints.Rate{}, subject).Files
	for file := range files {
		if file != "" && !slices.Contains(named, file) || len(named) == 0 {
			return fmt.Errorf("predictor: %w: no constraint names earlier decisions of %q; the constraints name %q", dataerr.ErrOption, file, named)
		}
	}
	for _, name := range named {
		file, ok := files[name]
		if !ok {
			file = files[""]
		}
		if file == "" {
			continue
		}
		decisions, err := loader.ReadDecisions(file, texts...)
		if err != nil {
			return err
		}
		earlier := make([]int, len(rows.Labels))
		for i := range earlier {
			earlier[i] = -1
			if d, ok := decisions[rows.source[i]]; ok {
				earlier[i] = d
			}
		}
		if rows.Earlier == nil {
			rows.Earlier = map[string][]int{}
		}
		rows.Earlier[name] = earlier
	}
	return nil
}

// sample returns a constraint on the rows. A constraint of the training compares the groups that it
// compared there. Another constraint compares the groups of the rows.
func (m *Model) sample(c constraints.Constraint, p *constraints.Population) (*constraints.Sample, error) {
	minimize, subject := constraints.Error(), []constraints.Constraint{c}
	if m.Ranks() {
		minimize = constraints.PairError()
	}
	system, err := (*constraints.System)(nil), error(nil)
	if m.description.LeftOut != nil && slices.Contains(m.description.Constraints, c.String()) {
		system, err = constraints.TrainedSystem(minimize, subject, p, [][]string{m.description.LeftOut[c.String()]})
	} else {
		system, err = constraints.NewSystem(minimize, subject, p)
	}
	if err != nil {
		return nil, err
	}
	return system.On(p)
}

// count counts a constraint on the rows.
func (m *Model) count(sample *constraints.Sample, rows *labelled) (*constraints.Counted, error) {
	if m.Ranks() {
		_, smooth, err := sample.Smooth(rows.scores)
		if err == nil && sample.System().L1 {
			var norm float64
			norm, err = m.l1()
			smooth = append(smooth, norm)
		}
		if err != nil {
			return nil, err
		}
		counted, err := sample.CountScores(rows.scores, smooth)
		return &counted, err
	}
	counted, err := sample.Count(rows.decisions)
	switch {
	case !errors.Is(err, constraints.ErrNeedsSmooth):
		return &counted, err
	case rows.scores == nil:
		return nil, errors.New("a loss and l1(weights) need the model, not its decisions")
	}
	_, smooth, err := sample.Smooth(rows.scores)
	if err != nil {
		return nil, err
	}
	if sample.System().L1 {
		norm, err := m.l1()
		if err != nil {
			return nil, err
		}
		smooth = append(smooth, norm)
	}
	counted, err = sample.CountWith(rows.decisions, smooth)
	return &counted, err
}

// l1 returns the sum of the absolute values of the trained weights, without biases.
func (m *Model) l1() (sum float64, err error) {
	trained, err := m.model.Normalization.Unfold(m.model.Architecture, m.model.Weights)
	if err != nil {
		return 0, err
	}
	for _, w := range trained {
		if len(w.Shape) > 1 { // a bias has one dimension
			for _, x := range w.Data {
				sum += math.Abs(x)
			}
		}
	}
	return sum, nil
}
