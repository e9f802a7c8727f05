package problem

import "math"

// HostVectors are vectors in host memory, for problems that compute on the host. The zero value is
// not usable: see NewHostVectors.
type HostVectors[T float32 | float64] struct {
	passes         Passes[T]
	vectors        [][]T    // the memory of each handle; the first is the iterate
	unused         []Vector // freed handles, which New returns again
	list           [][]T    // the vectors of a call of Dots or Sum
	moved, squared float64  // ||x+ - x||^2 and ||x+||^2 of the last DescentStep
}

var (
	_ Vectors = (*HostVectors[float32])(nil)
	_ Vectors = (*HostVectors[float64])(nil)
)

// NewHostVectors returns vectors whose iterate is the slice x (not copied), with a device's passes;
// nil means plain loops.
func NewHostVectors[T float32 | float64](x []T, passes Passes[T]) *HostVectors[T] {
	if passes == nil {
		passes = loops[T]{}
	}
	return &HostVectors[T]{passes: passes, vectors: [][]T{x}}
}

// Memory is implemented by Passes that also give the memory of the vectors: memory in files.
type Memory[T float32 | float64] interface {
	// Zeros returns n zeros.
	Zeros(n int) []T
}

// HostSpace is a Space of vectors in host memory. A problem that computes on the host embeds a
// HostSpace. The problem then has the method Space of Problem. Its Forward and Backward use Slice,
// Read and Write.
type HostSpace[T float32 | float64] struct {
	*HostVectors[T]
	space *Space
}

// NewHostSpace returns a space whose iterate is the slice x (not copied), with plain loops.
func NewHostSpace[T float32 | float64](x []T, r Regularizer) *HostSpace[T] {
	return NewHostSpaceOn(x, r, nil)
}

// NewHostSpaceOn returns a space whose iterate is the slice x (not copied), with a device's passes;
// nil means plain loops.
func NewHostSpaceOn[T float32 | float64](x []T, r Regularizer, passes Passes[T]) *HostSpace[T] {
	h := NewHostVectors(x, passes)
	return &HostSpace[T]{h, NewSpace(h, r)}
}

// Space implements Problem.
func (s *HostSpace[T]) Space() *Space { return s.space }

// Slice returns the memory of v (not a copy).
func (h *HostVectors[T]) Slice(v Vector) []T { return h.vectors[v] }

// Len implements Vectors.
func (h *HostVectors[T]) Len() int { return len(h.vectors[Iterate]) }

// New implements Vectors.
func (h *HostVectors[T]) New() Vector {
	if k := len(h.unused); k > 0 {
		v := h.unused[k-1]
		h.unused = h.unused[:k-1]
		clear(h.vectors[v])
		return v
	}
	h.vectors = append(h.vectors, h.zeros())
	return Vector(len(h.vectors) - 1)
}

func (h *HostVectors[T]) zeros() []T {
	if m, ok := h.passes.(Memory[T]); ok {
		return m.Zeros(h.Len())
	}
	return make([]T, h.Len())
}

// Free implements Vectors.
func (h *HostVectors[T]) Free(v Vector) {
	if v == Iterate {
		panic("problem: the iterate cannot be freed")
	}
	h.unused = append(h.unused, v)
}

// Combine implements Vectors.
func (h *HostVectors[T]) Combine(dst Vector, a float64, x Vector, b float64, y Vector) {
	h.passes.Combine(h.vectors[dst], T(a), h.vectors[x], T(b), h.vectors[y])
}

// Dot implements Vectors.
func (h *HostVectors[T]) Dot(x, y Vector) float64 { return h.passes.Dot(h.vectors[x], h.vectors[y]) }

// Dots implements Vectors.
func (h *HostVectors[T]) Dots(dst []float64, xs, ys []Vector) {
	if len(dst) != len(xs)*len(ys) {
		panic("problem: Dots: results and vectors of different lengths")
	}
	list := h.slices(xs, ys)
	h.passes.Dots(dst, list[:len(xs)], list[len(xs):])
}

// Sum implements Vectors.
func (h *HostVectors[T]) Sum(dst Vector, coefficients []float64, xs []Vector) {
	if len(coefficients) != len(xs) {
		panic("problem: Sum: coefficients and vectors of different lengths")
	}
	h.passes.Sum(h.vectors[dst], coefficients, h.slices(xs))
}

// slices returns the memory of vectors. The result is valid until the next call.
func (h *HostVectors[T]) slices(lists ...[]Vector) [][]T {
	h.list = h.list[:0]
	for _, list := range lists {
		for _, v := range list {
			h.list = append(h.list, h.vectors[v])
		}
	}
	return h.list
}

// Distance implements Vectors.
func (h *HostVectors[T]) Distance(x, y Vector) float64 {
	return math.Sqrt(h.passes.SquaredDistance(h.vectors[x], h.vectors[y]))
}

