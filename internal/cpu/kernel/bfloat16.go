package kernel

import (
	"math"
	"math/bits"
	"unsafe"
)

// bfloat16StripFunc adds rows of a product of two factors in digits of bfloat16. The comment of
// bfloat16Strip3AMX in the generated files gives the formula.
type bfloat16StripFunc func(k, rows int, x *uint16, panel int, b *uint16, c *float32, ldc, columns int, sums *float32)

// splitFunc writes the digits of 2*pairs inner indices of n lines of a second factor. The comment
// of split3F32AVX512 in the generated files gives the formula.
type splitFunc func(pairs, n int, b *float32, ldb int, q *uint16)

const (
	bfloat16Rows  = 16 // rows of a tile of the first factor, columns of a tile of the second
	bfloat16Depth = 32 // inner indices of a product of two tiles
	bfloat16Tile  = bfloat16Rows * bfloat16Depth
	bfloat16Sum   = 160 // inner indices of a sum in a tile
)

// BFloat16 is a factor of a product, in digits of bfloat16, in tiles of 16 lines x 32 inner
// indices. A line is a row of a first factor or a column of a second factor. A number is the sum
// of its digits, each the bfloat16 number nearest to the remainder: three digits are exact for
// numbers from 2^-109 to almost 2^128, two leave at most 2^-16 of a number. Infinities, NaNs and
// numbers that round to an infinity are in the first digit, and their other digits are 0. With P
// digits, digit p of line i and inner index l is
//
//	data[((i/16 * Q + l/32) * P + p) * 512 + place],   Q = ceil(inner indices/32)
//
// place is i%16*32 + l%32 for a first factor, l%32/2*32 + i%16*2 + l%2 for a second factor. Zeros
// fill up the tiles.
type BFloat16 struct {
	lines, inner, digits int
	second               bool
	data                 []uint16
	tail                 []float32 // of a second factor: the last inner index of a panel, and zeros
}

// newBFloat16 returns the first factor that data, zeros, holds.
func newBFloat16(lines, inner, digits int, data []uint16) BFloat16 {
	f := BFloat16{lines: lines, inner: inner, digits: digits}
	f.data = data[:ceil(lines, bfloat16Rows)*f.panel()]
	return f
}

// NewBFloat16 returns zeros for a second factor with the given number of columns, at most the given
// number of rows, and 2 or 3 digits.
func NewBFloat16(rows, cols, digits int) *BFloat16 {
	checkDigits(rows, cols, digits)
	f := &BFloat16{lines: cols, inner: rows, digits: digits, second: true}
	f.data = Alloc[uint16](f.Panels() * f.panel())
	f.tail = Alloc[float32](f.Panels() * 2 * bfloat16Rows)
	return f
}

func checkDigits(rows, cols, digits int) {
	if rows < 0 || cols < 0 || digits < 2 || digits > 3 {
		panic("kernel: digits of a negative size, or not two or three")
	}
}

// Resize sets the number of rows of a second factor. Split must write all panels afterwards.
func (f *BFloat16) Resize(rows int) {
	if rows < 0 || f.Panels()*ceil(rows, bfloat16Depth)*f.digits*bfloat16Tile > len(f.data) {
		panic("kernel: Resize: room for digits too small")
	}
	f.inner = rows
}

// Panels returns the number of panels of 16 lines.
func (f *BFloat16) Panels() int { return ceil(f.lines, bfloat16Rows) }

// panel returns the size of a panel.
func (f *BFloat16) panel() int { return ceil(f.inner, bfloat16Depth) * f.digits * bfloat16Tile }

// at returns the place of the first digit in a first factor. Other digits are bfloat16Tile apart.
func (f *BFloat16) at(line, l int) int {
	return line/bfloat16Rows*f.panel() + l/bfloat16Depth*f.digits*bfloat16Tile + line%bfloat16Rows*bfloat16Depth + l%bfloat16Depth
}

