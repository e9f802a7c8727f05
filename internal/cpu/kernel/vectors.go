package kernel

import (
	"math"
	"unsafe"
)

// sweeps holds the passes of one level over the iterate of a problem and the accompanying vectors.
// Each pointer refers to n elements.
type sweeps[F Float] struct {
	combine    func(n int, dst *F, s F, x *F, t F, y *F)
	scaledCopy func(n int, dst *F, s F, x *F)

	accumulate func(n int, sums *float64, s float64, x *F)
	round      func(n int, dst *F, sums *float64)

	trialNorm      func(n int, x, d, v *F, e, b F) float64
	trialNormPlain func(n int, x, d *F, e F) float64
	descend        func(n int, x, d, v *F, e, b, scale, lower, upper, threshold F) (moved, size float64)
	descendPlain   func(n int, x, d *F, e, scale, lower, upper, threshold F) (moved, size float64)
	adam           func(n int, x, d, m, v *F, rate, root, scale, lower, upper, threshold F) (size float64)
}

// Combine computes dst[i] = s x[i] + t y[i]. dst may be x or y.
func (k *Kernels[F]) Combine(dst []F, s F, x []F, t F, y []F) {
	checkLength("Combine", len(dst), len(x))
	checkLength("Combine", len(dst), len(y))
	if len(dst) > 0 {
		k.sweeps.combine(len(dst), &dst[0], s, &x[0], t, &y[0])
	}
}

// Scale computes dst[i] = s x[i]. dst may be x.
func (k *Kernels[F]) Scale(dst []F, s F, x []F) {
	checkLength("Scale", len(dst), len(x))
	if len(dst) > 0 {
		k.sweeps.scaledCopy(len(dst), &dst[0], s, &x[0])
	}
}

// Accumulate computes sums[i] = sums[i] + s x[i] in float64, fused above level Go.
func (k *Kernels[F]) Accumulate(sums []float64, s float64, x []F) {
	checkLength("Accumulate", len(sums), len(x))
	if len(x) > 0 {
		k.sweeps.accumulate(len(x), &sums[0], s, &x[0])
	}
}

// Round computes dst[i] = sums[i], rounded to the element type.
func (k *Kernels[F]) Round(dst []F, sums []float64) {
	checkLength("Round", len(dst), len(sums))
	if len(dst) > 0 {
		k.sweeps.round(len(dst), &dst[0], &sums[0])
	}
}

// Proximal is the map of single numbers
//
//	P(y) = z - min(max(z, -Threshold), Threshold),   z = min(max(Scale y, Lower), Upper),
//
// that ends a step: a shrinkage, a projection onto a box or a soft threshold. P(NaN) is NaN.
type Proximal[F Float] = struct{ Scale, Lower, Upper, Threshold F }

// SquaredTrialNorm returns the squared norm, in float64, of the trial point x - e (d + b v) to
// which Descend applies the map. It writes nothing. v is nil if there is no momentum.
//
// SquaredTrialNorm, like the sums of Descend and Adam, has 16 partial sums. Partial sum r adds the
// terms with i mod 16 = r in increasing i. Then the upper 8 partial sums are added to the lower 8,
// the upper 4 to the lower 4, and so on until a single sum remains.
func (k *Kernels[F]) SquaredTrialNorm(x, d, v []F, e, b F) float64 {
	checkLength("SquaredTrialNorm", len(x), len(d))
	if len(x) == 0 {
		return 0
	}
	if v == nil {
		return k.sweeps.trialNormPlain(len(x), &x[0], &d[0], e)
	}
	checkLength("SquaredTrialNorm", len(x), len(v))
	return k.sweeps.trialNorm(len(x), &x[0], &d[0], &v[0], e, b)
}

// Descend takes a step with momentum: it computes
//
//	v[i] = b v[i] + d[i],   x[i] = P(x[i] - e (d[i] + b v[i]))
//
// and returns the sums of the squares of the changes of x and of the new x, in float64. v is nil if
// there is no momentum.
func (k *Kernels[F]) Descend(x, d, v []F, e, b F, p Proximal[F]) (moved, size float64) {
	checkLength("Descend", len(x), len(d))
	if len(x) == 0 {
		return 0, 0
	}
	if v == nil {
		return k.sweeps.descendPlain(len(x), &x[0], &d[0], e, p.Scale, p.Lower, p.Upper, p.Threshold)
	}
	checkLength("Descend", len(x), len(v))
	return k.sweeps.descend(len(x), &x[0], &d[0], &v[0], e, b, p.Scale, p.Lower, p.Upper, p.Threshold)
}

// Adam takes a step of Kingma and Ba (2015) with the moments m and v: it computes
//
//	m[i] = 0.9 m[i] + 0.1 d[i],   v[i] = 0.999 v[i] + 0.001 d[i]^2,
//	x[i] = P(x[i] - rate m[i] / (sqrt(root v[i]) + 1e-8))
//
// and returns the sum of the squares of the new x, in float64.
func (k *Kernels[F]) Adam(x, d, m, v []F, rate, root F, p Proximal[F]) (size float64) {
	for _, other := range [][]F{d, m, v} {
		checkLength("Adam", len(x), len(other))
	}
	if len(x) == 0 {
		return 0
	}
	return k.sweeps.adam(len(x), &x[0], &d[0], &m[0], &v[0], rate, root, p.Scale, p.Lower, p.Upper, p.Threshold)
}

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
