package kernel

import "unsafe"

// narrows holds the products of one level for factors with few rows or columns. The products read
// the factors without packing, because packing would cost more than the product.
type narrows[F Float] struct {
	// Four rows or columns at a time, and one.
	combine [2]func(k, n int, x *F, down, right int, b *F, ldb int, c *F, ldc int, add bool)
	dots    [2]func(m, k int, x *F, ldx int, b *F, ldb int, c *F, ldc int)

	addColumns func(m, n int, x *F, ldx int, sums *float64)
}

// narrowRows is the number of rows or columns that the products take at a time.
const narrowRows = 4

// byFours calls do for the rows 0 to n-1: with variant 0 for four rows at a time, then with variant
// 1 for single rows.
func byFours(n int, do func(variant, i int)) {
	i := 0
	for ; i+narrowRows <= n; i += narrowRows {
		do(0, i)
	}
	for ; i < n; i++ {
		do(1, i)
	}
}

// Strided is a Rows x Cols matrix whose element (i, j) is Data[i*RowStride + j*ColStride].
type Strided[F Float] struct {
	Data                 []F
	Rows, Cols           int
	RowStride, ColStride int
}

// T returns the transpose of x.
func (x Strided[F]) T() Strided[F] {
	return Strided[F]{x.Data, x.Cols, x.Rows, x.ColStride, x.RowStride}
}

// Dense returns a rows x cols matrix whose rows are ld elements apart.
func Dense[F Float](data []F, rows, cols, ld int) Strided[F] {
	return Strided[F]{data, rows, cols, ld, 1}
}

// CombineRows computes C = X B, or C += X B if add: each row of C is a combination of the rows of
// B. In B and C, ColStride is 1. CombineRows is meant for few rows of C, or of B.
//
// Each element is a chain of multiply-adds from zero in increasing inner index, fused above level
// Go, and is added to C in one addition. So C is the same at AVX2 and AVX512.
func (k *Kernels[F]) CombineRows(c, x, b Strided[F], add bool) {
	x.check("CombineRows")
	b.check("CombineRows")
	c.check("CombineRows")
	if c.Rows != x.Rows || x.Cols != b.Rows || c.Cols != b.Cols || b.ColStride != 1 || c.ColStride != 1 {
		panic("kernel: CombineRows: matrices of other sizes, or gaps in rows")
	}
	switch {
	case c.Rows == 0 || c.Cols == 0:
	case x.Cols > 0:
		byFours(c.Rows, func(variant, i int) {
			k.narrow.combine[variant](x.Cols, c.Cols, &x.Data[i*x.RowStride], x.RowStride, x.ColStride, &b.Data[0], b.RowStride, &c.Data[i*c.RowStride], c.RowStride, add)
		})
	case !add:
		zeroRows(c.Data, c.Rows, c.Cols, c.RowStride)
	}
}

// Dots computes C = X B^T, the dot products of the rows of X with the rows of B. In all matrices
// ColStride is 1. Dots is meant for few rows of B.
//
// A sum has as many parts as 64 bytes have elements, one for each remainder of the index. Each part
// is a chain of multiply-adds from zero in increasing index, fused above level Go. Then the upper
// half of the parts is added to the lower half until a single sum remains. So C is the same at AVX2
// and AVX512.
func (k *Kernels[F]) Dots(c, x, b Strided[F]) {
	x.check("Dots")
	b.check("Dots")
	c.check("Dots")
	if c.Rows != x.Rows || x.Cols != b.Cols || c.Cols != b.Rows || x.ColStride != 1 || b.ColStride != 1 || c.ColStride != 1 {
		panic("kernel: Dots: matrices of other sizes, or gaps in rows")
	}
	if c.Rows == 0 {
		return
	}
	if x.Cols == 0 {
		zeroRows(c.Data, c.Rows, c.Cols, c.RowStride)
		return
	}
	byFours(c.Cols, func(variant, j int) {
		k.narrow.dots[variant](x.Rows, x.Cols, &x.Data[0], x.RowStride, &b.Data[j*b.RowStride], b.RowStride, &c.Data[j], c.RowStride)
	})
}

