package kernel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// products holds the tiles of one level, or the product that replaces tiles.
type products[F Float] struct {
	gemm       gemm[F] // at level Go: matrices lie row by row
	rows, cols int     // of a tile
	narrowCols int     // columns of a narrow tile, half of cols
	// The wide tile and the narrow tile.
	tile      [2]func(k int, x, b, c *F, ldc int, add bool)
	tileTrans [2]func(m int, x *F, panel int, b, c *F, ldc int, add bool)
	// packPanel copies a tile's columns of a second factor.
	packPanel func(k int, b *F, ldb int, panel *F)
}

// depth is the number of inner indices that a tile of X W runs over. A panel of W (512 x 32
// float32: 64 KiB) and the columns of a block of 240 rows (480 KiB) then share a level-2 cache of 1
// MiB.
const depth = 512

// RowBlock is the recommended number of rows of a block. With depth columns a block fits in half a
// level-2 cache, and it is long enough for a tile of X^T D to pay for reading and writing its part
// of G. RowBlock is a multiple of 12.
const RowBlock = 240

// Scratch is memory that one goroutine needs in addition to the operands. Goroutines must not share
// a Scratch.
type Scratch[F Float] struct {
	tile   []F
	panels *Panels[F]
	group  [groupRows]F // vector of a group of rows of a Sparse
}

// NewScratch returns scratch for blocks of at most rows rows and products of at most cols columns.
func (k *Kernels[F]) NewScratch(rows, cols int) *Scratch[F] {
	return &Scratch[F]{
		tile:   Alloc[F](k.products.rows * k.products.cols),
		panels: k.NewPanels(rows, cols),
	}
}

// checkLayout panics unless an operand was made for these kernels.
func (k *Kernels[F]) checkLayout(what string, tileCols int) {
	if tileCols != k.products.cols {
		panic("kernel: " + what + ": an operand of another level")
	}
}

// Mul computes rows lo to hi-1 of the product with w, Z = X[lo:hi] W. z has hi-lo rows, ldz
// elements apart. lo is a multiple of 12, and so is hi unless hi is the number of rows of X.
//
// With x of c columns, each element is
//
//	z[i,j] = s_0 + s_1 + ..., s_b = sum_{l = 512 b}^{min(512 b + 511, c-1)} x[i,l] w[l,j]
//
// added from left to right. The s_b are chains of fused multiply-adds from zero in increasing l. So
// z depends neither on the blocks of rows nor on the goroutine that computes it, and is the same at
// AVX2 and AVX512. At level Go z is one chain over all l, without the x[i,l] that are zero.
func (k *Kernels[F]) Mul(z []F, ldz int, x *PackedFloats[F], lo, hi int, w *Panels[F], s *Scratch[F]) {
	checkBlock(x, lo, hi)
	checkMatrix("Mul", z, hi-lo, w.cols, ldz)
	k.checkLayout("Mul", x.tileCols)
	k.checkLayout("Mul", w.tileCols)
	if w.rows != x.cols {
		panic("kernel: Mul: factor of another size")
	}
	switch {
	case hi == lo || w.cols == 0:
		return
	case w.rows == 0:
		zeroRows(z, hi-lo, w.cols, ldz)
		return
	case k.products.gemm != nil:
		k.products.gemm.multiply(false, false, hi-lo, w.cols, x.cols, x.data[lo*x.cols:], x.cols, w.data, w.cols, z, ldz)
		return
	}
	for l := 0; l < x.cols; l += depth {
		for j := 0; j < w.cols; j += w.width {
			k.mulPanel(z, ldz, x, lo, hi, l, min(depth, x.cols-l), j, w, s)
		}
	}
}

// mulPanel multiplies n inner indices from l on with the panel of columns from j on.
func (k *Kernels[F]) mulPanel(z []F, ldz int, x *PackedFloats[F], lo, hi, l, n, j int, w *Panels[F], s *Scratch[F]) {
	width := w.panelWidth(j)
	tile := k.products.tile[k.products.variant(width)]
	cols := min(width, w.cols-j)
	b := &w.panel(j)[l*width]
	add := l > 0
	for i := lo; i < hi; i += k.products.rows {
		a := &x.data[(i/panelRows*x.cols+l)*panelRows+i%panelRows]
		c := z[(i-lo)*ldz+j:]
		rows := min(k.products.rows, hi-i)
		if rows == k.products.rows && cols == width {
			tile(n, a, b, &c[0], ldz, add)
			continue
		}
		tile(n, a, b, &s.tile[0], width, false)
		s.edge(c, ldz, rows, cols, width, add)
	}
}

