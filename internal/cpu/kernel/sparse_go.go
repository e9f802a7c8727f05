package kernel

import "unsafe"

// sparse holds the passes of one level over sparse rows.
type sparse[F Float] struct {
	lanes                   int            // of a vector of columns
	rowsMul, rowsAddTrans   [2]rowsPass[F] // for rowsVectors vectors, and for up to one vector
	groupMul, groupAddTrans func(groups int, starts *uint32, pairs *uint64, from, to *F)
	groupFold               func(columns int, sums *F, from, to *float64) // not nil if groupAddTrans is not
}

// rowsVectors is the number of vectors of columns that the wider pass computes at a time.
const rowsVectors = 4

// rowsPass reads or writes the columns 0 to n-1 of two matrices for rows of entries.
type rowsPass[F Float] func(rows int, starts *int, columns *int32, values *F, step int, from *F, ldFrom int, to *F, ldTo int, n int)

// goLanes is a multiple of the number of elements that compilers put into a vector.
const goLanes = 8

func sparseGo[F Float]() sparse[F] {
	return sparse[F]{
		lanes:        goLanes,
		rowsMul:      [2]rowsPass[F]{rowsMulGo[F], rowsMulGo[F]},
		rowsAddTrans: [2]rowsPass[F]{rowsAddTransGo[F], rowsAddTransGo[F]},
	}
}

// rowsMulGo computes columns j < n of Z = X W: the reference of the passes in assembly.
func rowsMulGo[F Float](rows int, starts *int, columns *int32, values *F, step int, w *F, ldw int, z *F, ldz int, n int) {
	eachEntry(rows, starts, columns, values, step, func(i int) {
		clear(row(z, i, ldz, n))
	}, func(i, c int, x F) {
		to := row(z, i, ldz, n)
		for j, v := range row(w, c, ldw, n) {
			to[j] += x * v
		}
	})
}

// rowsAddTransGo adds columns j < n of X^T D to G: the reference of the passes in assembly.
func rowsAddTransGo[F Float](rows int, starts *int, columns *int32, values *F, step int, d *F, ldd int, g *F, ldg int, n int) {
	eachEntry(rows, starts, columns, values, step, func(int) {}, func(i, c int, x F) {
		to := row(g, c, ldg, n)
		for j, v := range row(d, i, ldd, n) {
			to[j] += x * v
		}
	})
}

// eachEntry calls begin for every row and visit for every entry of the row.
func eachEntry[F Float](rows int, starts *int, columns *int32, values *F, step int, begin func(i int), visit func(i, c int, x F)) {
	at := unsafe.Slice(starts, rows+1)
	cs := unsafe.Slice(columns, at[rows])
	for i := range rows {
		begin(i)
		for e := at[i]; e < at[i+1]; e++ {
			visit(i, int(cs[e]), *(*F)(unsafe.Add(unsafe.Pointer(values), uintptr(e*step)*sizeof[F]())))
		}
	}
}

// row returns n elements of row i of a matrix with rows ld apart.
func row[F Float](a *F, i, ld, n int) []F {
	return unsafe.Slice((*F)(unsafe.Add(unsafe.Pointer(a), uintptr(i*ld)*sizeof[F]())), n)
}
