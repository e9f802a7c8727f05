package loader

import (
	"fmt"
	"slices"
	"strconv"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/mapped"
	"ppal/internal/textvalue"
	"ppal/internal/vec"
)

// SparseDesign describes the features of a sparse table.
type SparseDesign struct {
	Names []string // nil: the names are the numbers from 1 - shift
	Shift int      // as in recordio.SparseReader
	// block of each feature; nil: each feature is a block. The features of a block describe one
	// property, such as a person's race
	Blocks []int
	Titles []string // names of the blocks
	Groups []int32  // features that make the groups if the options name no groups
}

// name returns the name of feature j.
func (d *SparseDesign) name(j int32) string {
	if d.Names == nil {
		return strconv.Itoa(int(j) + 1 - d.Shift)
	}
	return d.Names[j]
}

// Find returns the features with the given numbers, from 1 - shift, or names.
func (d *SparseDesign) Find(texts []string, cols int) ([]int32, error) {
	var features []int32
	for _, text := range texts {
		j := slices.Index(d.Names, text)
		if n, ok := textvalue.WholeNumber([]byte(text)); ok && n+d.Shift >= 1 && n+d.Shift <= cols {
			j = n + d.Shift - 1
		}
		if j < 0 {
			return nil, fmt.Errorf("datasets: %w: unknown feature %q, want a number from %d to %d", dataerr.ErrColumn, text, 1-d.Shift, cols-d.Shift)
		}
		features = append(features, int32(j))
	}
	return features, nil
}

// entries are the elements of rows in LIBSVM's format that are not 0: *matrix.CSR or
// *matrix.Singles.
type entries interface {
	matrix.Matrix
	// Has reports whether element (i, j) is not 0.
	Has(i int, j int32) bool
}

// each visits the columns of row i whose elements are not 0.
func each(x entries, i int, visit func(j int32)) {
	switch x := x.(type) {
	case *matrix.CSR:
		for _, j := range x.Columns[x.Starts[i]:x.Starts[i+1]] {
			visit(j)
		}
	case *matrix.Singles:
		for j, v := range x.Row(i) {
			if v != 0 {
				visit(int32(j))
			}
		}
	}
}

// Sparse sets the features and the groups of a sparse table. Each feature for the groups makes one
// group, the rows with an entry of the feature. With a single group, the other rows form a second
// group. own reads this process's rows if x has only the entries for groups and attributes; nil: x
// has all entries.
func (s *Source) Sparse(x entries, d *SparseDesign, opts tabular.TableOptions, own *localSparse) error {
	rows, cols := x.Dims()
	dropped, err := d.Find(opts.Ignore, cols)
	if err != nil {
		return err
	}
	by := d.Groups
	if len(opts.Groups) > 0 {
		if by, err = d.Find(opts.Groups, cols); err != nil {
			return err
		}
	}
	for _, j := range by {
		a := d.entry(x, j)
		own := a.Groups()
		own[0].Name, own[0].Conditions = a.Values[0], []string{d.name(j)}
		own[1].Name, own[1].Conditions = a.Values[1], []string{}
		if len(by) > 1 {
			own = own[:1]
		}
		s.groups = append(s.groups, own...)
	}
	var groupOf []int32
	if s.attributes, groupOf, err = d.Attributes(x, opts.Attributes); err != nil {
		return err
	}
	found := ColumnsWith(opts.Values, s.Classes, s.attributes, d.Titles, d.Categories)
	more, first, err := d.Attributes(x, found)
	if err != nil {
		return err
	}
	s.attributes, groupOf = append(s.attributes, more...), append(groupOf, first...)
	if opts.DropSensitive {
		sensitive := s.groups
		if len(s.attributes) > 0 && len(opts.Groups) == 0 { // the table's own groups are not used
			by, sensitive = nil, nil
		}
		by = append(slices.Clone(by), groupOf...)
		for i := range s.attributes {
			sensitive = append(slices.Clone(sensitive), s.attributes[i].Groups()...)
		}
		if len(by) == 0 {
			return errNoGroups
		}
		dropped = append(dropped, d.Sensitive(by)...)
		for _, g := range sensitive {
			dropped = append(dropped, Twins(x, g)...)
		}
	}
	sparseRows, isSparse := x.(*matrix.CSR)
	if !isSparse || opts.Query != "" && dense(len(sparseRows.Columns), rows, cols) {
		values := newSingles(x, d, dropped, pagesOf(&opts))
		if s.Features = values; len(values.kept) == 0 {
			return errNoFeature
		}
		return nil
	}
	kept := NewSparse(sparseRows, d, dropped)
	if kept.Cols == 0 {
		return errNoFeature
	}
	kept.pages, kept.own = pagesOf(&opts), own
	s.Features = kept
	return nil
}

