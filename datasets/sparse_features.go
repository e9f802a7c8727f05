package datasets

import (
	"fmt"
	"slices"
	"strconv"

	"ppal/datasets/matrix"
	"ppal/internal/paged"
)

// sparseDesign describes the features of a sparse table.
type sparseDesign struct {
	names []string // nil: the names are the numbers from 1 - shift
	shift int      // as in libsvmParser
	// block of each feature; nil: each feature is a block. The features of a block describe one
	// property, such as a person's race
	blocks []int
	titles []string // names of the blocks
	groups []int32  // features that make the groups if the options name no groups
}

// name returns the name of feature j.
func (d *sparseDesign) name(j int32) string {
	if d.names == nil {
		return strconv.Itoa(int(j) + 1 - d.shift)
	}
	return d.names[j]
}

// find returns the features with the given numbers, from 1 - shift, or names.
func (d *sparseDesign) find(texts []string, cols int) ([]int32, error) {
	var features []int32
	for _, text := range texts {
		j := slices.Index(d.names, text)
		if n, ok := wholeNumber([]byte(text)); ok && n+d.shift >= 1 && n+d.shift <= cols {
			j = n + d.shift - 1
		}
		if j < 0 {
			return nil, fmt.Errorf("datasets: %w: unknown feature %q, want a number from %d to %d", ErrColumn, text, 1-d.shift, cols-d.shift)
		}
		features = append(features, int32(j))
	}
	return features, nil
}

// sparse sets the features and the groups of a sparse table. Each feature for the groups makes one
// group, the rows with an entry of the feature. With a single group, the other rows form a second
// group. own reads this process's rows if x has only the entries for groups and attributes; nil: x
// has all entries.
func (s *source) sparse(x *matrix.CSR, d *sparseDesign, opts TableOptions, own *ownSparse) error {
	dropped, err := d.find(opts.Ignore, x.Cols)
	if err != nil {
		return err
	}
	by := d.groups
	if len(opts.Groups) > 0 {
		if by, err = d.find(opts.Groups, x.Cols); err != nil {
			return err
		}
	}
	for _, j := range by {
		g, rest := Group{Name: d.name(j), Conditions: []string{d.name(j)}}, Group{Name: theRest, Conditions: []string{}}
		if d.names == nil {
			g.Name = "feature " + g.Name
		}
		n := 0
		for i := range x.Rows {
			n += indicator(x.Has(i, j))
		}
		g.Rows = make([]int, 0, n)
		if len(by) == 1 {
			rest.Rows = make([]int, 0, x.Rows-n)
		}
		for i := range x.Rows {
			if x.Has(i, j) {
				g.Rows = append(g.Rows, i)
			} else if len(by) == 1 {
				rest.Rows = append(rest.Rows, i)
			}
		}
		s.groups = append(s.groups, g)
		if len(by) == 1 {
			s.groups = append(s.groups, rest)
		}
	}
	var of []int32
	if s.attributes, of, err = d.attributes(x, opts.Attributes); err != nil {
		return err
	}
	found := columnsWith(opts.Values, s.classes, s.attributes, d.titles, d.categories)
	more, first, err := d.attributes(x, found)
	if err != nil {
		return err
	}
	s.attributes, of = append(s.attributes, more...), append(of, first...)
	if opts.DropSensitive {
		sensitive := s.groups
		if len(s.attributes) > 0 && len(opts.Groups) == 0 { // the table's own groups are not used
			by, sensitive = nil, nil
		}
		by = append(slices.Clone(by), of...)
		for i := range s.attributes {
			sensitive = append(slices.Clone(sensitive), s.attributes[i].groups()...)
		}
		if len(by) == 0 {
			return errNoGroups
		}
		dropped = append(dropped, d.sensitive(by)...)
		for _, g := range sensitive {
			dropped = append(dropped, twins(x, g)...)
		}
	}
	kept := newSparse(x, d, dropped)
	if kept.cols == 0 {
		return fmt.Errorf("datasets: %w: no feature is left", ErrColumn)
	}
	kept.pages, kept.own = opts.Pages, own
	s.features = kept
	return nil
}

// sensitive returns all features in the blocks of the given features.
func (d *sparseDesign) sensitive(by []int32) []int32 {
	out := slices.Clone(by)
	for _, j := range by {
		for other, block := range d.blocks {
			if block == d.blocks[j] {
				out = append(out, int32(other))
			}
		}
	}
	return out
}

// twins returns the features that determine the group: features with entries exactly in the group's
// rows, or exactly in the other rows.
func twins(x *matrix.CSR, g Group) []int32 {
	inside := make([]bool, x.Rows)
	for _, i := range g.Rows {
		inside[i] = true
	}
	// number of each feature's entries outside and inside the group
	counts := make([][2]int, x.Cols)
	for i, in := range inside {
		for _, j := range x.Columns[x.Starts[i]:x.Starts[i+1]] {
			if in {
				counts[j][1]++
			} else {
				counts[j][0]++
			}
		}
	}
	n := len(g.Rows)
	var out []int32
	for j, c := range counts {
		if n > 0 && n < x.Rows && (c == [2]int{0, n} || c == [2]int{x.Rows - n, 0}) {
			out = append(out, int32(j))
		}
	}
	return out
}

// sparse makes features from the columns of a CSR and leaves out some columns.
type sparse struct {
	x     *matrix.CSR
	names []string   // nil: numbers from 1
	shift int        // as in sparseDesign
	place []int32    // new index of each column; -1: left out; nil: all columns
	cols  int        // number of remaining columns
	pages *paged.Dir // holds selected rows; nil: memory
	own   *ownSparse // reads this process's rows; nil: x has all rows
}

var _ features = (*sparse)(nil)

func newSparse(x *matrix.CSR, d *sparseDesign, dropped []int32) *sparse {
	s := &sparse{x: x, names: d.names, shift: d.shift, cols: x.Cols}
	if len(dropped) == 0 && d.shift == 0 {
		return s
	}
	s.names, s.place, s.cols = nil, make([]int32, x.Cols), 0
	for _, j := range dropped {
		s.place[j] = -1
	}
	for j, left := range s.place {
		if left == 0 {
			s.place[j] = int32(s.cols)
			s.names = append(s.names, d.name(int32(j)))
			s.cols++
		}
	}
	return s
}

func (s *sparse) fit([]int) ([]string, error) { return nil, nil }

func (s *sparse) columns() []string { return s.names }

func (s *sparse) take(rows []int) (matrix.Matrix, error) {
	if s.pages == nil {
		return s.part(rows), nil
	}
	out, n := &matrix.CSR{}, s.x.CountEntries(rows, s.place)
	var err error
	if out.Starts, err = paged.Make[int](s.pages, len(rows)+1); err != nil {
		return nil, err
	}
	if out.Columns, err = paged.Make[int32](s.pages, n); err != nil {
		return nil, err
	}
	out.Starts, out.Columns = out.Starts[:0], out.Columns[:0]
	if s.x.Values != nil {
		if out.Values, err = paged.Make[float64](s.pages, n); err != nil {
			return nil, err
		}
		out.Values = out.Values[:0]
	}
	s.x.SelectTo(out, rows, s.place, s.cols)
	return out, nil
}

func (s *sparse) preparation() *Preparation {
	p := &Preparation{Indices: s.x.Cols, ZeroBased: s.shift > 0}
	for j := range s.x.Cols {
		if s.place == nil || s.place[j] >= 0 {
			p.Numbers = append(p.Numbers, j+1)
		}
	}
	return p
}
