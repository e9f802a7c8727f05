package kernel

import (
	"encoding/binary"

	"ppal/datasets/matrix"
)

// Layout is the order in which the tiles of ByteKernels read 8-bit data. Each tile has its layout.
// PackedBytes works with every layout.
type Layout struct {
	// Rows is the number of rows of a panel: rows of X for X W, rows of X^T for X^T D. Rows divides
	// RowBlock.
	Rows int
	// Depth is the number of adjacent inner indices of a row.
	Depth int
}

// quad is the number of adjacent inner indices in a panel of Digits. It is also the number of
// products that one instruction for dot products of bytes (VPDPBUSD, TDPBUSD) adds up. quad divides
// the Depth of a Layout.
const quad = 4

// PackedBytes is a data matrix of 8-bit values, X[i, l] = s v[i, l], packed once for both products
// with it. It holds two copies of the values, 2 bytes an element. With R and D the Rows and Depth
// of the layout:
//
//	X W     panels of R rows; a panel has D columns after D columns:
//	        byRow[((i/R * Q + l/D) * R + i%R) * D + l%D],  Q = ceil(columns/D)
//	X^T D   blocks of RowBlock rows; a block has panels of R columns; a panel has D rows after
//	        D rows: byCol[((l/R * Q + r/D) * R + l%R) * D + r%D] from the beginning of the block,
//	        r = i mod RowBlock, Q = ceil(rows of the block/D)
//
// The products read both copies from the first to the last byte, row block by row block. The
// elements that fill up a panel are zeros.
type PackedBytes struct {
	layout       Layout
	rows, cols   int
	scale        float64
	byRow, byCol []uint8
}

var (
	_ matrix.EightBit = (*PackedBytes)(nil)
	_ matrix.RowStore = (*PackedBytes)(nil)
)

// NewPackedBytes returns a matrix of zeros with the scale s, in the layout of the kernels' tiles.
func (k *ByteKernels) NewPackedBytes(rows, cols int, scale float64) *PackedBytes {
	return newPackedBytes(k.layout, rows, cols, scale)
}

// NewPackedBytesIn is NewPackedBytes in the memory of an Allocator, which it calls for the copy for
// X W and then for the copy for X^T D. If the Allocator returns the bytes of both copies of another
// matrix with this layout and size, the result has the values of that matrix.
func (k *ByteKernels) NewPackedBytesIn(allocate Allocator, rows, cols int, scale float64) (*PackedBytes, error) {
	return packedBytesIn(allocate, k.layout, rows, cols, scale)
}

func newPackedBytes(layout Layout, rows, cols int, scale float64) *PackedBytes {
	x, _ := packedBytesIn(nil, layout, rows, cols, scale) // the process's own memory is no error
	return x
}

func packedBytesIn(allocate Allocator, layout Layout, rows, cols int, scale float64) (x *PackedBytes, err error) {
	if rows < 0 || cols < 0 {
		panic("kernel: negative size of a matrix")
	}
	x = &PackedBytes{layout: layout, rows: rows, cols: cols, scale: scale}
	if x.byRow, err = allocated[uint8](allocate, ceil(rows, layout.Rows)*layout.Rows*x.depths()*layout.Depth); err != nil {
		return nil, err
	}
	x.byCol, err = allocated[uint8](allocate, x.columnsAt(rows))
	return x, err
}

// Rows returns the memory of rows from to to-1, and of the other rows in their panels: in the copy
// for X^T D if transposed is true, else in the copy for X W. In the copy for X^T D the rows share
// their blocks of RowBlock rows with other rows.
func (x *PackedBytes) Rows(from, to int, transposed bool) []uint8 {
	if transposed {
		end := min(ceil(to, RowBlock)*RowBlock, x.rows)
		return x.byCol[x.columnsAt(from-from%RowBlock):x.columnsAt(end)]
	}
	row := x.depths() * x.layout.Depth // bytes of a row
	first, end := from/x.layout.Rows, ceil(to, x.layout.Rows)
	return x.byRow[first*x.layout.Rows*row : end*x.layout.Rows*row]
}

// ceil returns n/d, rounded up.
func ceil(n, d int) int { return (n + d - 1) / d }

// depths returns the number of groups of Depth columns in a row.
func (x *PackedBytes) depths() int { return ceil(x.cols, x.layout.Depth) }

// rowAt returns the index in byRow of element (i, l).
func (x *PackedBytes) rowAt(i, l int) int {
	rows, depth := x.layout.Rows, x.layout.Depth
	return ((i/rows*x.depths()+l/depth)*rows+i%rows)*depth + l%depth
}

