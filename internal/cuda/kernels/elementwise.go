package kernels

import "ppal/internal/cuda/driver"

// Activation is a function between a network's layers.
type Activation uint8

// The activations.
const (
	Identity Activation = iota
	Sigmoid
	Tanh
	ReLU // keeps the sign of a negative input: describe.ReLU
)

var activationNames = [...]string{"identity", "sigmoid", "tanh", "relu"}

// String returns the activation's part of kernel names.
func (f Activation) String() string { return activationNames[f] }

// BiasActivation sets z = f(z + 1 b) for a row b.
func (s *Set) BiasActivation(q Queue, f Activation, z, bias Operand) error {
	if z.Rows == 0 || z.Cols == 0 {
		return nil
	}
	c := &call{name: "bias_" + f.String()}
	c.grid, c.block = tiles(z.Rows, z.Cols, 4)
	c.inPlace(s, z)
	c.in(s, bias)
	c.ints(z.Rows, z.Cols)
	return s.launch(q, c)
}

// ActivationGrad sets d = f'(a) d element by element, where a is the activation's output and f' is
// a function of a: a (1 - a), 1 - a^2, and 0 or 1 by a's sign bit.
func (s *Set) ActivationGrad(q Queue, f Activation, a, d Operand) error {
	return s.Slopes(q, Slopes{Activation: f, A: a, D: d, Keep: true})
}

// Slopes is ActivationGrad fused with two consumers of the new D. Results that are not given are
// omitted:
//
//	Sums = 1^T D    the gradient of the bias, in float64; AddSums accumulates into Sums
//	Quantized       D, quantized for products with 8-bit data
//
// If Keep is not set, only D's columns without digits are written, and D is invalid afterwards.
type Slopes struct {
	Activation Activation
	A, D       Operand
	Sums       Operand // 1 x D.Cols
	AddSums    bool
	Quantized  Quantized
	Keep       bool
}

// Slopes runs the pass.
func (s *Set) Slopes(q Queue, p Slopes) error {
	if err := p.Quantized.check(s.dtype); err != nil {
		return err
	}
	if p.D.Rows == 0 || p.D.Cols == 0 {
		return s.clearUnless(q, p.AddSums, p.Sums)
	}
	if p.Activation == Identity {
		return s.identitySlopes(q, p)
	}
	c := &call{name: p.Activation.String() + "_grad"}
	parts := 0
	switch digits := p.Quantized.Digits; {
	case digits.isSet():
		c.name = "slope_digits"
		var err error
		if c.grid, c.block, err = digits.blocks(); err != nil {
			return err
		}
		parts = digits.Blocks
		c.ints(int(p.Activation))
	case p.Sums.isSet():
		c.name += "_sums"
		parts = c.columnSums(p.D.Rows, p.D.Cols)
	default:
		c.grid, c.block = tiles(p.D.Rows, p.D.Cols, 4)
	}
	c.in(s, p.A)
	c.inPlace(s, p.D)
	c.flag(p.Keep)
	if p.Quantized.Digits.isSet() {
		c.digits(p.Quantized.Digits)
	} else {
		c.terms(p.Quantized.Terms, p.D.Rows, p.D.Cols)
	}
	c.ints(p.D.Rows, p.D.Cols)
	if parts > 0 {
		c.sum(s, p.Sums, p.AddSums)
		if err := c.partial(q, 8*parts*p.D.Cols, c.grid[0]); err != nil {
			return err
		}
	}
	return s.launch(q, c)
}

// identitySlopes is Slopes for f(z) = z, which leaves D unchanged.
func (s *Set) identitySlopes(q Queue, p Slopes) error {
	if p.Sums.isSet() {
		if err := s.Sums(q, overRows, p.D, p.Sums, p.AddSums); err != nil {
			return err
		}
	}
	if p.Quantized.isSet() {
		return s.Quantize(q, p.Quantized, p.D, false)
	}
	return nil
}

// RankOne sets out = out + alpha x^T y for rows x (1 x out.Rows) and y (1 x out.Cols).
func (s *Set) RankOne(q Queue, alpha float64, x, y, out Operand) error {
	if out.Rows == 0 || out.Cols == 0 {
		return nil
	}
	c := &call{name: "rank_one"}
	c.grid, c.block = tiles(out.Rows, out.Cols, 4)
	c.args = append(c.args, driver.Float64Arg(alpha))
	c.in(s, x, y)
	c.inPlace(s, out)
	c.ints(out.Rows, out.Cols)
	return s.launch(q, c)
}

// Copy sets to = from, of the same shape.
func (s *Set) Copy(q Queue, to, from Operand) error {
	if to.Rows == 0 || to.Cols == 0 {
		return nil
	}
	c := &call{name: "copy"}
	c.grid, c.block = tiles(to.Rows, to.Cols, 4)
	c.out(s, to)
	c.in(s, from)
	c.ints(to.Rows, to.Cols)
	return s.launch(q, c)
}