// SplitBFloat16 writes the digits of panels from to to-1 of a second factor. Rows of b are ld
// elements apart. Several goroutines may write different panels.
func (k *ByteKernels) SplitBFloat16(f *BFloat16, from, to int, b []float32, ld int) {
	checkMatrix("SplitBFloat16", b, f.inner, f.lines, ld)
	if !f.second || from < 0 || to > f.Panels() {
		panic("kernel: SplitBFloat16: no such panel, or a first factor")
	}
	split := k.split[f.digits-2]
	for p := from; p < to; p++ {
		j := p * bfloat16Rows
		n, tail := min(bfloat16Rows, f.lines-j), f.tail[2*j:][:2*bfloat16Rows]
		for l := 0; l < f.inner; l += bfloat16Depth {
			q := f.data[p*f.panel()+l*f.digits*bfloat16Rows:][:f.digits*bfloat16Tile]
			rows := min(bfloat16Depth, f.inner-l)
			if rows > 1 {
				split(rows/2, n, &b[l*ld+j], ld, &q[0])
			}
			if rows%2 == 1 {
				clear(tail)
				copy(tail[:n], b[(l+rows-1)*ld+j:])
				split(1, n, &tail[0], bfloat16Rows, &q[rows/2*2*bfloat16Rows])
			}
			for at := ceil(rows, 2) * 2 * bfloat16Rows; at < bfloat16Tile; at += 2 * bfloat16Rows {
				for d := range f.digits {
					clear(q[d*bfloat16Tile+at:][:2*bfloat16Rows])
				}
			}
		}
	}
}

// nextDigit returns the bfloat16 number nearest to a number, ties to even, and the remainder.
func nextDigit(v float32) (digit uint16, rest float32) {
	const infinity = 0xff << 7 // the bits of the exponent
	bits := math.Float32bits(v)
	if bits>>16&infinity == infinity {
		return uint16(math.Float32bits(v+v) >> 16), 0 // a NaN stays a NaN without its lower bits
	}
	if digit = uint16((bits + 0x7fff + bits>>16&1) >> 16); digit&infinity == infinity {
		return digit, 0
	}
	return digit, v - widened(digit)
}

