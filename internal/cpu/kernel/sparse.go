package kernel

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

// ErrSparse reports that slices are not a matrix in compressed sparse rows.
var ErrSparse = errors.New("not a matrix in compressed sparse rows")

// Sparse is a data matrix X in compressed sparse rows; products read only its entries. Row i has
// the entries starts[i] to starts[i+1]-1, with increasing columns. All other elements are 0. If the
// caller's slices have this form, the matrix refers to the slices, which must not change.
type Sparse[F Float] struct {
	rows, cols int
	starts     []int // from 0
	columns    []int32
	values     []F // values of the entries; if step is 0, a single value for all entries
	step       int
	groups     *groups          // for products with one column, nil if groups do not pay
	grouped    bool             // x has, or had, groups: sums of x have the form for groups
	own        sparseEntries[F] // memory of Set
	allocate   Allocator        // makes the memory of the matrix
}

// sparseEntries is memory for the entries of a matrix.
type sparseEntries[F Float] struct {
	starts  []int
	columns []int32
	values  []F
}

// NewSparseIn is NewSparse with an Allocator for the memory that the matrix does not share with the
// caller: the converted values, the starts of a window, and the row groups.
func NewSparseIn[F Float](allocate Allocator, rows, cols int, starts []int, columns []int32, values []float64) (*Sparse[F], error) {
	if err := checkSparse(rows, cols, starts, columns, values); err != nil {
		return nil, fmt.Errorf("kernel: %w: %w", ErrSparse, err)
	}
	first, last := starts[0], starts[rows]
	x := &Sparse[F]{rows: rows, cols: cols, starts: starts, columns: columns[first:last], step: 1, allocate: allocate}
	var err error
	if first > 0 {
		if x.starts, err = allocated[int](allocate, rows+1); err != nil {
			return nil, err
		}
		for i, at := range starts {
			x.starts[i] = at - first
		}
	}
	if values == nil {
		x.values, x.step = []F{1}, 0
		return x, nil
	}
	values = values[first:last]
	if len(values) > 0 && allEqual(values) {
		x.values, x.step = []F{F(values[0])}, 0
	} else {
		x.values, err = converted[F](allocate, values)
	}
	return x, err
}

// Set replaces the entries by a copy of the given entries, in the form that NewSparse requires.
// Factors and sums of x stay valid. Afterwards x has no row groups, so an element of a product with
// one column depends on the row alone.
func (x *Sparse[F]) Set(starts []int, columns []int32, values []float64) error {
	if err := checkSparse(x.rows, x.cols, starts, columns, values); err != nil {
		return fmt.Errorf("kernel: %w: %w", ErrSparse, err)
	}
	first, last := starts[0], starts[x.rows]
	own := &x.own
	own.starts = append(own.starts[:0], starts...)
	for i := range own.starts {
		own.starts[i] -= first
	}
	own.columns = append(own.columns[:0], columns[first:last]...)
	own.values, x.step = own.values[:0], 1
	switch {
	case values == nil:
		own.values, x.step = append(own.values, 1), 0
	case last > first && allEqual(values[first:last]):
		own.values, x.step = append(own.values, F(values[first])), 0
	default:
		for _, v := range values[first:last] {
			own.values = append(own.values, F(v))
		}
	}
	x.starts, x.columns, x.values, x.groups = own.starts, own.columns, own.values, nil
	return nil
}

// NewSparseLike is NewSparse on copies of the slices, for a matrix that may take the place of x, by
// assignment, in the factors and sums of x. It has row groups if x has, or had, row groups.
// The Allocator makes the memory of the copies and the groups.
func (k *Kernels[F]) NewSparseLike(allocate Allocator, x *Sparse[F], starts []int, columns []int32, values []float64) (*Sparse[F], error) {
	y, err := NewSparseIn[F](nil, x.rows, x.cols, starts, columns, values)
	if err != nil {
		return nil, err
	}
	y.allocate = allocate
	if y.starts, err = copyTo(allocate, y.starts); err != nil {
		return nil, err
	}
	if y.columns, err = copyTo(allocate, y.columns); err != nil {
		return nil, err
	}
	if y.values, err = copyTo(allocate, y.values); err != nil {
		return nil, err
	}
	if y.grouped = x.grouped; y.grouped && y.step == 0 {
		y.groups, err = y.newGroups(allocate, y.countPairs())
	}
	return y, err
}

