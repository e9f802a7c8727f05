package loader

import (
	"fmt"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
	"ppal/internal/vec"
)

// Design describes how a sheet becomes a table: the label's column, the features of the other
// columns, and the groups.
type Design struct {
	Label     string   // a categorical column
	Positive  string   // the category of class +1; all others are -1
	Classes   []string // names of the classes: two, for -1 and +1, or more
	several   []string // the label's value of each class; nil: positive decides between two classes
	others    []string // the label's values whose rows are left out
	Encodings []tabular.Encoding
	Layout    tabular.Layout // as in schema
	Absent    []string       // as in schema
	Groups    []string       // conditions, used if the options have none
	By        []string       // columns for groups by quantile, used if groups is empty
	pixels    *pictured      // the features; nil: encodings
}

// Specs returns the columns that the features need.
func (d *Design) Specs() []columnar.ColumnSpec {
	return featureSpecs((&tabular.Preparation{Encodings: d.Encodings}))
}

// Table makes the source from the sheet.
func (d *Design) Table(s *columnar.Sheet, opts tabular.TableOptions) (*Source, error) {
	out := &Source{Classes: d.Classes, rows: s.Source}
	d.setLabels(out, s.Column(d.Label))
	sensitive, err := d.group(out, s, opts)
	if err != nil {
		return nil, err
	}
	columns := slices.DeleteFunc(s.Names(), func(name string) bool { return name == d.Label })
	var texts []string
	if out.attributes, texts, err = attributesOf(opts.Attributes, columns, s.Column, s.Flag); err != nil {
		return nil, err
	}
	ignored := textvalue.SetOf(opts.Ignore)
	features := slices.DeleteFunc(d.names(), func(name string) bool { return ignored[name] })
	found := ColumnsWith(opts.Values, d.Classes, out.attributes, features, func(name string) []string {
		if c := s.Column(name); c != nil { // nil: a column of dates
			return c.Values
		}
		return nil
	})
	more, _, err := attributesOf(found, columns, s.Column, s.Flag)
	if err != nil {
		return nil, err
	}
	out.attributes, texts = append(out.attributes, more...), append(texts, found...)
	for _, name := range slices.Concat(sensitive, texts) {
		addReading(&out.reading, s.Column(name))
	}
	switch {
	case opts.DropSensitive && len(sensitive)+len(texts) == 0:
		return nil, errNoGroups
	case len(texts) > 0 && len(opts.Groups) == 0: // the table's own groups are not used
		sensitive = texts
	default:
		sensitive = append(sensitive, texts...)
	}
	p := &tabular.Preparation{Layout: d.Layout, Absent: d.Absent}
	dropped, known := map[string]bool{}, textvalue.SetOf(d.names())
	if opts.DropSensitive {
		dropped = textvalue.SetOf(sensitive)
	}
	for _, name := range opts.Ignore {
		if !known[name] {
			return nil, fmt.Errorf("datasets: ignored: %w", recordio.NoColumn(name, d.names()))
		}
	}
	for _, e := range d.Encodings {
		if !ignored[e.Column] && !dropped[e.Column] {
			p.Encodings = append(p.Encodings, e)
		}
	}
	if d.pixels != nil {
		p.Pictures, out.Features, out.uses = d.pixels.set.Encoding, d.pixels, d.Uses(s, p)
		d.pixels.by = p
		return out, nil
	}
	if len(p.Encodings) == 0 {
		return nil, fmt.Errorf("datasets: %w: no column is left for features", dataerr.ErrColumn)
	}
	out.Features, out.uses = &Encoded{Sheet: s, By: p, raw: opts.Raw}, d.Uses(s, p)
	return out, nil
}