func widened(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// PackedBFloat16 is a data matrix X of floats in digits of bfloat16, packed once for both products
// with it: for X W as a factor whose lines are the rows of X, and for X^T D as one factor for each
// block of RowBlock rows, whose lines are the columns of X. An element takes 4 bytes for each
// digit, 12 bytes with three digits.
type PackedBFloat16 struct {
	rows, cols int
	byRow      BFloat16
	byCol      []BFloat16 // by block
	data       []uint16   // of all blocks
}

// NewPackedBFloat16 returns a matrix of zeros in 2 or 3 digits.
func NewPackedBFloat16(rows, cols, digits int) *PackedBFloat16 {
	x, _ := NewPackedBFloat16In(nil, rows, cols, digits) // the process's own memory is no error
	return x
}

// NewPackedBFloat16In is NewPackedBFloat16 in the memory of an Allocator.
func NewPackedBFloat16In(allocate Allocator, rows, cols, digits int) (*PackedBFloat16, error) {
	checkDigits(rows, cols, digits)
	x := &PackedBFloat16{rows: rows, cols: cols, byCol: make([]BFloat16, ceil(rows, RowBlock))}
	size := func(lines, inner int) int {
		return ceil(lines, bfloat16Rows) * ceil(inner, bfloat16Depth) * digits * bfloat16Tile
	}
	whole, err := allocated[uint16](allocate, size(rows, cols))
	if err != nil {
		return nil, err
	}
	x.byRow = newBFloat16(rows, cols, digits, whole)
	block := size(cols, RowBlock)
	if x.data, err = allocated[uint16](allocate, len(x.byCol)*block); err != nil {
		return nil, err
	}
	for i := range x.byCol {
		x.byCol[i] = newBFloat16(cols, min(RowBlock, rows-i*RowBlock), digits, x.data[i*block:])
	}
	return x, nil
}

// Size returns the number of bytes of the packed data.
func (x *PackedBFloat16) Size() int { return int(sizeof[uint16]()) * (len(x.byRow.data) + len(x.data)) }

// Rows returns the memory of rows from to to-1, and of other rows beside them: in the factor for
// X^T D if transposed is true, else in the factor for X W.
func (x *PackedBFloat16) Rows(from, to int, transposed bool) []byte {
	if transposed {
		block := len(x.data) / max(1, len(x.byCol))
		return BytesOf(x.data[from/RowBlock*block : ceil(to, RowBlock)*block])
	}
	panel := x.byRow.panel()
	return BytesOf(x.byRow.data[from/bfloat16Rows*panel : ceil(to, bfloat16Rows)*panel])
}

// Dims returns the numbers of rows and columns.
func (x *PackedBFloat16) Dims() (rows, cols int) { return x.rows, x.cols }

// Digits returns the number of digits.
func (x *PackedBFloat16) Digits() int { return x.byRow.digits }

// SetRow packs row i. Several goroutines may pack different rows.
func (x *PackedBFloat16) SetRow(i int, row []float32) {
	if i < 0 || i >= x.rows || len(row) != x.cols {
		panic("kernel: SetRow: no such row, or not of the matrix's length")
	}
	block, inner := &x.byCol[i/RowBlock], i%RowBlock
	for l, v := range row {
		to, across := x.byRow.at(i, l), block.at(l, inner)
		for range x.byRow.digits {
			var digit uint16
			digit, v = nextDigit(v)
			x.byRow.data[to], block.data[across] = digit, digit
			to, across = to+bfloat16Tile, across+bfloat16Tile
		}
	}
}

// HasBFloat16 reports whether these kernels multiply digits of bfloat16: at level AMX, on a CPU
// with amx_bf16.
func (k *ByteKernels) HasBFloat16() bool { return k.bfloat16Strip[0] != nil }

// MulBFloat16 computes rows lo to hi-1 of Z = X W, as [Kernels.Mul] does. lo is a multiple of 16,
// and so is hi unless hi is the number of rows of X. The caller must check HasBFloat16.
//
// Three digits take the six products of digits p and q with p + q <= 4, two digits take three. Sums
// of 160 inner indices are added to z in float32, so that z depends on nothing but X and W.
func (k *ByteKernels) MulBFloat16(z []float32, ldz int, x *PackedBFloat16, lo, hi int, w *BFloat16, s *ByteScratch) {
	if lo < 0 || hi < lo || hi > x.rows || lo%bfloat16Rows != 0 || hi%bfloat16Rows != 0 && hi != x.rows {
		panic("kernel: MulBFloat16: rows that are not a block")
	}
	checkMatrix("MulBFloat16", z, hi-lo, w.lines, ldz)
	zeroRows(z, hi-lo, w.lines, ldz)
	k.addBFloat16(z, ldz, &x.byRow, lo, hi, w, s)
}

// AddMulTransBFloat16 adds the product of a block's rows to g: G += X[lo:hi]^T D, as
// [ByteKernels.AddMulTrans] does, with the sums of MulBFloat16. g depends only on the order of the
// blocks.
func (k *ByteKernels) AddMulTransBFloat16(g []float32, ldg int, x *PackedBFloat16, lo, hi int, d *BFloat16, s *ByteScratch) {
	if lo < 0 || hi <= lo || lo%RowBlock != 0 || hi != min(lo+RowBlock, x.rows) {
		panic("kernel: AddMulTransBFloat16: rows that are not a block")
	}
	checkMatrix("AddMulTransBFloat16", g, x.cols, d.lines, ldg)
	k.addBFloat16(g, ldg, &x.byCol[lo/RowBlock], 0, x.cols, d, s)
}

// A call multiplies at most partGroups groups of 32 inner indices: the digits of 16 columns of the
// second factor then take at most 30 KB and stay in the level-1 cache for all rows. The number is a
// multiple of the groups of a sum in a tile.
const partGroups = 2 * bfloat16Sum / bfloat16Depth

// addBFloat16 adds the product of lines lo to hi-1 of x and of b to c: C += X[lo:hi] B.
func (k *ByteKernels) addBFloat16(c []float32, ldc int, x *BFloat16, lo, hi int, b *BFloat16, s *ByteScratch) {
	if x.inner != b.inner || x.digits != b.digits || !b.second {
		panic("kernel: factors of other sizes or digits")
	}
	groups, group := ceil(x.inner, bfloat16Depth), x.digits*bfloat16Tile
	for g := 0; g < groups; g += partGroups {
		n := min(partGroups, groups-g)
		step := max(1, mostSteps/(n*x.digits)) * 2 * bfloat16Rows
		for j := 0; j < b.lines; j += bfloat16Rows {
			second := &b.data[j/bfloat16Rows*b.panel()+g*group]
			columns := 1<<min(bfloat16Rows, b.lines-j) - 1
			for i := lo; i < hi; i += step {
				k.bfloat16Strip[x.digits-2](n, min(step, hi-i), &x.data[i/bfloat16Rows*x.panel()+g*group], 2*x.panel(),
					second, &c[(i-lo)*ldc+j], ldc, columns, &s.floats[0])
			}
		}
	}
}

// WithBFloat16InGo returns kernels that multiply digits of bfloat16 in Go, with the roundings and
// the order of additions of the AMX kernels. They are the model of these kernels, for tests on CPUs
// without AMX: they are much slower than float32.
func (k *ByteKernels) WithBFloat16InGo() *ByteKernels {
	own := *k
	own.bfloat16Strip = [2]bfloat16StripFunc{bfloat16StripGo(2), bfloat16StripGo(3)}
	own.split = [2]splitFunc{splitGo(2), splitGo(3)}
	return &own
}

// splitGo returns the reference of the kernels split.
func splitGo(count int) splitFunc {
	return func(pairs, n int, b *float32, ldb int, q *uint16) {
		in, out := unsafe.Slice(b, (2*pairs-1)*ldb+n), unsafe.Slice(q, (count-1)*bfloat16Tile+pairs*2*bfloat16Rows)
		for i := range 2 * pairs {
			for j := range bfloat16Rows {
				at, v := i/2*2*bfloat16Rows+2*j+i%2, float32(0)
				if j < n {
					v = in[i*ldb+j]
				}
				for range count {
					out[at], v = nextDigit(v)
					at += bfloat16Tile
				}
			}
		}
	}
}

// bfloat16StripGo returns the reference of the kernels bfloat16Strip.
func bfloat16StripGo(count int) bfloat16StripFunc {
	return func(k, rows int, x *uint16, panel int, b *uint16, c *float32, ldc, columns int, _ *float32) {
		group := count * bfloat16Tile
		first := unsafe.Slice(x, (ceil(rows, bfloat16Rows)-1)*panel/2+k*group)
		width := bits.Len(uint(columns))
		second, out := unsafe.Slice(b, k*group), unsafe.Slice(c, (rows-1)*ldc+width)
		for i := range rows {
			line := first[i/bfloat16Rows*panel/2+i%bfloat16Rows*bfloat16Depth:]
			for j := range width {
				for g := 0; g < k; {
					var sum float32
					for end := min(g+bfloat16Sum/bfloat16Depth, k); g < end; g++ {
						sum = addDigits(sum, count, line[g*group:], second[g*group+2*j:])
					}
					out[i*ldc+j] += sum
				}
			}
		}
	}
}

// addDigits adds the products of the digits p and q with p + q < count of 32 inner indices to a
// sum, the smallest digits first.
func addDigits(sum float32, count int, x, b []uint16) float32 {
	for p := count - 1; p >= 0; p-- {
		for q := count - 1 - p; q >= 0; q-- {
			sum = dotBFloat16(sum, x[p*bfloat16Tile:][:bfloat16Depth], b[q*bfloat16Tile:], 2*bfloat16Rows)
		}
	}
	return sum
}

// dotBFloat16 computes one element of the result of TDPBF16PS, in the order of the pseudocode in
// Intel's manual (volume 2): two sums of fused multiply-adds, of the even and of the odd inner
// indices, then the sum of both, then the sum with the previous value. Every result is rounded to
// nearest, ties to even. Subnormal operands and results are zero. Pairs of numbers of b are step
// elements apart.
func dotBFloat16(sum float32, x, b []uint16, step int) float32 {
	var even, odd float32
	for l := 0; l < len(x); l += 2 {
		// The products are exact in float32, so that an addition rounds like a fused multiply-add.
		// (A product below 2^-126 can round, but is far below the sums of the tests.)
		pair := b[l/2*step:][:2]
		even = flushed(operand16(x[l])*operand16(pair[0]) + even)
		odd = flushed(operand16(x[l+1])*operand16(pair[1]) + odd)
	}
	return flushed(flushed(sum) + flushed(even+odd))
}

// operand16 returns a number of a tile, and zero for a subnormal number.
func operand16(b uint16) float32 { return flushed(widened(b)) }

// flushed returns zero for a subnormal number.
func flushed(v float32) float32 {
	const smallest = 0x1p-126
	if v > -smallest && v < smallest {
		return 0 * v
	}
	return v
}
