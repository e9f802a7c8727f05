package columnar

import (
	"fmt"
	"math"
	"unsafe"

	"ppal/datasets/dataerr"
	"ppal/internal/mapped"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// Wide holds the numbers of several columns together, row by row, as the arrays of a file do. It
// has numbers of 32 bits if those hold the numbers of the file.
type Wide struct {
	Columns int
	Single  []float32 // nil: Double
	Double  []float64
}

// NewWide returns memory or pages for rows of the numbers of a block. checkMemory is
// Schema.CheckMemory.
func NewWide(b *recordio.Block, rows int, pages *mapped.Dir, checkMemory func(bytes uint64) error) (w *Wide, err error) {
	size := uint64(unsafe.Sizeof(float64(0)))
	if b.Single {
		size = uint64(unsafe.Sizeof(float32(0)))
	}
	if checkMemory != nil && pages == nil {
		if err := checkMemory(RowCopies * size * uint64(rows) * uint64(b.Columns)); err != nil {
			return nil, err
		}
	}
	w = &Wide{Columns: b.Columns}
	if b.Single {
		w.Single, err = mapped.Make[float32](pages, rows*b.Columns)
	} else {
		w.Double, err = mapped.Make[float64](pages, rows*b.Columns)
	}
	return w, err
}

// Rows returns the number of rows.
func (w *Wide) Rows() int { return max(len(w.Single), len(w.Double)) / w.Columns }

// numbers returns the numbers of a column.
func (w *Wide) numbers(column int) []float64 {
	list := make([]float64, w.Rows())
	for i := range list {
		if w.Single != nil {
			list[i] = float64(w.Single[i*w.Columns+column])
		} else {
			list[i] = w.Double[i*w.Columns+column]
		}
	}
	return list
}

// Listed returns the numbers of the column as a list of their own if the column is in a Wide.
func (c *Column) Listed() []float64 {
	if c.Wide != nil {
		return c.Wide.numbers(c.At)
	}
	return c.Numbers
}

// Follow returns a Wide with the rows of w followed by those of more.
func (w *Wide) Follow(more *Wide, pages *mapped.Dir) (*Wide, error) {
	out := &Wide{Columns: w.Columns}
	var err error
	if w.Single != nil && more.Single != nil {
		if out.Single, err = mapped.Make[float32](pages, len(w.Single)+len(more.Single)); err == nil {
			copy(out.Single[copy(out.Single, w.Single):], more.Single)
		}
		return out, err
	}
	if out.Double, err = mapped.Make[float64](pages, w.Columns*(w.Rows()+more.Rows())); err != nil {
		return nil, err
	}
	rest := out.Double
	for _, one := range []*Wide{w, more} {
		for i, x := range one.Single {
			rest[i] = float64(x)
		}
		copy(rest, one.Double)
		rest = rest[one.Columns*one.Rows():]
	}
	return out, nil
}

// wideBlock is a block of the file some of whose columns the reader keeps in a Wide.
type wideBlock struct {
	recordio.Block
	specs []*ColumnSpec // of each column of the block; nil: the column is not needed
	lacks []bool        // of each column: a value is missing
	wide  *Wide
}

// takeWide moves the columns that may be in a Wide, and lie in blocks of the file, from the specs
// to the blocks. fields are the fields of the specs.
func (r *SheetReader) takeWide(fields []int) (rest []ColumnSpec, restFields []int) {
	for _, b := range r.text.Blocks() {
		r.blocks = append(r.blocks, wideBlock{Block: b, specs: make([]*ColumnSpec, b.Columns), lacks: make([]bool, b.Columns)})
	}
	for i := range r.Specs {
		if b, at := r.blockOf(&r.Specs[i], fields[i]); b != nil && !r.drop {
			b.specs[at] = &r.Specs[i]
			r.order = append(r.order, wideColumn{b, at})
			continue
		}
		rest, restFields = append(rest, r.Specs[i]), append(restFields, fields[i])
		r.order = append(r.order, wideColumn{})
	}
	return rest, restFields
}

// wideColumn is a column of a block. block is nil for a column that is read by records.
type wideColumn struct {
	block *wideBlock
	at    int
}

// blockOf returns the block of a column that may be in a Wide, and the column's place in it; nil if
// there is none.
func (r *SheetReader) blockOf(spec *ColumnSpec, field int) (*wideBlock, int) {
	for i := range r.blocks {
		b := &r.blocks[i]
		if at := field - b.First; spec.Wide && at >= 0 && at < b.Columns && b.specs[at] == nil {
			return b, at
		}
	}
	return nil, 0
}

// readWide reads the blocks. only lists the rows of the file; nil: all.
func (r *SheetReader) readWide(only []int) error {
	for i := range r.blocks {
		b := &r.blocks[i]
		used, summary := false, true
		for _, spec := range b.specs {
			used = used || spec != nil
			summary = summary && (spec == nil || spec.Summary)
		}
		if !used || summary || b.Rows == 0 {
			continue
		}
		if err := r.readBlock(b, only); err != nil {
			return err
		}
	}
	return nil
}

// readBlock reads one block, unless an earlier reading has kept its numbers.
func (r *SheetReader) readBlock(b *wideBlock, only []int) (err error) {
	rows := b.Rows
	if only != nil {
		rows = len(only)
	}
	read := false
	switch b.wide = r.wides[b.First]; {
	case b.wide != nil: // and ColumnSpec.Lacks says which columns lack values
		return nil
	case r.pages != nil && b.File != nil && only == nil:
		b.wide = &Wide{Columns: b.Columns}
		if b.Single {
			b.wide.Single, err = mapped.Shared[float32](r.pages, b.File, b.Offset, rows*b.Columns)
		} else {
			b.wide.Double, err = mapped.Shared[float64](r.pages, b.File, b.Offset, rows*b.Columns)
		}
	default:
		read = true
		b.wide, err = NewWide(&b.Block, rows, r.pages, r.checkMemory)
	}
	if err != nil {
		return err
	}
	if b.Single {
		return fillBlock(b, only, b.wide.Single, read, b.Read32)
	}
	return fillBlock(b, only, b.wide.Double, read, b.Read64)
}

// The bytes of the numbers that a worker reads at a time. A file with the numbers of a column
// together is read in larger parts.
const (
	partBytes   = 1 << 20
	columnBytes = 16 << 20
)

// fillBlock reads the numbers of a block, unless a mapped file has them, and checks them.
func fillBlock[T float32 | float64](b *wideBlock, only []int, numbers []T, readHere bool, read func(dst []T, from, to int) error) error {
	rows := len(numbers) / b.Columns
	bytes := partBytes
	if b.ByColumn {
		bytes = columnBytes
	}
	height := max(1, bytes/(b.Columns*int(unsafe.Sizeof(T(0)))))
	parts := (rows + height - 1) / height
	failures, lacks := make([]error, parts), make([][]bool, parts)
	recordio.InParallel(parts, func(k int) {
		from, end := k*height, min((k+1)*height, rows)
		dst := numbers[from*b.Columns : end*b.Columns]
		if readHere {
			failures[k] = recordio.Runs(only, from, end, func(at, from, to int) error {
				return read(dst[at*b.Columns:][:(to-from)*b.Columns], from, to)
			})
		}
		if failures[k] == nil {
			lacks[k], failures[k] = checkNumbers(b, dst, only, from)
		}
	})
	for k, err := range failures {
		if err != nil {
			return err
		}
		for j, is := range lacks[k] {
			b.lacks[j] = b.lacks[j] || is
		}
	}
	return nil
}

// checkNumbers returns which columns lack values; nil: none. An infinity, and a missing value that
// the schema does not allow, are errors. The first row of numbers is row first of only.
func checkNumbers[T float32 | float64](b *wideBlock, numbers []T, only []int, first int) (lacks []bool, err error) {
	NotFinite(numbers, func(i int) bool {
		spec := b.specs[i%b.Columns]
		if spec == nil {
			return true
		}
		nan := numbers[i] != numbers[i]
		if nan && spec.Missing {
			if lacks == nil {
				lacks = make([]bool, b.Columns)
			}
			lacks[i%b.Columns] = true
			return true
		}
		if err = fmt.Errorf("%w: %q", dataerr.ErrMissing, "NaN"); !nan {
			err = textvalue.NotReadable(fmt.Append(nil, numbers[i]), "")
		}
		row := first + i/b.Columns
		if only != nil {
			row = only[row]
		}
		err = b.Fail(row, i%b.Columns, fmt.Errorf("%s: %w", spec.Name, err))
		return false
	})
	return lacks, err
}

// NotFinite calls visit with the index of each number that is NaN or infinite, until visit returns
// false.
func NotFinite[T float32 | float64](numbers []T, visit func(i int) bool) {
	const piece = 64
	for from := 0; from < len(numbers); from += piece {
		part := numbers[from:min(from+piece, len(numbers))]
		var sum T
		for _, x := range part {
			sum += x * 0 // NaN if x is not finite, else a zero
		}
		if sum == 0 {
			continue
		}
		for i, x := range part {
			if x*0 != 0 && !visit(from+i) {
				return
			}
		}
	}
}

// column returns the column of a sheet that lies in a block.
func (w wideColumn) column() *Column {
	spec := w.block.specs[w.at]
	c := &Column{Name: spec.Name, Decimal: spec.Decimal, Single: w.block.Single, Lacks: spec.Lacks || w.block.lacks[w.at]}
	if w.block.wide != nil {
		c.Wide, c.At = w.block.wide, w.at
	}
	return c
}

// AddUnusual adds a number of an array that is not finite. at is its position.
func (p *Profile) AddUnusual(x float64, at *dataerr.FileError) {
	if p.Rows++; math.IsNaN(x) {
		if p.Missing++; p.Absent == nil {
			p.Absent, p.AbsentText = at, "NaN"
		}
		return
	}
	if p.Texts[InfiniteText]++; p.Unreal == nil {
		p.Unreal, p.UnrealText = at, fmt.Sprint(x)
	}
}

// EndNumbers completes the profile of a column of numbers in which AddUnusual got all numbers that
// are not finite. The distinct values and their order are not known.
func (p *Profile) EndNumbers(rows int) {
	p.Plain, p.Rows = rows-p.Rows, rows
	p.Counting, p.Whole, p.Different, p.Forms = false, false, 0, 0
}
