package kernel

import "math"

// ByteKernels are the kernels of one level for products of 8-bit data with slices
// of float32 numbers. They hold no data, do not change and may be used by any
// number of goroutines.
type ByteKernels struct {
	level Level
	byteTiles

	// By the number of slices less 2.
	quantize [2]func(groups, n int, b *float32, ldb int, factors *float32, q *int8)

	columnMax func(m, n int, b *float32, ldb int, most *uint32)
}

// byteTiles are the tiles of both products with 8-bit data.
type byteTiles struct {
	needs       features // beyond the level's
	instruction string   // that multiplies
	rows, lanes int      // of a tile

	// By the number of slices less 2.
	mulBytes [2]mulBytesFunc
	addBytes [2]addBytesFunc
}

type (
	mulBytesFunc func(k int, x *uint8, q *int8, unit *float64, c *float32, ldc int, add bool)
	addBytesFunc func(k int, x *uint8, q *int8, units, c *float32, ldc int)
)

// NewByteKernels returns the kernels of a level. They multiply with the first of the level's tiles
// whose features this machine has, and in Go where it has those of none. The error is an
// *UnsupportedError if the machine lacks the level's features.
func NewByteKernels(level Level) (*ByteKernels, error) {
	if err := level.check(); err != nil {
		return nil, err
	}
	rows, lanes := byteRows/2, 8
	if level == AVX512 {
		rows, lanes = byteRows, 16
	}
	k := byteKernelsGo(level, rows, lanes)
	assembleDigits(&k, level)
	for _, tiles := range byteTilesOf(level) {
		if cpuFeatures().include(tiles.needs) {
			k.byteTiles = tiles
			break
		}
	}
	return &k, nil
}

// Instruction names what multiplies: avx512_vnni or avx_vnni, go where the machine has neither, or not at this level.
func (k *ByteKernels) Instruction() string { return k.instruction }

// Fast says whether the machine has instructions for it at this level; plain Go is slower than products in float32.
func (k *ByteKernels) Fast() bool { return k.instruction != "go" }

// exactDepth is the number of inner indices whose sum of products, each at most
// 255 x 127, a 32-bit integer holds: 66,311, or whole fours of them.
const exactDepth = math.MaxInt32 / (255 * 127) / quad * quad

// A ByteScratch is what one goroutine needs besides its operands: a tile.
type ByteScratch struct{ tile []float32 }

// NewByteScratch returns it.
func (k *ByteKernels) NewByteScratch() *ByteScratch {
	return &ByteScratch{Alloc[float32](k.rows * k.lanes)}
}

// Mul computes rows lo to hi-1 of the product with w, Z = X[lo:hi] W, as
// [Kernels.Mul] does: z has hi-lo rows, ldz elements apart; lo is a multiple of
// 8, and so is hi unless it is the number of X's rows.
//
// The integer sums and what they are combined to are exact, whatever the order;
// then an element is rounded twice, in float64 and to float32. So z depends
// neither on the blocks of rows nor on the level nor on who computes it. Beyond
// 66,308 columns it is a sum of such numbers in float32, one for each 66,308.
func (k *ByteKernels) Mul(z []float32, ldz int, x *PackedBytes, lo, hi int, w *Digits, s *ByteScratch) {
	x.checkBlock(lo, hi)
	checkMatrix("Mul", z, hi-lo, w.cols, ldz)
	k.checkDigits("Mul", w, x.cols)
	if hi == lo || w.cols == 0 {
		return
	}
	if x.cols == 0 {
		zeroRows(z, hi-lo, w.cols, ldz)
		return
	}
	for l := 0; l < x.cols; l += exactDepth {
		for p := range w.Panels() {
			k.mulPanel(z, ldz, x, lo, hi, l, p, w, s)
		}
	}
	w.eachNonFinite(func(j int, numbers []float32) {
		for i := lo; i < hi; i++ {
			var sum float64
			for l, v := range numbers {
				sum += float64(x.At(i, l)) * x.scale * float64(v)
			}
			z[(i-lo)*ldz+j] = float32(sum)
		}
	})
}