// allEqual reports whether all elements are equal.
func allEqual(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != values[0] })
}

func checkSparse(rows, cols int, starts []int, columns []int32, values []float64) error {
	switch {
	case rows < 0 || cols < 0 || len(starts) != rows+1 || starts[0] < 0:
		return fmt.Errorf("%d x %d with %d starts and %d entries", rows, cols, len(starts), len(columns))
	case values != nil && len(values) != len(columns):
		return fmt.Errorf("%d values of %d entries", len(values), len(columns))
	}
	for i := range rows {
		if starts[i+1] < starts[i] || starts[i+1] > len(columns) {
			return fmt.Errorf("row %d: entries %d to %d of %d", i, starts[i], starts[i+1], len(columns))
		}
		previous := int32(-1)
		for _, c := range columns[starts[i]:starts[i+1]] {
			if c <= previous || int(c) >= cols {
				return fmt.Errorf("row %d: column %d after %d, of %d", i, c, previous, cols)
			}
			previous = c
		}
	}
	return nil
}

// converted returns the values in F, without a copy if F is float64.
func converted[F Float](allocate Allocator, values []float64) ([]F, error) {
	if same, ok := any(values).([]F); ok {
		return same, nil
	}
	list, err := allocated[F](allocate, len(values))
	for i := range list {
		list[i] = F(values[i])
	}
	return list, err
}

// Rows returns the memory of the rows from to to-1 that products with several columns read, and
// that products with one column read.
func (x *Sparse[F]) Rows(from, to int) (parts [][]byte) {
	parts = append(parts, BytesOf(x.starts[from:to+1]))
	if g := x.groups; g != nil {
		first, end := from/groupRows, ceil(to, groupRows)
		return append(parts, BytesOf(g.starts[first:end+1]), BytesOf(g.pairs[g.starts[first]:g.starts[end]]))
	}
	first, last := x.starts[from], x.starts[to]
	parts = append(parts, BytesOf(x.columns[first:last]))
	if x.step > 0 {
		parts = append(parts, BytesOf(x.values[first:last]))
	}
	return parts
}

// Compact reports whether the entries, each with its column, need at most as much memory as all
// elements. It always holds if all entries are equal.
func (x *Sparse[F]) Compact() bool {
	entry := 4 + x.step*int(sizeof[F]())
	return entry*len(x.columns) <= int(sizeof[F]())*x.rows*x.cols
}

// SparseFactor is the factor W of X W.
type SparseFactor[F Float] struct {
	x      *Sparse[F]
	cols   int
	lanes  int
	data   []F // in panels if packed, else in the caller's layout
	ld     int // distance of the rows, 0 in panels
	packed []F // memory for panels or for a single column
	scale  func(n int, dst *F, s F, x *F)
}

// panelRoom is the largest size of a panel of W that stays in a level-2 cache of 512 KiB. Unpacked
// rows of W, far apart, would share a few of the cache's sets.
const panelRoom = 256 << 10

// NewSparseFactor returns a factor of cols columns for products with x. It may add row groups to x,
// so no product with x may run at the same time.
func (k *Kernels[F]) NewSparseFactor(x *Sparse[F], cols int) *SparseFactor[F] {
	w := &SparseFactor[F]{x: x, cols: cols, lanes: k.sparse.lanes, scale: k.sweeps.scaledCopy}
	if cols == 1 {
		k.group(x)
		w.packed = Alloc[F](x.cols)
	} else if x.cols*rowsVectors*w.lanes*int(sizeof[F]()) <= panelRoom {
		w.packed = Alloc[F](x.cols * rowsWidth(cols, w.lanes))
	}
	return w
}

