package predictor

import (
	"fmt"
	"io"
	"slices"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/internal/rates"
	"ppal/internal/rundir"
)

// labelled holds rows with labels, attributes, scores and decisions.
type labelled struct {
	constraints.Population
	scores    []float64
	decisions []int
	unknown   int
}

// labelled reads the rows with their labels and attributes.
func (m *Model) labelled(r io.Reader, name string, o EvaluateOptions, attributes []string) (*labelled, error) {
	rows := &labelled{}
	for _, c := range m.description.Decision.Classes {
		rows.Classes = append(rows.Classes, c.Name)
	}
	read := m.text
	switch m.description.Input.Format {
	case rundir.FormatPictures:
		read = m.pictures
	case rundir.FormatLIBSVM:
		read = m.sparse
	case rundir.FormatMatrix:
		return nil, m.noFile()
	}
	if m.description.Decision.Label == nil && m.preparation != nil {
		return nil, fmt.Errorf("predictor: %s: %w: model.json does not describe the label", m.dir, ErrModel)
	}
	return rows, read(rows, r, name, o, attributes)
}

// text reads separated fields and keeps the columns of the label and of the attributes.
func (m *Model) text(rows *labelled, r io.Reader, name string, o EvaluateOptions, attributes []string) error {
	label := m.description.Decision.Label
	o.Keep = append([]string{label.Column}, attributes...)
	kept := make([][]string, len(o.Keep))
	var columns []string
	err := m.Read(r, name, o.Options, func(b *Batch) error {
		rows.scores, rows.decisions = append(rows.scores, b.Scores...), append(rows.decisions, b.Decisions...)
		rows.unknown += b.Unknown
		columns = b.Columns
		for k := range kept {
			kept[k] = append(kept[k], b.Kept[k]...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if rows.Labels, err = label.Classes(kept[0]); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for k, text := range attributes {
		a, err := datasets.NewAttribute(text, columns[k+1], kept[k+1], m.preparation.Absent)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rows.Attributes = append(rows.Attributes, constraints.Attribute(a))
	}
	return rows.leaveOut(name, m)
}

// leaveOut removes the rows of labels that belong to none of the model's classes, as in training.
func (l *labelled) leaveOut(name string, m *Model) error {
	outputs, kept := m.Outputs(), 0
	for i, y := range l.Labels {
		if y < 0 {
			continue
		}
		l.Labels[kept], l.decisions[kept] = y, l.decisions[i]
		copy(l.scores[kept*outputs:][:outputs], l.scores[i*outputs:][:outputs])
		for _, a := range l.Attributes {
			a.Of[kept] = a.Of[i]
		}
		kept++
	}
	if kept == 0 {
		return fmt.Errorf("predictor: %s: %w of the classes %v", name, datasets.ErrEmpty, m.Classes())
	}
	l.Labels, l.decisions, l.scores = l.Labels[:kept], l.decisions[:kept], l.scores[:kept*outputs]
	for k := range l.Attributes {
		l.Attributes[k].Of = l.Attributes[k].Of[:kept]
	}
	return nil
}

// pictures reads pictures with the given labels, and omits rows of classes that the model does not
// have.
func (m *Model) pictures(rows *labelled, r io.Reader, name string, o EvaluateOptions, attributes []string) error {
	if len(attributes) > 0 {
		return fmt.Errorf("predictor: %s: %w: pictures have no attribute %q", name, datasets.ErrGroup, attributes[0])
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
			return fmt.Errorf("predictor: %s: %w: more pictures than the %d labels", name, datasets.ErrMismatch, len(o.Labels))
		}
		outputs := m.Outputs()
		for i, y := range o.Labels[all-n : all] {
			if k, ok := class[y]; ok {
				rows.Labels, rows.decisions = append(rows.Labels, k), append(rows.decisions, b.Decisions[i])
				rows.scores = append(rows.scores, b.Scores[i*outputs:][:outputs]...)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case all < len(o.Labels):
		return fmt.Errorf("predictor: %s: %w: %d pictures, %d labels", name, datasets.ErrMismatch, all, len(o.Labels))
	case len(rows.Labels) == 0:
		return fmt.Errorf("predictor: %s: %w of the classes %v", name, datasets.ErrEmpty, m.Classes())
	}
	return nil
}

// sparseElements limits the number of features that are dense at the same time.
const sparseElements = 1 << 17

// sparse reads rows in LIBSVM's format, all at once.
func (m *Model) sparse(rows *labelled, r io.Reader, name string, _ EvaluateOptions, attributes []string) error {
	file, err := datasets.ReadLIBSVM(r, name, m.preparation.Indices)
	if err != nil {
		return err
	}
	texts := make([]string, len(file.Labels))
	for i, y := range file.Labels {
		texts[i] = fmt.Sprint(y)
	}
	if rows.Labels, err = m.description.Decision.Label.Classes(texts); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	list, err := datasets.SparseAttributes(m.description.Dataset, file.X, attributes)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, a := range list {
		rows.Attributes = append(rows.Attributes, constraints.Attribute(a))
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
		block := make([]float64, len(numbers)*width)
		file.X.Select(numbers, place, width).Float64(block, 0, len(numbers))
		scores, err := m.Scores(block)
		if err != nil {
			return err
		}
		rows.scores, rows.decisions = append(rows.scores, scores...), m.decide(rows.decisions, scores)
	}
	return rows.leaveOut(name, m)
}

// groups returns the rows of each value of the attributes.
func (l *labelled) groups() []rates.Group {
	var list []rates.Group
	for _, a := range l.Attributes {
		first := len(list)
		for _, value := range a.Values {
			name := a.Name + "=" + value
			if slices.Contains(a.Values, a.Name) { // a condition: the condition's text, and the remaining rows
				name = value
			}
			list = append(list, rates.Group{Name: name})
		}
		for i, k := range a.Of {
			if k >= 0 {
				list[first+k].Rows = append(list[first+k].Rows, i)
			}
		}
	}
	return list
}
