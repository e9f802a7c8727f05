package problem

import "math"

// Passes are the loops of HostVectors over vectors. The slices of a call have the same length and
// do not overlap unless a method says otherwise. A device with faster loops than the plain loops
// implements Passes (see NewHostSpaceOn). Sums accumulate in float64. HostVectors makes one call at
// a time.
type Passes[T float32 | float64] interface {
	// Combine sets dst = a x + b y. dst may be x or y; y is not read if b = 0.
	Combine(dst []T, a T, x []T, b T, y []T)
	// Dot returns x.y; x may be y.
	Dot(x, y []T) float64
	// Dots sets dst[i len(ys) + j] = xs[i].ys[j]. The same vector may be in xs and in ys.
	Dots(dst []float64, xs, ys [][]T)
	// Sum sets dst = sum_i coefficients[i] xs[i], accumulated in float64 in the order of xs and
	// rounded once. dst may be one of the xs.
	Sum(dst []T, coefficients []float64, xs [][]T)
	// SquaredDistance returns ||x - y||^2.
	SquaredDistance(x, y []T) float64
	// SquaredTrial returns ||x - e (d + b (b v + d))||^2, the squared norm of the trial point.
	// Descend applies the map to the trial point. SquaredTrial writes nothing; v is nil if b = 0.
	SquaredTrial(x, d, v []T, e, b T) float64
	// Descend sets v = b v + d and x = P(x - e (d + b v)), with the map P = p, and returns ||x+ -
	// x||^2 and ||x+||^2. v is nil if b = 0.
	Descend(x, d, v []T, e, b T, p Elementwise[T]) (moved, squared float64)
	// Adam sets m1 = 0.9 m1 + 0.1 d, m2 = 0.999 m2 + 0.001 d^2 and
	// x = P(x - rate m1/(sqrt(root m2) + 1e-8)), and returns ||x+||^2.
	Adam(x, d, m1, m2 []T, rate, root T, p Elementwise[T]) (squared float64)
}

// Elementwise is an ElementwiseMap in the vectors' precision. The alias lets a package of kernels
// implement Passes without importing this package.
type Elementwise[T float32 | float64] = struct{ Scale, Lower, Upper, Threshold T }

// elementwise rounds the numbers of an ElementwiseMap.
func elementwise[T float32 | float64](m *Map) Elementwise[T] {
	return Elementwise[T]{T(m.Scale), T(m.Lower), T(m.Upper), T(m.Threshold)}
}

// linear reports whether P only multiplies by Scale.
func linear[T float32 | float64](p *Elementwise[T]) bool {
	return p.Threshold == 0 && p.Lower == T(math.Inf(-1)) && p.Upper == T(math.Inf(1))
}

// clip returns P(y), given z = Scale y.
func clip[T float32 | float64](p *Elementwise[T], z T) T {
	z = min(max(z, p.Lower), p.Upper)
	return z - min(max(z, -p.Threshold), p.Threshold)
}

// loops are the passes as plain loops: the reference for every other implementation.
type loops[T float32 | float64] struct{}

// Combine implements Passes.
func (loops[T]) Combine(dst []T, a T, x []T, b T, y []T) {
	if b == 0 {
		for i, xi := range x {
			dst[i] = a * xi
		}
		return
	}
	for i, yi := range y {
		dst[i] = a*x[i] + b*yi
	}
}

// Dot implements Passes.
func (loops[T]) Dot(x, y []T) float64 {
	sum := 0.0
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}

// Dots implements Passes.
func (l loops[T]) Dots(dst []float64, xs, ys [][]T) {
	for i, x := range xs {
		for j, y := range ys {
			dst[i*len(ys)+j] = l.Dot(x, y)
		}
	}
}

// Sum implements Passes.
func (loops[T]) Sum(dst []T, coefficients []float64, xs [][]T) {
	for i := range dst {
		sum := 0.0
		for k, x := range xs {
			sum += coefficients[k] * float64(x[i])
		}
		dst[i] = T(sum)
	}
}

// SquaredDistance implements Passes.
func (loops[T]) SquaredDistance(x, y []T) float64 {
	sum := 0.0
	for i, v := range x {
		d := float64(v) - float64(y[i])
		sum += d * d
	}
	return sum
}

// SquaredTrial implements Passes.
func (loops[T]) SquaredTrial(x, d, v []T, e, b T) float64 {
	sum := 0.0
	for i, di := range d {
		y := x[i] - e*di
		if v != nil {
			y = x[i] - e*(di+b*(b*v[i]+di))
		}
		sum += float64(y) * float64(y)
	}
	return sum
}

// Descend implements Passes.
func (loops[T]) Descend(x, d, v []T, e, b T, p Elementwise[T]) (moved, squared float64) {
	factorOnly := linear(&p)
	for i, di := range d {
		y := x[i] - e*di
		if v != nil {
			v[i] = b*v[i] + di
			y = x[i] - e*(di+b*v[i])
		}
		next := p.Scale * y
		if !factorOnly {
			next = clip(&p, next)
		}
		step := float64(next) - float64(x[i])
		moved += step * step
		squared += float64(next) * float64(next)
		x[i] = next
	}
	return moved, squared
}

// Adam implements Passes.
func (loops[T]) Adam(x, d, m1, m2 []T, rate, root T, p Elementwise[T]) (squared float64) {
	for i, di := range d {
		m1[i] = AdamDecay1*m1[i] + (1-AdamDecay1)*di
		m2[i] = AdamDecay2*m2[i] + (1-AdamDecay2)*di*di
		step := float64(rate) * float64(m1[i]) / (math.Sqrt(float64(root)*float64(m2[i])) + AdamEpsilon)
		x[i] = clip(&p, p.Scale*(x[i]-T(step)))
		squared += float64(x[i]) * float64(x[i])
	}
	return squared
}