// errNoFeature is the error if all features are excluded.
var errNoFeature = fmt.Errorf("datasets: %w: no feature is left", dataerr.ErrColumn)

// Sensitive returns all features in the blocks of the given features.
func (d *SparseDesign) Sensitive(by []int32) []int32 {
	out := slices.Clone(by)
	for _, j := range by {
		for other, block := range d.Blocks {
			if block == d.Blocks[j] {
				out = append(out, int32(other))
			}
		}
	}
	return out
}

// Twins returns the features that determine the group: features with entries exactly in the group's
// rows, or exactly in the other rows.
func Twins(x entries, g tabular.Group) []int32 {
	rows, cols := x.Dims()
	inside := make([]bool, rows)
	for _, i := range g.Rows {
		inside[i] = true
	}
	// number of each feature's entries outside and inside the group
	counts := make([][2]int, cols)
	for i, in := range inside {
		each(x, i, func(j int32) { counts[j][vec.Indicator(in)]++ })
	}
	n := len(g.Rows)
	var out []int32
	for j, c := range counts {
		if n > 0 && n < rows && (c == [2]int{0, n} || c == [2]int{rows - n, 0}) {
			out = append(out, int32(j))
		}
	}
	return out
}

// sparse makes features from the columns of a CSR and leaves out some columns.
type sparse struct {
	x     *matrix.CSR
	Names []string     // nil: numbers from 1
	shift int          // as in SparseDesign
	Place []int32      // new index of each column; -1: left out; nil: all columns
	Cols  int          // number of remaining columns
	pages *mapped.Dir  // holds selected rows; nil: memory
	own   *localSparse // reads this process's rows; nil: x has all rows
}

var _ features = (*sparse)(nil)

// NewSparse returns the features of x without the dropped columns.
func NewSparse(x *matrix.CSR, d *SparseDesign, dropped []int32) *sparse {
	s := &sparse{x: x, Names: d.Names, shift: d.Shift, Cols: x.Cols}
	if len(dropped) == 0 && d.Shift == 0 {
		return s
	}
	s.Names, s.Place, s.Cols = nil, make([]int32, x.Cols), 0
	for _, j := range dropped {
		s.Place[j] = -1
	}
	for j, left := range s.Place {
		if left == 0 {
			s.Place[j] = int32(s.Cols)
			s.Names = append(s.Names, d.name(int32(j)))
			s.Cols++
		}
	}
	return s
}

func (s *sparse) fit([]int) ([]string, error) { return nil, nil }

func (s *sparse) columns() []string { return s.Names }

// Take returns the features of the rows.
func (s *sparse) Take(rows []int) (matrix.Matrix, error) {
	if s.pages == nil {
		return s.part(rows), nil
	}
	out, n := &matrix.CSR{}, s.x.CountEntries(rows, s.Place)
	var err error
	if out.Starts, err = mapped.Make[int](s.pages, len(rows)+1); err != nil {
		return nil, err
	}
	if out.Columns, err = mapped.Make[int32](s.pages, n); err != nil {
		return nil, err
	}
	out.Starts, out.Columns = out.Starts[:0], out.Columns[:0]
	if s.x.Values != nil {
		if out.Values, err = mapped.Make[float64](s.pages, n); err != nil {
			return nil, err
		}
		out.Values = out.Values[:0]
	}
	s.x.SelectTo(out, rows, s.Place, s.Cols)
	return out, nil
}

// Preparation lists the indices that became features.
func (s *sparse) Preparation() *tabular.Preparation {
	p := &tabular.Preparation{Indices: s.x.Cols, ZeroBased: s.shift > 0}
	for j := range s.x.Cols {
		if s.Place == nil || s.Place[j] >= 0 {
			p.Numbers = append(p.Numbers, j+1)
		}
	}
	return p
}
