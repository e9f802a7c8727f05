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

// Panels is a second factor B of a product, packed for the kernels that packed it. Columns lie in
// panels of a tile's width. Each panel lies row by row, so that a tile reads a panel from the first
// to the last element. Zeros fill up the last panel, to the width of a narrow tile if the remaining
// columns fit. At level Go, Panels holds the factor row by row without packing.
type Panels[F Float] struct {
	rows, cols int
	tileCols   int // 0 at level Go: one panel has all columns
	width      int // of a panel
	narrow     int // width of a last panel whose columns fit into a narrow tile
	data       []F
	pack       func(k int, b *F, ldb int, panel *F)
}

// NewPanels returns room for a factor of at most rows x cols.
func (k *Kernels[F]) NewPanels(rows, cols int) *Panels[F] {
	if rows < 0 || cols < 0 {
		panic("kernel: negative size of panels")
	}
	p := &Panels[F]{tileCols: k.products.cols, width: k.products.cols, narrow: k.products.narrowCols, pack: k.products.packPanel}
	p.widen(cols)
	p.data = Alloc[F](rows * p.padded(cols))
	return p
}

// Pack packs the rows x cols matrix b, whose rows are ld elements apart.
func (p *Panels[F]) Pack(rows, cols int, b []F, ld int) {
	p.Resize(rows, cols)
	p.PackPanels(0, p.Count(), b, ld, false)
}

// Resize sets the size of the factor that PackPanels packs.
func (p *Panels[F]) Resize(rows, cols int) {
	if rows < 0 || cols < 0 {
		panic("kernel: negative size of panels")
	}
	if p.widen(cols); rows*p.padded(cols) > len(p.data) {
		panic("kernel: Resize: panels too small")
	}
	p.rows, p.cols = rows, cols
}

// widen makes a panel as wide as the factor at level Go.
func (p *Panels[F]) widen(cols int) {
	if p.tileCols == 0 {
		p.width, p.narrow = max(1, cols), max(1, cols)
	}
}

// Count returns the number of panels.
func (p *Panels[F]) Count() int { return (p.cols + p.width - 1) / p.width }

// PackPanels packs panels from to to-1 of b or, if trans, of b^T. The rows of b are ld elements
// apart. Several goroutines may pack different panels.
func (p *Panels[F]) PackPanels(from, to int, b []F, ld int, trans bool) {
	if trans {
		checkMatrix("PackPanels", b, p.cols, p.rows, ld)
	} else {
		checkMatrix("PackPanels", b, p.rows, p.cols, ld)
	}
	if from < 0 || to > p.Count() {
		panic("kernel: PackPanels: no such panel")
	}
	for i := from; i < to; i++ {
		if j := i * p.width; trans {
			p.packTransposed(p.panel(j), b, ld, j)
		} else {
			p.packPanel(p.panel(j), b, ld, j)
		}
	}
}

// packPanel packs the columns from j on.
func (p *Panels[F]) packPanel(dst, b []F, ld, j int) {
	width := p.panelWidth(j)
	valid := min(width, p.cols-j)
	if p.pack != nil && valid == p.width && p.rows > 0 {
		p.pack(p.rows, &b[j], ld, &dst[0])
		return
	}
	for l := range p.rows {
		row := dst[l*width:][:width]
		copy(row, b[l*ld+j:][:valid])
		clear(row[valid:])
	}
}

// packTransposed packs the rows from j on as columns, in parts that fit into the level-1 cache (but
// at level Go, where a panel has all columns).
func (p *Panels[F]) packTransposed(dst, b []F, ld, j int) {
	const part = 64
	width := p.panelWidth(j)
	valid := min(width, p.cols-j)
	for lo := 0; lo < p.rows; lo += part {
		n := min(part, p.rows-lo)
		dst := dst[lo*width:][:n*width]
		c := 0
		for ; c+4 <= valid; c += 4 { // four neighbours at a time take a third of the time
			at := (j+c)*ld + lo
			b0, b1, b2, b3 := b[at:][:n], b[at+ld:][:n], b[at+2*ld:][:n], b[at+3*ld:][:n]
			for l := range b0 {
				to := dst[l*width+c:][:4:4]
				to[0], to[1], to[2], to[3] = b0[l], b1[l], b2[l], b3[l]
			}
		}
		for ; c < valid; c++ {
			for l, v := range b[(j+c)*ld+lo:][:n] {
				dst[l*width+c] = v
			}
		}
		if valid < width {
			for l := range n {
				clear(dst[l*width+valid : (l+1)*width])
			}
		}
	}
}

// panel returns the panel that begins with column j, a multiple of the width.
func (p *Panels[F]) panel(j int) []F {
	return p.data[j*p.rows:][:p.rows*p.panelWidth(j)]
}

// panelWidth returns the width of the panel that begins with column j.
func (p *Panels[F]) panelWidth(j int) int {
	if p.cols-j <= p.narrow {
		return p.narrow
	}
	return p.width
}

// padded returns the number of columns of the panels that hold cols columns.
func (p *Panels[F]) padded(cols int) int {
	full := cols / p.width * p.width
	switch rest := cols - full; {
	case rest == 0:
		return full
	case rest <= p.narrow:
		return full + p.narrow
	}
	return full + p.width
}

// checkMatrix panics unless a holds rows x cols elements with rows ld apart.
func checkMatrix[F Float](what string, a []F, rows, cols, ld int) {
	switch {
	case rows < 0 || cols < 0 || ld < cols:
		panic("kernel: " + what + ": negative size, or rows that overlap")
	case rows > 0 && cols > 0 && len(a) < (rows-1)*ld+cols:
		panic("kernel: " + what + ": matrix too short for its size")
	}
}
