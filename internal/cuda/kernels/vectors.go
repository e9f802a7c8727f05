package kernels

import (
	"slices"

	"ppal/internal/cuda/driver"
	"ppal/trainer/problem"
)

// The passes of a primal step over vectors of n elements without gaps (problem.Vectors). Sums are
// float64, in an order that depends on n only, and stay in device memory.

// Proximal is an element-wise proximal map: problem.Elementwise.
//
//	z = min(max(Scale y, Lower), Upper),   P(y) = z - min(max(z, -Threshold), Threshold)
type Proximal struct{ Scale, Lower, Upper, Threshold Number }

// Combine sets dst = a x + b y. dst may be x or y. y is not read if b = 0, and may then be 0.
func (s *Set) Combine(q Queue, n int, dst driver.Pointer, a Number, x driver.Pointer, b Number, y driver.Pointer) error {
	if n == 0 {
		return nil
	}
	c := pass("combine", n)
	c.writing(dst, n*s.dtype.Size())
	c.numbers(a)
	c.vectors(s, n, x)
	c.numbers(b)
	c.vectors(s, n, y)
	return s.launch(q, c)
}

// Dot sets result[0] = x.y; x may be y.
func (s *Set) Dot(q Queue, n int, x, y, result driver.Pointer) error {
	c := pass("dot", n)
	c.vectors(s, n, x, y)
	return s.reduce(q, c, 1, result)
}

// listed is the number of vectors that a launch of Dots or VectorSum takes: LISTED of the kernels.
// In Dots, the blocks with the same blockIdx.y multiply groupVectors of these vectors: PART of the
// kernels.
const (
	listed       = 48
	groupVectors = 8
)

// Dots sets results[i len(ys) + j] = xs[i].ys[j], with the bits of Dot(xs[i], ys[j]). The ys may be
// xs. A launch reads the ys once for two xs.
func (s *Set) Dots(q Queue, n int, xs, ys []driver.Pointer, results driver.Pointer) error {
	for two := range slices.Chunk(xs, 2) {
		at := results
		for part := range slices.Chunk(ys, listed) {
			if err := s.dots(q, n, two, part, at, len(ys)); err != nil {
				return err
			}
			at = at.Offset(8 * len(part))
		}
		results = results.Offset(8 * len(two) * len(ys))
	}
	return nil
}

// dots sets results[i stride + j] = xs[i].ys[j] for one or two xs and at most listed ys.
func (s *Set) dots(q Queue, n int, xs, ys []driver.Pointer, results driver.Pointer, stride int) error {
	c := pass("dots", n)
	c.grid[0], c.grid[1] = min(c.grid[0], mostSums), ceil(len(ys), groupVectors)
	c.vectors(s, n, append(slices.Clone(xs), 0)[:2]...)
	c.ints(len(ys))
	c.listed(s, n, ys)
	c.writing(results, 8*((len(xs)-1)*stride+len(ys)))
	c.ints(stride)
	if err := c.partial(q, 8*2*groupVectors*c.grid[0]*c.grid[1], c.grid[1]); err != nil {
		return err
	}
	return s.launch(q, c)
}

// VectorSum sets dst = sum_i coefficients[i] xs[i], accumulated in float64 in the order of xs and
// rounded once; without xs, dst = 0. dst may be one of the xs. More than listed vectors take
// float64 sums in scratch memory.
func (s *Set) VectorSum(q Queue, n int, dst driver.Pointer, coefficients []float64, xs []driver.Pointer) error {
	if len(xs) == 0 {
		return q.Clear(dst, n*s.dtype.Size())
	}
	var carry driver.Pointer
	if len(xs) > listed {
		var err error
		if carry, err = q.Scratch(8 * n); err != nil {
			return err
		}
	}
	for at := 0; at < len(xs); at += listed {
		to := min(at+listed, len(xs))
		from, sums, rounded := carry, carry, driver.Pointer(0)
		if at == 0 {
			from = 0
		}
		if to == len(xs) {
			sums, rounded = 0, dst
		}
		c := pass("vector_sum", n)
		c.grid[0] = min(ceil(n, blockSize), 2048) // one element a thread: more loads in flight
		c.reading(from, 8*n)
		c.writing(sums, 8*n)
		c.writing(rounded, n*s.dtype.Size())
		for i := range listed {
			value := 0.0
			if at+i < to {
				value = coefficients[at+i]
			}
			c.args = append(c.args, driver.Float64Arg(value))
		}
		c.listed(s, n, xs[at:to])
		if err := s.launch(q, c); err != nil {
			return err
		}
	}
	return nil
}

