package cuda

import (
	"unsafe"

	"ppal/cuda/driver"
	"ppal/cuda/kernels"
	"ppal/trainer/problem"
)

// Apply implements problem.Vectors.
func (v *vectors) Apply(s problem.Step) {
	switch s.Kind {
	case problem.ProximalStep:
		v.do("the proximal map", func() error { return v.project(v.at[s.X], &s.Map) })
	case problem.DescentStep:
		v.do("the proximal step", func() error { return v.descend(&s) })
	case problem.AdamStep:
		v.do("Adam's step", func() error { return v.adam(&s) })
	case problem.AdagradStep:
		v.do("Adagrad's step", func() error { return v.adagrad(&s) })
	}
}

// project sets x = P(x).
func (v *vectors) project(x driver.Pointer, m *problem.Map) error {
	switch m.Kind {
	case problem.ElementwiseMap:
		return v.set.Prox(&v.d.queue, v.n, x, elementwise(m))
	case problem.BallMap:
		if err := v.set.Size(&v.d.queue, v.n, x, m.Radius, v.results.Offset(sumResult)); err != nil {
			return err
		}
		return v.set.Prox(&v.d.queue, v.n, x, v.ballFactor())
	case problem.GroupMap:
		if err := v.set.GroupFactors(&v.d.queue, v.n, v.groups, x, 0, 0, kernels.Number{}, kernels.Number{}, kernels.Value(m.Threshold),
			v.scales); err != nil {
			return err
		}
		return v.set.GroupScale(&v.d.queue, v.n, v.groups, x, v.scales)
	}
	return nil
}

// descend takes a DescentStep. If the map needs a norm of the point that it is applied to, a pass
// before computes that norm and leaves the factor on the device.
func (v *vectors) descend(s *problem.Step) error {
	x, d, velocity := v.at[s.X], v.at[s.Direction], driver.Pointer(0)
	if s.Momentum != 0 {
		velocity = v.at[s.First]
	}
	e, b, q := kernels.Value(s.Size), kernels.Value(s.Momentum), &v.d.queue
	v.settled = false
	p := elementwise(&s.Map)
	switch s.Map.Kind {
	case problem.BallMap:
		if err := v.set.StepNorm(q, v.n, x, d, velocity, e, b, s.Map.Radius, v.results.Offset(sumResult)); err != nil {
			return err
		}
		p = v.ballFactor()
	case problem.GroupMap:
		if err := v.set.GroupFactors(q, v.n, v.groups, x, d, velocity, e, b, kernels.Value(s.Map.Threshold), v.scales); err != nil {
			return err
		}
		return v.set.GroupDescend(q, v.n, v.groups, x, d, velocity, e, b, v.scales, v.results.Offset(movedResult))
	}
	return v.set.Descend(q, v.n, x, d, velocity, e, b, p, v.results.Offset(movedResult))
}

// adam takes an AdamStep. The pass leaves the ball's factor on the device if there is a ball.
func (v *vectors) adam(s *problem.Step) error {
	rate, root := s.AdamFactors()
	x, radius := v.at[s.X], 0.0
	if s.Map.Kind == problem.BallMap {
		radius = s.Map.Radius
	}
	err := v.set.Adam(&v.d.queue, v.n, x, v.at[s.Direction], v.at[s.First], v.at[s.Second], kernels.Value(rate), kernels.Value(root),
		elementwise(&s.Map), radius, v.results.Offset(sumResult))
	if err != nil {
		return err
	}
	switch s.Map.Kind {
	case problem.BallMap:
		return v.set.Prox(&v.d.queue, v.n, x, v.ballFactor())
	case problem.GroupMap:
		return v.project(x, &s.Map)
	}
	return nil
}

// adagrad takes an AdagradStep.
func (v *vectors) adagrad(s *problem.Step) error {
	x := v.at[s.X]
	err := v.set.Adagrad(&v.d.queue, v.n, x, v.at[s.Direction], v.at[s.Second], kernels.Value(s.Size), elementwise(&s.Map))
	if err != nil || s.Map.Kind == problem.ElementwiseMap {
		return err
	}
	return v.project(x, &s.Map)
}

// elementwise returns the numbers of an element-wise map for the kernels, or of the identity for
// other maps.
func elementwise(m *problem.Map) kernels.Proximal {
	e := m.Elementwise()
	return kernels.Proximal{Scale: kernels.Value(e.Scale), Lower: kernels.Value(e.Lower), Upper: kernels.Value(e.Upper),
		Threshold: kernels.Value(e.Threshold)}
}

// ballFactor returns the map that multiplies by the factor that the last pass left on the device.
func (v *vectors) ballFactor() kernels.Proximal {
	p := elementwise(&problem.Map{})
	p.Scale = kernels.At(v.results.Offset(sumResult + int(unsafe.Sizeof(float64(0)))))
	return p
}
