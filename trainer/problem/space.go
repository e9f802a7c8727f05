package problem

import (
	"math"

	"ppal/internal/vec"
)

// Space holds a problem's vectors and its regularizer r. Its methods build steps with proximal maps
// of r and apply the steps to the vectors.
type Space struct {
	Vectors
	Regularizer Regularizer
}

// Prox sets x = prox_{length r}(x).
func (s *Space) Prox(length float64, x Vector) {
	s.Apply(Step{Kind: ProximalStep, X: x, Map: s.Regularizer.Map(length)})
}

// Project projects the iterate onto the ball, the box or the l1 ball of r. For other regularizers
// it does nothing.
func (s *Space) Project() {
	switch r := s.Regularizer; {
	case r.L1Ball != nil:
		s.Apply(Step{Kind: ProximalStep, X: Iterate, Map: Regularizer{L1Ball: r.L1Ball}.Map(1)})
	case r.Kind == Ball || r.Kind == Box:
		s.Prox(1, Iterate)
	}
}

// NewSpace returns the space of a device's vectors and r.
func NewSpace(v Vectors, r Regularizer) *Space {
	if r.L1Ball != nil {
		v = &hostProjected{Vectors: v, x: make([]float64, v.Len()), before: make([]float64, v.Len())}
	}
	return &Space{Vectors: v, Regularizer: r}
}

// hostProjected are vectors whose L1BallMaps run on the host, because linear models are small.
type hostProjected struct {
	Vectors
	x, before []float64
	onHost    bool // the last DescentStep had a L1BallMap
}

// Apply implements Vectors.
func (b *hostProjected) Apply(s Step) {
	own := s.Map.Kind == L1BallMap
	if s.Kind == DescentStep {
		b.onHost = own
	}
	if !own {
		b.Vectors.Apply(s)
		return
	}
	set := s.Map.L1Ball
	s.Map.Kind = ElementwiseMap
	b.Read(b.before, s.X)
	b.Vectors.Apply(s)
	b.Read(b.x, s.X)
	set.project(b.x)
	b.Write(s.X, b.x)
}

// Moved implements Vectors.
func (b *hostProjected) Moved() (distance, norm float64) {
	if !b.onHost {
		return b.Vectors.Moved()
	}
	for i, v := range b.x {
		distance = math.Hypot(distance, v-b.before[i])
	}
	return distance, vec.Norm(b.x)
}

// Descent describes a proximal step with momentum of the iterate x (see Space.Descend):
//
//	v = b v + d,   x+ = prox_{c r}(x - e (d + b v)).
//
// If b = 0 the step is x+ = prox_{c r}(x - e d), and v is neither read nor written.
type Descent struct {
	Direction Vector  // d, neither x nor v
	Velocity  Vector  // v
	Step      float64 // e
	Momentum  float64 // b
	Length    float64 // c, the length of the proximal map
}

// Descend moves the iterate by a proximal step with momentum.
func (s *Space) Descend(d Descent) {
	s.Apply(Step{Kind: DescentStep, X: Iterate, Direction: d.Direction, First: d.Velocity, Size: d.Step, Momentum: d.Momentum,
		Map: s.Regularizer.Map(d.Length)})
}

// Adam moves the iterate by an AdamStep of the given size, with the map prox_{size r}; time counts
// from 1.
func (s *Space) Adam(d, m1, m2 Vector, size float64, time int) {
	s.Apply(Step{Kind: AdamStep, X: Iterate, Direction: d, First: m1, Second: m2, Size: size, Time: time, Map: s.Regularizer.Map(size)})
}

// Adagrad moves the iterate by an AdagradStep of the given size, with the map prox_{size r}.
func (s *Space) Adagrad(d, squares Vector, size float64) {
	s.Apply(Step{Kind: AdagradStep, X: Iterate, Direction: d, Second: squares, Size: size, Map: s.Regularizer.Map(size)})
}
