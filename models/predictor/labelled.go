package predictor

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/loader"
	"ppal/internal/newrows"
	"ppal/trainer/session/results"
)

// labelled holds rows with labels, attributes, scores and decisions.
type labelled struct {
	constraints.Population
	trained   []int // of each attribute, the number of values of the training; the others follow
	scores    []float64
	decisions []int
	unknown   int
	missing   int              // rows that are left out because of missing values
	source    []int            // number of each row in the file, from 0
	queries   *tabular.Queries // of a model that ranks documents
	weight    string           // the column of the weights; "": none
}

// conditions returns the distinct conditions of the groups in model.json.
func (m *Model) conditions() (list []string) {
	for _, g := range m.description.Groups {
		list = append(list, g.Conditions...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// group makes the groups of model.json from attributes that state their conditions. The first value
// of such an attribute says that the condition holds.
func (m *Model) group(rows *labelled, conditions []constraints.Attribute) {
	taken := make([]bool, len(rows.Labels))
	for _, g := range m.description.Groups {
		var conditionOf [][]int
		for _, c := range conditions {
			if slices.Contains(g.Conditions, c.Name) {
				conditionOf = append(conditionOf, c.Of)
			}
		}
		own := constraints.Group{Name: g.Name}
		for i := range rows.Labels {
			in := !slices.ContainsFunc(conditionOf, func(values []int) bool { return values[i] != 0 })
			if len(g.Conditions) == 0 { // the rest
				in = !taken[i]
			}
			if in {
				taken[i] = true
				own.Rows = append(own.Rows, i)
			}
		}
		rows.Groups = append(rows.Groups, own)
	}
}

// labelled reads the rows with their labels and attributes.
func (m *Model) labelled(r io.Reader, name string, o EvaluateOptions, attributes []string) (*labelled, error) {
	rows := &labelled{}
	for _, c := range m.description.Decision.Classes {
		rows.Classes = append(rows.Classes, c.Name)
	}
	if o.Weight != nil && *o.Weight != "" && (m.description.Input.Format != results.FormatText || m.Ranks()) {
		return nil, fmt.Errorf("predictor: %w: weights are a column of a table, and the rows of this run have none", dataerr.ErrOption)
	}
	read := m.text
	switch m.description.Input.Format {
	case results.FormatPictures:
		read = m.pictures
	case results.FormatLIBSVM:
		read = m.sparse
	case results.FormatMatrix:
		return nil, m.noFile()
	}
	if m.description.Decision.Label == nil && m.preparation != nil {
		return nil, fmt.Errorf("predictor: %s: %w: model.json does not describe the label", m.dir, ErrModel)
	}
	conditions := m.conditions()
	if err := read(rows, r, name, o, slices.Concat(attributes, conditions)); err != nil {
		return nil, err
	}
	m.group(rows, rows.Attributes[len(attributes):])
	rows.Attributes = rows.Attributes[:len(attributes)]
	return rows, nil
}

// values returns the values that an attribute had in the training; nil for other attributes.
func (m *Model) values(attribute string) []string {
	for _, a := range m.description.Attributes {
		if a.Name == attribute {
			return a.Values
		}
	}
	return nil
}

// population returns the rows as the constraints of the training see them: without values of
// attributes that the training rows did not have, and with the disjoint groups of the training as
// an attribute.
func (m *Model) population(rows *labelled) *constraints.Population {
	p := rows.Population
	p.Attributes = nil
	for k, a := range rows.Attributes {
		if n := rows.trained[k]; n > 0 && n < len(a.Values) {
			a.Values, a.Of = a.Values[:n], slices.Clone(a.Of)
			for i, v := range a.Of {
				if v >= n {
					a.Of[i] = -1
				}
			}
		}
		p.Attributes = append(p.Attributes, a)
	}
	name := m.description.GroupsAttribute
	if name == "" {
		return &p
	}
	p.Groups = nil
	if slices.ContainsFunc(p.Attributes, func(a constraints.Attribute) bool { return a.Name == name }) {
		return &p
	}
	a := constraints.Attribute{Name: name, Of: slices.Repeat([]int{-1}, p.Len())}
	for k, g := range rows.Groups {
		a.Values = append(a.Values, strings.TrimPrefix(g.Name, name+"="))
		for _, i := range g.Rows {
			a.Of[i] = k
		}
	}
	p.Attributes = append(p.Attributes, a)
	return &p
}

// text reads separated fields and keeps the columns of the label and of the attributes.
func (m *Model) text(rows *labelled, r io.Reader, name string, o EvaluateOptions, attributes []string) error {
	label, reading := m.description.Decision.Label, m.reading()
	o.Keep = append([]string{label.Column}, attributes...)
	if m.Ranks() {
		o.Keep = append(o.Keep, m.Query())
	}
	weight := o.weight(m)
	rows.weight = weight
	if weight != "" {
		o.Keep = append(o.Keep, weight)
	}
	if reading.Missing == tabular.MissingDropped {
		if o.required = reading.Required; weight != "" {
			o.required = append(slices.Clip(o.required), weight)
		}
	}
	kept, conditions := make([][]string, len(o.Keep)), m.conditions()
	var columns []string
	err := m.Read(r, name, o.Options, func(b *Batch) error {
		rows.scores, rows.decisions = append(rows.scores, b.Scores...), append(rows.decisions, b.Decisions...)
		rows.unknown, rows.missing = rows.unknown+b.Unknown, rows.missing+b.leftOut
		for i := range b.Decisions {
			if o.required != nil {
				i = b.source[i]
			}
			rows.source = append(rows.source, b.First+i)
		}
		columns = b.Columns
		for k := range kept {
			kept[k] = append(kept[k], b.Kept[k]...)
		}
		return nil
	})
	if err != nil {
		if weight != "" && dataerr.UnknownAs(err, weight) != nil {
			err = dataerr.Advise(err, `count each row once (--weight "")`)
		}
		return err
	}
	if rows.Labels, err = newrows.LabelClasses(label, kept[0]); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if weight != "" {
		if err := rows.setWeights(weight, kept[len(kept)-1], reading, name); err != nil {
			return err
		}
	}
	if m.Ranks() {
		rows.setQueries(kept[len(attributes)+1])
		rows.setGrades(kept[0])
	}
	for k, text := range attributes {
		values := m.values(text)
		if values == nil && slices.Contains(conditions, text) {
			values = []string{text, ""} // the condition of a group holds, or it does not
		}
		a, err := newrows.NewAttribute(reading, text, columns[k+1], kept[k+1], values, m.preparation)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rows.Attributes, rows.trained = append(rows.Attributes, constraints.Attribute(a)), append(rows.trained, len(values))
	}
	return rows.leaveOut(name, m)
}

// reading returns how the training read the columns of attributes and groups.
func (m *Model) reading() *tabular.Reading {
	if m.description.Reading == nil {
		return &tabular.Reading{}
	}
	return m.description.Reading
}

// setWeights reads the weights of the rows. A row of weight 0 gets no class.
func (l *labelled) setWeights(column string, texts []string, r *tabular.Reading, name string) error {
	decimal := ""
	if r.Weight != nil && r.Weight.Column == column {
		decimal = r.Weight.Decimal
	}
	for i, text := range texts {
		w, err := loader.ParseWeight(text, decimal)
		if err != nil {
			return &dataerr.FileError{Path: name, Offset: -1, Row: l.source[i] + 1, Err: fmt.Errorf("column %q: %w", column, err)}
		}
		l.Weights = append(l.Weights, w)
	}
	if l.Weights = loader.ExactWeights(l.Weights); l.Weights == nil {
		return &dataerr.FileError{Path: name, Offset: -1, Err: fmt.Errorf("column %q: %w: all weights are 0", column, dataerr.ErrEmpty)}
	}
	for i, w := range l.Weights {
		if w == 0 {
			l.Labels[i] = -1
		}
	}
	return nil
}

// leaveOut removes the rows of labels that belong to none of the model's classes, as in training,
// and those of weight 0.
func (l *labelled) leaveOut(name string, m *Model) error {
	outputs, kept := m.Outputs(), 0
	var keptRows []int
	for i, y := range l.Labels {
		if y < 0 {
			continue
		}
		l.Labels[kept], l.decisions[kept], l.source[kept] = y, l.decisions[i], l.source[i]
		if l.Weights != nil {
			l.Weights[kept] = l.Weights[i]
		}
		keptRows = append(keptRows, i)
		copy(l.scores[kept*outputs:][:outputs], l.scores[i*outputs:][:outputs])
		for _, a := range l.Attributes {
			a.Of[kept] = a.Of[i]
		}
		kept++
	}
	if kept == 0 {
		return fmt.Errorf("predictor: %s: %w of the classes %v", name, dataerr.ErrEmpty, m.Classes())
	}
	l.Labels, l.decisions, l.source, l.scores = l.Labels[:kept], l.decisions[:kept], l.source[:kept], l.scores[:kept*outputs]
	for k := range l.Attributes {
		l.Attributes[k].Of = l.Attributes[k].Of[:kept]
	}
	if l.Weights != nil {
		l.Weights = l.Weights[:kept]
	}
	if l.queries != nil {
		l.queries = l.queries.Restrict(keptRows)
	}
	return nil
}

// pictures reads pictures with the given labels, and omits rows of classes that the model does not
// have.
func (m *Model) pictures(rows *labelled, r io.Reader, name string, o EvaluateOptions, attributes []string) error {
	if len(attributes) > 0 {
		return fmt.Errorf("predictor: %s: %w: pictures have no attribute %q", name, dataerr.ErrGroup, attributes[0])
	}
	class := map[byte]int{}
	for k, c := range m.description.Decision.Classes {
		if c.Number != nil {
			class[byte(*c.Number)] = k
		}
	}
	all := 0
	err := m.Read(r, name, o.Options, func(b *Batch) error {
		n := len(b.Decisions)
		if all += n; all > len(o.Labels) {
			return fmt.Errorf("predictor: %s: %w: more pictures than the %d labels", name, dataerr.ErrMismatch, len(o.Labels))
		}
		outputs := m.Outputs()
		for i, y := range o.Labels[all-n : all] {
			if k, ok := class[y]; ok {
				rows.Labels, rows.decisions = append(rows.Labels, k), append(rows.decisions, b.Decisions[i])
				rows.source = append(rows.source, b.First+i)
				rows.scores = append(rows.scores, b.Scores[i*outputs:][:outputs]...)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case all < len(o.Labels):
		return fmt.Errorf("predictor: %s: %w: %d pictures, %d labels", name, dataerr.ErrMismatch, all, len(o.Labels))
	case len(rows.Labels) == 0:
		return fmt.Errorf("predictor: %s: %w of the classes %v", name, dataerr.ErrEmpty, m.Classes())
	}
	return nil
}

// sparseElements limits the number of features that are dense at the same time.
const sparseElements = 1 << 17

// sparse reads rows in LIBSVM's format, all at once.
func (m *Model) sparse(rows *labelled, r io.Reader, name string, _ EvaluateOptions, attributes []string) error {
	file, err := loader.ReadLabelled(m.preparation, r, name)
	if err != nil {
		return err
	}
	texts := labelTexts(file.Labels)
	if m.Ranks() {
		if file.Queries == nil {
			return fmt.Errorf("%s: %w: the rows have no qid", name, dataerr.ErrFormat)
		}
		rows.queries = file.Queries
		rows.setGrades(texts)
	}
	if rows.Labels, err = newrows.LabelClasses(m.description.Decision.Label, texts); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	values := make([][]string, len(attributes))
	for k, text := range attributes {
		values[k] = m.values(text)
	}
	list, err := datasets.SparseAttributes(m.preparation, m.description.Dataset, file.X, attributes, values)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for k, a := range list {
		rows.Attributes, rows.trained = append(rows.Attributes, constraints.Attribute(a)), append(rows.trained, len(values[k]))
	}
	width := len(m.preparation.Numbers)
	place := slices.Repeat([]int32{-1}, m.preparation.Indices)
	for feature, index := range m.preparation.Numbers {
		place[index-1] = int32(feature)
	}
	some := max(1, sparseElements/width)
	for first := 0; first < file.X.Rows; first += some {
		numbers := make([]int, min(some, file.X.Rows-first))
		for i := range numbers {
			numbers[i] = first + i
		}
		rows.source = append(rows.source, numbers...)
		block := make([]float64, len(numbers)*width)
		file.X.Select(numbers, place, width).Float64(block, 0, len(numbers))
		for i := range numbers {
			m.preparation.Singly(block[i*width : (i+1)*width])
		}
		scores, err := m.Scores(block)
		if err != nil {
			return err
		}
		rows.scores, rows.decisions = append(rows.scores, scores...), m.decide(rows.decisions, scores)
	}
	return rows.leaveOut(name, m)
}

// groups returns the groups of model.json, and the rows of each value of the attributes, in the
// order of the run's tables.
func (l *labelled) groups() []results.Group {
	var list []results.Group
	for _, g := range l.Groups {
		list = append(list, results.Group{Name: g.Name, Rows: g.Rows})
	}
	for _, a := range l.Attributes {
		first := len(list)
		for _, value := range a.Values {
			list = append(list, results.Group{Name: constraints.GroupName(a.Name, value)})
		}
		for i, k := range a.Of {
			if k >= 0 {
				list[first+k].Rows = append(list[first+k].Rows, i)
			}
		}
		known := func(g results.Group) bool {
			return slices.ContainsFunc(list[:first], func(other results.Group) bool { return other.Name == g.Name })
		}
		list = append(list[:first:first], slices.DeleteFunc(slices.Clone(list[first:]), known)...)
	}
	return list
}
