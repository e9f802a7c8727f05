//go:build gpu

package kernels_test

import (
	"testing"

	"ppal/internal/cuda/kernels"
	"ppal/internal/plan"
)

func TestSparseProduct(t *testing.T) {
	both(t, sparse[float32], sparse[float64])
}

func sparse[T plan.Float](t *testing.T) {
	for i, size := range [][3]int{{1, 1, 1}, {40, 9, 1}, {3000, 5, 1}, {9000, 3, 2}, {70, 30, 3}, {1200, 4, 16}, {30, 50, 40}} {
		for _, ones := range []bool{false, true} {
			r := newRig[T](t, uint64(i))
			rows, cols, width := size[0], size[1], size[2]
			x := plan.View{Stride: cols, Rows: rows, Cols: cols}
			dense := make([]T, rows*cols)
			starts, columns, values := []int{0}, []int32(nil), []float64(nil)
			for i := range rows {
				for j := range cols {
					if i%7 == 3 || r.rng.IntN(3) > 0 && j != 1 { // empty rows and an almost empty column
						continue
					}
					v := float64(T(r.rng.NormFloat64()))
					if ones {
						v = 1
					}
					dense[i*cols+j] = T(v)
					columns, values = append(columns, int32(j)), append(values, v)
				}
				starts = append(starts, len(columns))
			}
			x.Buffer = r.buffer(dense)
			if ones {
				values = nil
			}
			w, z := r.random(cols, width, 1), r.result(rows, width, 2)
			d, g := r.random(rows, width, 1), r.result(cols, width, 0)
			sparseX := r.sparse(rows, cols, starts, columns, values)
			tstarts, trows, tvalues := kernels.Transpose(cols, starts, columns, values)
			sparseXT := r.sparse(cols, rows, tstarts, trows, tvalues)
			for _, add := range []bool{false, true} {
				r.do(r.s.SparseProduct(r.q, sparseX, r.on(w), r.on(z), add))
				r.step(&plan.Product{A: x, B: w, Out: z, Add: add})
				r.do(r.s.SparseProduct(r.q, sparseXT, r.on(d), r.on(g), add))
				r.step(&plan.Product{A: x, B: d, Out: g, TransA: true, Add: add})
				r.check(4+sumScale[T](rows+cols), 2)
			}
		}
	}
}

// sparse uploads the entries of a sparse matrix.
func (r *rig[T]) sparse(rows, cols int, starts []int, columns []int32, values []float64) kernels.Sparse {
	x := kernels.Sparse{Rows: rows, Cols: cols, Entries: len(columns), Columns: r.put(bytesOf(columns))}
	list := make([]int64, len(starts))
	for i, n := range starts {
		list[i] = int64(n)
		if i > 0 {
			x.Longest = max(x.Longest, n-starts[i-1])
		}
	}
	x.Starts = r.put(bytesOf(list))
	if values != nil {
		numbers := make([]T, len(values))
		for i, v := range values {
			numbers[i] = T(v)
		}
		x.Values = r.put(bytesOf(numbers))
	}
	return x
}
