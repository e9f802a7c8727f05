package predictor

import (
	"context"
	"fmt"
	"io"
	"slices"

	"ppal/constraints"
	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/newrows"
	"ppal/internal/rates"
	"ppal/internal/recordio"
	"ppal/trainer/session/results"
)

// Decided holds the decisions of a model on labelled rows. Diff compares two of them.
type Decided struct {
	name  string // of the file, for errors
	model *Model
	rows  *labelled
	keys  []string // of each row, which pair the rows; nil: the place in the file pairs them
	by    []constraints.Constraint
}

// DecideRows reads labelled rows like [Model.Evaluate] and decides them. only has the numbers of
// the rows that count, from 0; nil: all rows.
func (m *Model) DecideRows(r io.Reader, name string, o EvaluateOptions, only []int) (*Decided, error) {
	if m.Ranks() {
		return nil, fmt.Errorf("predictor: %s: %w: the model ranks documents, and decides no row", m.dir, dataerr.ErrOption)
	}
	if column := o.weight(m); column != "" {
		return nil, fmt.Errorf("predictor: %s: %w: the run counts the weights in the column %q, and a paired difference counts each row once; evaluate each run (ppal evaluate)",
			m.dir, dataerr.ErrOption, column)
	}
	by, crossed, err := o.groupedBy()
	if err != nil {
		return nil, err
	}
	rows, err := m.labelled(r, name, o, m.attributes(o.Subject, by))
	if err != nil {
		return nil, err
	}
	if only != nil {
		if err := rows.restrict(only); err != nil {
			return nil, fmt.Errorf("predictor: %s: %w", name, err)
		}
	}
	return &Decided{name: name, model: m, rows: rows, by: crossed}, nil
}

