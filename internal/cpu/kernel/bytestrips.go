package kernel

// A strip is the part of a product with 8-bit data that one call of a kernel for AMX computes: many
// rows of the result and the columns of one panel of digits. A call configures the tiles and
// releases them, which takes as long as a few products of tiles. The Go runtime does not move a
// goroutine to another thread within a call, so the tiles of a call belong to one thread. The
// runtime cannot stop a goroutine within a call either, so calls are short.

// mulStripFunc computes rows of Z = X W, or of a part of the sum over X's columns. addStripFunc
// adds rows of X^T D to G. The comments of mulStrip3AMX and addStrip3AMX in the generated files
// give the formulas.
type (
	mulStripFunc func(k, rows int, x *uint8, panel int, q *int8, unit *float64, c *float32, ldc, columns, ahead int, sums *int32)
	addStripFunc func(k, rows int, x *uint8, panel int, q *int8, unit *float32, c *float32, ldc, columns, ahead int, sums *int32)
)

// activateStripFunc computes rows of f(X W + 1 b).
type activateStripFunc func(k, rows int, x *uint8, panel int, q *int8, unit *float64, bias, c *float32, ldc, columns, ahead int, sums *int32)

// mostSteps is the largest number of steps of a call, where the tile's depth and two tiles of rows
// allow. A step is the product of a tile of X with the tiles of all digits, 48 cycles or more with
// three digits. A call takes at most 100 microseconds at 2 GHz if a step takes 130 cycles.
const mostSteps = 1536

// strips reports whether the kernels compute strips.
func (t byteTiles) strips() bool { return t.mulStrip[0] != nil }

// stripRows returns the number of rows of a call, a multiple of the tiles' rows, for k groups of
// Depth inner indices.
func (t byteTiles) stripRows(k int) int {
	return max(1, mostSteps/k*t.layout.Rows/t.rows) * t.rows
}

// mulPanelStrips multiplies the inner indices from l on with panel p of w. While the kernels
// multiply, they fetch the next block of rows. The calls for each panel of w fetch a part of the
// block.
//
// If bias is not nil, mulPanelStrips computes f(Z + 1 bias). Then a single call covers all inner
// indices.
func (k *ByteKernels) mulPanelStrips(z []float32, ldz int, x *PackedBytes, lo, hi, l, p int, w *Digits, bias []float32, f Activation, s *ByteScratch) {
	j := p * k.lanes
	n := ceil(min(k.layout.exactDepth(), x.cols-l), k.layout.Depth)
	mul, q, unit := k.mulStrip[w.count-2], w.panel(p, l), &w.wide[j]
	panel := x.depths() * k.layout.Rows * k.layout.Depth
	columns := k.columnMask(w.cols - j)
	next := x.rowAt(hi, 0) // of byRow
	fetched := next + p*k.fetchedBytes(hi-lo, n)
	for i, step := lo, k.stripRows(n); i < hi; i += step {
		rows, at := min(step, hi-i), x.rowAt(i, l)
		ahead := aheadOf(fetched, next, next-x.rowAt(lo, 0), len(x.byRow)) - at
		fetched += k.fetchedBytes(rows, n)
		if bias != nil {
			k.activateStrip[f][w.count-2](n, rows, &x.byRow[at], panel, q, unit, &bias[j], &z[(i-lo)*ldz+j], ldz, columns, ahead, &s.sums[0])
			continue
		}
		if l == 0 {
			mul(n, rows, &x.byRow[at], panel, q, unit, &z[(i-lo)*ldz+j], ldz, columns, ahead, &s.sums[0])
			continue
		}
		for r := 0; r < rows; r += k.rows {
			high := min(k.rows, rows-r)
			mul(n, high, &x.byRow[x.rowAt(i+r, l)], panel, q, unit, &s.tile[0], k.lanes, columns, ahead, &s.sums[0])
			s.edge(z[(i+r-lo)*ldz+j:], ldz, high, min(k.lanes, w.cols-j), k.lanes, true)
		}
	}
}

// addStrips adds the product of a block's rows to g. For each panel of d, whose digits stay in the
// level-1 cache, it takes all columns of X.
func (k *ByteKernels) addStrips(g []float32, ldg int, x *PackedBytes, lo, hi int, d *Digits, s *ByteScratch) {
	n := x.blockDepths(lo)
	panel := n * k.layout.Rows * k.layout.Depth
	first, next := x.columnsAt(lo), x.columnsAt(hi) // of byCol
	fetched, step := next, k.stripRows(n)
	for p := range d.Panels() {
		j := p * k.lanes
		for f := 0; f < x.cols; f += step {
			rows, at := min(step, x.cols-f), first+f/k.layout.Rows*panel
			ahead := aheadOf(fetched, next, next-first, len(x.byCol)) - at
			fetched += k.fetchedBytes(rows, n)
			k.addStrip[d.count-2](n, rows, &x.byCol[at], panel, d.panel(p, 0), &d.narrow[2*j], &g[f*ldg+j], ldg,
				k.columnMask(d.cols-j), ahead, &s.sums[0])
		}
	}
}

// columnMask returns a bit for each of the first n columns of a panel.
func (t byteTiles) columnMask(n int) int { return 1<<min(n, t.lanes) - 1 }

// fetchedBytes returns the number of bytes that a call asks for: two lines for each group of inner
// indices of a pair of tiles.
func (t byteTiles) fetchedBytes(rows, k int) int { return ceil(rows, t.rows) * k * 2 * cacheLine }

// aheadOf returns the position from which a call fetches data: fetched, if that position is in the
// block of size bytes at next and within the data, else the beginning of the current block.
func aheadOf(fetched, next, size, end int) int {
	if fetched >= min(next+size, end) {
		return next - size
	}
	return fetched
}

// MulActivate computes rows lo to hi-1 of f(X W + 1 b), for a bias b with an element for each
// column of w. Operands and bits are those of Mul, followed by the kernels' BiasActivation.
//
// On tiles, f follows the sums row by row, while the tile unit computes the next sums. Other
// kernels compute the block's product first. So do tiles if W has a column without digits, or X
// has more columns than a sum of tiles holds exactly.
func (k *ByteKernels) MulActivate(z []float32, ldz int, x *PackedBytes, lo, hi int, w *Digits, bias []float32, f Activation, s *ByteScratch) {
	checkLength("MulActivate", len(bias), w.cols)
	if !k.strips() || x.cols == 0 || x.cols > k.layout.exactDepth() || w.hasNonFinite() {
		k.Mul(z, ldz, x, lo, hi, w, s)
		k.floats.BiasActivation(f, z, ldz, hi-lo, bias)
		return
	}
	x.checkBlock(lo, hi)
	checkMatrix("MulActivate", z, hi-lo, w.cols, ldz)
	k.checkOperands("MulActivate", x, w, x.cols)
	for p := range w.Panels() {
		k.mulPanelStrips(z, ldz, x, lo, hi, 0, p, w, bias, f, s)
	}
}

// hasNonFinite reports whether a column has no digits.
func (d *Digits) hasNonFinite() bool {
	for _, any := range d.anyNonFinite[:d.Panels()] {
		if any {
			return true
		}
	}
	return false
}