// AddMulTrans adds the product of a block's rows to g: G += X[lo:hi]^T D. d has hi-lo rows of cols
// columns, ldd elements apart; g has as many rows as X has columns, ldg elements apart. lo is a
// multiple of 12, and so is hi unless hi is the number of rows of X.
//
// Each element of g receives one addition of a chain of fused multiply-adds from zero over the
// block's rows in increasing order. So g depends on the blocks, and is the same at AVX2 and AVX512.
// At level Go the chain begins with g, without the X[l,i] that are zero.
func (k *Kernels[F]) AddMulTrans(g []F, ldg int, x *PackedFloats[F], lo, hi int, d []F, ldd, cols int, s *Scratch[F]) {
	checkBlock(x, lo, hi)
	checkMatrix("AddMulTrans", g, x.cols, cols, ldg)
	checkMatrix("AddMulTrans", d, hi-lo, cols, ldd)
	k.checkLayout("AddMulTrans", x.tileCols)
	k.checkLayout("AddMulTrans", s.panels.tileCols)
	switch {
	case hi == lo || x.cols == 0 || cols == 0:
		return
	case k.products.gemm != nil:
		k.products.gemm.multiply(true, true, x.cols, cols, hi-lo, x.data[lo*x.cols:], x.cols, d, ldd, g, ldg)
		return
	}
	s.panels.Pack(hi-lo, cols, d, ldd)
	for f := 0; f < x.cols; f += k.products.rows {
		for j := 0; j < cols; j += s.panels.width {
			k.addTile(g, ldg, x, lo, hi, f, j, s.panels, s)
		}
	}
}

// addTile adds to the tile of g that begins with row f and column j. panels holds rows lo to hi-1
// of the second factor.
func (k *Kernels[F]) addTile(g []F, ldg int, x *PackedFloats[F], lo, hi, f, j int, panels *Panels[F], s *Scratch[F]) {
	width := panels.panelWidth(j)
	tile := k.products.tileTrans[k.products.variant(width)]
	cols := min(width, panels.cols-j)
	rows := min(k.products.rows, x.cols-f)
	a := &x.data[(lo/panelRows*x.cols+f)*panelRows]
	b := &panels.panel(j)[0]
	c := g[f*ldg+j:]
	if rows == k.products.rows && cols == width {
		tile(hi-lo, a, x.cols*panelRows, b, &c[0], ldg, true)
		return
	}
	tile(hi-lo, a, x.cols*panelRows, b, &s.tile[0], width, false)
	s.edge(c, ldg, rows, cols, width, true)
}

// edge copies or adds the first rows and cols of the scratch tile to c.
func (s *Scratch[F]) edge(c []F, ldc, rows, cols, width int, add bool) {
	for i := range rows {
		from, to := s.tile[i*width:][:cols], c[i*ldc:][:cols]
		if !add {
			copy(to, from)
			continue
		}
		for j, v := range from {
			to[j] += v
		}
	}
}

// variant returns the index of the tiles of a width.
func (p *products[F]) variant(width int) int {
	if width == p.cols {
		return 0
	}
	return 1
}

func zeroRows[F Float](z []F, rows, cols, ld int) {
	for i := range rows {
		clear(z[i*ld:][:cols])
	}
}

// checkBlock panics unless rows lo to hi-1 are whole panels or the last rows.
func checkBlock[F Float](x *PackedFloats[F], lo, hi int) {
	switch {
	case lo < 0 || hi < lo || hi > x.rows:
		panic("kernel: rows outside the matrix")
	case lo%panelRows != 0 || hi%panelRows != 0 && hi != x.rows:
		panic("kernel: a block of rows begins and ends with a panel of 12")
	}
}

// gemm computes C = alpha A B + beta C. tA and tB say whether A and B are transposed. It is the
// matrix product of a BLAS.
type gemm[F Float] func(tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int)

// productsGo returns gonum's product in place of tiles.
func productsGo[F Float]() products[F] {
	var p products[F]
	switch p := any(&p).(type) {
	case *products[float32]:
		p.gemm = gonum.Implementation{}.Sgemm
	case *products[float64]:
		p.gemm = gonum.Implementation{}.Dgemm
	}
	return p
}

// Gonum computes a product of at most gemmRows x gemmCols, which is three of its blocks, on the
// caller's goroutine. For larger products it starts other goroutines. Calls take gemmDepth inner
// indices at a time, so that this part of B stays in a level-1 cache.
const gemmRows, gemmCols, gemmDepth = 64, 192, 64

// multiply computes C = A B, or C += A B if add, or with A^T if trans, for m x n elements and k
// inner indices in increasing order.
func (f gemm[F]) multiply(trans, add bool, m, n, k int, a []F, lda int, b []F, ldb int, c []F, ldc int) {
	parts := (n + gemmCols - 1) / gemmCols // parts of equal width
	cols := (n + parts - 1) / parts
	for i := 0; i < m; i += gemmRows {
		for j := 0; j < n; j += cols {
			for l := 0; l < k; l += gemmDepth {
				var beta F
				if add || l > 0 {
					beta = 1
				}
				rows, width, depth := min(gemmRows, m-i), min(cols, n-j), min(gemmDepth, k-l)
				if trans {
					f(blas.Trans, blas.NoTrans, rows, width, depth, 1, a[l*lda+i:], lda, b[l*ldb+j:], ldb, beta, c[i*ldc+j:], ldc)
				} else {
					f(blas.NoTrans, blas.NoTrans, rows, width, depth, 1, a[i*lda+l:], lda, b[l*ldb+j:], ldb, beta, c[i*ldc+j:], ldc)
				}
			}
		}
	}
}
