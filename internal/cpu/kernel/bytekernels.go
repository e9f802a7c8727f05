package kernel

import (
	"math"
	"unsafe"
)

// ByteKernels holds the kernels of one level for products of 8-bit data with Digits of float32
// numbers. It holds no data and does not change, so any number of goroutines may use it.
type ByteKernels struct {
	level  Level
	floats *Kernels[float32] // of the same level
	byteTiles

	// quantize writes the digits of columns, by the number of digits less 2.
	quantize [2]func(groups, n int, b *float32, ldb int, factors *float32, q *int8)
	// columnMax finds the largest magnitudes of columns.
	columnMax func(m, n int, b *float32, ldb int, most *uint32)
	// derivative computes a panel that is quantized next, by Activation. It is nil at level Go.
	derivative [3]derivativeFunc
}

// byteTiles holds the tiles of both products with 8-bit data.
type byteTiles struct {
	needs       features // required features, in addition to the features of the level
	instruction string   // name of the multiply instruction
	layout      Layout   // of the data
	rows, lanes int      // rows and columns of a tile

	// By the number of digits less 2. Either the first two compute a tile, whose rows divide
	// layout.Rows, or the last two compute many rows at a time.
	mulBytes [2]mulBytesFunc
	addBytes [2]addBytesFunc
	mulStrip [2]mulStripFunc
	addStrip [2]addStripFunc

	activateStrip [3][2]activateStripFunc // by Activation and the number of digits less 2
	bfloat16Strip [2]bfloat16StripFunc    // products of floats
	split         [2]splitFunc            // digits for bfloat16Strip
}

// mulBytesFunc computes a tile of Z = X W, or adds to it, over k groups of layout.Depth inner
// indices. addBytesFunc adds a tile of X^T D to G. The comments of mulBytes3 and addBytes3 in the
// generated files give the formulas.
type (
	mulBytesFunc func(k int, x *uint8, q *int8, unit *float64, c *float32, ldc int, add bool)
	addBytesFunc func(k int, x *uint8, q *int8, units, c *float32, ldc int)
)

// NewByteKernels returns the kernels of a level. They multiply with the first of the level's tiles
// whose features this machine supports, or in Go if it supports none. The error is an
// *UnsupportedError if the machine does not support the level.
func NewByteKernels(level Level) (*ByteKernels, error) {
	if err := level.check(); err != nil {
		return nil, err
	}
	rows, lanes := 4, 8
	if level == AVX512 || level == AMX {
		rows, lanes = 8, 16
	}
	k := byteKernelsGo(level, Layout{Rows: 8, Depth: quad}, rows, lanes)
	assembleDigits(&k, level)
	var err error
	if k.floats, err = New[float32](level); err != nil {
		return nil, err
	}
	for _, tiles := range byteTilesOf(level) {
		if cpuFeatures().include(tiles.needs) {
			k.byteTiles = tiles
			if !cpuFeatures().include(hasAMXBF16) {
				k.bfloat16Strip = [2]bfloat16StripFunc{}
			}
			break
		}
	}
	return &k, nil
}

// Instruction returns the name of the multiply instruction: amx_int8, avx512_vnni or avx_vnni, or
// go if the machine supports none of them at this level.
func (k *ByteKernels) Instruction() string { return k.instruction }

// Fast reports whether the machine has an instruction for the products at this level. In Go the
// products are slower than products in float32.
func (k *ByteKernels) Fast() bool { return k.instruction != "go" }

// Layout returns the order of the bytes of the data that the products read.
func (k *ByteKernels) Layout() Layout { return k.layout }

// exactDepth returns the number of inner indices whose sum of products, each at most 255 x 127, a
// 32-bit integer holds: 66,311, rounded down to a multiple of Depth.
func (l Layout) exactDepth() int { return math.MaxInt32 / (255 * 127) / l.Depth * l.Depth }

// ByteScratch is the memory that one goroutine needs in addition to the operands.
type ByteScratch struct {
	tile   []float32
	sums   []int32   // of strips
	floats []float32 // of strips of digits of bfloat16
	panel  []float32 // of a derivative: RowBlock rows of a panel's width
}

// NewByteScratch returns scratch for products with these kernels.
func (k *ByteKernels) NewByteScratch() *ByteScratch {
	s := &ByteScratch{tile: Alloc[float32](k.rows * k.lanes), panel: Alloc[float32](RowBlock * k.lanes)}
	if k.strips() {
		s.sums = Alloc[int32](3 * k.rows * k.lanes)
	}
	if k.HasBFloat16() {
		s.floats = Alloc[float32](2 * bfloat16Rows * bfloat16Rows)
	}
	return s
}

