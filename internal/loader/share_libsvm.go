package loader

import (
	"context"
	"fmt"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/inputfile"
	"ppal/internal/textvalue"
)

// firstReading is what the first of two readings of a LIBSVM file keeps of the entries, if
// processes share the rows: the entries of the columns that give groups and attributes, and how
// many entries each row has.
type firstReading struct {
	wanted, ignored []int32 // columns, from 0; the ignored ones are not counted
	counts          []int32 // by row
}

// row reduces the entries of the last row, which begin at the given place, and counts them.
func (f *firstReading) row(x *matrix.CSR, from int) {
	count, to := int32(0), from
	for e := from; e < len(x.Columns); e++ {
		column := x.Columns[e]
		if !slices.Contains(f.ignored, column) {
			count++
		}
		if slices.Contains(f.wanted, column) {
			x.Columns[to] = column
			if x.Values != nil {
				x.Values[to] = x.Values[e]
			}
			to++
		}
	}
	x.Columns = x.Columns[:to]
	if x.Values != nil {
		x.Values = x.Values[:to]
	}
	f.counts = append(f.counts, count)
}

// columnNumbers returns the columns that the texts name by their numbers, from 1 - shift. It skips
// other texts: SparseDesign.find refuses them.
func columnNumbers(shift int, texts ...string) (columns []int32) {
	for _, text := range texts {
		if n, ok := textvalue.WholeNumber([]byte(text)); ok && n+shift > 0 {
			columns = append(columns, int32(n+shift-1))
		}
	}
	return columns
}

// sharesSparse reports whether processes share the rows of a LIBSVM file. DropSensitive compares
// the entries of all rows.
func sharesSparse(o *tabular.TableOptions) bool { return Shares(o) && !o.DropSensitive }

// readShared reads the labels, the groups and the attributes of all rows, and prepares the second
// reading, of this process's rows. It returns nil for a file with too many features.
func readShared(o *tabular.TableOptions, ctx context.Context) (*LIBSVM, *ownSparse, error) {
	first := &firstReading{wanted: columnNumbers(shiftOf(o), slices.Concat(o.Groups, o.Attributes)...), ignored: columnNumbers(shiftOf(o), o.Ignore...)}
	file, err := readRows(o, ctx, 0, func(p *LibsvmParser) { p.first = first })
	if err != nil || file.X.Cols > MaxOwnFeatures {
		return nil, nil, err
	}
	return file, &ownSparse{ctx: ctx, options: o, cols: file.X.Cols, counts: first.counts}, nil
}

// readRows reads the user's LIBSVM file, with a parser that set changes.
func readRows(o *tabular.TableOptions, ctx context.Context, cols int, set func(p *LibsvmParser)) (*LIBSVM, error) {
	f, err := inputfile.OpenUntilDone(ctx, o.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadRows(f, o.File, cols, nil, func(p *LibsvmParser) {
		setParser(o, p)
		set(p)
	})
}

// ownSparse reads the entries of this process's rows of a LIBSVM file.
type ownSparse struct {
	ctx     context.Context // ends the reading of the file
	options *tabular.TableOptions
	cols    int
	counts  []int32 // entries of each row of the file that are features
	whole   bool    // this process has all rows
}

// mostShared is the largest share of nonzero elements with which processes share the rows. Products
// with denser rows may read all elements, or bytes, and all processes must choose the same: see
// Integers and kernel.Sparse.Compact.
const mostShared = leastDensity

// readOwn reads the entries of this process's rows, given the rows of each split. The other rows
// are empty.
func (s *sparse) readOwn(splits [3][]int) error {
	if s.own == nil {
		return nil
	}
	share := s.own.options.Share
	all := 0
	for _, n := range s.own.counts {
		all += int(n)
	}
	s.own.whole = float64(all) >= mostShared*float64(len(s.own.counts))*float64(s.Cols)
	var only []int
	for _, rows := range splits {
		from, to := share.Rows(len(rows))
		only = append(only, rows[from:to]...)
	}
	slices.Sort(only)
	file, err := readRows(s.own.options, s.own.ctx, s.own.cols, func(p *LibsvmParser) {
		if !s.own.whole {
			p.others = &otherRows{only: only}
		}
	})
	if err == nil && len(file.Labels) != len(s.own.counts) {
		err = &dataerr.FileError{Path: s.own.options.File, Offset: -1,
			Err:    fmt.Errorf("%w: it has %d rows in the second reading and %d in the first", dataerr.ErrFormat, len(file.Labels), len(s.own.counts)),
			Advice: "do not change the file while ppal reads it"}
	}
	if err == nil {
		s.x = file.X
	}
	return share.Agree(err)
}

// part returns the rows of a split, of which this process has a range.
func (s *sparse) part(rows []int) matrix.Matrix {
	x := s.x.Select(rows, s.Place, s.Cols)
	if s.own == nil || s.own.whole {
		return x
	}
	p := &matrix.SparsePart{CSR: *x}
	p.From, p.To = s.own.options.Share.Rows(len(rows))
	for _, i := range rows {
		p.All += int(s.own.counts[i])
	}
	return p
}

// otherRows says which rows of a file a parser reads without their entries.
type otherRows struct{ only []int } // the rows with entries, in increasing order

// has reports whether row i is another row. Calls have increasing i.
func (o *otherRows) has(i int) bool {
	for len(o.only) > 0 && o.only[0] < i {
		o.only = o.only[1:]
	}
	return len(o.only) == 0 || o.only[0] != i
}