// Decide reads the decisions. The column key, if it is not "", identifies the rows.
func (p *Predictions) Decide(ctx context.Context, o EvaluateOptions, key string) (*Decided, error) {
	by, crossed, err := o.groupedBy()
	if err != nil {
		return nil, err
	}
	if p.Weight != "" || o.Weight != nil && *o.Weight != "" {
		return nil, fmt.Errorf("predictor: %s: %w: a paired difference counts each row once; leave the weights out", p.File, dataerr.ErrOption)
	}
	m, rows, err := p.read(ctx, o.Subject, by)
	if err != nil {
		return nil, err
	}
	d := &Decided{name: p.File, model: m, rows: rows, by: crossed}
	if key != "" {
		if err := d.identify(ctx, p, key); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// identify reads the keys of the rows.
func (d *Decided) identify(ctx context.Context, p *Predictions, key string) error {
	f, err := recordio.OpenUntilDone(ctx, p.File)
	if err != nil {
		return err
	}
	defer f.Close()
	var all []string
	layout := tabular.Layout{Header: p.Columns, Skip: p.Skip, Quote: p.Quote}
	read := &newrows.NewRows{
		// a category of which all values are unknown
		Preparation:   &tabular.Preparation{Layout: layout, Encodings: []tabular.Encoding{{Column: key, Categories: []string{""}}}},
		IgnoreUnknown: true, Separator: p.Separator, JoinFile: p.JoinFile, Keep: []string{key},
		Work: func(features, out []float64) ([]float64, error) { return append(out, features...), nil },
		Emit: func(b *newrows.Block) error { all = append(all, b.Kept[0]...); return nil },
	}
	if err := read.Read(f, p.File); err != nil {
		return err
	}
	seen := map[string]int{}
	for _, i := range d.rows.source {
		if first, twice := seen[all[i]]; twice {
			return fmt.Errorf("predictor: %s: %w: rows %d and %d have the same %s, %q: pair by another column (--key)", p.File, dataerr.ErrMismatch, first+1, i+1, key, all[i])
		}
		seen[all[i]] = i
		d.keys = append(d.keys, all[i])
	}
	return nil
}

// restrict removes the rows whose number in the file is not in only.
func (l *labelled) restrict(only []int) error {
	kept := map[int]bool{}
	for _, n := range only {
		kept[n] = true
	}
	var rows []int
	for i, n := range l.source {
		if kept[n] {
			rows = append(rows, i)
		}
	}
	if rows == nil {
		return fmt.Errorf("%w: none of the rows", dataerr.ErrEmpty)
	}
	l.take(rows)
	return nil
}

// take keeps these rows, in this order.
func (l *labelled) take(rows []int) {
	pick := func(list []int) []int {
		out := make([]int, len(rows))
		for k, i := range rows {
			out[k] = list[i]
		}
		return out
	}
	l.Labels, l.decisions, l.source = pick(l.Labels), pick(l.decisions), pick(l.source)
	l.scores = nil
	for k := range l.Attributes {
		l.Attributes[k].Of = pick(l.Attributes[k].Of)
	}
	place := map[int]int{}
	for k, i := range rows {
		place[i] = k
	}
	for k, g := range l.Groups {
		var own []int
		for _, i := range g.Rows {
			if at, ok := place[i]; ok {
				own = append(own, at)
			}
		}
		l.Groups[k].Rows = own
	}
}

// Difference compares the decisions of a new model with those of an old one on the same rows.
type Difference struct {
	Rows    int      `json:"rows"`
	Classes []string `json:"classes"`
	// Unpaired are the numbers of rows of the old and of the new model without a partner.
	Unpaired [2]int `json:"unpaired"`
	// Changed counts the changed decisions: of all rows, then by group.
	Changed []Changed `json:"changed"`
	// Rates has each rate before and after: of all rows, then by group.
	Rates []RateChange `json:"rates"`
	// Constraints holds the constraints on the decisions of the new model, and Before on the old's.
	Constraints []Checked `json:"decisions"`
	Before      []Checked `json:"decisions_before"`
	// List has the changed rows.
	List []ChangedRow `json:"changed_rows"`
}

// Changed counts the rows of a group whose decision changed.
type Changed struct {
	Group string `json:"group"` // "": all rows
	Rows  int    `json:"rows"`
	Count int    `json:"changed"`
	// Churn is Count/Rows with its 95% interval on new rows.
	Churn    float64    `json:"churn"`
	Interval [2]float64 `json:"interval"`
	// Positive counts the changes to the positive class, with two classes; Corrected counts wrong
	// decisions that became right, and Spoiled right decisions that became wrong.
	Positive  int `json:"to_positive"`
	Corrected int `json:"corrected"`
	Spoiled   int `json:"spoiled"`
}

// RateChange is a rate of a group before and after, with the 95% interval of the paired difference
// on new rows.
type RateChange struct {
	Group      string     `json:"group"` // "": all rows
	Rate       string     `json:"rate"`
	Before     float64    `json:"before"`
	After      float64    `json:"after"`
	Difference float64    `json:"difference"`
	Interval   [2]float64 `json:"interval"`
}

// ChangedRow is a row whose decision changed.
type ChangedRow struct {
	Row    int    `json:"row"` // number in the file of the new decisions, from 1
	Key    string `json:"key,omitempty"`
	Label  string `json:"label"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Diff compares the decisions new with old, and checks the constraints of the subject on both. The
// files of churn constraints are the old decisions.
func Diff(old, new *Decided, subject []constraints.Constraint) (*Difference, error) {
	if !slices.Equal(old.rows.Classes, new.rows.Classes) {
		return nil, fmt.Errorf("predictor: %w: %s decides between %q, and %s between %q", dataerr.ErrMismatch, old.name, old.rows.Classes, new.name, new.rows.Classes)
	}
	d := &Difference{Classes: new.rows.Classes}
	before, err := d.pair(old, new)
	if err != nil {
		return nil, err
	}
	m, rows := new.model, new.rows
	d.Rows = len(rows.Labels)
	for _, file := range constraints.NeedsOf(constraints.Rate{}, subject).Files {
		if rows.Earlier == nil {
			rows.Earlier = map[string][]int{}
		}
		rows.Earlier[file] = before
	}
	after, groups, err := m.judge(rows, subject, new.by, nil)
	if err != nil {
		return nil, err
	}
	earlier := *rows
	earlier.decisions = before
	earliest, _, err := m.judge(&earlier, subject, new.by, nil)
	if err != nil {
		return nil, err
	}
	d.Constraints, d.Before = after.Constraints, earliest.Constraints
	every := make([]int, d.Rows)
	for i := range every {
		every[i] = i
		if a, b := before[i], rows.decisions[i]; a != b {
			row := ChangedRow{Row: rows.source[i] + 1, Label: d.Classes[rows.Labels[i]], Before: d.Classes[a], After: d.Classes[b]}
			if new.keys != nil {
				row.Key = new.keys[i]
			}
			d.List = append(d.List, row)
		}
	}
	for k, g := range append([]results.Group{{Rows: every}}, groups...) {
		was, is := earliest.Rates.Overall, after.Rates.Overall
		if k > 0 {
			was, is = earliest.Rates.ByGroup[k-1].Rates, after.Rates.ByGroup[k-1].Rates
		}
		if len(g.Rows) > 0 {
			d.count(g, rows.Labels, before, rows.decisions, was, is)
		}
	}
	return d, nil
}

// pair orders the rows of new, and returns the old decisions on them.
func (d *Difference) pair(old, new *Decided) (before []int, err error) {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("predictor: %w: %s", dataerr.ErrMismatch, fmt.Sprintf(format, args...))
	}
	place := map[any]int{}
	for i, n := range old.rows.source {
		if old.keys != nil {
			place[old.keys[i]] = i
		} else {
			place[n] = i
		}
	}
	var kept []int
	for i, n := range new.rows.source {
		key := any(n)
		if new.keys != nil {
			key = new.keys[i]
		}
		at, ok := place[key]
		if !ok {
			continue
		}
		if a, b := old.rows.Labels[at], new.rows.Labels[i]; a != b {
			return nil, wrong("row %d of %s has the label %s, and its partner in %s has %s: pair the rows by a column that identifies them (--key COLUMN)",
				n+1, new.name, new.rows.Classes[b], old.name, old.rows.Classes[a])
		}
		kept, before = append(kept, i), append(before, old.rows.decisions[at])
	}
	d.Unpaired = [2]int{len(old.rows.source) - len(kept), len(new.rows.source) - len(kept)}
	switch {
	case kept == nil:
		return nil, wrong("no row of %s has a partner in %s", new.name, old.name)
	case new.keys == nil && d.Unpaired != [2]int{}:
		return nil, wrong("%s has %d rows, and %s has %d: pair the rows by a column that identifies them (--key COLUMN)",
			old.name, len(old.rows.source), new.name, len(new.rows.source))
	}
	var keys []string
	if new.keys != nil {
		for _, i := range kept {
			keys = append(keys, new.keys[i])
		}
	}
	new.rows.take(kept)
	new.keys = keys
	return before, nil
}

// count adds the changes of a group.
func (d *Difference) count(g results.Group, labels, before, after []int, was, is results.Rates) {
	c := Changed{Group: g.Name, Rows: len(g.Rows)}
	for _, i := range g.Rows {
		if before[i] == after[i] {
			continue
		}
		c.Count++
		switch {
		case after[i] == labels[i]:
			c.Corrected++
		case before[i] == labels[i]:
			c.Spoiled++
		}
		if len(d.Classes) == 2 {
			c.Positive += after[i]
		}
	}
	own := rates.ClopperPearson(c.Count, c.Rows, rates.Level)
	c.Churn, c.Interval = float64(c.Count)/float64(c.Rows), [2]float64{own.Low, own.High}
	d.Changed = append(d.Changed, c)
	for _, name := range (&results.RateTable{Classes: d.Classes}).Order() {
		a, known := was[name]
		b, both := is[name]
		if !known || !both {
			continue
		}
		i := d.interval(name, g.Rows, labels, before, after)
		d.Rates = append(d.Rates, RateChange{g.Name, name, a.Value, b.Value, b.Value - a.Value, [2]float64{i.Low, i.High}})
	}
}

// interval returns the interval of the difference of a rate on the rows.
func (d *Difference) interval(name string, rows, labels, before, after []int) rates.Interval {
	for class, text := range d.Classes {
		if name == results.PrecisionOf(text) || name == results.Precision && class == 1 {
			is := func(list []int) func(int) bool { return func(i int) bool { return list[rows[i]] == class } }
			return rates.PairedPrecision(is(labels), is(before), is(after), len(rows), rates.Level)
		}
	}
	counts := func(label int) bool { return true }
	hit := func(label, decision int) bool { return decision == 1 }
	switch name {
	case results.ErrorRate:
		hit = func(label, decision int) bool { return label != decision }
	case results.TruePositiveRate:
		counts = func(label int) bool { return label == 1 }
	case results.FalsePositiveRate:
		counts = func(label int) bool { return label == 0 }
	case results.PositiveRate:
	default: // the recall of a class
		class := slices.IndexFunc(d.Classes, func(text string) bool { return name == results.RecallOf(text) })
		counts, hit = func(label int) bool { return label == class }, func(label, decision int) bool { return decision == class }
	}
	gained, lost, n := 0, 0, 0
	for _, i := range rows {
		if y := labels[i]; counts(y) {
			n++
			switch was, is := hit(y, before[i]), hit(y, after[i]); {
			case is && !was:
				gained++
			case was && !is:
				lost++
			}
		}
	}
	return rates.Paired(gained, lost, n, rates.Level)
}

// Broken returns the constraints that the new decisions do not meet, or that cannot be judged.
func (d *Difference) Broken() (list []Checked) {
	for _, c := range d.Constraints {
		if c.Met == nil || !*c.Met {
			list = append(list, c)
		}
	}
	return list
}
