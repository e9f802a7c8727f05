package loader

import (
	"slices"

	"ppal/datasets/matrix"
	"ppal/internal/paged"
)

// spilled are the rows of a LIBSVM file that are in pages already. The parser's own slices have the
// rows after them.
type spilled struct {
	pages   *paged.Dir
	starts  *paged.List[int]
	columns *paged.List[int32]
	values  *paged.List[float64]
	labels  *paged.List[float64]
	queries *paged.List[int64]
	entries int // in columns
	ones    int // entries before the first entry with a value
}

// SpillRows is the number of rows that the parser collects in memory.
const SpillRows = 1 << 12

// newLIBSVMParser returns a parser whose rows go to pages; nil: memory.
func newLIBSVMParser(cols int, pages *paged.Dir) *LibsvmParser {
	p := &LibsvmParser{Cols: cols, X: &matrix.CSR{Starts: []int{0}}}
	if pages != nil {
		p.out = &spilled{pages: pages, starts: paged.NewList[int](pages), columns: paged.NewList[int32](pages),
			values: paged.NewList[float64](pages), labels: paged.NewList[float64](pages), queries: paged.NewList[int64](pages)}
	}
	return p
}

// spill moves the parser's rows to pages if they are at least as many as the given number.
func (p *LibsvmParser) spill(least int) error {
	o := p.out
	if o == nil || len(p.Labels) < least {
		return nil
	}
	for i := range p.X.Starts {
		p.X.Starts[i] += o.entries
	}
	last := len(p.X.Starts) - 1
	if p.X.Values != nil && o.ones < o.entries { // the first rows with values: all entries before are 1
		one := slices.Repeat([]float64{1}, min(o.entries-o.ones, 1<<16))
		for o.ones < o.entries {
			n := min(len(one), o.entries-o.ones)
			if err := o.values.Append(one[:n]); err != nil {
				return err
			}
			o.ones += n
		}
	}
	for _, err := range []error{o.starts.Append(p.X.Starts[:last]), o.columns.Append(p.X.Columns), o.values.Append(p.X.Values),
		o.labels.Append(p.Labels), o.queries.Append(p.queries)} {
		if err != nil {
			return err
		}
	}
	o.entries += len(p.X.Columns)
	if p.X.Values != nil {
		o.ones = o.entries
		p.X.Values = p.X.Values[:0]
	}
	p.rows += len(p.Labels)
	p.X.Starts[0] = 0
	p.X.Starts, p.X.Columns, p.Labels = p.X.Starts[:1], p.X.Columns[:0], p.Labels[:0]
	if p.queries != nil {
		p.queries = p.queries[:0]
	}
	return nil
}

// collect makes the matrix and the labels of all rows.
func (p *LibsvmParser) collect() (err error) {
	o := p.out
	if o == nil {
		return nil
	}
	if err := p.spill(0); err != nil {
		return err
	}
	if err := o.starts.Append([]int{o.entries}); err != nil {
		return err
	}
	x := p.X
	if x.Starts, err = o.starts.Slice(); err != nil {
		return err
	}
	if x.Columns, err = o.columns.Slice(); err != nil {
		return err
	}
	if x.Values, err = o.values.Slice(); err != nil {
		return err
	}
	if p.Labels, err = o.labels.Slice(); err != nil {
		return err
	}
	p.queries, err = o.queries.Slice()
	return err
}