// columnsAt returns the index in byCol of the block that begins with a row, a multiple of RowBlock.
// For the number of rows it returns the length of byCol.
func (x *PackedBytes) columnsAt(row int) int {
	rows, depth := x.layout.Rows, x.layout.Depth
	groups := row/RowBlock*ceil(RowBlock, depth) + ceil(row%RowBlock, depth)
	return groups * depth * ceil(x.cols, rows) * rows
}

// blockDepths returns the number of groups of Depth rows in the block that begins with a row.
func (x *PackedBytes) blockDepths(row int) int {
	return ceil(min(RowBlock, x.rows-row), x.layout.Depth)
}

// Dims returns the numbers of rows and columns.
func (x *PackedBytes) Dims() (rows, cols int) { return x.rows, x.cols }

// Layout returns the order of the bytes.
func (x *PackedBytes) Layout() Layout { return x.layout }

// ByteScale implements matrix.EightBit with s.
func (x *PackedBytes) ByteScale() float64 { return x.scale }

// Size returns the number of bytes of the packed data.
func (x *PackedBytes) Size() int { return len(x.byRow) + len(x.byCol) }

// SetScale changes s. Afterwards the caller must quantize the Digits for products with the matrix
// again.
func (x *PackedBytes) SetScale(s float64) { x.scale = s }

// SetRows packs the values of the rows from i on. It is fastest for four rows at a time, the first
// a multiple of 4. Several goroutines may pack different rows.
func (x *PackedBytes) SetRows(i int, rows [][]uint8) {
	if i < 0 || i+len(rows) > x.rows {
		panic("kernel: SetRows: rows outside the matrix")
	}
	for _, row := range rows {
		if len(row) != x.cols {
			panic("kernel: SetRows: a row of another length")
		}
	}
	if x.cols == 0 {
		return
	}
	byFours := x.layout.Depth%quad == 0 && x.layout.Rows%quad == 0
	for len(rows) > 0 {
		n := 1
		switch {
		case !byFours || i%quad != 0 || len(rows) < quad:
			x.setColumns(i, 0, rows[0])
		case x.layout.Depth == quad:
			n = quad
			x.setFour(i, rows[0], rows[1], rows[2], rows[3])
		default:
			n = quad
			x.setFourDeep(i, rows[0], rows[1], rows[2], rows[3])
		}
		i, rows = i+n, rows[n:]
	}
}

// setFour packs rows i to i+3, i a multiple of 4, in a layout of Depth 4. Four columns of the rows
// are 16 consecutive bytes in both copies, transposed in byCol.
func (x *PackedBytes) setFour(i int, first, second, third, fourth []uint8) {
	panel, columns, apart := x.places(i)
	rows := x.layout.Rows
	whole := x.cols / quad * quad
	for begin := 0; begin < whole; begin += rows {
		column := columns[begin/rows*apart:]
		for l := begin; l < min(begin+rows, whole); l += quad {
			a, b := binary.LittleEndian.Uint32(first[l:]), binary.LittleEndian.Uint32(second[l:])
			c, d := binary.LittleEndian.Uint32(third[l:]), binary.LittleEndian.Uint32(fourth[l:])
			p := (*[quad * quad]uint8)(panel[l*rows:])
			binary.LittleEndian.PutUint32(p[0:], a)
			binary.LittleEndian.PutUint32(p[4:], b)
			binary.LittleEndian.PutUint32(p[8:], c)
			binary.LittleEndian.PutUint32(p[12:], d)
			t := (*[quad * quad]uint8)(column[(l-begin)*quad:])
			a, b, c, d = transpose(a, b, c, d)
			binary.LittleEndian.PutUint32(t[0:], a)
			binary.LittleEndian.PutUint32(t[4:], b)
			binary.LittleEndian.PutUint32(t[8:], c)
			binary.LittleEndian.PutUint32(t[12:], d)
		}
	}
	for r, row := range [quad][]uint8{first, second, third, fourth} {
		x.setColumns(i+r, whole, row)
	}
}

// setFourDeep packs rows i to i+3, i a multiple of 4, in a layout whose Depth is a larger multiple
// of 4. Four columns of the rows are four words in byCol, Depth bytes apart.
func (x *PackedBytes) setFourDeep(i int, first, second, third, fourth []uint8) {
	_, columns, apart := x.places(i)
	rows, depth := x.layout.Rows, x.layout.Depth
	whole := x.cols / quad * quad
	for begin := 0; begin < whole; begin += rows {
		column := columns[begin/rows*apart:]
		for l := begin; l < min(begin+rows, whole); l += quad {
			a, b := binary.LittleEndian.Uint32(first[l:]), binary.LittleEndian.Uint32(second[l:])
			c, d := binary.LittleEndian.Uint32(third[l:]), binary.LittleEndian.Uint32(fourth[l:])
			a, b, c, d = transpose(a, b, c, d)
			t := column[(l-begin)*depth:]
			binary.LittleEndian.PutUint32(t, a)
			binary.LittleEndian.PutUint32(t[depth:], b)
			binary.LittleEndian.PutUint32(t[2*depth:], c)
			binary.LittleEndian.PutUint32(t[3*depth:], d)
		}
	}
	for r, row := range [quad][]uint8{first, second, third, fourth} {
		panel, columns, apart := x.places(i + r)
		x.copyRow(panel, row, 0)
		x.copyColumns(columns, apart, row, whole)
	}
}