// SquaredDistance sets result[0] = ||x - y||^2.
func (s *Set) SquaredDistance(q Queue, n int, x, y, result driver.Pointer) error {
	c := pass("squared_distance", n)
	c.vectors(s, n, x, y)
	return s.reduce(q, c, 1, result)
}

// The places of the numbers of Sizing, in float64: the state of problem.Sizing in the order of its
// fields, then the numbers of the step.
const (
	SizingStep      = 4 // e
	SizingMomentum  = 6 // b
	SizingThreshold = 7 // a weight, a = e (1 + b s)
	SizingScale     = 8 // 1/(1 + a weight)
	SizingCount     = 9
)

// SizingNumbers is the number of inputs and constants of Sizing: SIZING_NUMBERS of the kernels.
const SizingNumbers = 14

// SizingRule returns the inputs and constants of Sizing. The weight is the regularizer's.
func SizingRule(d *problem.SizedDescent, weight float64) [SizingNumbers]float64 {
	alert, k := 0.0, &d.Constants
	if d.Alert {
		alert = 1
	}
	return [SizingNumbers]float64{d.Least, d.Decay, d.PeakDecay, d.Scale, d.Cap, d.Ramp, alert, k.Margin, k.Share, k.Growth, k.Raise, k.Run,
		k.Leap, weight}
}

// Sizing advances the rule of problem.SizedDescent from the directions x and y, and writes the new
// state and the numbers of the step to sizes. moved has the result of the last Descend. The
// arithmetic is float64, in the order of problem.SizedDescent.
func (s *Set) Sizing(q Queue, n int, x, y driver.Pointer, d *problem.SizedDescent, weight float64, sizes, moved driver.Pointer) error {
	return s.sizing(q, n, x, y, d, SizingRule(d, weight), 0, sizes, moved)
}

// SizingAt is Sizing without a Start, with the numbers of SizingRule at an address of mapped
// memory.
func (s *Set) SizingAt(q Queue, n int, x, y, numbers, sizes, moved driver.Pointer) error {
	return s.sizing(q, n, x, y, &problem.SizedDescent{}, [SizingNumbers]float64{}, numbers, sizes, moved)
}

func (s *Set) sizing(q Queue, n int, x, y driver.Pointer, d *problem.SizedDescent, rule [SizingNumbers]float64, numbers, sizes,
	moved driver.Pointer) error {
	c := pass("sizing", n)
	c.vectors(s, n, x, y)
	c.flag(d.Start != nil)
	start := problem.Sizing{}
	if d.Start != nil {
		start = *d.Start
	}
	c.float64s(start.Curvature, start.Peak, start.Seen, float64(start.Growing), start.Step, start.Length, d.Distance, d.Norm)
	c.float64s(rule[:]...)
	c.reading(numbers, 8*SizingNumbers)
	c.updating(sizes, 8*SizingCount)
	c.reading(moved, 16)
	c.grid[0] = min(c.grid[0], mostSums)
	if err := c.partial(q, 16*c.grid[0]+8*SizingNumbers, 1); err != nil {
		return err
	}
	return s.launch(q, c)
}

// Size sets result[0] = ||x||^2, and result[1] to the factor min(1, radius/||x||) of the projection
// onto the ball of that radius. A radius of 0 means that there is no ball and gives 1.
func (s *Set) Size(q Queue, n int, x driver.Pointer, radius float64, result driver.Pointer) error {
	return s.StepNorm(q, n, x, 0, 0, Number{}, Number{}, radius, result)
}

