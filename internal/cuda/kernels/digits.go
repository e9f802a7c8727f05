package kernels

import (
	"fmt"
	"math"
	"strings"

	"ppal/internal/cuda/driver"
)

// Digits is the place of a matrix B (inner x columns) that is quantized into Count = 2 or 3 signed
// bytes for each element. With c_j = max |B_lj| over a block of Length indices l,
//
//	B_lj = c_j/127 (Q1 + Q2/254 + Q3/254^2 + rho)
//	|rho| <= 1/(2 254^(Count-1)) + 2^-25,   |Q| <= 127
//
// as on the CPU (docs/reference/products.md). Digit s of column j, index l, block b has the address
//
//	At + ((b Count + s) Width + j) Length + l
//
// so each digit matrix is stored transposed, and the rows of both factors run along the sums.
// Digits beyond B's indices and columns are 0.
//
// A column with an infinity or a NaN has the unit NaN and the digits 0: Dequantize computes its
// sums from B.
type Digits struct {
	At      driver.Pointer
	Units   driver.Pointer // Blocks x Width float64: Scale c_j/127/254^(Count-1)
	Offsets driver.Pointer // Blocks x Width int64: 128 times the sum of a column's integers
	Count   int            // digits of an element
	Inner   int            // indices of the sums
	Length  int            // indices of a block, a multiple of 32
	Blocks  int
	Columns int
	Width   int     // columns in memory, a multiple of 8
	Scale   float64 // of the 8-bit data, the first factor
}

// ExactIndices is the longest sum, a multiple of 32, that 32-bit integers hold: products are at
// most 128 x 127, and (2^31 - 1)/(128 127) is 132,104.
const ExactIndices = math.MaxInt32 / (128 * 127) / indicesTogether * indicesTogether

// Rows of signed bytes are padded to a multiple of indicesTogether and to fewestIndices, columns of
// digits to a multiple of columnsTogether, and products have at least FewestRows rows. Tensor cores
// need multiples of 16 and 4; cuBLAS refused smaller products, or gave wrong numbers, in several
// versions (pytorch issues 106840 and 107671).
const (
	indicesTogether = 32
	fewestIndices   = 64
	columnsTogether = 8
	FewestRows      = 32
)

// PaddedIndices returns the bytes that a row of n signed bytes takes.
func PaddedIndices(n int) int {
	return max(ceil(n, indicesTogether)*indicesTogether, fewestIndices)
}

// NewDigits describes the digits of a matrix of inner x columns, count for each element. The
// indices are divided into blocks of about equal lengths, of at most the given length. The digits
// have no place yet.
func NewDigits(inner, columns, count, length int, scale float64) Digits {
	blocks := max(ceil(inner, length), 1)
	return Digits{Count: count, Inner: inner, Blocks: blocks, Length: PaddedIndices(ceil(inner, blocks)), Columns: columns,
		Width: ceil(columns, columnsTogether) * columnsTogether, Scale: scale}
}

func (d Digits) isSet() bool { return d.At != 0 }

// Bytes returns the size of the digits.
func (d Digits) Bytes() int { return d.Blocks * d.Count * d.Width * d.Length }

// columnBytes returns the size of the units, which is the size of the offsets too.
func (d Digits) columnBytes() int { return 8 * d.Blocks * d.Width }

// Layout returns the size of digits, units and offsets together, and where units and offsets begin.
func (d Digits) Layout() (bytes, units, offsets int) {
	units = ceil(d.Bytes(), 8) * 8
	return units + 2*d.columnBytes(), units, units + d.columnBytes()
}

// Place returns the digits at an address, with units and offsets behind.
func (d Digits) Place(at driver.Pointer) Digits {
	_, units, offsets := d.Layout()
	d.At, d.Units, d.Offsets = at, at.Offset(units), at.Offset(offsets)
	return d
}

// quantizeColumns is the number of columns that a block of threads quantizes.
const quantizeColumns = 8

// blocks returns the blocks of threads of a pass that quantizes: columns by blocks of indices.
func (d Digits) blocks() (grid, block [3]int, err error) {
	if d.Count != 2 && d.Count != 3 || d.Blocks > maxGrid {
		return grid, block, fmt.Errorf("kernels: %d digits in %d blocks, want 2 or 3 in at most %d", d.Count, d.Blocks, maxGrid)
	}
	return [3]int{ceil(d.Width, quantizeColumns), d.Blocks, 1}, [3]int{quantizeColumns, blockSize / quantizeColumns, 1}, nil
}

// QuantizeDigits quantizes b, or b's transpose if transposed is set.
func (s *Set) QuantizeDigits(q Queue, to Digits, b Operand, transposed bool) (err error) {
	if to.Inner == 0 || to.Columns == 0 {
		return nil
	}
	c := &call{name: "quantize_int8"}
	if c.grid, c.block, err = to.blocks(); err != nil {
		return err
	}
	c.strided(s, b, transposed)
	c.ints(to.Inner, to.Columns)
	c.digits(to)
	return s.launch(q, c)
}

// centerColumns is the number of columns that a block of threads of CenterDigits quantizes: fewer
// than quantizeColumns, because the few columns of a layer's weights leave most of a device idle.
const centerColumns = 4