// Mul computes rows lo to hi-1 of the product with w, Z = X[lo:hi] W, as [Kernels.Mul] does. z has
// hi-lo rows, ldz elements apart. lo is a multiple of the layout's Rows, and so is hi unless hi is
// the number of rows of X.
//
// The integer sums and their combination are exact in any order; an element is then rounded twice,
// in float64 and to float32. So z depends neither on the blocks of rows, nor on the level, nor on
// the goroutine that computes it. Beyond 66,308 columns (for Depth 4) z is a sum in float32 of such
// numbers, one for each 66,308 columns.
func (k *ByteKernels) Mul(z []float32, ldz int, x *PackedBytes, lo, hi int, w *Digits, s *ByteScratch) {
	x.checkBlock(lo, hi)
	checkMatrix("Mul", z, hi-lo, w.cols, ldz)
	k.checkOperands("Mul", x, w, x.cols)
	if hi == lo || w.cols == 0 {
		return
	}
	if x.cols == 0 {
		zeroRows(z, hi-lo, w.cols, ldz)
		return
	}
	for l := 0; l < x.cols; l += k.layout.exactDepth() {
		for p := range w.Panels() {
			if k.strips() {
				k.mulPanelStrips(z, ldz, x, lo, hi, l, p, w, nil, 0, s)
			} else {
				k.mulPanel(z, ldz, x, lo, hi, l, p, w, s)
			}
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

// mulPanel multiplies the inner indices from l on with panel p of w.
func (k *ByteKernels) mulPanel(z []float32, ldz int, x *PackedBytes, lo, hi, l, p int, w *Digits, s *ByteScratch) {
	j := p * k.lanes
	cols := min(k.lanes, w.cols-j)
	n := ceil(min(k.layout.exactDepth(), x.cols-l), k.layout.Depth)
	mul, q, unit := k.mulBytes[w.count-2], w.panel(p, l), &w.wide[j]
	for i := lo; i < hi; i += k.rows {
		a := &x.byRow[x.rowAt(i, l)]
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

// AddMulTrans adds the product of a block's rows to g: G += X[lo:hi]^T D. lo is a multiple of
// RowBlock, and hi is the next multiple or the number of rows of X. g has as many rows as X has
// columns, ldg elements apart.
//
// The integer sums are exact. They are combined and scaled in float32, and each element of g
// receives one addition. So g depends only on the order of the blocks.
func (k *ByteKernels) AddMulTrans(g []float32, ldg int, x *PackedBytes, lo, hi int, d *Digits, s *ByteScratch) {
	if lo < 0 || hi <= lo || lo%RowBlock != 0 || hi != min(lo+RowBlock, x.rows) {
		panic("kernel: AddMulTrans: rows that are not a block")
	}
	checkMatrix("AddMulTrans", g, x.cols, d.cols, ldg)
	k.checkOperands("AddMulTrans", x, d, hi-lo)
	if k.strips() {
		k.addStrips(g, ldg, x, lo, hi, d, s)
	} else {
		k.addTiles(g, ldg, x, lo, d, s)
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

// addTiles adds the product of the block that begins with row lo to g.
func (k *ByteKernels) addTiles(g []float32, ldg int, x *PackedBytes, lo int, d *Digits, s *ByteScratch) {
	n, high := x.blockDepths(lo), k.layout.Rows
	columns := x.byCol[x.columnsAt(lo):]
	for f := 0; f < x.cols; f += k.rows {
		a := &columns[(f/high*n*high+f%high)*k.layout.Depth]
		for p := range d.Panels() {
			k.addTile(g[f*ldg+p*k.lanes:], ldg, n, a, min(k.rows, x.cols-f), p, d, s)
		}
	}
}

// addTile adds to the tile of g whose first element is c[0], over n groups of Depth rows.
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

// checkOperands panics unless x and d fit these kernels and d has that many rows.
func (k *ByteKernels) checkOperands(what string, x *PackedBytes, d *Digits, inner int) {
	switch {
	case x.layout != k.layout:
		panic("kernel: " + what + ": data in another layout")
	case d.k.lanes != k.lanes || d.k.level != k.level || d.k.layout != k.layout:
		panic("kernel: " + what + ": digits of another level")
	case d.rows != inner:
		panic("kernel: " + what + ": factor of another size")
	}
}

// byteKernelsGo returns the loops in Go, the reference, for data in a layout and tiles of that
// size.
func byteKernelsGo(level Level, layout Layout, rows, lanes int) ByteKernels {
	t := byteTiles{instruction: "go", layout: layout, rows: rows, lanes: lanes}
	k := ByteKernels{level: level, columnMax: columnMaxGo(lanes)}
	for i := range t.mulBytes {
		count := i + 2
		k.quantize[i] = quantizeGo(lanes, count)
		t.mulBytes[i], t.addBytes[i] = t.mulBytesGo(count), t.addBytesGo(count)
	}
	k.byteTiles = t
	return k
}

// dots returns the sums I_s of a row and a column in the formula of mulBytes3: see the comment in
// the generated files.
func (t byteTiles) dots(k int, x []uint8, q []int8, count, i, j int) (sums [3]int32) {
	depth := t.layout.Depth
	for l := range k {
		for s := range count {
			for e := range depth {
				group := l*(depth/quad) + e/quad
				sums[s] += int32(x[(l*t.layout.Rows+i)*depth+e]) * int32(q[((group*count+s)*t.lanes+j)*quad+e%quad])
			}
		}
	}
	return sums
}

// operands returns the data and the digits that a tile reads.
func (t byteTiles) operands(k int, x *uint8, q *int8, count int) (data []uint8, digits []int8) {
	depth := t.layout.Depth
	return unsafe.Slice(x, ((k-1)*t.layout.Rows+t.rows)*depth), unsafe.Slice(q, k*depth*count*t.lanes)
}

func (t byteTiles) mulBytesGo(count int) mulBytesFunc {
	return func(k int, x *uint8, q *int8, unit *float64, c *float32, ldc int, add bool) {
		data, digits := t.operands(k, x, q, count)
		units, out := unsafe.Slice(unit, t.lanes), unsafe.Slice(c, (t.rows-1)*ldc+t.lanes)
		for i := range t.rows {
			for j := range t.lanes {
				var total float64
				sums := t.dots(k, data, digits, count, i, j)
				for _, sum := range sums[:count] {
					total = total*base + float64(sum)
				}
				z := float32(units[j] * total)
				if add {
					z += out[i*ldc+j]
				}
				out[i*ldc+j] = z
			}
		}
	}
}

func (t byteTiles) addBytesGo(count int) addBytesFunc {
	return func(k int, x *uint8, q *int8, units, c *float32, ldc int) {
		data, digits := t.operands(k, x, q, count)
		scale, out := unsafe.Slice(units, 2*t.lanes), unsafe.Slice(c, (t.rows-1)*ldc+t.lanes)
		for i := range t.rows {
			for j := range t.lanes {
				sums := t.dots(k, data, digits, count, i, j)
				z := fma32(float32(sums[0]), base, float32(sums[1]))
				if count == 3 {
					z = fma32(float32(sums[0]), base*base, fma32(float32(sums[1]), base, float32(sums[2])))
				}
				out[i*ldc+j] = fma32(z*scale[j], scale[t.lanes+j], out[i*ldc+j])
			}
		}
	}
}

func columnMaxGo(lanes int) func(m, n int, b *float32, ldb int, most *uint32) {
	return func(m, n int, b *float32, ldb int, most *uint32) {
		in, out := unsafe.Slice(b, (m-1)*ldb+n), unsafe.Slice(most, lanes)
		clear(out)
		for i := range m {
			for j, v := range in[i*ldb:][:n] {
				out[j] = max(out[j], math.Float32bits(v)&^(1<<31))
			}
		}
	}
}

func quantizeGo(lanes, count int) func(groups, n int, b *float32, ldb int, factors *float32, q *int8) {
	return func(groups, n int, b *float32, ldb int, factors *float32, q *int8) {
		in, scale := unsafe.Slice(b, (groups*quad-1)*ldb+n), unsafe.Slice(factors, 2*lanes)
		out := unsafe.Slice(q, groups*count*lanes*quad)
		clear(out)
		for i := range groups * quad {
			for j, v := range in[i*ldb:][:n] {
				r, factor := v*scale[j], scale[lanes+j]
				for s := range count {
					digit := float32(math.RoundToEven(float64(r) * float64(factor)))
					out[((i/quad*count+s)*lanes+j)*quad+i%quad] = int8(digit)
					r, factor = fma32(r, factor, -digit), base
				}
			}
		}
	}
}

// fma32 returns x y + z, rounded once. The product is exact in float64. If rounding the sum to
// float64 lost anything, the sum is rounded to odd, so that the second rounding, to float32, sees
// no false tie (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
func fma32(x, y, z float32) float32 {
	product := float64(x) * float64(y)
	sum := product + float64(z)
	back := sum - product
	lost := (product - (sum - back)) + (float64(z) - back) // exact: Knuth's two-sum
	if bits := math.Float64bits(sum); lost != 0 && bits&1 == 0 {
		if (lost > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}