// Apply implements Vectors.
func (h *HostVectors[T]) Apply(s Step) {
	switch s.Kind {
	case ProximalStep:
		h.apply(&s.Map, h.vectors[s.X])
	case DescentStep:
		h.descend(&s)
	case AdamStep:
		h.adam(&s)
	case AdagradStep:
		h.adagrad(&s)
	}
}

// apply sets x = P(x).
func (h *HostVectors[T]) apply(m *Map, x []T) {
	switch m.Kind {
	case ElementwiseMap:
		p := elementwise[T](m)
		for i, v := range x {
			x[i] = clip(&p, p.Scale*v)
		}
	case BallMap:
		h.multiply(x, m.BallFactor(h.passes.Dot(x, x)))
	case GroupMap:
		lo := 0
		for _, hi := range m.Ends {
			h.multiply(x[lo:hi], m.GroupFactor(h.passes.Dot(x[lo:hi], x[lo:hi])))
			lo = hi
		}
	}
}

// multiply sets x = factor x.
func (h *HostVectors[T]) multiply(x []T, factor float64) {
	if factor != 1 {
		h.passes.Combine(x, T(factor), x, 0, nil)
	}
}

// descend takes a DescentStep. BallMap and GroupMap need the norm of the trial point, which a first
// pass computes. The second pass moves and scales x together, and measures the move without a copy
// of x.
func (h *HostVectors[T]) descend(s *Step) {
	x, d, v := h.vectors[s.X], h.vectors[s.Direction], []T(nil)
	if s.Momentum != 0 {
		v = h.vectors[s.First]
	}
	e, b := T(s.Size), T(s.Momentum)
	m := s.Map.Elementwise()
	p := elementwise[T](&m)
	switch s.Map.Kind {
	case BallMap:
		p.Scale = T(s.Map.BallFactor(h.passes.SquaredTrial(x, d, v, e, b)))
	case GroupMap:
		h.descendGroups(x, d, v, e, b, &s.Map)
		return
	}
	h.moved, h.squared = h.passes.Descend(x, d, v, e, b, p)
}

// descendGroups is descend for a GroupMap, group by group.
func (h *HostVectors[T]) descendGroups(x, d, v []T, e, b T, m *Map) {
	h.moved, h.squared = 0, 0
	identity := m.Elementwise()
	p, lo := elementwise[T](&identity), 0
	for _, hi := range m.Ends {
		velocity := v
		if v != nil {
			velocity = v[lo:hi]
		}
		p.Scale = T(m.GroupFactor(h.passes.SquaredTrial(x[lo:hi], d[lo:hi], velocity, e, b)))
		moved, squared := h.passes.Descend(x[lo:hi], d[lo:hi], velocity, e, b, p)
		h.moved += moved
		h.squared += squared
		lo = hi
	}
}

// adam takes an AdamStep.
func (h *HostVectors[T]) adam(s *Step) {
	x := h.vectors[s.X]
	rate, root := s.AdamFactors()
	m := s.Map.Elementwise()
	squared := h.passes.Adam(x, h.vectors[s.Direction], h.vectors[s.First], h.vectors[s.Second], T(rate), T(root), elementwise[T](&m))
	switch s.Map.Kind {
	case BallMap:
		h.multiply(x, s.Map.BallFactor(squared))
	case GroupMap:
		h.apply(&s.Map, x)
	}
}

// adagrad takes an AdagradStep in a plain loop, because only a baseline for small models uses the
// step.
func (h *HostVectors[T]) adagrad(s *Step) {
	x, sums := h.vectors[s.X], h.vectors[s.Second]
	for i, v := range h.vectors[s.Direction] {
		sums[i] += v * v
		x[i] -= T(s.Size * float64(v) / (math.Sqrt(float64(sums[i])) + AdagradEpsilon))
	}
	h.apply(&s.Map, x)
}

// Moved implements Vectors.
func (h *HostVectors[T]) Moved() (distance, norm float64) {
	return math.Sqrt(h.moved), math.Sqrt(h.squared)
}

// Read implements Vectors.
func (h *HostVectors[T]) Read(dst []float64, v Vector) {
	for i, x := range h.vectors[v] {
		dst[i] = float64(x)
	}
}

// Write implements Vectors.
func (h *HostVectors[T]) Write(v Vector, src []float64) {
	d := h.vectors[v]
	for i, x := range src {
		d[i] = T(x)
	}
}

// Roundoff implements Vectors.
func (h *HostVectors[T]) Roundoff() float64 {
	var zero T
	if _, single := any(zero).(float32); single {
		return 0x1p-24
	}
	return 0x1p-53
}

// Err implements Vectors. It returns nil, because operations on the host do not fail.
func (h *HostVectors[T]) Err() error { return nil }
