package kernel

import "unsafe"

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
