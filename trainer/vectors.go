package trainer

import "math"

// Vectors are the passes of a HostSpace over its vectors, slices of one length each; a device with faster loops than the plain ones
// brings its own (NewHostSpaceOn). Sums are of float64. Only where it says so may operands be the same slice.
type Vectors[T float32 | float64] interface {
	// Combine sets dst = a x + b y. dst may be x or y; y is not read where b = 0.
	Combine(dst []T, a T, x []T, b T, y []T)
	// Dot returns x.y; x may be y.
	Dot(x, y []T) float64
	// SquaredDistance returns ||x - y||^2.
	SquaredDistance(x, y []T) float64
	// Reach returns ||x - e (d + b (b v + d))||^2, the squared norm of what Descend applies the map to. It writes nothing; v is nil
	// where b = 0.
	Reach(x, d, v []T, e, b T) float64
	// Descend sets v = b v + d and x = P(x - e (d + b v)), P the map p, and returns ||x+ - x||^2 and ||x+||^2. v is nil where b = 0.
	Descend(x, d, v []T, e, b T, p Proximal[T]) (moved, size float64)
	// Adam sets m1 = 0.9 m1 + 0.1 d, m2 = 0.999 m2 + 0.001 d^2 and x = P(x - rate m1/(sqrt(root m2) + 1e-8)), and returns ||x+||^2.
	Adam(x, d, m1, m2 []T, rate, root T, p Proximal[T]) (size float64)
}

// Proximal is a proximal map that acts on each number alone:
//
//	z = min(max(Scale y, Lower), Upper),   P(y) = z - min(max(z, -Threshold), Threshold),
//
// with Scale >= 0 and Threshold >= 0: a shrinkage, a projection onto a box, a soft threshold. It is an alias, so that a device's
// package need not know this one.
type Proximal[T float32 | float64] = struct{ Scale, Lower, Upper, Threshold T }

// identity is the map of r = 0.
func identity[T float32 | float64]() Proximal[T] {
	return Proximal[T]{Scale: 1, Lower: T(math.Inf(-1)), Upper: T(math.Inf(1))}
}

// linear says whether P is the factor Scale alone.
func linear[T float32 | float64](p *Proximal[T]) bool {
	return p.Threshold == 0 && p.Lower == T(math.Inf(-1)) && p.Upper == T(math.Inf(1))
}

// clip is P(y) from Scale y.
func clip[T float32 | float64](p *Proximal[T], z T) T {
	z = min(max(z, p.Lower), p.Upper)
	return z - min(max(z, -p.Threshold), p.Threshold)
}

// loops are the passes as plain loops: what every other implementation has to reproduce.
type loops[T float32 | float64] struct{}

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

func (loops[T]) Dot(x, y []T) float64 {
	sum := 0.0
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}

func (loops[T]) SquaredDistance(x, y []T) float64 {
	sum := 0.0
	for i, v := range x {
		d := float64(v) - float64(y[i])
		sum += d * d
	}
	return sum
}

func (loops[T]) Reach(x, d, v []T, e, b T) float64 {
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

func (loops[T]) Descend(x, d, v []T, e, b T, p Proximal[T]) (moved, size float64) {
	straight := linear(&p)
	for i, di := range d {
		y := x[i] - e*di
		if v != nil {
			v[i] = b*v[i] + di
			y = x[i] - e*(di+b*v[i])
		}
		next := p.Scale * y
		if !straight {
			next = clip(&p, next)
		}
		step := float64(next) - float64(x[i])
		moved += step * step
		size += float64(next) * float64(next)
		x[i] = next
	}
	return moved, size
}

func (loops[T]) Adam(x, d, m1, m2 []T, rate, root T, p Proximal[T]) (size float64) {
	for i, di := range d {
		m1[i] = adamDecay1*m1[i] + (1-adamDecay1)*di
		m2[i] = adamDecay2*m2[i] + (1-adamDecay2)*di*di
		step := float64(rate) * float64(m1[i]) / (math.Sqrt(float64(root)*float64(m2[i])) + adamEpsilon)
		x[i] = clip(&p, p.Scale*(x[i]-T(step)))
		size += float64(x[i]) * float64(x[i])
	}
	return size
}