// setLabels sets the label of each row.
func (d *Design) setLabels(out *Source, label *columnar.Column) {
	labelOf := make([]int, len(label.Values)) // the label of each category
	if d.several != nil {
		out.Label = tabular.Label{Column: d.Label, Several: d.several, Others: d.others}
		for k, v := range label.Values {
			labelOf[k] = Outside
			if class := slices.Index(d.several, v); class >= 0 {
				labelOf[k] = tabular.LabelOf(class, len(d.several))
			}
		}
	} else {
		out.Label = tabular.Label{Column: d.Label, Positive: d.Positive, Negative: textvalue.Without(label.Values, d.Positive)}
		for k, v := range label.Values {
			labelOf[k] = tabular.LabelOf(vec.Indicator(v == d.Positive), 2)
		}
	}
	out.Labels = make([]int, len(label.Codes))
	for i, code := range label.Codes {
		out.Labels[i] = labelOf[code]
	}
}

// names lists the columns from which features are made.
func (d *Design) names() []string {
	names := make([]string, len(d.Encodings))
	for i, e := range d.Encodings {
		names[i] = e.Column
	}
	return names
}

// group sets the groups and returns the columns that determine them.
func (d *Design) group(out *Source, s *columnar.Sheet, opts tabular.TableOptions) (sensitive []string, err error) {
	texts := opts.Groups
	if len(texts) == 0 {
		texts = d.Groups
	}
	if len(texts) == 0 {
		if d.By != nil {
			out.by = newIntersections(s, d.By)
		}
		return d.By, nil
	}
	var conditions []columnar.Condition
	for _, text := range texts {
		c, err := columnar.ParseCondition(text, slices.DeleteFunc(s.Names(), func(name string) bool { return name == d.Label }))
		if err != nil {
			return nil, fmt.Errorf("datasets: %w", err)
		}
		conditions = append(conditions, c)
		sensitive = append(sensitive, c.Column)
	}
	if out.groups, err = columnar.GroupsBy(s, conditions); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	return sensitive, nil
}

// Encoded makes features from the columns of a sheet.
type Encoded struct {
	Sheet *columnar.Sheet
	By    *tabular.Preparation
	Names []string

	weights []float64                                         // of the rows of the sheet, with which numbers are standardised; nil: 1 each
	raw     []string                                          // columns that are not standardised
	share   tabular.Share                                     // nil: this process has all rows
	again   func(s *columnar.Schema) (*columnar.Sheet, error) // reads the file again, for the own rows
	own     *columnar.Sheet                                   // the own rows of all splits; nil before readLocal
}

var _ features = (*Encoded)(nil)

func (e *Encoded) fit(train []int) ([]string, error) {
	e.Names = e.By.Columns()
	constant, err := e.standardise(train)
	if err != nil {
		return nil, err
	}
	numbers := 0
	for i := range e.By.Encodings {
		switch encoding := &e.By.Encodings[i]; {
		case slices.Contains(e.raw, encoding.Column):
			encoding.Center, encoding.Scale = 0, 1
		case encoding.Numeric():
			numbers++
		}
	}
	constant = slices.DeleteFunc(constant, func(name string) bool { return slices.Contains(e.raw, name) })
	notes := []string{}
	if e.raw == nil || numbers > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d features are numbers, standardised with the mean and the standard deviation of the training rows.",
			numbers, len(e.Names)))
	}
	if len(constant) > 0 {
		notes = append(notes, "These columns are constant in the training rows, so their features are 0: "+textvalue.Listed(constant, 10)+".")
	}
	return notes, nil
}

func (e *Encoded) columns() []string { return e.Names }

// DenseFeatures is the largest number of features of a part that are made once and kept, 64 MiB.
// Features of larger parts are made from the columns whenever somebody reads them: a device packs
// its own copy, and the matrix would take most of the memory of a run.
const DenseFeatures = 8 << 20

// Take returns the features of the rows.
func (e *Encoded) Take(rows []int) (matrix.Matrix, error) {
	if e.share != nil {
		return e.takeLocal(rows)
	}
	if e.Sheet.Pages != nil || len(rows)*len(e.Names) > DenseFeatures {
		return NewEncodedRows(e.By, e.Sheet, rows)
	}
	return MakeFeatures(e.By, e.Sheet, rows)
}

// Preparation describes how the columns became features.
func (e *Encoded) Preparation() *tabular.Preparation { return e.By }
