package kernel

import "math"

// bfloat16StripFunc adds rows of a product of two factors in digits of bfloat16. The comment of
// bfloat16Strip3AMX in the generated files gives the formula.
type bfloat16StripFunc func(k, rows int, x *uint16, panel int, b *uint16, c *float32, ldc, columns int, sums *float32)

const (
	bfloat16Rows  = 16 // rows of a tile of the first factor, columns of a tile of the second
	bfloat16Depth = 32 // inner indices of a product of two tiles
	bfloat16Tile  = bfloat16Rows * bfloat16Depth
)

// BFloat16 is a factor of a product, in digits of bfloat16, in tiles of 16 lines x 32 inner
// indices. A line is a row of a first factor or a column of a second factor. A number is the sum
// of its digits, each the bfloat16 number nearest to the remainder: three digits are exact for
// numbers from 2^-109 to almost 2^128, two leave at most 2^-16 of a number. With P digits, digit p
// of line i and inner index l is
//
//	data[((i/16 * Q + l/32) * P + p) * 512 + place],   Q = ceil(inner indices/32)
//
// place is i%16*32 + l%32 for a first factor, l%32/2*32 + i%16*2 + l%2 for a second factor. Zeros
// fill up the tiles.
type BFloat16 struct {
	lines, inner, digits int
	second               bool
	data                 []uint16
}

// NewBFloat16 returns zeros for a first or a second factor with 2 or 3 digits.
func NewBFloat16(lines, inner, digits int, second bool) *BFloat16 {
	if lines < 0 || inner < 0 || digits < 2 || digits > 3 {
		panic("kernel: digits of a negative size, or not two or three")
	}
	f := &BFloat16{lines: lines, inner: inner, digits: digits, second: second}
	f.data = Alloc[uint16](ceil(lines, bfloat16Rows) * f.panel())
	return f
}

// panel returns the size of 16 lines.
func (f *BFloat16) panel() int { return ceil(f.inner, bfloat16Depth) * f.digits * bfloat16Tile }

// Set writes the digits of a finite number. Several goroutines may set different numbers.
func (f *BFloat16) Set(line, l int, v float32) {
	if line < 0 || line >= f.lines || l < 0 || l >= f.inner {
		panic("kernel: Set: no such number")
	}
	at := line/bfloat16Rows*f.panel() + l/bfloat16Depth*f.digits*bfloat16Tile
	i := line % bfloat16Rows
	l %= bfloat16Depth
	if f.second {
		at += l/2*bfloat16Depth + i*2 + l%2
	} else {
		at += i*bfloat16Depth + l
	}
	for p := range f.digits {
		digit := bfloat16Of(v)
		f.data[at+p*bfloat16Tile] = digit
		v -= widened(digit)
	}
}

// bfloat16Of returns the bfloat16 number nearest to a finite number, ties to even.
func bfloat16Of(v float32) uint16 {
	bits := math.Float32bits(v)
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

func widened(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// HasBFloat16 reports whether AddBFloat16 has a kernel: at level AMX, on a CPU with amx_bf16.
func (k *ByteKernels) HasBFloat16() bool { return k.bfloat16Strip[0] != nil }

// AddBFloat16 adds the product of a first and a second factor to c, whose rows are ldc elements
// apart: C += X B. For X W, the lines of X are rows, and the lines of B are the columns of W. For
// X^T D over a block of rows, the lines are the columns of X and of D.
//
// Three digits take the six products of digits p and q with p + q <= 4, two digits take three. Sums
// of 160 inner indices are added to c in float32, so that c depends on nothing but the factors and
// c. The caller must check HasBFloat16. No device uses these products yet.
func (k *ByteKernels) AddBFloat16(c []float32, ldc int, x, b *BFloat16) {
	checkMatrix("AddBFloat16", c, x.lines, b.lines, ldc)
	if x.inner != b.inner || x.digits != b.digits || x.second || !b.second {
		panic("kernel: AddBFloat16: factors of other sizes, digits or places")
	}
	if x.lines == 0 || x.inner == 0 {
		return
	}
	n, sums := ceil(x.inner, bfloat16Depth), make([]float32, 2*bfloat16Rows*bfloat16Rows)
	step := max(1, mostSteps/(n*x.digits)) * 2 * bfloat16Rows
	for j := 0; j < b.lines; j += bfloat16Rows {
		for i := 0; i < x.lines; i += step {
			k.bfloat16Strip[x.digits-2](n, min(step, x.lines-i), &x.data[i/bfloat16Rows*x.panel()], 2*x.panel(),
				&b.data[j/bfloat16Rows*b.panel()], &c[i*ldc+j], ldc, k.columnMask(b.lines-j), &sums[0])
		}
	}
}
