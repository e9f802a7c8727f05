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

// StepSums leaves stepSums numbers for each part, STEP_SUMS of the kernels, and then the numbers of
// a Start, SIZING_START of the kernels, and of SizingRule. StepSumsBytes are enough for all
// vectors.
const (
	stepSums      = 7
	startNumbers  = 9
	mostParts     = 256
	StepSumsBytes = 8 * (stepSums*mostParts + startNumbers + SizingNumbers)
)

// stepParts returns the number of blocks of StepSums: eight elements a thread, because every block
// of the pass that follows adds the parts.
func stepParts(n int) int { return min(max(ceil(n, 8*blockSize), 1), mostParts) }

// StepInput is the input of the rule of a descent with an automatic step size: the rule with the
// regularizer's Weight, or, without a Start, the address of the numbers of SizingRule in mapped
// memory. The zero value is for a descent whose step size is known.
type StepInput struct {
	Rule    problem.SizedDescent
	Weight  float64
	Numbers driver.Pointer
}

// StepSums leaves the sums that the descent needs at sums, StepSumsBytes. They are ||d -
// previous||^2, and for the ball the inner products of x, d and v. Vectors that are not given are
// 0.
func (s *Set) StepSums(q Queue, n int, x, d, v, previous driver.Pointer, in *StepInput, sums driver.Pointer) error {
	c := pass("step_sums", n)
	c.grid[0] = stepParts(n)
	c.vectors(s, n, x, d, v, previous)
	start, given := problem.Sizing{}, 0.0
	if in.Rule.Start != nil {
		start, given = *in.Rule.Start, 1
	}
	c.float64s(given, start.Curvature, start.Peak, start.Seen, float64(start.Growing), start.Step, start.Length, in.Rule.Distance, in.Rule.Norm)
	rule := SizingRule(&in.Rule, in.Weight)
	c.float64s(rule[:]...)
	c.reading(in.Numbers, 8*SizingNumbers)
	c.writing(sums, 8*(stepSums*c.grid[0]+startNumbers+SizingNumbers))
	return s.launch(q, c)
}

// steps adds the sums that StepSums left.
func (c *call) steps(n int, sums driver.Pointer) {
	parts := stepParts(n)
	c.reading(sums, 8*(stepSums*parts+startNumbers+SizingNumbers))
	c.ints(parts)
}

// Sizing advances the rule of problem.SizedDescent after StepSums, and writes the new state and the
// numbers of the step to sizes. moved has the result of the last descent. The arithmetic is
// float64, in the order of problem.SizedDescent.
func (s *Set) Sizing(q Queue, n int, sums, sizes, moved driver.Pointer) error {
	c := &call{name: "sizing", grid: [3]int{1, 1, 1}, block: [3]int{blockSize, 1, 1}}
	c.steps(n, sums)
	c.updating(sizes, 8*SizingCount)
	c.reading(moved, 16)
	return s.launch(q, c)
}

// DescendSized runs Sizing and Descend in one launch, after StepSums. The threshold of p is the
// rule's for the l1 norm, and the scale for the squared l2 norm.
func (s *Set) DescendSized(q Queue, n int, x, d, v driver.Pointer, p Proximal, r problem.RegularizerKind, radius float64,
	sums, sizes, moved driver.Pointer) error {
	c := pass("descend_sized", n)
	c.updating(x, n*s.dtype.Size())
	c.vectors(s, n, d)
	c.updating(v, n*s.dtype.Size())
	c.proximal(p)
	c.flag(r == problem.L1)
	c.flag(r == problem.SquaredL2)
	c.float64s(radius)
	c.steps(n, sums)
	c.updating(sizes, 8*SizingCount)
	c.reads = append(c.reads, driver.Span{At: moved, Bytes: 16})
	return s.reduce(q, c, 2, moved)
}

// Size sets result[0] = ||x||^2, and result[1] to the factor min(1, radius/||x||) of the projection
// onto the ball of that radius. A radius of 0 means that there is no ball and gives 1.
func (s *Set) Size(q Queue, n int, x driver.Pointer, radius float64, result driver.Pointer) error {
	c := pass("size", n)
	c.vectors(s, n, x)
	c.float64s(radius)
	return s.reduce(q, c, 2, result)
}

// Descend sets v = b v + d and x = P(x - e (d + b v)), and result to ||x+ - x||^2 and ||x+||^2. v
// is neither read nor written if b = 0. With a radius, P is the projection onto the ball of that
// radius, which takes ||x - e (d + b v)|| from the sums of StepSums.
func (s *Set) Descend(q Queue, n int, x, d, v driver.Pointer, e, b Number, p Proximal, radius float64, sums, result driver.Pointer) error {
	c := pass("descend", n)
	c.updating(x, n*s.dtype.Size())
	c.vectors(s, n, d)
	c.updating(v, n*s.dtype.Size())
	c.numbers(e, b)
	c.proximal(p)
	c.float64s(radius)
	if radius == 0 {
		sums = 0 // not read
	}
	c.steps(n, sums)
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
