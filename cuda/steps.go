package cuda

import (
	"math"
	"unsafe"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
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

// DescendSized implements problem.SizedVectors. The descent waits for the next forward half, with
// which it is one graph, or for any other work.
func (v *vectors) DescendSized(d *problem.SizedDescent, r problem.Regularizer) {
	v.do("the proximal step", func() error {
		c := chained{v, kernels.StepInput{Rule: *d, Weight: r.Weight}, link{v.at[d.Previous], v.sizedDescent(d, &r), r.Kind}}
		v.settled = false
		if v.d.postpone(c) {
			return nil
		}
		return v.descendSized(&c.link, &c.input)
	})
}

// sizedDescent returns the descent whose numbers the rule leaves on the device.
func (v *vectors) sizedDescent(d *problem.SizedDescent, r *problem.Regularizer) descent {
	sizes := v.results.Offset(sizingResult)
	number := func(k int) kernels.Number { return kernels.At(sizes.Offset(8 * k)) }
	m := r.Map(0)
	f := descent{x: v.at[problem.Iterate], d: v.at[d.Direction], e: number(kernels.SizingStep), kind: m.Kind, radius: m.Radius,
		threshold: number(kernels.SizingThreshold), elementwise: elementwise(&m)}
	if d.Ramp != 0 {
		f.v, f.b = v.at[d.Velocity], number(kernels.SizingMomentum)
	}
	return f
}

// descendSized advances the rule and descends: two launches, and two more for groups.
func (v *vectors) descendSized(l *link, in *kernels.StepInput) error {
	q, f, sizes, moved := &v.d.queue, &l.descent, v.results.Offset(sizingResult), v.results.Offset(movedResult)
	var x, w driver.Pointer
	if f.kind == problem.BallMap {
		x, w = f.x, f.v
	}
	if err := v.set.StepSums(q, v.n, x, f.d, w, l.previous, in, v.sums); err != nil {
		return err
	}
	if f.kind != problem.GroupMap {
		return v.set.DescendSized(q, v.n, f.x, f.d, f.v, f.elementwise, l.regularizer, f.radius, v.sums, sizes, moved)
	}
	if err := v.set.Sizing(q, v.n, v.sums, sizes, moved); err != nil {
		return err
	}
	return v.move(f)
}

// Sizing implements problem.SizedVectors.
func (v *vectors) Sizing() problem.Sizing {
	if !v.settled {
		v.do("the step size", v.fetch)
	}
	if nan := math.NaN(); v.err != nil {
		return problem.Sizing{Curvature: nan, Peak: nan, Seen: nan, Step: nan, Length: nan}
	}
	s := v.values[sizingResult/8:]
	return problem.Sizing{Curvature: s[0], Peak: s[1], Seen: s[2], Growing: int(s[3]), Step: s[4], Length: s[5]}
}

// descend takes a DescentStep.
func (v *vectors) descend(s *problem.Step) error {
	f := descent{x: v.at[s.X], d: v.at[s.Direction], e: kernels.Value(s.Size), b: kernels.Value(s.Momentum), kind: s.Map.Kind,
		radius: s.Map.Radius, threshold: kernels.Value(s.Map.Threshold), elementwise: elementwise(&s.Map)}
	if s.Momentum != 0 {
		f.v = v.at[s.First]
	}
	return v.move(&f)
}

// descent is a DescentStep whose numbers are known at the launch or on the device.
type descent struct {
	x, d, v         driver.Pointer
	e, b, threshold kernels.Number
	kind            problem.MapKind
	radius          float64
	elementwise     kernels.Proximal // or the identity, for other maps
}

// move takes a descent. If the map needs a norm of the point that it is applied to, a pass before
// leaves the sums for that norm, or the factors of the groups, on the device.
func (v *vectors) move(f *descent) error {
	q := &v.d.queue
	v.settled = false
	switch f.kind {
	case problem.BallMap:
		if err := v.set.StepSums(q, v.n, f.x, f.d, f.v, 0, &kernels.StepInput{}, v.sums); err != nil {
			return err
		}
	case problem.GroupMap:
		if err := v.set.GroupFactors(q, v.n, v.groups, f.x, f.d, f.v, f.e, f.b, f.threshold, v.scales); err != nil {
			return err
		}
		return v.set.GroupDescend(q, v.n, v.groups, f.x, f.d, f.v, f.e, f.b, v.scales, v.results.Offset(movedResult))
	}
	return v.set.Descend(q, v.n, f.x, f.d, f.v, f.e, f.b, f.elementwise, f.radius, v.sums, v.results.Offset(movedResult))
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
