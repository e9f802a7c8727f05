package loader

import (
	"fmt"
	"math"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/mapped"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// dense reports whether rows are kept as floats: at least a third of the elements is not 0. Rows of
// floats then take no more memory than entries do.
func dense(entries, rows, cols int) bool { return 3*entries >= rows*cols && entries > 0 }

// singleList collects rows of float32 while a file is read.
type singleList struct {
	width   int // columns of a row in data, at least as many as the rows so far need
	largest int // columns that the rows so far need
	rows    int
	data    []float32
}

// newSingleList returns a list for rows of at least width columns, with memory for the given number
// of rows. The system gives the memory when rows are written to it.
func newSingleList(width, rows int) *singleList {
	return &singleList{width: width, largest: width, data: make([]float32, 0, width*rows)}
}

// add adds the rows of a part.
func (l *singleList) add(p *sparsePart) {
	if l.largest = max(l.largest, p.Largest); l.largest > l.width {
		const spare = 4 // a row that needs more columns adds a quarter, so that few rows make a copy
		l.widen(max(l.largest, l.width+l.width/spare))
	}
	from := 0
	for _, to := range p.ends {
		at := len(l.data)
		l.data = slices.Grow(l.data, l.width)[:at+l.width]
		row := l.data[at:]
		clear(row)
		for e := from; e < to; e++ {
			row[p.Columns[e]] = float32(p.Value(e))
		}
		from = to
	}
	l.rows += len(p.ends)
}

// widen copies the rows to rows of another width.
func (l *singleList) widen(width int) {
	wider := make([]float32, l.rows*width, max(l.rows*width, cap(l.data)))
	for i := range l.rows {
		copy(wider[i*width:], l.data[i*l.width:(i+1)*l.width])
	}
	l.width, l.data = width, wider
}

// matrix returns the rows as a matrix with the given number of columns, in the list's memory.
func (l *singleList) matrix(cols int) *matrix.Singles {
	if cols < l.width {
		narrow(l.data, l.rows, l.width, nil, cols)
	}
	return &matrix.Singles{Rows: l.rows, Cols: cols, Data: slices.Clip(l.data[:l.rows*cols])}
}

// narrow moves the listed columns of rows together, in the same memory. columns nil: the first cols
// columns.
func narrow(data []float32, rows, width int, columns []int32, cols int) {
	for i := range rows {
		from, to := data[i*width:(i+1)*width], data[i*cols:]
		if columns == nil {
			copy(to[:cols], from)
			continue
		}
		for k, j := range columns {
			to[k] = from[j]
		}
	}
}

// csr returns the rows as entries.
func (l *singleList) csr(cols, entries int) *matrix.CSR {
	x := &matrix.CSR{Rows: l.rows, Cols: cols, Starts: make([]int, 1, l.rows+1), Columns: make([]int32, 0, entries), Values: make([]float64, 0, entries)}
	for i := range l.rows {
		for j, v := range l.data[i*l.width : (i+1)*l.width] {
			if v != 0 {
				x.Columns, x.Values = append(x.Columns, int32(j)), append(x.Values, float64(v))
			}
		}
		x.Starts = append(x.Starts, len(x.Columns))
	}
	return x
}

// singlesOf returns the entries as floats.
func singlesOf(x *matrix.CSR) *matrix.Singles {
	out := matrix.NewSingles(x.Rows, x.Cols)
	for i := range x.Rows {
		x.Float32(out.Row(i), i, i+1)
	}
	return out
}

// singles makes standardised features of float32 from rows of floats:
//
//	x -> (x - c_j)/s_j
//
// with the mean and the standard deviation of column j in the training rows. The features take the
// memory of the rows: divide puts the rows of each split together.
type singles struct {
	x             *matrix.Singles // the rows; after divide only those of the splits
	from          *matrix.CSR     // the rows in pages; nil after divide, and for rows in memory
	pages         *mapped.Dir
	indices       int         // of the file
	kept          []int32     // the columns that become features
	names         []string    // of the features
	shift         int         // as in SparseDesign
	begins        map[int]int // place of the first row of each split
	center, scale []float64   // nil before fit
}

var (
	_ features       = (*singles)(nil)
	_ sharedFeatures = (*singles)(nil)
)

// newSingles returns the features of rows without the dropped columns. x is a *matrix.Singles, or
// a *matrix.CSR in pages.
func newSingles(x entries, d *SparseDesign, dropped []int32, pages *mapped.Dir) *singles {
	_, cols := x.Dims()
	s := &singles{indices: cols, shift: d.Shift, pages: pages}
	switch x := x.(type) {
	case *matrix.Singles:
		s.x = x
	case *matrix.CSR:
		s.from = x
	}
	for j := range int32(cols) {
		if !slices.Contains(dropped, j) {
			s.kept, s.names = append(s.kept, j), append(s.names, d.name(j))
		}
	}
	return s
}

// readLocal puts the rows of each split together, and leaves out the dropped columns.
func (s *singles) readLocal(splits [3][]int) (err error) {
	var order []int
	s.begins = map[int]int{}
	for _, rows := range splits {
		if len(rows) > 0 {
			s.begins[rows[0]] = len(order)
			order = append(order, rows...)
		}
	}
	if s.from != nil {
		err = s.fill(order)
		s.from = nil
		return err
	}
	whole := make([]bool, s.x.Rows)
	for _, i := range order {
		whole[i] = true
	}
	all := slices.Clip(order)
	for i, in := range whole {
		if !in {
			all = append(all, i)
		}
	}
	s.x.Arrange(all)
	cols := len(s.kept)
	if cols < s.x.Cols {
		narrow(s.x.Data, len(order), s.x.Cols, s.kept, cols)
	}
	s.x = &matrix.Singles{Rows: len(order), Cols: cols, Data: s.x.Data[:len(order)*cols]}
	return nil
}

// fill copies the rows in pages, in the given order.
func (s *singles) fill(order []int) error {
	data, err := mapped.Make[float32](s.pages, len(order)*len(s.kept))
	if err != nil {
		return err
	}
	s.x = &matrix.Singles{Rows: len(order), Cols: len(s.kept), Data: data}
	row := make([]float32, s.from.Cols)
	for k, i := range order {
		s.from.Float32(row, i, i+1)
		narrow(row, 1, s.from.Cols, s.kept, len(s.kept))
		copy(s.x.Row(k), row)
	}
	return nil
}

// fit standardises the rows of all splits with the moments of the training rows, which come first.
func (s *singles) fit(train []int) ([]string, error) {
	cols := s.x.Cols
	s.center, s.scale = make([]float64, cols), make([]float64, cols)
	columnMoments(s.x, len(train), s.center, s.scale)
	var constant []string
	for j, deviation := range s.scale {
		switch {
		case deviation == 0:
			s.scale[j] = 1
			constant = append(constant, s.names[j])
		case deviation < minSingleScale:
			return nil, fmt.Errorf("datasets: %w: the standard deviation of feature %s is out of range: rescale the numbers", dataerr.ErrColumn, s.names[j])
		}
	}
	eachBlock(s.x.Cols, func(from, to int) {
		for i := range s.x.Rows {
			row := s.x.Row(i)[from:to]
			for k, v := range row {
				row[k] = single(float64(v), s.center[from+k], s.scale[from+k])
			}
		}
	})
	notes := []string{fmt.Sprintf("The %d features are float32, because at least a third of their elements is not 0, and are standardised with the mean and the standard deviation of the training rows.", cols)}
	if constant != nil {
		notes = append(notes, "These features are constant in the training rows, so they are 0: "+textvalue.Listed(constant, 10)+".")
	}
	return notes, nil
}

// minSingleScale is the smallest standard deviation whose square is a normal number of float32.
const minSingleScale = 1e-18

// single is the feature of a number.
func single(x, center, scale float64) float32 { return float32((x - center) / scale) }

// columnMoments computes the mean and the standard deviation of each column in the first rows, in
// float64 and in the order of the rows. The deviation of a constant column is 0.
func columnMoments(x *matrix.Singles, rows int, center, deviation []float64) {
	eachBlock(x.Cols, func(from, to int) {
		sum, least, most, squares := make([]float64, to-from), make([]float32, to-from), make([]float32, to-from), make([]float64, to-from)
		for i := range rows {
			for k, v := range x.Row(i)[from:to] {
				if i == 0 {
					least[k], most[k] = v, v
				}
				sum[k] += float64(v)
				least[k], most[k] = min(least[k], v), max(most[k], v)
			}
		}
		for k := range sum {
			sum[k] /= float64(rows)
		}
		for i := range rows {
			for k, v := range x.Row(i)[from:to] {
				d := float64(v) - sum[k]
				squares[k] += d * d
			}
		}
		for k := range sum {
			center[from+k], deviation[from+k] = sum[k], math.Sqrt(squares[k]/float64(rows))
			if least[k] == most[k] { // avoid the rounding of the sum
				center[from+k], deviation[from+k] = float64(least[k]), 0
			}
		}
	})
}

// eachBlock calls do for the columns of a matrix, a cache line of columns at a time, in several
// goroutines.
func eachBlock(cols int, do func(from, to int)) {
	const line = 16 // columns
	recordio.InParallel((cols+line-1)/line, func(k int) { do(k*line, min((k+1)*line, cols)) })
}

func (s *singles) columns() []string { return s.names }

// Take returns the rows of a split.
func (s *singles) Take(rows []int) (matrix.Matrix, error) {
	begin := 0
	if len(rows) > 0 {
		begin = s.begins[rows[0]]
	}
	cols := s.x.Cols
	return &matrix.Singles{Rows: len(rows), Cols: cols, Data: s.x.Data[begin*cols : (begin+len(rows))*cols : (begin+len(rows))*cols]}, nil
}

// Preparation lists the indices that became features, with their centres and scales.
func (s *singles) Preparation() *tabular.Preparation {
	p := &tabular.Preparation{Indices: s.indices, ZeroBased: s.shift > 0, Centers: s.center, Scales: s.scale}
	for _, j := range s.kept {
		p.Numbers = append(p.Numbers, int(j)+1)
	}
	return p
}
