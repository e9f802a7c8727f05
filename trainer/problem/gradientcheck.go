package problem

import (
	"fmt"
	"math"
	"math/rand/v2"

	"ppal/internal/vec"
)

// GradientError reports a gradient that differs from differences of its function. errors.Is finds
// ErrSettings in it.
type GradientError struct {
	Term       string // "objective", "constraint 2" (counted from 1), ...
	Constraint int    // the constraint's number in g, counted from 1; 0 for the objective
	// Coordinate is the number of a wrong coordinate, from 0; -1 if only the derivative along a
	// direction of all coordinates is known to be wrong.
	Coordinate int
	// Gradient is the derivative by Backward, and Difference the derivative by differences of
	// Forward, both for the coordinate or along the direction.
	Gradient, Difference float64
}

// Error names the term, the coordinate and both derivatives.
func (e *GradientError) Error() string {
	where := "along a direction"
	if e.Coordinate >= 0 {
		where = fmt.Sprintf("by x[%d]", e.Coordinate)
	}
	text := fmt.Sprintf("problem: the gradient of the %s is wrong: its derivative %s is %.6g, and finite differences of its values give %.6g",
		e.Term, where, e.Gradient, e.Difference)
	if math.Abs(e.Gradient+e.Difference) < 0.01*math.Abs(e.Difference) {
		text += " (the opposite sign)"
	}
	return text
}

// Is reports whether target is ErrSettings.
func (e *GradientError) Is(target error) bool { return target == ErrSettings }

// CheckGradients compares the gradient of f and of each constraint with finite differences of f and
// g at the iterate, along several random directions. It returns a *GradientError if a derivative is
// wrong, with a wrong coordinate if a search by halves finds one. At a kink, each derivative
// between the derivatives of both sides is right. Errors below about 1e-4 of the gradient's norm
// (in float32 2e-2) are not seen.
//
// The cost is 11 forward passes, a backward pass for f and each constraint, and 3 more forward
// passes for each doubtful difference. The iterate is unchanged, and the last forward pass is at
// the iterate. For a problem with mini-batches, the batch is the one of the last Forward.
func CheckGradients(p Problem) error {
	if p == nil {
		return fmt.Errorf("problem: %w: the problem is nil", ErrSettings)
	}
	return WithAccuratePasses(p, func() error {
		c := newGradientCheck(p)
		err := c.all()
		c.write(c.x, nil, 0)
		if _, again := p.Forward(c.g); err == nil {
			err = again
		}
		return err
	})
}

// CheckDirection compares the derivative of a weighted sum of f and g along one random direction
// with differences, at a random point near the iterate, where kinks and zero gradients of the
// iterate are unlikely. The cost is 3 forward passes and one backward pass if the gradient is
// right. Otherwise the error is a *GradientError, as for CheckGradients. The iterate is unchanged,
// but the last forward pass is at another point.
func CheckDirection(p Problem) error {
	if p == nil {
		return fmt.Errorf("problem: %w: the problem is nil", ErrSettings)
	}
	return WithAccuratePasses(p, func() error {
		c := newGradientCheck(p)
		defer c.write(c.x, nil, 0)
		return c.once()
	})
}

// directions is the number of random directions of CheckGradients.
const directions = 4

// gradientCheck compares derivatives with differences.
type gradientCheck struct {
	p        Problem
	x        []float64 // the iterate
	at       []float64 // the point of the check
	moved, g []float64 // scratch
	scale    []float64 // the unit of each coordinate
	here     []float64 // f and g at the point
	d        Vector
	rng      *rand.Rand
	u        float64
	away     bool // the last forward pass was not at the point
}

func newGradientCheck(p Problem) *gradientCheck {
	n, m := p.Dims()
	c := &gradientCheck{p: p, x: make([]float64, n), moved: make([]float64, n), scale: make([]float64, n), g: make([]float64, m),
		rng: rand.New(rand.NewPCG(0x67726164, uint64(n))), u: p.Space().Roundoff()}
	p.Space().Read(c.x, Iterate)
	c.at = c.x
	mean := vec.Norm(c.x) / math.Sqrt(float64(n))
	if mean == 0 {
		mean = 1
	}
	for i, x := range c.x {
		c.scale[i] = max(math.Abs(x), mean)
	}
	return c
}

// tolerance is the largest relative error of a right derivative.
func (c *gradientCheck) tolerance() float64 { return 4 * math.Cbrt(c.u) }

// steps returns the lengths of differences in units of the coordinates: a long one, whose rounding
// errors are small, and a short one, which sees kinks.
func (c *gradientCheck) steps() [2]float64 {
	return [2]float64{math.Cbrt(c.u), math.Cbrt(c.u) / 8}
}

