package cuda

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"

	device "ppal/cuda"
	"ppal/cuda/driver"
	"ppal/cuda/kernels"
	"ppal/trainer"
)

// vector is a handle of the space's.
type vector = trainer.Vector

// space is the problem's vectors on the device. After an error it does nothing more.
type space struct {
	on      *device.Vectors
	r       trainer.Regularizer
	vectors []driver.Pointer
	unused  []vector
	err     error
}

var _ trainer.Space = (*space)(nil)

// newSpace makes a space whose iterate is x.
func newSpace(d *device.Device, t tensor.Dtype, x []float64, r trainer.Regularizer) (*space, error) {
	var ends []int
	if r.Kind == trainer.GroupL1 {
		ends = r.Groups
	}
	on, err := d.NewVectors(t, len(x), ends)
	if err != nil {
		return nil, err
	}
	s := &space{on: on, r: r}
	s.Write(s.NewVector(), x)
	return s, s.err
}

func (s *space) iterate() driver.Pointer { return s.vectors[trainer.Iterate] }

// do keeps the first error.
func (s *space) do(what string, operation func() error) {
	if s.err != nil {
		return
	}
	if err := operation(); err != nil {
		s.err = fmt.Errorf("graph: %s: %w", what, err)
	}
}

// Regularizer returns r.
func (s *space) Regularizer() trainer.Regularizer { return s.r }

// NewVector implements trainer.Space.
func (s *space) NewVector() vector {
	if k := len(s.unused); k > 0 {
		v := s.unused[k-1]
		s.unused = s.unused[:k-1]
		s.do("a zero vector", func() error { return s.on.Clear(s.vectors[v]) })
		return v
	}
	var p driver.Pointer
	s.do("a vector", func() (err error) {
		p, err = s.on.New()
		return err
	})
	s.vectors = append(s.vectors, p)
	return vector(len(s.vectors) - 1)
}

// Free implements trainer.Space.
func (s *space) Free(v vector) {
	if v == trainer.Iterate {
		panic("graph: the iterate cannot be freed")
	}
	s.unused = append(s.unused, v)
}

// Combine implements trainer.Space.
func (s *space) Combine(dst vector, a float64, x vector, b float64, y vector) {
	s.do("a x + b y", func() error { return s.on.Combine(s.vectors[dst], a, s.vectors[x], b, s.vectors[y]) })
}

// Dot implements trainer.Space; after an error it is not a number.
func (s *space) Dot(x, y vector) float64 {
	r := math.NaN()
	s.do("x.y", func() (err error) {
		r, err = orNaN(s.on.Dot(s.vectors[x], s.vectors[y]))
		return err
	})
	return r
}

// Distance implements trainer.Space; after an error it is not a number.
func (s *space) Distance(x, y vector) float64 {
	r := math.NaN()
	s.do("||x - y||", func() (err error) {
		r, err = orNaN(s.on.SquaredDistance(s.vectors[x], s.vectors[y]))
		return err
	})
	return math.Sqrt(r)
}

// separable is prox_{length r} of the terms that act on each number alone, the identity for the others.
func (s *space) separable(length float64) kernels.Proximal {
	p := device.Identity()
	switch s.r.Kind {
	case trainer.Box:
		p.Lower, p.Upper = kernels.Value(s.r.Lower), kernels.Value(s.r.Upper)
	case trainer.L1:
		p.Threshold = kernels.Value(length * s.r.Weight)
	case trainer.SquaredL2:
		p.Scale = kernels.Value(1 / (1 + length*s.r.Weight))
	}
	return p
}

// Prox implements trainer.Space.
func (s *space) Prox(step float64, x vector) {
	s.do("the proximal map", func() error {
		switch s.r.Kind {
		case trainer.NoRegularizer:
			return nil
		case trainer.Ball:
			return s.on.ProjectBall(s.vectors[x], s.r.Radius)
		case trainer.GroupL1:
			return s.on.ThresholdGroups(s.vectors[x], step*s.r.Weight)
		}
		return s.on.Prox(s.vectors[x], s.separable(step))
	})
}

// Descend implements trainer.Space.
func (s *space) Descend(t trainer.Descent) {
	step := device.Step{X: s.iterate(), D: s.vectors[t.Direction], V: s.vectors[t.Velocity], E: t.Step, B: t.Momentum}
	s.do("the proximal step", func() error {
		switch s.r.Kind {
		case trainer.Ball:
			return s.on.DescendBall(step, s.r.Radius)
		case trainer.GroupL1:
			return s.on.DescendGroups(step, t.Length*s.r.Weight)
		}
		return s.on.Descend(step, s.separable(t.Length))
	})
}

// Moved implements trainer.Space; after an error both are not numbers.
func (s *space) Moved() (distance, norm float64) {
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

// orNaN is no number where there is an error.
func orNaN(x float64, err error) (float64, error) {
	if err != nil {
		return math.NaN(), err
	}
	return x, nil
}

// The decays of Adam's means: trainer.Space.
const (
	adamDecay1 = 0.9
	adamDecay2 = 0.999
)

// Adam implements trainer.Space.
func (s *space) Adam(d, m1, m2 vector, step float64, t int) {
	rate, root := step/(1-math.Pow(adamDecay1, float64(t))), 1/(1-math.Pow(adamDecay2, float64(t)))
	s.do("Adam's step", func() error {
		radius := 0.0
		if s.r.Kind == trainer.Ball {
			radius = s.r.Radius
		}
		return s.on.Adam(s.iterate(), s.vectors[d], s.vectors[m1], s.vectors[m2], rate, root, s.separable(step), radius)
	})
	if s.r.Kind == trainer.GroupL1 {
		s.Prox(step, trainer.Iterate)
	}
}

// Adagrad implements trainer.Space.
func (s *space) Adagrad(d, squares vector, step float64) {
	s.do("Adagrad's step", func() error {
		return s.on.Adagrad(s.iterate(), s.vectors[d], s.vectors[squares], step, s.separable(step))
	})
	if s.r.Kind == trainer.Ball || s.r.Kind == trainer.GroupL1 {
		s.Prox(step, trainer.Iterate)
	}
}

// Read implements trainer.Space; after an error dst is not numbers.
func (s *space) Read(dst []float64, v vector) {
	for i := range dst {
		dst[i] = math.NaN()
	}
	s.do("reading a vector", func() error { return s.on.Read(dst, s.vectors[v]) })
}

// Write implements trainer.Space.
func (s *space) Write(v vector, src []float64) {
	s.do("writing a vector", func() error { return s.on.Write(s.vectors[v], src) })
}

// Roundoff implements trainer.Space.
func (s *space) Roundoff() float64 { return s.on.Roundoff() }
