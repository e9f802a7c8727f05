package kernel

import "math"

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