// write makes x + h direction, in units of the coordinates, the iterate.
func (c *gradientCheck) write(x, direction []float64, h float64) {
	copy(c.moved, x)
	for i, s := range direction {
		c.moved[i] += h * c.scale[i] * s
	}
	c.p.Space().Write(Iterate, c.moved)
}

// values returns f and g at the point + h direction.
func (c *gradientCheck) values(direction []float64, h float64) ([]float64, error) {
	c.write(c.at, direction, h)
	c.away = h != 0
	f, err := c.p.Forward(c.g)
	return append([]float64{f}, c.g...), err
}

// sides are the derivatives of f and g along a direction by differences to both sides, for a step.
type sides struct{ below, above, noise []float64 }

// differences returns the sides for the step h.
func (c *gradientCheck) differences(direction []float64, h float64) (s sides, err error) {
	up, err := c.values(direction, h)
	if err != nil {
		return s, err
	}
	down, err := c.values(direction, -h)
	if err != nil {
		return s, err
	}
	if c.here == nil {
		if err := c.start(); err != nil {
			return s, err
		}
	}
	for t, v := range c.here {
		s.above = append(s.above, (up[t]-v)/h)
		s.below = append(s.below, (v-down[t])/h)
		s.noise = append(s.noise, 16*c.u*(math.Abs(v)+math.Abs(up[t]-down[t]))/h)
	}
	return s, err
}

// central returns the central difference of term t.
func (s sides) central(t int) float64 { return s.below[t]/2 + s.above[t]/2 }

// spread returns half the distance between the sides of term t.
func (s sides) spread(t int) float64 { return math.Abs(s.above[t]-s.below[t]) / 2 }

// direction returns a random direction of +1 and -1.
func (c *gradientCheck) direction() []float64 {
	s := make([]float64, len(c.x))
	for i := range s {
		s[i] = float64(2*c.rng.IntN(2) - 1)
	}
	return s
}

// gradient returns the derivatives by Backward at the point for the coefficients, in units of the
// coordinates.
func (c *gradientCheck) gradient(coefficients []float64) ([]float64, error) {
	if c.away {
		if err := c.start(); err != nil {
			return nil, err
		}
	}
	if c.d == Iterate {
		c.d = c.p.Space().New()
	}
	if err := c.p.Backward(coefficients, c.d); err != nil {
		return nil, err
	}
	out := make([]float64, len(c.x))
	c.p.Space().Read(out, c.d)
	for i := range out {
		out[i] *= c.scale[i]
	}
	return out, nil
}

// start evaluates the point.
func (c *gradientCheck) start() (err error) {
	c.here, err = c.values(nil, 0)
	return err
}

// free frees the vector of the gradients.
func (c *gradientCheck) free() {
	if c.d != Iterate {
		c.p.Space().Free(c.d)
	}
}

// all is CheckGradients.
func (c *gradientCheck) all() error {
	defer c.free()
	if err := c.start(); err != nil {
		return err
	}
	if t := vec.FirstNonFinite(c.here); t >= 0 {
		return &NonFiniteError{Term: termName(t), Value: c.here[t], Constraint: t}
	}
	var along [directions][]float64
	var by [directions]sides
	for k := range along {
		along[k] = c.direction()
		var err error
		if by[k], err = c.differences(along[k], c.steps()[0]); err != nil {
			return err
		}
	}
	for t := range c.here {
		gradient, err := c.gradient(unit(t, len(c.here)))
		if err != nil {
			return err
		}
		for k, s := range along {
			if wrong, _, err := c.wrong(t, gradient, s, by[k]); err != nil {
				return err
			} else if wrong {
				return c.locate(t, gradient, s)
			}
		}
	}
	return nil
}

// unit returns the unit vector t of n numbers.
func unit(t, n int) []float64 {
	w := make([]float64, n)
	w[t] = 1
	return w
}

// termName names term t of f and g.
func termName(t int) string {
	if t == 0 {
		return "objective"
	}
	return fmt.Sprintf("constraint %d", t)
}

// wrong reports whether the derivative of term t along s differs from the differences. If the
// longer step says so, the shorter step decides. difference is the central difference.
func (c *gradientCheck) wrong(t int, gradient, s []float64, long sides) (wrong bool, difference float64, err error) {
	got, size := vec.Dot(gradient, s), norm(gradient, s)
	if c.agrees(got, size, long, t) {
		return false, long.central(t), nil
	}
	short, err := c.differences(s, c.steps()[1])
	return err == nil && !c.agrees(got, size, short, t) && !c.kink(got, long, short, t), short.central(t), err
}

// agrees reports whether the derivative got of term t agrees with the central difference. size is
// the norm of the gradient. If a difference is not finite, nothing is known and it reports true.
func (c *gradientCheck) agrees(got, size float64, s sides, t int) bool {
	want := s.central(t)
	return math.IsNaN(want) || math.IsInf(want, 0) ||
		math.Abs(got-want) <= c.tolerance()*max(math.Abs(got), math.Abs(want), size)+s.noise[t]
}