// Set sets the elements of the factor: as many rows as X has columns, ld elements apart. The
// elements must not change while a product uses the factor.
func (w *SparseFactor[F]) Set(b []F, ld int) {
	checkMatrix("SparseFactor", b, w.x.cols, w.cols, ld)
	switch {
	case w.cols == 1:
		w.setColumn(b, ld)
	case w.packed == nil:
		w.data, w.ld = b, ld
	default:
		w.data = w.packed
		for j := 0; j < w.cols; {
			n, width := rowsPanel(w.cols-j, w.lanes)
			for i := range w.x.cols {
				copy(w.packed[j*w.x.cols+i*width:][:n], b[i*ld+j:][:n])
			}
			j += n
		}
	}
}

// setColumn copies a single column, times the value of all entries if they are equal.
func (w *SparseFactor[F]) setColumn(b []F, ld int) {
	scale := F(1)
	if w.x.step == 0 {
		scale = w.x.values[0]
	}
	if n := len(w.packed); ld == 1 && n > 0 {
		w.scale(n, &w.packed[0], scale, &b[0])
		return
	}
	for i := range w.packed {
		w.packed[i] = scale * b[i*ld]
	}
}

// panel returns the elements from column j on, and the distance between their rows.
func (w *SparseFactor[F]) panel(j, width int) (from *F, ld int) {
	if w.packed == nil {
		return &w.data[j], w.ld
	}
	return &w.packed[j*w.x.cols], width
}

// MulSparse computes rows lo to hi-1 of the product with w, Z = X[lo:hi] W. z has hi-lo rows, ldz
// elements apart.
//
// Each element is the sum over the entries x of its row at columns c,
//
//	z[i,j] = x w[c,j] + ...
//
// a chain of multiply-adds from zero in increasing c, fused above level Go if W has several
// columns. If W has one column and all entries are equal, the entries' value multiplies W instead.
// So z depends only on the row and on W, and is the same at AVX2 and AVX512.
func (k *Kernels[F]) MulSparse(z []F, ldz int, lo, hi int, w *SparseFactor[F], s *Scratch[F]) {
	x := w.x
	if w.lanes != k.sparse.lanes || x.cols > 0 && w.data == nil && w.cols != 1 {
		panic("kernel: MulSparse: factor without elements, or of another level")
	}
	checkSparseBlock(x, lo, hi)
	checkMatrix("MulSparse", z, hi-lo, w.cols, ldz)
	switch {
	case hi == lo || w.cols == 0:
	case x.cols == 0:
		zeroRows(z, hi-lo, w.cols, ldz)
	case w.cols == 1 && x.groups != nil:
		k.mulGroups(z, ldz, lo, hi, w, s)
	case w.cols == 1:
		x.mulColumn(z, ldz, lo, hi, w.packed)
	default:
		for j := 0; j < w.cols; {
			n, width := rowsPanel(w.cols-j, k.sparse.lanes)
			from, ld := w.panel(j, width)
			k.sparse.rowsMul[passOf(width, k.sparse.lanes)](hi-lo, &x.starts[lo], at(x.columns), at(x.values), x.step, from, ld, &z[j], ldz, n)
			j += n
		}
	}
}

// mulColumn computes z = X w.
func (x *Sparse[F]) mulColumn(z []F, ldz, lo, hi int, w []F) {
	for i := lo; i < hi; i++ {
		from, to := x.starts[i], x.starts[i+1]
		columns := x.columns[from:to]
		var sum F
		if x.step == 0 {
			for _, c := range columns {
				sum += w[c]
			}
		} else {
			values := x.values[from:to][:len(columns)]
			for e, c := range columns {
				sum += values[e] * w[c]
			}
		}
		z[(i-lo)*ldz] = sum
	}
}