// mulPanel does the inner indices from l on and the p-th panel of columns.
func (k *ByteKernels) mulPanel(z []float32, ldz int, x *PackedBytes, lo, hi, l, p int, w *Digits, s *ByteScratch) {
	j := p * k.lanes
	cols := min(k.lanes, w.cols-j)
	n := ceil(min(exactDepth, x.cols-l), quad)
	mul, q, unit := k.mulBytes[w.count-2], w.panel(p, l), &w.wide[j]
	for i := lo; i < hi; i += k.rows {
		a := &x.byRow[(i/byteRows*x.quads()*byteRows+l/quad*byteRows+i%byteRows)*quad]
		c := z[(i-lo)*ldz+j:]
		rows := min(k.rows, hi-i)
		if rows == k.rows && cols == k.lanes {
			mul(n, a, q, unit, &c[0], ldz, l > 0)
			continue
		}
		mul(n, a, q, unit, &s.tile[0], k.lanes, false)
		s.edge(c, ldz, rows, cols, k.lanes, l > 0)
	}
}

// AddMulTrans adds the product of a block's rows to g: G += X[lo:hi]^T D, with D
// cut into slices. lo is a multiple of RowBlock, and hi the next one or the
// number of X's rows. g has as many rows as X has columns, ldg elements apart.
//
// The integer sums are exact. They are combined and scaled in float32, and each
// element of g receives one addition. So g depends on the order of the blocks
// alone.
func (k *ByteKernels) AddMulTrans(g []float32, ldg int, x *PackedBytes, lo, hi int, d *Digits, s *ByteScratch) {
	if lo < 0 || hi <= lo || lo%RowBlock != 0 || hi != min(lo+RowBlock, x.rows) {
		panic("kernel: AddMulTrans: rows that are no block")
	}
	checkMatrix("AddMulTrans", g, x.cols, d.cols, ldg)
	k.checkDigits("AddMulTrans", d, hi-lo)
	n := ceil(hi-lo, quad)
	columns := x.byCol[x.columnsAt(lo):]
	for f := 0; f < x.cols; f += k.rows {
		a := &columns[(f/byteRows*n*byteRows+f%byteRows)*quad]
		for p := range d.Panels() {
			k.addTile(g[f*ldg+p*k.lanes:], ldg, n, a, min(k.rows, x.cols-f), p, d, s)
		}
	}
	d.eachNonFinite(func(j int, numbers []float32) {
		for f := range x.cols {
			sum := float64(g[f*ldg+j])
			for i, v := range numbers {
				sum += float64(x.At(lo+i, f)) * x.scale * float64(v)
			}
			g[f*ldg+j] = float32(sum)
		}
	})
}

// addTile adds the tile of g that has c as its first element, over n fours of rows.
func (k *ByteKernels) addTile(c []float32, ldc, n int, a *uint8, rows, p int, d *Digits, s *ByteScratch) {
	add, q, units := k.addBytes[d.count-2], d.panel(p, 0), &d.narrow[2*p*k.lanes]
	cols := min(k.lanes, d.cols-p*k.lanes)
	if rows == k.rows && cols == k.lanes {
		add(n, a, q, units, &c[0], ldc)
		return
	}
	clear(s.tile)
	add(n, a, q, units, &s.tile[0], k.lanes)
	s.edge(c, ldc, rows, cols, k.lanes, true)
}

// edge copies or adds the first rows and cols of the scratch tile to c.
func (s *ByteScratch) edge(c []float32, ldc, rows, cols, width int, add bool) {
	(&Scratch[float32]{tile: s.tile}).edge(c, ldc, rows, cols, width, add)
}

// checkDigits panics unless slices were made by kernels like these, for that inner dimension.
func (k *ByteKernels) checkDigits(what string, s *Digits, inner int) {
	switch {
	case s.k.lanes != k.lanes || s.k.level != k.level:
		panic("kernel: " + what + ": slices of another level")
	case s.rows != inner:
		panic("kernel: " + what + ": factor of another size")
	}
}
