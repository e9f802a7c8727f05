package cuda

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"

	device "ppal/cuda"
	"ppal/cuda/driver"
	"ppal/cuda/kernels"
	"ppal/trainer/problem"
)

// vectors are a problem's vectors on the device.
type vectors struct {
	on      *device.Vectors
	handles []driver.Pointer
	unused  []problem.Vector
	err     error
}

var _ problem.Vectors = (*vectors)(nil)

// newVectors makes vectors whose iterate is x, for steps with r's proximal map.
func newVectors(d *device.Device, t tensor.Dtype, x []float64, r problem.Regularizer) (*vectors, error) {
	on, err := d.NewVectors(t, len(x), r.Map(1).Ends)
	if err != nil {
		return nil, err
	}
	v := &vectors{on: on}
	v.Write(v.New(), x)
	return v, v.err
}

func (s *vectors) iterate() driver.Pointer { return s.handles[problem.Iterate] }

// do runs an operation and keeps the first error.
func (s *vectors) do(what string, operation func() error) {
	if s.err != nil {
		return
	}
	if err := operation(); err != nil {
		s.err = fmt.Errorf("graph: %s: %w", what, err)
	}
}

// Err implements problem.Vectors.
func (s *vectors) Err() error { return s.err }

// Len implements problem.Vectors.
func (s *vectors) Len() int { return s.on.Len() }

// New implements problem.Vectors.
func (s *vectors) New() problem.Vector {
	if k := len(s.unused); k > 0 {
		v := s.unused[k-1]
		s.unused = s.unused[:k-1]
		s.do("a zero vector", func() error { return s.on.Clear(s.handles[v]) })
		return v
	}
	var p driver.Pointer
	s.do("a vector", func() (err error) {
		p, err = s.on.New()
		return err
	})
	s.handles = append(s.handles, p)
	return problem.Vector(len(s.handles) - 1)
}

// Free implements problem.Vectors.
func (s *vectors) Free(v problem.Vector) {
	if v == problem.Iterate {
		panic("graph: the iterate cannot be freed")
	}
	s.unused = append(s.unused, v)
}

// Combine implements problem.Vectors.
func (s *vectors) Combine(dst problem.Vector, a float64, x problem.Vector, b float64, y problem.Vector) {
	s.do("a x + b y", func() error { return s.on.Combine(s.handles[dst], a, s.handles[x], b, s.handles[y]) })
}

// Dot implements problem.Vectors.
func (s *vectors) Dot(x, y problem.Vector) float64 {
	r := math.NaN()
	s.do("x.y", func() (err error) {
		r, err = orNaN(s.on.Dot(s.handles[x], s.handles[y]))
		return err
	})
	return r
}

// Distance implements problem.Vectors.
func (s *vectors) Distance(x, y problem.Vector) float64 {
	r := math.NaN()
	s.do("||x - y||", func() (err error) {
		r, err = orNaN(s.on.SquaredDistance(s.handles[x], s.handles[y]))
		return err
	})
	return math.Sqrt(r)
}

// Apply implements problem.Vectors.
func (s *vectors) Apply(step problem.Step) {
	x, d := s.handles[step.X], s.handles[step.Direction]
	switch step.Kind {
	case problem.ProximalStep:
		s.do("the proximal map", func() error { return s.project(x, step.Map) })
	case problem.DescentStep:
		s.do("the proximal step", func() error {
			return s.descend(device.Step{X: x, D: d, V: s.handles[step.First], E: step.Size, B: step.Momentum}, step.Map)
		})
	case problem.AdamStep:
		s.do("Adam's step", func() error { return s.adam(x, d, step) })
	case problem.AdagradStep:
		s.do("Adagrad's step", func() error {
			err := s.on.Adagrad(x, d, s.handles[step.Second], step.Size, elementwise(step.Map))
			if err != nil || step.Map.Kind == problem.ElementwiseMap {
				return err
			}
			return s.project(x, step.Map)
		})
	}
}

// project sets x = P(x).
func (s *vectors) project(x driver.Pointer, m problem.Map) error {
	switch m.Kind {
	case problem.ElementwiseMap:
		return s.on.Prox(x, elementwise(m))
	case problem.BallMap:
		return s.on.ProjectBall(x, m.Radius)
	case problem.GroupMap:
		return s.on.ThresholdGroups(x, m.Threshold)
	}
	return nil
}

func (s *vectors) descend(step device.Step, m problem.Map) error {
	switch m.Kind {
	case problem.BallMap:
		return s.on.DescendBall(step, m.Radius)
	case problem.GroupMap:
		return s.on.DescendGroups(step, m.Threshold)
	}
	return s.on.Descend(step, elementwise(m))
}

func (s *vectors) adam(x, d driver.Pointer, step problem.Step) error {
	rate, root := step.AdamFactors()
	radius := 0.0
	if step.Map.Kind == problem.BallMap {
		radius = step.Map.Radius
	}
	err := s.on.Adam(x, d, s.handles[step.First], s.handles[step.Second], rate, root, elementwise(step.Map), radius)
	if err != nil || step.Map.Kind != problem.GroupMap {
		return err
	}
	return s.project(x, step.Map)
}

// elementwise are the numbers of an elementwise map for the kernels, the identity for other maps.
func elementwise(m problem.Map) kernels.Proximal {
	m = m.Elementwise()
	return kernels.Proximal{Scale: kernels.Value(m.Scale), Lower: kernels.Value(m.Lower), Upper: kernels.Value(m.Upper),
		Threshold: kernels.Value(m.Threshold)}
}

// Moved implements problem.Vectors.
func (s *vectors) Moved() (distance, norm float64) {
	distance, norm = math.NaN(), math.NaN()
	s.do("the step's length", func() error {
		moved, size, err := s.on.Moved()
		if err == nil {
			distance, norm = math.Sqrt(moved), math.Sqrt(size)
		}
		return err
	})
	return distance, norm
}

// orNaN returns NaN in place of x if there is an error.
func orNaN(x float64, err error) (float64, error) {
	if err != nil {
		return math.NaN(), err
	}
	return x, nil
}

// Read implements problem.Vectors.
func (s *vectors) Read(dst []float64, v problem.Vector) {
	for i := range dst {
		dst[i] = math.NaN()
	}
	s.do("reading a vector", func() error { return s.on.Read(dst, s.handles[v]) })
}

// Write implements problem.Vectors.
func (s *vectors) Write(v problem.Vector, src []float64) {
	s.do("writing a vector", func() error { return s.on.Write(s.handles[v], src) })
}

// Roundoff implements problem.Vectors.
func (s *vectors) Roundoff() float64 { return s.on.Roundoff() }