// kink reports whether term t has a kink at the point, and got lies between the derivatives of both
// sides. A curvature makes the distance between the sides shrink with the step, a kink does not.
func (c *gradientCheck) kink(got float64, long, short sides, t int) bool {
	low, high := min(short.below[t], short.above[t]), max(short.below[t], short.above[t])
	slack := c.tolerance()*max(math.Abs(low), math.Abs(high)) + short.noise[t]
	return short.spread(t) > 2*short.noise[t] && 2*short.spread(t) > long.spread(t) && low-slack <= got && got <= high+slack
}

// locate returns the error of term t, whose derivative along s is wrong. It halves the coordinates
// of s as long as the derivative along one of the halves is wrong.
func (c *gradientCheck) locate(t int, gradient, s []float64) error {
	fault := func(s []float64) (bool, float64, error) {
		long, err := c.differences(s, c.steps()[0])
		if err != nil {
			return false, 0, err
		}
		return c.wrong(t, gradient, s, long)
	}
	_, difference, err := fault(s)
	if err != nil {
		return err
	}
	e := &GradientError{Term: termName(t), Constraint: t, Coordinate: -1, Gradient: vec.Dot(gradient, s), Difference: difference}
	from, to := 0, len(s)
	for to-from > 1 {
		middle, found := (from+to)/2, false
		for _, half := range [2][2]int{{from, middle}, {middle, to}} {
			part := make([]float64, len(s))
			copy(part[half[0]:half[1]], s[half[0]:half[1]])
			wrong, d, err := fault(part)
			if err != nil {
				return err
			}
			if wrong {
				from, to, found, difference = half[0], half[1], true, d
				break
			}
		}
		if !found {
			return e
		}
	}
	e.Coordinate, e.Gradient, e.Difference = from, gradient[from]/c.scale[from], difference*s[from]/c.scale[from]
	return e
}

// once is CheckDirection.
func (c *gradientCheck) once() error {
	defer c.free()
	s := c.direction()
	c.at = make([]float64, len(c.x))
	for i, x := range c.x {
		c.at[i] = x + 0.01*c.scale[i]*c.rng.NormFloat64()
	}
	long, err := c.differences(s, c.steps()[0])
	if err == nil && vec.FirstNonFinite(c.here) >= 0 { // perhaps the point is outside the domain of f
		c.at, c.here = c.x, nil
		long, err = c.differences(s, c.steps()[0])
	}
	if err != nil || vec.FirstNonFinite(c.here) >= 0 {
		return err // a run names the term that is not finite
	}
	w := c.balanced(long)
	gradient, err := c.gradient(w)
	if err != nil {
		return err
	}
	got := vec.Dot(gradient, s)
	if sum, size := long.weighted(w); c.agrees(got, size, sum, 0) {
		return nil
	}
	short, err := c.differences(s, c.steps()[1])
	if err != nil {
		return err
	}
	if sum, size := short.weighted(w); c.agrees(got, size, sum, 0) {
		return nil
	}
	for t := range c.here { // which term is wrong?
		if gradient, err = c.gradient(unit(t, len(c.here))); err != nil {
			return err
		}
		if wrong, _, err := c.wrong(t, gradient, s, long); err != nil {
			return err
		} else if wrong {
			return c.locate(t, gradient, s)
		}
	}
	return nil
}

// balanced returns coefficients of random signs with which f and each g count about equally: 1 over
// the size of the term's derivative.
func (c *gradientCheck) balanced(s sides) []float64 {
	w, largest := make([]float64, len(c.here)), 0.0
	for t := range w {
		if v := math.Abs(s.central(t)); vec.Finite(v) {
			largest = max(largest, v)
		}
	}
	for t := range w {
		w[t] = 1
		if size := max(math.Abs(s.central(t)), 1e-3*largest, s.noise[t]); size > 0 && vec.Finite(size) {
			w[t] = float64(2*c.rng.IntN(2)-1) / size
		}
	}
	return w
}

// weighted returns the sides of the weighted sum of the terms, and the norm of the terms'
// derivatives.
func (s sides) weighted(w []float64) (sum sides, size float64) {
	sum = sides{[]float64{0}, []float64{0}, []float64{0}}
	for t, c := range w {
		sum.below[0] += c * s.below[t]
		sum.above[0] += c * s.above[t]
		sum.noise[0] += math.Abs(c) * s.noise[t]
		size = math.Hypot(size, c*s.central(t))
	}
	return sum, size
}

// norm returns the norm of x where s is not 0.
func norm(x, s []float64) (sum float64) {
	for i, v := range x {
		if s[i] != 0 {
			sum = math.Hypot(sum, v)
		}
	}
	return sum
}