// rowsPanel returns the number of remaining columns that a pass computes, and the width of the
// columns' panel.
func rowsPanel(left, lanes int) (n, width int) {
	if width := rowsVectors * lanes; left >= width {
		return width, width
	}
	return min(left, lanes), lanes
}

// rowsWidth returns the width of all panels of a matrix.
func rowsWidth(cols, lanes int) int { return (cols + lanes - 1) / lanes * lanes }

// passOf returns the index of the pass for panels of a width.
func passOf(width, lanes int) int {
	if width == lanes {
		return 1
	}
	return 0
}

// at returns the address of the first element, or nil if the slice is empty.
func at[E any](s []E) *E {
	if len(s) == 0 {
		return nil
	}
	return &s[0]
}

func checkSparseBlock[F Float](x *Sparse[F], lo, hi int) {
	if lo < 0 || hi < lo || hi > x.rows {
		panic("kernel: rows outside the matrix")
	}
}

// sparse holds the passes of one level over sparse rows.
type sparse[F Float] struct {
	lanes                   int            // of a vector of columns
	rowsMul, rowsAddTrans   [2]rowsPass[F] // for rowsVectors vectors, and for up to one vector
	groupMul, groupAddTrans func(groups int, starts *uint32, pairs *uint64, from, to *F)
	groupFold               func(columns int, sums *F, from, to *float64) // not nil if groupAddTrans is not
}

// rowsVectors is the number of vectors of columns that the wider pass computes at a time.
const rowsVectors = 4

// rowsPass reads or writes the columns 0 to n-1 of two matrices for rows of entries.
type rowsPass[F Float] func(rows int, starts *int, columns *int32, values *F, step int, from *F, ldFrom int, to *F, ldTo int, n int)

// goLanes is a multiple of the number of elements that compilers put into a vector.
const goLanes = 8

func sparseGo[F Float]() sparse[F] {
	return sparse[F]{
		lanes:        goLanes,
		rowsMul:      [2]rowsPass[F]{rowsMulGo[F], rowsMulGo[F]},
		rowsAddTrans: [2]rowsPass[F]{rowsAddTransGo[F], rowsAddTransGo[F]},
	}
}

// rowsMulGo computes columns j < n of Z = X W: the reference of the passes in assembly.
func rowsMulGo[F Float](rows int, starts *int, columns *int32, values *F, step int, w *F, ldw int, z *F, ldz int, n int) {
	eachEntry(rows, starts, columns, values, step, func(i int) {
		clear(row(z, i, ldz, n))
	}, func(i, c int, x F) {
		to := row(z, i, ldz, n)
		for j, v := range row(w, c, ldw, n) {
			to[j] += x * v
		}
	})
}

// rowsAddTransGo adds columns j < n of X^T D to G: the reference of the passes in assembly.
func rowsAddTransGo[F Float](rows int, starts *int, columns *int32, values *F, step int, d *F, ldd int, g *F, ldg int, n int) {
	eachEntry(rows, starts, columns, values, step, func(int) {}, func(i, c int, x F) {
		to := row(g, c, ldg, n)
		for j, v := range row(d, i, ldd, n) {
			to[j] += x * v
		}
	})
}

// eachEntry calls begin for every row and visit for every entry of the row.
func eachEntry[F Float](rows int, starts *int, columns *int32, values *F, step int, begin func(i int), visit func(i, c int, x F)) {
	at := unsafe.Slice(starts, rows+1)
	cs := unsafe.Slice(columns, at[rows])
	for i := range rows {
		begin(i)
		for e := at[i]; e < at[i+1]; e++ {
			visit(i, int(cs[e]), *(*F)(unsafe.Add(unsafe.Pointer(values), uintptr(e*step)*sizeof[F]())))
		}
	}
}

// row returns n elements of row i of a matrix with rows ld apart.
func row[F Float](a *F, i, ld, n int) []F {
	return unsafe.Slice((*F)(unsafe.Add(unsafe.Pointer(a), uintptr(i*ld)*sizeof[F]())), n)
}
