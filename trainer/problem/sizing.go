package problem

// SizedVectors are Vectors that compute the automatic step size of a descent on the device, so that
// the host does not wait for the measurements. Package step documents the rule and implements it on
// the host, for all other Vectors, with the same bits.
type SizedVectors interface {
	Vectors
	// DescendSized moves the iterate by a DescentStep whose size, momentum and map the device
	// computes from the state of the rule.
	DescendSized(d *SizedDescent, r Regularizer)
	// Sizing returns the state after the last DescendSized, and may wait for the device. All numbers
	// are NaN after an error.
	Sizing() Sizing
}

// Sizing is the state of the rule of the automatic step size after iteration k.
type Sizing struct {
	Curvature float64 // l_k
	Peak      float64 // p_k
	Seen      float64 // c_k
	Growing   int     // iterations in a row with c_k > Growth c_{k-1}
	Step      float64 // e_k
	Length    float64 // s_k: the velocity if all directions were 1
}

// SizedDescent is a descent with the automatic step size. With the state (l, p, c, t, e, s) of
// Sizing, the lengths Distance = ||x_k - x_{k-1}|| and Norm = ||x_k||, d the Direction and d' the
// Previous direction, the device computes, in this order and in float64,
//
//	if Distance > Least (1 + Norm):
//	  l = l Decay,   p = p PeakDecay,   c' = ||d - d'||/(Distance Scale);   and if c' is finite:
//	    p = max(p, c'),   t = t + 1 if c' > Growth c, else 0
//	    if Alert, t >= Run and c' > Share l:   l = max(l, min(Raise l, p)),   t = 0
//	    l = max(l, c'),   c = c'
//	e' = Margin/l,   at most Cap if Cap > 0,   1 if infinite;   e' = e'/Scale
//	b = Ramp,   or Ramp (e/e') if e' > Leap e
//	s = b s + 1 if b > 0,   e = e'
//
// and takes the DescentStep with the size e, the momentum b and the map prox_{a r}, a = e (1 + b
// s).
type SizedDescent struct {
	Direction Vector
	Previous  Vector
	Velocity  Vector // neither read nor written if Ramp = 0
	// Start is the state before the step, with the lengths of the last move. Without Start, the
	// device continues with its own state after the last DescendSized.
	Start            *Sizing
	Distance, Norm   float64 // with Start
	Least            float64
	Decay, PeakDecay float64
	Scale, Cap, Ramp float64
	Alert            bool
	Constants        SizingConstants
}

// SizingConstants are the constants of the rule.
type SizingConstants struct{ Margin, Share, Growth, Raise, Run, Leap float64 }

// Sized returns the space's vectors if they compute the automatic step size, else nil.
func (s *Space) Sized() SizedVectors {
	v, _ := s.Vectors.(SizedVectors)
	return v
}
