package kernel

// panelRows is the number of rows of a panel of PackedFloats: the height of the AVX-512 tile and a
// multiple of the height of the AVX2 tile, so that one layout serves both. The generator has the
// same constant.
const panelRows = 12

// PackedFloats is a data matrix X, packed once for all products with it. At level Go the rows lie
// one after the other. Above, rows lie in panels of 12, a panel column by column:
//
//	X[i, l] = data[(i/12 * cols + l) * 12 + i%12]
//
// X W reads a panel from the first to the last element: a tile takes 12 rows of one column after
// the other. X^T D reads a panel in squares of 12 x 12 (nine cache lines of float32): a tile takes
// 12 columns of one row after the other. So one copy serves both products. Further elements fill up
// the last panel, and 11 x 12 more follow for the last tile of columns: zeros, or what the memory
// held before Resize. No result depends on them.
type PackedFloats[F Float] struct {
	rows, cols int
	tileCols   int // 0 at level Go: no panels
	data       []F
}

// NewPackedFloats returns a matrix of zeros for the products of these kernels.
func (k *Kernels[F]) NewPackedFloats(rows, cols int) *PackedFloats[F] {
	x := &PackedFloats[F]{tileCols: k.products.cols}
	x.Resize(rows, cols)
	return x
}

// NewPackedFloatsOf is NewPackedFloats in memory of the given function, which returns n zeros.
func (k *Kernels[F]) NewPackedFloatsOf(rows, cols int, zeros func(n int) ([]F, error)) (*PackedFloats[F], error) {
	x := &PackedFloats[F]{tileCols: k.products.cols}
	var err error
	if x.data, err = zeros(x.elements(rows, cols)); err != nil {
		return nil, err
	}
	x.Resize(rows, cols)
	return x, nil
}

// Resize sets the size. All rows must be packed afterwards. The memory is kept if it suffices.
func (x *PackedFloats[F]) Resize(rows, cols int) {
	if rows < 0 || cols < 0 {
		panic("kernel: negative size of a matrix")
	}
	x.rows, x.cols = rows, cols
	n := x.elements(rows, cols)
	if n <= cap(x.data) {
		x.data = x.data[:n]
	} else {
		x.data = Alloc[F](n)
	}
}

// elements returns the number of elements of the memory of a matrix.
func (x *PackedFloats[F]) elements(rows, cols int) int {
	if x.tileCols == 0 {
		return rows * cols
	}
	panels := (rows + panelRows - 1) / panelRows
	return (panels*cols + panelRows - 1) * panelRows
}

// Rows returns the memory of rows from to to-1, and of the other rows in their panels.
func (x *PackedFloats[F]) Rows(from, to int) []F {
	if x.tileCols == 0 {
		return x.data[from*x.cols : to*x.cols]
	}
	first, end := from/panelRows, (to+panelRows-1)/panelRows
	return x.data[first*x.cols*panelRows : end*x.cols*panelRows]
}

// at returns the index of X[i, j] and the distance to the next element of the row.
func (x *PackedFloats[F]) at(i, j int) (place, step int) {
	if x.tileCols == 0 {
		return i*x.cols + j, 1
	}
	return (i/panelRows*x.cols+j)*panelRows + i%panelRows, panelRows
}

// Dims returns the numbers of rows and columns.
func (x *PackedFloats[F]) Dims() (rows, cols int) { return x.rows, x.cols }

// Size returns the number of bytes of the packed data.
func (x *PackedFloats[F]) Size() int { return len(x.data) * int(sizeof[F]()) }

// SetRow packs row i.
func (x *PackedFloats[F]) SetRow(i int, row []F) {
	if i < 0 || i >= x.rows || len(row) != x.cols {
		panic("kernel: SetRow: no such row, or not of the matrix's length")
	}
	at, step := x.at(i, 0)
	for _, v := range row {
		x.data[at] = v
		at += step
	}
}

// Row returns row i in the matrix's memory: element j is elements[j*step].
func (x *PackedFloats[F]) Row(i int) (elements []F, step int) {
	if i < 0 || i >= x.rows {
		panic("kernel: Row: no such row")
	}
	at, step := x.at(i, 0)
	return x.data[at:], step
}

// At returns X[i, j].
func (x *PackedFloats[F]) At(i, j int) F {
	if i < 0 || i >= x.rows || j < 0 || j >= x.cols {
		panic("kernel: At: no such element")
	}
	at, _ := x.at(i, j)
	return x.data[at]
}
