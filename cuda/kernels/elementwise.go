package kernels

import "ppal/cuda/driver"

// Activation is a function between a network's layers.
type Activation uint8

// The activations.
const (
	Identity Activation = iota
	Sigmoid
	Tanh
	ReLU // keeps the sign of what it cuts: plan.ReLU
)

var activationNames = [...]string{"identity", "sigmoid", "tanh", "relu"}

// String is the name in the kernels' names.
func (f Activation) String() string { return activationNames[f] }

// BiasActivation sets z = f(z + 1 b), b a row.
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

// ActivationGrad sets d = f'(a) d element by element, a = f(...) what the activation gave, f' written in a: a (1 - a), 1 - a^2, and
// 0 or 1 by a's sign bit.
func (s *Set) ActivationGrad(q Queue, f Activation, a, d Operand) error {
	if d.Rows == 0 || d.Cols == 0 || f == Identity {
		return nil
	}
	c := &call{name: f.String() + "_grad"}
	c.grid, c.block = tiles(d.Rows, d.Cols, 4)
	c.in(s, a)
	c.inPlace(s, d)
	c.ints(d.Rows, d.Cols)
	return s.launch(q, c)
}

// ActivationGradSums is ActivationGrad and, in the same pass, the sums of d's columns (1 x d.Cols): the gradient of the bias. With add
// they are added to what is there. f may be Identity.
func (s *Set) ActivationGradSums(q Queue, f Activation, a, d, sums Operand, add bool) error {
	if d.Rows == 0 || d.Cols == 0 {
		return s.clearUnless(q, add, sums)
	}
	if f == Identity {
		return s.Sums(q, overRows, d, sums, add)
	}
	c := &call{name: f.String() + "_grad_sums"}
	parts := c.columnSums(d.Rows, d.Cols)
	c.in(s, a)
	c.inPlace(s, d)
	c.ints(d.Rows, d.Cols)
	c.sum(s, sums, add)
	if err := c.partial(q, 8*parts*d.Cols, c.grid[0]); err != nil {
		return err
	}
	return s.launch(q, c)
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
