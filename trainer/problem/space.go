package problem

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

// Project projects the iterate onto the ball or box of r. For other regularizers it does nothing.
func (s *Space) Project() {
	switch s.Regularizer.Kind {
	case Ball, Box:
		s.Prox(1, Iterate)
	}
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
