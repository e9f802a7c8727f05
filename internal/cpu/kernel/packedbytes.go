package kernel

import (
	"encoding/binary"

	"ppal/datasets/matrix"
)

// byteRows is the number of rows of a panel of PackedBytes: the height of the AVX-512
// tile and twice that of the 256-bit one. quad is the number of inner indices
// that one instruction takes.
const byteRows, quad = 8, 4

// PackedBytes is a data matrix of 8-bit values, X[i, l] = s v[i, l], packed once for
// both products with it, in the layouts that they want: 2 bytes an element.
//
//	X W     panels of 8 rows, a panel by fours of columns:
//	        byRow[((i/8 * Q + l/4) * 8 + i%8) * 4 + l%4],  Q = ceil(columns/4)
//	X^T D   blocks of RowBlock rows; of each, panels of 8 columns, a panel by
//	        fours of rows: byCol[((l/8 * Q + r/4) * 8 + l%8) * 4 + r%4] from the
//	        block's beginning on, r = i mod RowBlock, Q = ceil(rows of the block/4)
//
// Both are read from the first to the last byte, row block by row block. What
// fills them up is zero.
type PackedBytes struct {
	rows, cols   int
	scale        float64
	byRow, byCol []uint8
}

var (
	_ matrix.EightBit = (*PackedBytes)(nil)
	_ matrix.RowStore = (*PackedBytes)(nil)
)

// NewPackedBytes returns a matrix of zeros with the scale s.
func NewPackedBytes(rows, cols int, scale float64) *PackedBytes {
	if rows < 0 || cols < 0 {
		panic("kernel: negative size of a matrix")
	}
	x := &PackedBytes{rows: rows, cols: cols, scale: scale}
	x.byRow = Alloc[uint8](ceil(rows, byteRows) * byteRows * x.quads() * quad)
	x.byCol = Alloc[uint8](x.columnsAt(rows))
	return x
}

// ceil is n/d, rounded up.
func ceil(n, d int) int { return (n + d - 1) / d }

// quads is the number of fours of a row.
func (x *PackedBytes) quads() int { return ceil(x.cols, quad) }

// columnsAt is where in byCol the block of the row begins, a multiple of
// RowBlock, and for the number of rows the size of it all.
func (x *PackedBytes) columnsAt(row int) int {
	return ceil(row, quad) * quad * ceil(x.cols, byteRows) * byteRows
}

// Dims is the number of rows and columns.
func (x *PackedBytes) Dims() (rows, cols int) { return x.rows, x.cols }

// ByteScale implements matrix.EightBit with s.
func (x *PackedBytes) ByteScale() float64 { return x.scale }

// Size is the packed data's number of bytes.
func (x *PackedBytes) Size() int { return len(x.byRow) + len(x.byCol) }

// SetScale changes s. Digits for products with the matrix are to be cut afterwards.
func (x *PackedBytes) SetScale(s float64) { x.scale = s }

// SetRows packs the values of the rows from i on, four at a time where they are a panel's. Several goroutines may pack different rows.
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
	for len(rows) > 0 {
		n := 1
		if i%quad == 0 && len(rows) >= quad {
			n = quad
			x.setFour(i, rows[0], rows[1], rows[2], rows[3])
		} else {
			x.setColumns(i, 0, rows[0])
		}
		i, rows = i+n, rows[n:]
	}
}

