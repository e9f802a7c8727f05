package datasets

import (
	"fmt"
	"slices"

	"ppal/datasets/matrix"
)

// design describes how a sheet becomes a table: the label's column, the features of the other
// columns, and the groups.
type design struct {
	label     string   // a categorical column
	positive  string   // the category of class +1; all others are -1
	classes   []string // names of the classes: two, for -1 and +1, or more
	several   []string // the label's value of each class; nil: positive decides between two classes
	others    []string // the label's values whose rows are left out
	encodings []Encoding
	layout    Layout   // as in schema
	absent    []string // as in schema
	groups    []string // conditions, used if the options have none
	by        []string // columns for groups by quantile, used if groups is empty
}

// specs returns the columns that the features need.
func (d *design) specs() []columnSpec { return (&Preparation{Encodings: d.encodings}).specs() }

// table makes the source from the sheet.
func (d *design) table(s *sheet, opts TableOptions) (*source, error) {
	out := &source{classes: d.classes, rows: s.source}
	d.setLabels(out, s.column(d.label))
	sensitive, err := d.group(out, s, opts)
	if err != nil {
		return nil, err
	}
	columns := slices.DeleteFunc(s.names(), func(name string) bool { return name == d.label })
	var of []string
	if out.attributes, of, err = attributesOf(opts.Attributes, columns, s.column, s.flag); err != nil {
		return nil, err
	}
	ignored := setOf(opts.Ignore)
	features := slices.DeleteFunc(d.names(), func(name string) bool { return ignored[name] })
	found := columnsWith(opts.Values, d.classes, out.attributes, features, func(name string) []string {
		if c := s.column(name); c != nil { // nil: a column of dates
			return c.values
		}
		return nil
	})
	more, _, err := attributesOf(found, columns, s.column, s.flag)
	if err != nil {
		return nil, err
	}
	out.attributes, of = append(out.attributes, more...), append(of, found...)
	for _, name := range slices.Concat(sensitive, of) {
		out.reading.add(s.column(name))
	}
	switch {
	case opts.DropSensitive && len(sensitive)+len(of) == 0:
		return nil, errNoGroups
	case len(of) > 0 && len(opts.Groups) == 0: // the table's own groups are not used
		sensitive = of
	default:
		sensitive = append(sensitive, of...)
	}
	p := &Preparation{Layout: d.layout, Absent: d.absent}
	dropped, known := map[string]bool{}, setOf(d.names())
	if opts.DropSensitive {
		dropped = setOf(sensitive)
	}
	for _, name := range opts.Ignore {
		if !known[name] {
			return nil, fmt.Errorf("datasets: ignored: %w", noColumn(name, d.names()))
		}
	}
	for _, e := range d.encodings {
		if !ignored[e.Column] && !dropped[e.Column] {
			p.Encodings = append(p.Encodings, e)
		}
	}
	if len(p.Encodings) == 0 {
		return nil, fmt.Errorf("datasets: %w: no column is left for features", ErrColumn)
	}
	out.features, out.uses = &encoded{sheet: s, by: p}, d.uses(s, p)
	return out, nil
}

// setLabels sets the label of each row.
func (d *design) setLabels(out *source, label *column) {
	of := make([]int, len(label.values)) // the label of each category
	if d.several != nil {
		out.label = Label{Column: d.label, Several: d.several, Others: d.others}
		for k, v := range label.values {
			of[k] = outside
			if class := slices.Index(d.several, v); class >= 0 {
				of[k] = labelOf(class, len(d.several))
			}
		}
	} else {
		out.label = Label{Column: d.label, Positive: d.positive, Negative: without(label.values, d.positive)}
		for k, v := range label.values {
			of[k] = labelOf(indicator(v == d.positive), 2)
		}
	}
	out.labels = make([]int, len(label.codes))
	for i, code := range label.codes {
		out.labels[i] = of[code]
	}
}

// names lists the columns from which features are made.
func (d *design) names() []string {
	names := make([]string, len(d.encodings))
	for i, e := range d.encodings {
		names[i] = e.Column
	}
	return names
}

// group sets the groups and returns the columns that determine them.
func (d *design) group(out *source, s *sheet, opts TableOptions) (sensitive []string, err error) {
	texts := opts.Groups
	if len(texts) == 0 {
		texts = d.groups
	}
	if len(texts) == 0 {
		if d.by != nil {
			out.by = newIntersections(s, d.by)
		}
		return d.by, nil
	}
	var conditions []condition
	for _, text := range texts {
		c, err := parseCondition(text, slices.DeleteFunc(s.names(), func(name string) bool { return name == d.label }))
		if err != nil {
			return nil, fmt.Errorf("datasets: %w", err)
		}
		conditions = append(conditions, c)
		sensitive = append(sensitive, c.column)
	}
	if out.groups, err = groupsBy(s, conditions); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	return sensitive, nil
}

// encoded makes features from the columns of a sheet.
type encoded struct {
	sheet *sheet
	by    *Preparation
	names []string

	share Share                           // nil: this process has all rows
	again func(s *schema) (*sheet, error) // reads the file again, for the own rows
	own   *sheet                          // the own rows of all splits; nil before readOwn
}

var _ features = (*encoded)(nil)

func (e *encoded) fit(train []int) ([]string, error) {
	e.names = e.by.Columns()
	constant, err := e.standardise(train)
	if err != nil {
		return nil, err
	}
	numbers := 0
	for _, encoding := range e.by.Encodings {
		if encoding.numeric() {
			numbers++
		}
	}
	notes := []string{fmt.Sprintf("%d of %d features are numbers, standardised with the mean and the standard deviation of the training rows.",
		numbers, len(e.names))}
	if len(constant) > 0 {
		notes = append(notes, "These columns are constant in the training rows, so their features are 0: "+listed(constant, 10)+".")
	}
	return notes, nil
}

func (e *encoded) columns() []string { return e.names }

// denseFeatures is the largest number of features of a part that are made once and kept, 64 MiB.
// Features of larger parts are made from the columns whenever somebody reads them: a device packs
// its own copy, and the matrix would take most of the memory of a run.
const denseFeatures = 8 << 20

func (e *encoded) take(rows []int) (matrix.Matrix, error) {
	if e.share != nil {
		return e.takeOwn(rows)
	}
	if e.sheet.pages != nil || len(rows)*len(e.names) > denseFeatures {
		return e.by.encodedRows(e.sheet, rows)
	}
	return e.by.features(e.sheet, rows)
}

func (e *encoded) preparation() *Preparation { return e.by }
