package trainer

import "math"

// HostSpace is a Space of vectors in host memory, for problems that compute there.
// The zero value is not usable: see NewHostSpace.
type HostSpace[T float32 | float64] struct {
	r       Regularizer
	vectors [][]T
	unused  []Vector
}

var (
	_ Space = (*HostSpace[float32])(nil)
	_ Space = (*HostSpace[float64])(nil)
)

// NewHostSpace returns a space whose iterate is the slice x (not copied) and whose Prox is that of r.
func NewHostSpace[T float32 | float64](x []T, r Regularizer) *HostSpace[T] {
	return &HostSpace[T]{r: r, vectors: [][]T{x}}
}

// Slice returns v's memory.
func (s *HostSpace[T]) Slice(v Vector) []T { return s.vectors[v] }

// Regularizer returns r.
func (s *HostSpace[T]) Regularizer() Regularizer { return s.r }

// NewVector implements Space.
func (s *HostSpace[T]) NewVector() Vector {
	if k := len(s.unused); k > 0 {
		v := s.unused[k-1]
		s.unused = s.unused[:k-1]
		clear(s.vectors[v])
		return v
	}
	s.vectors = append(s.vectors, make([]T, len(s.vectors[0])))
	return Vector(len(s.vectors) - 1)
}

// Free implements Space.
func (s *HostSpace[T]) Free(v Vector) {
	if v == Iterate {
		panic("trainer: the iterate cannot be freed")
	}
	s.unused = append(s.unused, v)
}

// Combine implements Space.
func (s *HostSpace[T]) Combine(dst Vector, a float64, x Vector, b float64, y Vector) {
	d, xs := s.vectors[dst], s.vectors[x]
	ta, tb := T(a), T(b)
	if b == 0 {
		for i, xi := range xs {
			d[i] = ta * xi
		}
		return
	}
	for i, yi := range s.vectors[y] {
		d[i] = ta*xs[i] + tb*yi
	}
}

// Descend implements Space.
func (s *HostSpace[T]) Descend(x Vector, step float64, d Vector, momentum float64, v Vector) {
	xs, ds := s.vectors[x], s.vectors[d]
	e, b := T(step), T(momentum)
	if momentum == 0 {
		for i, di := range ds {
			xs[i] -= e * di
		}
		return
	}
	for i, vi := range s.vectors[v] {
		xs[i] -= e * (ds[i] + b*vi)
	}
}

// Dot implements Space.
func (s *HostSpace[T]) Dot(x, y Vector) float64 {
	ys, sum := s.vectors[y], 0.0
	for i, v := range s.vectors[x] {
		sum += float64(v) * float64(ys[i])
	}
	return sum
}

// Distance implements Space.
func (s *HostSpace[T]) Distance(x, y Vector) float64 {
	ys, sum := s.vectors[y], 0.0
	for i, v := range s.vectors[x] {
		d := float64(v) - float64(ys[i])
		sum += d * d
	}
	return math.Sqrt(sum)
}

// Prox implements Space.
func (s *HostSpace[T]) Prox(step float64, x Vector) { prox(s.r, step, s.vectors[x]) }

// Adam implements Space.
func (s *HostSpace[T]) Adam(x, d, m1, m2 Vector, step float64, t int) {
	xs, a, b := s.vectors[x], s.vectors[m1], s.vectors[m2]
	c1 := 1 - math.Pow(adamDecay1, float64(t))
	c2 := 1 - math.Pow(adamDecay2, float64(t))
	for i, di := range s.vectors[d] {
		a[i] = adamDecay1*a[i] + (1-adamDecay1)*di
		b[i] = adamDecay2*b[i] + (1-adamDecay2)*di*di
		xs[i] -= T(step * float64(a[i]) / c1 / (math.Sqrt(float64(b[i])/c2) + adamEpsilon))
	}
}

// Read implements Space.
func (s *HostSpace[T]) Read(dst []float64, v Vector) {
	for i, x := range s.vectors[v] {
		dst[i] = float64(x)
	}
}

// Write implements Space.
func (s *HostSpace[T]) Write(v Vector, src []float64) {
	d := s.vectors[v]
	for i, x := range src {
		d[i] = T(x)
	}
}

// Roundoff implements Space.
func (s *HostSpace[T]) Roundoff() float64 {
	var zero T
	if _, single := any(zero).(float32); single {
		return 0x1p-24
	}
	return 0x1p-53
}
