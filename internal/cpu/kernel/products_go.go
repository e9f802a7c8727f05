package kernel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// gemm computes C = alpha A B + beta C, A and B transposed where they are said
// to be: a BLAS's product.
type gemm[F Float] func(tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int)

// productsGo returns gonum's product in place of tiles.
func productsGo[F Float]() products[F] {
	var p products[F]
	switch p := any(&p).(type) {
	case *products[float32]:
		p.gemm = gonum.Implementation{}.Sgemm
	case *products[float64]:
		p.gemm = gonum.Implementation{}.Dgemm
	}
	return p
}

// A call of at most gemmRows x gemmCols is done by gonum on the caller's
// goroutine: three of its blocks, where it starts others from four on. Inner
// indices are taken gemmDepth at a time, which keeps that part of B in a
// level-1 cache.
const gemmRows, gemmCols, gemmDepth = 64, 192, 64

// multiply computes C = A B, or C += A B if add, or with A^T if trans, for m x
// n elements and k inner indices, in increasing order.
func (f gemm[F]) multiply(trans, add bool, m, n, k int, a []F, lda int, b []F, ldb int, c []F, ldc int) {
	parts := (n + gemmCols - 1) / gemmCols // of one width, rather than a narrow one last
	cols := (n + parts - 1) / parts
	for i := 0; i < m; i += gemmRows {
		for j := 0; j < n; j += cols {
			for l := 0; l < k; l += gemmDepth {
				var beta F
				if add || l > 0 {
					beta = 1
				}
				rows, width, depth := min(gemmRows, m-i), min(cols, n-j), min(gemmDepth, k-l)
				if trans {
					f(blas.Trans, blas.NoTrans, rows, width, depth, 1, a[l*lda+i:], lda, b[l*ldb+j:], ldb, beta, c[i*ldc+j:], ldc)
				} else {
					f(blas.NoTrans, blas.NoTrans, rows, width, depth, 1, a[i*lda+l:], lda, b[l*ldb+j:], ldb, beta, c[i*ldc+j:], ldc)
				}
			}
		}
	}
}
