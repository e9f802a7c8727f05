package kernel

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

// NewPackedBFloat16In is NewPackedBFloat16 in the memory of a Room.
func NewPackedBFloat16In(room Room, rows, cols, digits int) (*PackedBFloat16, error) {
	checkDigits(rows, cols, digits)
	x := &PackedBFloat16{rows: rows, cols: cols, byCol: make([]BFloat16, ceil(rows, RowBlock))}
	size := func(lines, inner int) int {
		return ceil(lines, bfloat16Rows) * ceil(inner, bfloat16Depth) * digits * bfloat16Tile
	}
	whole, err := roomOf[uint16](room, size(rows, cols))
	if err != nil {
		return nil, err
	}
	x.byRow = newBFloat16(rows, cols, digits, whole)
	block := size(cols, RowBlock)
	if x.data, err = roomOf[uint16](room, len(x.byCol)*block); err != nil {
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
