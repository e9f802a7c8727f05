package kernel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// gemm computes C = alpha A B + beta C. tA and tB say whether A and B are transposed. It is the
// matrix product of a BLAS.
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

// Gonum computes a product of at most gemmRows x gemmCols, which is three of its blocks, on the
// caller's goroutine. For larger products it starts other goroutines. Calls take gemmDepth inner
// indices at a time, so that this part of B stays in a level-1 cache.
const gemmRows, gemmCols, gemmDepth = 64, 192, 64

// multiply computes C = A B, or C += A B if add, or with A^T if trans, for m x n elements and k
// inner indices in increasing order.
func (f gemm[F]) multiply(trans, add bool, m, n, k int, a []F, lda int, b []F, ldb int, c []F, ldc int) {
	parts := (n + gemmCols - 1) / gemmCols // parts of equal width
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