// CenterDigits quantizes w, as QuantizeDigits does, into digits of one block, and sets out = bias -
// means w, with the product in float64. means, bias and out are rows.
func (s *Set) CenterDigits(q Queue, to Digits, w, means, bias, out Operand) error {
	if to.Blocks != 1 {
		return fmt.Errorf("kernels: center: digits in %d blocks, want 1", to.Blocks)
	}
	c := &call{name: "center_int8", grid: [3]int{ceil(to.Width, centerColumns), 1, 1},
		block: [3]int{centerColumns, blockSize / centerColumns, 1}}
	c.in(s, w)
	c.ints(to.Inner, to.Columns)
	for _, o := range []Operand{means, bias} {
		c.reading(o.At, o.Cols*s.dtype.Size())
	}
	c.writing(out.At, out.Cols*s.dtype.Size())
	c.digits(to)
	return s.launch(q, c)
}

// strided adds a matrix that the kernel reads, with the distances between indices and between
// columns.
func (c *call) strided(s *Set, b Operand, transposed bool) {
	row, column := b.Stride, 1
	if transposed {
		row, column = column, row
	}
	c.reading(b.At, 0)
	if b.isSet() {
		c.reads[len(c.reads)-1] = s.span(b)
	}
	c.ints(row, column)
}

// SignedBytes is 8-bit data minus 128: rows that are Stride bytes apart.
type SignedBytes struct {
	At     driver.Pointer
	Stride int
}

// LoadSigned sets to = from - 128, and transposed to the transpose of to. The bytes at from (rows x
// cols) have no gaps.
func (s *Set) LoadSigned(q Queue, to, transposed SignedBytes, from driver.Pointer, rows, cols int) error {
	if rows == 0 || cols == 0 {
		return nil
	}
	const side = 32
	c := &call{name: "signed_bytes", grid: [3]int{ceil(cols, side), min(ceil(rows, side), maxGrid), 1}, block: [3]int{side, blockSize / side, 1}}
	c.writing(to.At, (rows-1)*to.Stride+cols)
	c.ints(to.Stride)
	c.writing(transposed.At, (cols-1)*transposed.Stride+rows)
	c.ints(transposed.Stride)
	c.reading(from, rows*cols)
	c.ints(rows, cols)
	return s.launch(q, c)
}

// Dequantize turns the integer sums of a product with digits into floating-point numbers:
//
//	Out = f(Out + Sums + 1 Bias)
type Dequantize struct {
	Sums       driver.Pointer // int32, Blocks x SumRows x (Count Width)
	SumRows    int            // rows of Sums in memory, at least Out.Rows
	Digits     Digits
	X          SignedBytes // the first factor: Out.Rows x Inner
	B          Operand     // the quantized matrix; the kernel reads its columns without digits
	Transposed bool        // B is given as B^T
	Out        Operand
	Add        bool       // to Out; else Out is overwritten
	Activation Activation // f
	Bias       Operand    // 1 x Out.Cols, or not given: then f is omitted too
}

// A thread of the kernels for four columns takes dequantizeColumns columns and about dequantizeRows
// rows. With several blocks of indices it takes one row, because the matrix is then a gradient,
// which has few rows.
const (
	dequantizeColumns = 4
	dequantizeRows    = 8
)

// kernel returns the name of the kernel: for any matrices, or for four columns a thread.
func (p Dequantize) kernel() string {
	const aligned = 16
	name := fmt.Sprintf("dequantize_%d", p.Digits.Count)
	multiple := p.Out.Cols%dequantizeColumns == 0 && p.Out.Stride%dequantizeColumns == 0 &&
		(p.Out.At|p.Digits.Units|p.Digits.Offsets)%aligned == 0
	switch {
	case !multiple || p.Add:
		return name
	case p.Digits.Blocks > 1 && !p.Bias.isSet():
		return name + "_blocks"
	case p.Digits.Blocks > 1:
		return name
	case !p.Bias.isSet():
		return name + "_none"
	case p.Activation == Sigmoid:
		return name + "_sigmoid"
	case p.Activation == ReLU:
		return name + "_relu"
	}
	return name
}

// Dequantize writes the product: an element is the exact sum over the digits times the unit,
// rounded to float64 and then to the elements' type.
func (s *Set) Dequantize(q Queue, p Dequantize) error {
	if p.Out.Rows == 0 || p.Out.Cols == 0 {
		return nil
	}
	d := p.Digits
	c := &call{name: p.kernel()}
	if cols := p.Out.Cols; strings.Contains(c.name[len("dequantize_"):], "_") {
		each := dequantizeRows
		if d.Blocks > 1 {
			each = 1
		}
		c.grid, c.block = tiles(p.Out.Rows, cols/dequantizeColumns, each)
	} else {
		c.grid, c.block = tiles(p.Out.Rows, cols, 4)
	}
	c.reading(p.Sums, 4*((d.Blocks-1)*p.SumRows+p.Out.Rows)*d.Count*d.Width)
	c.ints(p.SumRows)
	c.reading(d.At, d.Bytes())
	c.reading(d.Units, d.columnBytes())
	c.reading(d.Offsets, d.columnBytes())
	c.shape(d)
	c.ints(d.Blocks, d.Inner)
	c.reading(p.X.At, (p.Out.Rows-1)*p.X.Stride+d.Inner)
	c.ints(p.X.Stride)
	c.strided(s, p.B, p.Transposed)
	c.result(s, p)
	return s.launch(q, c)
}
