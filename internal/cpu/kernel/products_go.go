package kernel

import "unsafe"

// The Go tile is 2 x 4: eight accumulators, which with a row of B and a column
// of X stay in the registers of any machine.
const goRows, goCols = 2, 4

func productsGo[F Float]() products[F] {
	return products[F]{
		rows: goRows, cols: goCols, half: goCols,
		tile:      [2]func(k int, x, b, c *F, ldc int, add bool){tileGo[F]},
		tileTrans: [2]func(m int, x *F, panel int, b, c *F, ldc int, add bool){tileTransGo[F]},
		packPanel: packPanelGo[F],
	}
}

func packPanelGo[F Float](k int, b *F, ldb int, panel *F) {
	from, to := unsafe.Slice(b, (k-1)*ldb+goCols), unsafe.Slice(panel, k*goCols)
	for l := range k {
		copy(to[l*goCols:][:goCols], from[l*ldb:])
	}
}

// tileGo computes C = X B, or C += X B if add: the reference of the tiles in
// assembly.
func tileGo[F Float](k int, x, b, c *F, ldc int, add bool) {
	var acc tileAcc[F]
	acc.addProduct(unsafe.Slice(x, (k-1)*panelRows+goRows), panelRows, 1, unsafe.Slice(b, k*goCols))
	acc.store(unsafe.Slice(c, (goRows-1)*ldc+goCols), ldc, add)
}

// tileTransGo computes C = X^T B, or C += X^T B if add, over m rows of X in
// panels that are panel elements apart: the reference of the tiles in assembly.
func tileTransGo[F Float](m int, x *F, panel int, b, c *F, ldc int, add bool) {
	var acc tileAcc[F]
	xs := unsafe.Slice(x, (m-1)/panelRows*panel+panelRows+(m-1)%panelRows+1)
	bs := unsafe.Slice(b, m*goCols)
	for l := 0; l < m; l += panelRows {
		n := min(panelRows, m-l)
		acc.addProduct(xs[l/panelRows*panel:], 1, panelRows, bs[l*goCols:][:n*goCols])
	}
	acc.store(unsafe.Slice(c, (goRows-1)*ldc+goCols), ldc, add)
}

// A tileAcc accumulates a tile.
type tileAcc[F Float] [goRows][goCols]F

// addProduct adds sum_l x[l*step + i*stride] b[l*goCols + j].
func (acc *tileAcc[F]) addProduct(x []F, step, stride int, b []F) {
	a00, a01, a02, a03 := acc[0][0], acc[0][1], acc[0][2], acc[0][3]
	a10, a11, a12, a13 := acc[1][0], acc[1][1], acc[1][2], acc[1][3]
	for at := 0; len(b) >= goCols; at += step {
		x0, x1 := x[at], x[at+stride]
		a00 += x0 * b[0]
		a01 += x0 * b[1]
		a02 += x0 * b[2]
		a03 += x0 * b[3]
		a10 += x1 * b[0]
		a11 += x1 * b[1]
		a12 += x1 * b[2]
		a13 += x1 * b[3]
		b = b[goCols:]
	}
	*acc = tileAcc[F]{{a00, a01, a02, a03}, {a10, a11, a12, a13}}
}

// store writes the tile to c, or adds it to c.
func (acc *tileAcc[F]) store(c []F, ldc int, add bool) {
	for i := range goRows {
		for j := range goCols {
			if add {
				acc[i][j] += c[i*ldc+j]
			}
			c[i*ldc+j] = acc[i][j]
		}
	}
}
