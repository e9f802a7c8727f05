package kernels

import (
	"fmt"
	"math"

	"ppal/cuda/driver"
)

// Digits are where a matrix B (inner x columns) lies, cut into 2 or 3 slices of signed bytes: with c_j = max |B_lj| over a block of Length
// indices l,
//
//	B_lj = c_j/127 (Q1 + Q2/254 + Q3/254^2 + rho),   |rho| <= 1/(2 254^(Slices-1)) + 2^-25,   |Q| <= 127
//
// (docs/products.md), as on the CPU. Digit (block, slice, column, index) is at ((block Slices + slice) Width + column) Length + index:
// each slice's transpose, so that the rows of both factors run along the sums. What is beyond B's indices and columns is 0.
//
// Columns with an infinity or a NaN have a unit of NaN, and digits of 0: JoinDigits takes their numbers.
type Digits struct {
	At      driver.Pointer
	Units   driver.Pointer // Blocks x Width float64: Scale c_j/127/254^(Slices-1)
	Offsets driver.Pointer // Blocks x Width int64: 128 times the sum of what a column's digits make
	Slices  int
	Inner   int // indices
	Length  int // of a block, a multiple of 16
	Blocks  int
	Columns int
	Width   int     // columns in memory, a multiple of 4
	Scale   float64 // of the data
}

// ExactIndices is the most indices over which sums of products, each of at most 128 x 127, are 32-bit integers, in whole sixteens:
// (2^31 - 1)/(128 127) is 132,104.
const ExactIndices = math.MaxInt32 / (128 * 127) / indicesTogether * indicesTogether

// What rows of signed bytes are padded to, so that each begins where tensor cores can be fed from.
const (
	indicesTogether = 16
	columnsTogether = 4
)

// PaddedIndices is the room that a row of so many signed bytes has.
func PaddedIndices(n int) int { return ceil(n, indicesTogether) * indicesTogether }

// NewDigits are those of a matrix of inner x columns, in blocks of about equal lengths of at most most indices, nowhere yet.
func NewDigits(inner, columns, slices, most int, scale float64) Digits {
	blocks := max(ceil(inner, most), 1)
	return Digits{Slices: slices, Inner: inner, Blocks: blocks, Length: PaddedIndices(ceil(inner, blocks)), Columns: columns,
		Width: ceil(columns, columnsTogether) * columnsTogether, Scale: scale}
}

func (d Digits) given() bool { return d.At != 0 }

// Bytes is the room that the digits need.
func (d Digits) Bytes() int { return d.Blocks * d.Slices * d.Width * d.Length }

// columnBytes is the room of the units, and that of the offsets.
func (d Digits) columnBytes() int { return 8 * d.Blocks * d.Width }

// Room is what digits, units and offsets need together, and where each begins.
func (d Digits) Room() (bytes, units, offsets int) {
	units = ceil(d.Bytes(), 8) * 8
	return units + 2*d.columnBytes(), units, units + d.columnBytes()
}

// Place puts them at an address.
func (d Digits) Place(at driver.Pointer) Digits {
	_, units, offsets := d.Room()
	d.At, d.Units, d.Offsets = at, at.Offset(units), at.Offset(offsets)
	return d
}

// cutColumns is the number of columns that a block of threads cuts.
const cutColumns = 8

// blocks are a cut's: of columns and of indices.
func (d Digits) blocks() (grid, block [3]int, err error) {
	if d.Slices != 2 && d.Slices != 3 || d.Blocks > maxGrid {
		return grid, block, fmt.Errorf("kernels: %d slices of digits in %d blocks, want 2 or 3 in at most %d", d.Slices, d.Blocks, maxGrid)
	}
	return [3]int{ceil(d.Width, cutColumns), d.Blocks, 1}, [3]int{cutColumns, blockSize / cutColumns, 1}, nil
}

// CutDigits cuts b (its transpose, with transposed).
func (s *Set) CutDigits(q Queue, to Digits, b Operand, transposed bool) (err error) {
	if to.Inner == 0 || to.Columns == 0 {
		return nil
	}
	c := &call{name: "cut_int8"}
	if c.grid, c.block, err = to.blocks(); err != nil {
		return err
	}
	c.strided(s, b, transposed)
	c.ints(to.Inner, to.Columns)
	c.digits(to)
	return s.launch(q, c)
}

// strided adds a matrix that is read, with the steps from an index to the next and from a column to the next.
func (c *call) strided(s *Set, b Operand, transposed bool) {
	row, column := b.Stride, 1
	if transposed {
		row, column = column, row
	}
	c.reading(b.At, 0)
	if b.given() {
		c.reads[len(c.reads)-1] = s.span(b)
	}
	c.ints(row, column)
}

// SignedBytes is 8-bit data less 128: rows of Stride bytes.
type SignedBytes struct {
	At     driver.Pointer
	Stride int
}

// LoadSigned sets to = from - 128 for bytes from (rows x cols) without gaps, and transposed to its transpose.
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

// Join is what makes numbers of the integer sums of a product with digits, Out = f(Out + sums + 1 Bias).
type Join struct {
	Sums       driver.Pointer // int32, Blocks x Out.Rows x (Slices Width)
	Digits     Digits
	X          SignedBytes // the first factor: Out.Rows x Inner
	B          Operand     // what was cut, of which columns without digits are read
	Transposed bool        // it is B^T
	Out        Operand
	Add        bool       // to what is there
	Activation Activation // f
	Bias       Operand    // 1 x Out.Cols, or not given: then f is left out too
}

// JoinDigits writes the product: an element is the exact sum of the slices times the unit, rounded to float64 and to the elements' type.
func (s *Set) JoinDigits(q Queue, p Join) error {
	if p.Out.Rows == 0 || p.Out.Cols == 0 {
		return nil
	}
	d := p.Digits
	c := &call{name: "join_int8"}
	c.grid, c.block = tiles(p.Out.Rows, p.Out.Cols, 4)
	c.reading(p.Sums, 4*d.Blocks*p.Out.Rows*d.Slices*d.Width)
	c.reading(d.At, d.Bytes())
	c.reading(d.Units, d.columnBytes())
	c.reading(d.Offsets, d.columnBytes())
	c.shape(d)
	c.ints(d.Blocks, d.Inner)
	c.reading(p.X.At, (p.Out.Rows-1)*p.X.Stride+d.Inner)
	c.ints(p.X.Stride)
	c.strided(s, p.B, p.Transposed)
	if p.Add {
		c.inPlace(s, p.Out)
	} else {
		c.out(s, p.Out)
	}
	c.ints(p.Out.Rows, p.Out.Cols)
	c.flag(p.Add)
	if p.Bias.given() {
		c.ints(int(p.Activation))
	} else {
		c.ints(-1)
	}
	c.in(s, p.Bias)
	return s.launch(q, c)
}