// transpose returns the columns of a square of four rows of four bytes.
func transpose(a, b, c, d uint32) (w, x, y, z uint32) {
	const even = 0x00ff00ff // bytes 0 and 2
	ab0, ab1 := a&even|b&even<<8, a>>8&even|b&^even
	cd0, cd1 := c&even|d&even<<8, c>>8&even|d&^even
	return ab0&0xffff | cd0<<16, ab1&0xffff | cd1<<16, ab0>>16 | cd0&^0xffff, ab1>>16 | cd1&^0xffff
}

// places returns the index at which row i begins in each copy, and the distance between two panels
// of columns in the second copy.
func (x *PackedBytes) places(i int) (panel, columns []uint8, apart int) {
	rows, depth := x.layout.Rows, x.layout.Depth
	block := i - i%RowBlock
	r := i - block
	panel = x.byRow[x.rowAt(i, 0):]
	columns = x.byCol[x.columnsAt(block)+r/depth*rows*depth+r%depth:]
	return panel, columns, x.blockDepths(block) * rows * depth
}

// setColumns packs the values of row i from column l on.
func (x *PackedBytes) setColumns(i, l int, row []uint8) {
	panel, columns, apart := x.places(i)
	x.copyRow(panel, row, l)
	x.copyColumns(columns, apart, row, l)
}

// copyRow writes a row's values from column l on to the first copy.
func (x *PackedBytes) copyRow(panel, row []uint8, l int) {
	rows, depth := x.layout.Rows, x.layout.Depth
	for at := l; at < x.cols; {
		n := min(depth-at%depth, x.cols-at)
		copy(panel[at/depth*rows*depth+at%depth:], row[at:at+n])
		at += n
	}
}

// copyColumns writes a row's values from column l on to the second copy.
func (x *PackedBytes) copyColumns(columns []uint8, apart int, row []uint8, l int) {
	rows, depth := x.layout.Rows, x.layout.Depth
	for at := l; at < x.cols; {
		n := min(rows-at%rows, x.cols-at)
		to := columns[at/rows*apart+at%rows*depth:]
		for j, v := range row[at : at+n] {
			to[j*depth] = v
		}
		at += n
	}
}

// ByteRow implements matrix.EightBit: it copies row i to buffer.
func (x *PackedBytes) ByteRow(i int, buffer []uint8) []uint8 {
	if i < 0 || i >= x.rows || len(buffer) < x.cols {
		panic("kernel: ByteRow: no such row, or too little room for it")
	}
	buffer = buffer[:x.cols]
	rows, depth := x.layout.Rows, x.layout.Depth
	at, l := x.rowAt(i, 0), 0
	if depth == quad {
		for ; l+quad <= x.cols; l += quad {
			binary.LittleEndian.PutUint32(buffer[l:], binary.LittleEndian.Uint32(x.byRow[at:]))
			at += rows * quad
		}
	}
	for ; l < x.cols; l += depth {
		copy(buffer[l:], x.byRow[at:][:depth])
		at += rows * depth
	}
	return buffer
}

// Float32 writes rows [from, to) to dst, scaled and then rounded once.
func (x *PackedBytes) Float32(dst []float32, from, to int) { matrix.WidenBytes(dst, x, from, to) }

// Float64 writes rows [from, to) to dst, scaled.
func (x *PackedBytes) Float64(dst []float64, from, to int) { matrix.WidenBytes(dst, x, from, to) }

// At returns v[i, l].
func (x *PackedBytes) At(i, l int) uint8 {
	if i < 0 || i >= x.rows || l < 0 || l >= x.cols {
		panic("kernel: At: no such element")
	}
	return x.byRow[x.rowAt(i, l)]
}

// checkBlock panics unless a product supports rows lo to hi-1.
func (x *PackedBytes) checkBlock(lo, hi int) {
	if rows := x.layout.Rows; lo < 0 || hi < lo || hi > x.rows || lo%rows != 0 || hi%rows != 0 && hi != x.rows {
		panic("kernel: rows outside the matrix, or that begin or end within a panel")
	}
}
