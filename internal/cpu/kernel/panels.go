package kernel

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
		for c := range valid {
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