// setFour packs rows i to i+3, i a multiple of 4: four columns of them are 16 bytes on end in both layouts, in one transposed.
func (x *PackedBytes) setFour(i int, first, second, third, fourth []uint8) {
	panel, columns, inBlock := x.places(i)
	whole := x.cols / quad * quad
	for l := 0; l < whole; l += quad {
		a, b := binary.LittleEndian.Uint32(first[l:]), binary.LittleEndian.Uint32(second[l:])
		c, d := binary.LittleEndian.Uint32(third[l:]), binary.LittleEndian.Uint32(fourth[l:])
		p := (*[quad * quad]uint8)(panel[l*byteRows:])
		binary.LittleEndian.PutUint32(p[0:], a)
		binary.LittleEndian.PutUint32(p[4:], b)
		binary.LittleEndian.PutUint32(p[8:], c)
		binary.LittleEndian.PutUint32(p[12:], d)
		// Bytes 0 and 2 of two rows, then bytes 1 and 3.
		const even = 0x00ff00ff
		ab0, ab1 := a&even|b&even<<8, a>>8&even|b&^even
		cd0, cd1 := c&even|d&even<<8, c>>8&even|d&^even
		t := (*[quad * quad]uint8)(columns[l/byteRows*inBlock+l%byteRows*quad:])
		binary.LittleEndian.PutUint32(t[0:], ab0&0xffff|cd0<<16)
		binary.LittleEndian.PutUint32(t[4:], ab1&0xffff|cd1<<16)
		binary.LittleEndian.PutUint32(t[8:], ab0>>16|cd0&^0xffff)
		binary.LittleEndian.PutUint32(t[12:], ab1>>16|cd1&^0xffff)
	}
	for r, row := range [quad][]uint8{first, second, third, fourth} {
		x.setColumns(i+r, whole, row)
	}
}

// places returns where row i begins in both layouts, and how far apart in the second two panels of columns are.
func (x *PackedBytes) places(i int) (panel, columns []uint8, inBlock int) {
	first := i - i%RowBlock
	panel = x.byRow[(i/byteRows*x.quads()*byteRows+i%byteRows)*quad:]
	columns = x.byCol[x.columnsAt(first)+(i-first)/quad*byteRows*quad+i%quad:]
	return panel, columns, ceil(min(RowBlock, x.rows-first), quad) * byteRows * quad
}

// setColumns packs the values of row i from column l on.
func (x *PackedBytes) setColumns(i, l int, row []uint8) {
	panel, columns, inBlock := x.places(i)
	for ; l < x.cols; l++ {
		panel[l/quad*byteRows*quad+l%quad] = row[l]
		columns[l/byteRows*inBlock+l%byteRows*quad] = row[l]
	}
}

// ByteRow implements matrix.EightBit: it copies row i to room.
func (x *PackedBytes) ByteRow(i int, room []uint8) []uint8 {
	if i < 0 || i >= x.rows || len(room) < x.cols {
		panic("kernel: ByteRow: no such row, or too little room for it")
	}
	room = room[:x.cols]
	if x.cols == 0 {
		return room
	}
	panel, _, _ := x.places(i)
	l := 0
	for ; l+quad <= x.cols; l += quad {
		binary.LittleEndian.PutUint32(room[l:], binary.LittleEndian.Uint32(panel[l*byteRows:]))
	}
	if l < x.cols {
		copy(room[l:], panel[l*byteRows:][:quad])
	}
	return room
}

// Float32 writes rows [from, to) to dst, scaled and then rounded once.
func (x *PackedBytes) Float32(dst []float32, from, to int) { matrix.WidenBytes(dst, x, from, to) }

// Float64 writes rows [from, to) to dst, scaled.
func (x *PackedBytes) Float64(dst []float64, from, to int) { matrix.WidenBytes(dst, x, from, to) }

// At is v[i, l].
func (x *PackedBytes) At(i, l int) uint8 {
	if i < 0 || i >= x.rows || l < 0 || l >= x.cols {
		panic("kernel: At: no such element")
	}
	return x.byRow[((i/byteRows*x.quads()+l/quad)*byteRows+i%byteRows)*quad+l%quad]
}

// checkBlock panics unless rows lo to hi-1 are the blocks of a product.
func (x *PackedBytes) checkBlock(lo, hi int) {
	if lo < 0 || hi < lo || hi > x.rows || lo%byteRows != 0 || hi%byteRows != 0 && hi != x.rows {
		panic("kernel: rows outside the matrix, or that begin or end within a panel of 8")
	}
}
