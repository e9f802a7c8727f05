package kernel

import (
	"math"
	"unsafe"
)

// sweepsGo returns the reference of the sweeps in assembly.
func sweepsGo[F Float]() sweeps[F] {
	return sweeps[F]{
		combine: combineGo[F],
		scaledCopy: func(n int, dst *F, s F, x *F) {
			to := unsafe.Slice(dst, n)
			for i, v := range unsafe.Slice(x, n) {
				to[i] = s * v
			}
		},
		accumulate: func(n int, sums *float64, s float64, x *F) {
			to := unsafe.Slice(sums, n)
			for i, v := range unsafe.Slice(x, n) {
				to[i] += s * float64(v)
			}
		},
		round: func(n int, dst *F, sums *float64) {
			to := unsafe.Slice(dst, n)
			for i, v := range unsafe.Slice(sums, n) {
				to[i] = F(v)
			}
		},
		trialNorm: func(n int, x, d, v *F, e, b F) float64 {
			return trialNormGo(unsafe.Slice(x, n), unsafe.Slice(d, n), unsafe.Slice(v, n), e, b)
		},
		trialNormPlain: func(n int, x, d *F, e F) float64 {
			return trialNormGo(unsafe.Slice(x, n), unsafe.Slice(d, n), nil, e, 0)
		},
		descend: func(n int, x, d, v *F, e, b, scale, lower, upper, threshold F) (moved, size float64) {
			p := Proximal[F]{scale, lower, upper, threshold}
			return descendGo(unsafe.Slice(x, n), unsafe.Slice(d, n), unsafe.Slice(v, n), e, b, p)
		},
		descendPlain: func(n int, x, d *F, e, scale, lower, upper, threshold F) (moved, size float64) {
			return descendGo(unsafe.Slice(x, n), unsafe.Slice(d, n), nil, e, 0, Proximal[F]{scale, lower, upper, threshold})
		},
		adam: func(n int, x, d, m, v *F, rate, root, scale, lower, upper, threshold F) (size float64) {
			p := Proximal[F]{scale, lower, upper, threshold}
			return adamGo(unsafe.Slice(x, n), unsafe.Slice(d, n), unsafe.Slice(m, n), unsafe.Slice(v, n), rate, root, p)
		},
	}
}

func combineGo[F Float](n int, dst *F, s F, x *F, t F, y *F) {
	to, xs := unsafe.Slice(dst, n), unsafe.Slice(x, n)
	for i, v := range unsafe.Slice(y, n) {
		to[i] = s*xs[i] + t*v
	}
}

// next returns the trial point of a step and the new v.
func next[F Float](x, d, v, e, b F) (y, w F) {
	w = b*v + d
	return x - e*(d+b*w), w
}

func trialNormGo[F Float](x, d, v []F, e, b F) float64 {
	var sum tally
	for i, di := range d {
		y := x[i] - e*di
		if v != nil {
			y, _ = next(x[i], di, v[i], e, b)
		}
		sum.square(i, float64(y))
	}
	return sum.total()
}

func descendGo[F Float](x, d, v []F, e, b F, p Proximal[F]) (moved, size float64) {
	var moves, sizes tally
	for i, di := range d {
		y := x[i] - e*di
		if v != nil {
			y, v[i] = next(x[i], di, v[i], e, b)
		}
		after := proximal(p, y)
		moves.square(i, float64(after)-float64(x[i]))
		sizes.square(i, float64(after))
		x[i] = after
	}
	return moves.total(), sizes.total()
}

func adamGo[F Float](x, d, m, v []F, rate, root F, p Proximal[F]) float64 {
	var size tally
	for i, di := range d {
		m[i] = 0.9*m[i] + 0.1*di
		v[i] = 0.999*v[i] + 0.001*di*di
		x[i] = proximal(p, x[i]-rate*m[i]/(F(math.Sqrt(float64(root*v[i])))+1e-8))
		size.square(i, float64(x[i]))
	}
	return size.total()
}

// proximal returns P(y).
func proximal[F Float](p Proximal[F], y F) F {
	z := min(max(p.Scale*y, p.Lower), p.Upper)
	return z - min(max(z, -p.Threshold), p.Threshold)
}

// tally is a sum in the order of the sweeps.
type tally [16]float64

func (t *tally) square(i int, x float64) { t[i%len(t)] += x * x }

func (t *tally) total() float64 {
	for half := len(t) / 2; half > 0; half /= 2 {
		for i := range half {
			t[i] += t[half+i]
		}
	}
	return t[0]
}
