package kernel

// byteRows is the number of rows of a panel of Bytes: the height of the AVX-512
// tile and twice that of the 256-bit one. quad is the number of inner indices
// that one instruction takes.
const byteRows, quad = 8, 4

// Bytes is a data matrix of 8-bit values, X[i, l] = s v[i, l], packed once for
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
type Bytes struct {
	rows, cols   int
	scale        float64
	byRow, byCol []uint8
}

// NewBytes returns a matrix of zeros with the scale s.
func NewBytes(rows, cols int, scale float64) *Bytes {
	if rows < 0 || cols < 0 {
		panic("kernel: negative size of a matrix")
	}
	x := &Bytes{rows: rows, cols: cols, scale: scale}
	x.byRow = Alloc[uint8](ceil(rows, byteRows) * byteRows * x.quads() * quad)
	x.byCol = Alloc[uint8](x.columnsAt(rows))
	return x
}

// ceil is n/d, rounded up.
func ceil(n, d int) int { return (n + d - 1) / d }

// quads is the number of fours of a row.
func (x *Bytes) quads() int { return ceil(x.cols, quad) }

// columnsAt is where in byCol the block of the row begins, a multiple of
// RowBlock, and for the number of rows the size of it all.
func (x *Bytes) columnsAt(row int) int {
	return ceil(row, quad) * quad * ceil(x.cols, byteRows) * byteRows
}

// Dims is the number of rows and columns.
func (x *Bytes) Dims() (rows, cols int) { return x.rows, x.cols }

// Scale is s.
func (x *Bytes) Scale() float64 { return x.scale }

// Size is the packed data's number of bytes.
func (x *Bytes) Size() int { return len(x.byRow) + len(x.byCol) }

// SetRows packs the values of rows from, a multiple of RowBlock, up to the next block's or to the last. Several goroutines may pack
// different blocks.
func (x *Bytes) SetRows(from int, values []uint8) {
	if from < 0 || from >= x.rows || from%RowBlock != 0 || len(values) != min(RowBlock, x.rows-from)*x.cols {
		panic("kernel: SetRows: no such block, or not all of it")
	}
	n := len(values) / max(1, x.cols)
	inBlock := ceil(n, quad)
	columns := x.byCol[x.columnsAt(from):]
	for i := range n {
		row := values[i*x.cols : (i+1)*x.cols]
		panel := x.byRow[(from+i)/byteRows*x.quads()*byteRows*quad+i%byteRows*quad:]
		for l, v := range row {
			panel[l/quad*byteRows*quad+l%quad] = v
		}
		for p := 0; p < x.cols; p += byteRows {
			to := columns[(p*inBlock+i/quad*byteRows)*quad+i%quad:]
			for l, v := range row[p:min(p+byteRows, x.cols)] {
				to[l*quad] = v
			}
		}
	}
}

// At is v[i, l].
func (x *Bytes) At(i, l int) uint8 {
	if i < 0 || i >= x.rows || l < 0 || l >= x.cols {
		panic("kernel: At: no such element")
	}
	return x.byRow[((i/byteRows*x.quads()+l/quad)*byteRows+i%byteRows)*quad+l%quad]
}

// checkBlock panics unless rows lo to hi-1 are the blocks of a product.
func (x *Bytes) checkBlock(lo, hi int) {
	if lo < 0 || hi < lo || hi > x.rows || lo%byteRows != 0 || hi%byteRows != 0 && hi != x.rows {
		panic("kernel: rows outside the matrix, or that begin or end within a panel of 8")
	}
}