// StepNorm sets result[0] = ||x - e (d + b (b v + d))||^2, the squared norm of the point to which
// Descend applies the proximal map, and result[1] to the factor of the projection onto the ball, as
// Size does. It writes nothing else. v is not read if b = 0; d = 0 gives ||x||^2.
func (s *Set) StepNorm(q Queue, n int, x, d, v driver.Pointer, e, b Number, radius float64, result driver.Pointer) error {
	c := pass("step_norm", n)
	c.vectors(s, n, x, d, v)
	c.numbers(e, b, Value(radius))
	return s.reduce(q, c, 2, result)
}

// Descend sets v = b v + d and x = P(x - e (d + b v)), and result to ||x+ - x||^2 and ||x+||^2. v
// is neither read nor written if b = 0.
func (s *Set) Descend(q Queue, n int, x, d, v driver.Pointer, e, b Number, p Proximal, result driver.Pointer) error {
	c := pass("descend", n)
	c.updating(x, n*s.dtype.Size())
	c.vectors(s, n, d)
	c.updating(v, n*s.dtype.Size())
	c.numbers(e, b)
	c.proximal(p)
	return s.reduce(q, c, 2, result)
}

// Adam sets m1 = 0.9 m1 + 0.1 d, m2 = 0.999 m2 + 0.001 d^2 and x = P(x - rate m1/(sqrt(root m2) +
// 1e-8)), and result as Size does for the new x.
func (s *Set) Adam(q Queue, n int, x, d, m1, m2 driver.Pointer, rate, root Number, p Proximal, radius float64,
	result driver.Pointer) error {
	c, bytes := pass("adam", n), n*s.dtype.Size()
	c.updating(x, bytes)
	c.vectors(s, n, d)
	c.updating(m1, bytes)
	c.updating(m2, bytes)
	c.numbers(rate, root)
	c.proximal(p)
	c.numbers(Value(radius))
	return s.reduce(q, c, 2, result)
}

// Adagrad sets squares = squares + d^2 and x = P(x - step d/(sqrt(squares) + 1e-10)).
func (s *Set) Adagrad(q Queue, n int, x, d, squares driver.Pointer, step Number, p Proximal) error {
	if n == 0 {
		return nil
	}
	c := pass("adagrad", n)
	c.updating(x, n*s.dtype.Size())
	c.vectors(s, n, d)
	c.updating(squares, n*s.dtype.Size())
	c.numbers(step)
	c.proximal(p)
	return s.launch(q, c)
}

// Prox sets x = P(x).
func (s *Set) Prox(q Queue, n int, x driver.Pointer, p Proximal) error {
	if n == 0 {
		return nil
	}
	c := pass("prox", n)
	c.updating(x, n*s.dtype.Size())
	c.proximal(p)
	return s.launch(q, c)
}

// pass begins a launch over n elements.
func pass(name string, n int) *call {
	c := &call{name: name}
	c.grid, c.block = line(n)
	c.ints(n)
	return c
}

// vectors adds vectors that the kernel reads.
func (c *call) vectors(s *Set, n int, list ...driver.Pointer) {
	for _, p := range list {
		c.reading(p, n*s.dtype.Size())
	}
}

// listed adds a list of vectors that the kernel reads, and 0 for the vectors that are not given.
func (c *call) listed(s *Set, n int, list []driver.Pointer) {
	c.vectors(s, n, list...)
	for range listed - len(list) {
		c.args = append(c.args, 0)
	}
}

func (c *call) proximal(p Proximal) { c.numbers(p.Scale, p.Lower, p.Upper, p.Threshold) }

// mostSums is the largest number of blocks of a pass with sums.
const mostSums = 512

// reduce launches a pass of two sums, of which it leaves the first sums at result.
func (s *Set) reduce(q Queue, c *call, sums int, result driver.Pointer) error {
	c.grid[0] = min(c.grid[0], mostSums)
	c.writing(result, 8*sums)
	if err := c.partial(q, 16*c.grid[0], 1); err != nil {
		return err
	}
	return s.launch(q, c)
}