// AddColumns adds the rows of X to sums, row after row, in float64. The ColStride of X is 1.
func (k *Kernels[F]) AddColumns(sums []float64, x Strided[F]) {
	x.check("AddColumns")
	if x.Cols != len(sums) || x.ColStride != 1 {
		panic("kernel: AddColumns: a matrix of another width, or gaps in rows")
	}
	if x.Rows > 0 && x.Cols > 0 {
		k.narrow.addColumns(x.Rows, x.Cols, &x.Data[0], x.RowStride, &sums[0])
	}
}

// check panics unless the elements lie within the data.
func (x Strided[F]) check(what string) {
	switch {
	case x.Rows < 0 || x.Cols < 0 || x.RowStride < 0 || x.ColStride < 0:
		panic("kernel: " + what + ": negative size or stride")
	case x.Rows > 0 && x.Cols > 0 && len(x.Data) <= (x.Rows-1)*x.RowStride+(x.Cols-1)*x.ColStride:
		panic("kernel: " + what + ": matrix too short for its size")
	}
}

// narrowGo returns the reference of the products in assembly.
func narrowGo[F Float]() narrows[F] {
	type (
		combine = func(k, n int, x *F, down, right int, b *F, ldb int, c *F, ldc int, add bool)
		dots    = func(m, k int, x *F, ldx int, b *F, ldb int, c *F, ldc int)
	)
	return narrows[F]{
		combine:    [2]combine{combineRowsGo[F](narrowRows), combineRowsGo[F](1)},
		dots:       [2]dots{dotsGo[F](narrowRows), dotsGo[F](1)},
		addColumns: addColumnsGo[F],
	}
}

// combineRowsGo computes C = X B, or C += X B if add, for a number of rows.
func combineRowsGo[F Float](rows int) func(k, n int, x *F, down, right int, b *F, ldb int, c *F, ldc int, add bool) {
	return func(k, n int, x *F, down, right int, b *F, ldb int, c *F, ldc int, add bool) {
		xs := unsafe.Slice(x, (rows-1)*down+(k-1)*right+1)
		bs, cs := unsafe.Slice(b, (k-1)*ldb+n), unsafe.Slice(c, (rows-1)*ldc+n)
		var room [32]F
		for i := range rows {
			for at := 0; at < n; at += len(room) {
				sums := room[:min(len(room), n-at)]
				clear(sums)
				for l := range k {
					v := xs[i*down+l*right]
					for j, e := range bs[l*ldb+at:][:len(sums)] {
						sums[j] += v * e
					}
				}
				to := cs[i*ldc+at:][:len(sums)]
				for j, s := range sums {
					if add {
						s += to[j]
					}
					to[j] = s
				}
			}
		}
	}
}

// dotsGo computes C = X B^T for a number of columns.
func dotsGo[F Float](cols int) func(m, k int, x *F, ldx int, b *F, ldb int, c *F, ldc int) {
	return func(m, k int, x *F, ldx int, b *F, ldb int, c *F, ldc int) {
		xs, bs := unsafe.Slice(x, (m-1)*ldx+k), unsafe.Slice(b, (cols-1)*ldb+k)
		cs := unsafe.Slice(c, (m-1)*ldc+cols)
		for i := range m {
			for j := range cols {
				cs[i*ldc+j] = dotGo(xs[i*ldx:][:k], bs[j*ldb:][:k])
			}
		}
	}
}

// dotGo returns a sum in as many parts as 64 bytes have elements.
func dotGo[F Float](x, y []F) F {
	var sums [16]F
	parts := sums[:64/sizeof[F]()]
	for len(x) >= len(parts) {
		terms := y[:len(parts)]
		for i, v := range x[:len(parts)] {
			parts[i] += v * terms[i]
		}
		x, y = x[len(parts):], y[len(parts):]
	}
	for i, v := range x {
		parts[i] += v * y[i]
	}
	for half := len(parts) / 2; half > 0; half /= 2 {
		for i := range half {
			parts[i] += parts[half+i]
		}
	}
	return parts[0]
}

func addColumnsGo[F Float](m, n int, x *F, ldx int, sums *float64) {
	xs, to := unsafe.Slice(x, (m-1)*ldx+n), unsafe.Slice(sums, n)
	for i := range m {
		for j, v := range xs[i*ldx:][:n] {
			to[j] += float64(v)
		}
	}
}
