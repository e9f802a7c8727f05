package trainer

import "math"

// HostSpace is a Space of vectors in host memory, for problems that compute there.
// The zero value is not usable: see NewHostSpace.
type HostSpace[T float32 | float64] struct {
	r           Regularizer
	on          Vectors[T]
	vectors     [][]T
	unused      []Vector
	moved, size float64 // ||x+ - x||^2 and ||x+||^2 of the last Descend
}

var (
	_ Space = (*HostSpace[float32])(nil)
	_ Space = (*HostSpace[float64])(nil)
)

// NewHostSpace returns a space whose iterate is the slice x (not copied) and whose Prox is that of r.
func NewHostSpace[T float32 | float64](x []T, r Regularizer) *HostSpace[T] {
	return NewHostSpaceOn(x, r, nil)
}

// NewHostSpaceOn is NewHostSpace with a device's passes; nil means plain loops.
func NewHostSpaceOn[T float32 | float64](x []T, r Regularizer, on Vectors[T]) *HostSpace[T] {
	if on == nil {
		on = loops[T]{}
	}
	return &HostSpace[T]{r: r, on: on, vectors: [][]T{x}}
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
	s.on.Combine(s.vectors[dst], T(a), s.vectors[x], T(b), s.vectors[y])
}

// Dot implements Space.
func (s *HostSpace[T]) Dot(x, y Vector) float64 { return s.on.Dot(s.vectors[x], s.vectors[y]) }

// Distance implements Space.
func (s *HostSpace[T]) Distance(x, y Vector) float64 {
	return math.Sqrt(s.on.SquaredDistance(s.vectors[x], s.vectors[y]))
}

// Prox implements Space.
func (s *HostSpace[T]) Prox(step float64, x Vector) {
	xs := s.vectors[x]
	switch s.r.Kind {
	case NoRegularizer:
	case Ball:
		s.multiply(xs, s.r.ballScale(s.on.Dot(xs, xs)))
	case GroupL1:
		lo := 0
		for _, hi := range s.r.Groups {
			s.multiply(xs[lo:hi], s.r.groupScale(step, s.on.Dot(xs[lo:hi], xs[lo:hi])))
			lo = hi
		}
	default:
		p := separable[T](s.r, step)
		for i, v := range xs {
			xs[i] = clip(&p, p.Scale*v)
		}
	}
}

// multiply sets x = scale x.
func (s *HostSpace[T]) multiply(x []T, scale float64) {
	if scale != 1 {
		s.on.Combine(x, T(scale), x, 0, nil)
	}
}

// Descend implements Space. Where the map needs a norm of what it is applied to, that is a pass before: x is then moved and scaled in
// one, and needs no copy for the length of the move.
func (s *HostSpace[T]) Descend(t Descent) {
	x, d, v := s.vectors[Iterate], s.vectors[t.Direction], []T(nil)
	if t.Momentum != 0 {
		v = s.vectors[t.Velocity]
	}
	e, b := T(t.Step), T(t.Momentum)
	switch s.r.Kind {
	case Ball:
		p := identity[T]()
		p.Scale = T(s.r.ballScale(s.on.Reach(x, d, v, e, b)))
		s.moved, s.size = s.on.Descend(x, d, v, e, b, p)
	case GroupL1:
		s.descendGroups(x, d, v, e, b, t.Length)
	default:
		s.moved, s.size = s.on.Descend(x, d, v, e, b, separable[T](s.r, t.Length))
	}
}

func (s *HostSpace[T]) descendGroups(x, d, v []T, e, b T, length float64) {
	s.moved, s.size = 0, 0
	p, lo := identity[T](), 0
	for _, hi := range s.r.Groups {
		part := v
		if v != nil {
			part = v[lo:hi]
		}
		p.Scale = T(s.r.groupScale(length, s.on.Reach(x[lo:hi], d[lo:hi], part, e, b)))
		moved, size := s.on.Descend(x[lo:hi], d[lo:hi], part, e, b, p)
		s.moved += moved
		s.size += size
		lo = hi
	}
}

// Moved implements Space.
func (s *HostSpace[T]) Moved() (distance, norm float64) { return math.Sqrt(s.moved), math.Sqrt(s.size) }

// Adam implements Space.
func (s *HostSpace[T]) Adam(d, m1, m2 Vector, step float64, t int) {
	rate, root := step/(1-math.Pow(adamDecay1, float64(t))), 1/(1-math.Pow(adamDecay2, float64(t)))
	x := s.vectors[Iterate]
	size := s.on.Adam(x, s.vectors[d], s.vectors[m1], s.vectors[m2], T(rate), T(root), separable[T](s.r, step))
	switch s.r.Kind {
	case Ball:
		s.multiply(x, s.r.ballScale(size))
	case GroupL1:
		s.Prox(step, Iterate)
	}
}

// Adagrad implements Space. It is for a baseline on small models, and one plain loop.
func (s *HostSpace[T]) Adagrad(d, squares Vector, step float64) {
	x, sums := s.vectors[Iterate], s.vectors[squares]
	for i, v := range s.vectors[d] {
		sums[i] += v * v
		x[i] -= T(step * float64(v) / (math.Sqrt(float64(sums[i])) + adagradEpsilon))
	}
	s.Prox(step, Iterate)
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
