package kernels

import "fmt"

// Narrow is the most columns that the narrow products take: the scores of an output layer.
const Narrow = 16

// OutputForward is the product with a narrow factor (W.Cols <= Narrow) and what is around it, in one pass over the activations:
//
//	A = f(A + 1 Bias)   in place, where Activation is not Identity or Bias is given
//	Out = A W + 1 OutBias
//
// With Transposed W is given as its transpose (Out.Cols x A.Cols). Sums are of float64 in float64, else of float32.
type OutputForward struct {
	Activation   Activation
	A, Bias      Operand // rows x h; 1 x h or not given
	W            Operand // h x C
	Transposed   bool
	Out, OutBias Operand // rows x C; 1 x C or not given
	Add          bool    // Out is added to
}

// OutputForward runs the pass.
func (s *Set) OutputForward(q Queue, p OutputForward) error {
	if p.Out.Cols > Narrow {
		return fmt.Errorf("kernels: %d columns for a narrow product, want at most %d", p.Out.Cols, Narrow)
	}
	if p.Out.Rows == 0 {
		return nil
	}
	c := &call{name: fmt.Sprintf("output_forward_%d", atLeast(p.Out.Cols, Narrow))}
	x := atLeast(p.A.Cols, 32)
	c.grid, c.block = [3]int{min(ceil(p.Out.Rows, 2*blockSize/x), 2048), 1, 1}, [3]int{x, blockSize / x, 1}
	f := p.Activation
	if f == Identity && !p.Bias.given() {
		c.in(s, p.A)
		c.ints(-1)
	} else {
		c.inPlace(s, p.A)
		c.ints(int(f))
	}
	c.in(s, p.Bias, p.W)
	c.flag(p.Transposed)
	c.in(s, p.OutBias)
	c.ints(p.Out.Rows, p.A.Cols, p.Out.Cols)
	c.sum(s, p.Out, p.Add)
	return s.launch(q, c)
}

// OutputBackward is the backward pass of OutputForward, in one pass over the activations A = f(Z) (rows x h) and the scores' gradient
// D (rows x C, C <= Narrow); what is not given is left out:
//
//	DA = f'(A) (D W^T)          rows x h, may be A itself
//	Bias = 1^T DA               1 x h, in float64; needs DA
//	G = A^T D                   h x C
//	OutBias = 1^T D             1 x C, in float64
//	Cut                         DA in slices for products with 8-bit data
//
// With Cut DA itself is written with Keep alone, or where a column has no digits, and has to be given all the same. With AddG G is added to, and with AddSums Bias and OutBias are. The sums of G are of the elements' type within a block's rows, and
// of float64 over blocks.
type OutputBackward struct {
	Activation Activation
	A, D       Operand
	W          Operand // h x C; needed by DA
	Transposed bool    // W is given as its transpose (C x h)
	DA, Bias   Operand
	Cut        Slices
	Keep       bool
	G, OutBias Operand
	AddG       bool
	AddSums    bool
}

// OutputBackward runs the pass.
func (s *Set) OutputBackward(q Queue, p OutputBackward) error {
	if err := p.Cut.check(s.dtype); err != nil {
		return err
	}
	if p.D.Cols > Narrow {
		return fmt.Errorf("kernels: %d columns for a narrow product, want at most %d", p.D.Cols, Narrow)
	}
	if p.D.Rows == 0 {
		if err := s.clearUnless(q, p.AddSums, p.Bias); err != nil {
			return err
		}
		if err := s.clearUnless(q, p.AddSums, p.OutBias); err != nil {
			return err
		}
		return s.clearUnless(q, p.AddG, p.G)
	}
	hidden := max(p.A.Cols, p.DA.Cols)
	c := &call{}
	if err := p.blocks(c, hidden); err != nil {
		return err
	}
	columns, parts := c.grid[0], c.grid[1]
	c.ints(int(p.Activation))
	c.in(s, p.A, p.D, p.W)
	c.flag(p.Transposed)
	if p.Cut.Digits.given() {
		c.out(s, p.DA)
		c.flag(p.Keep)
		c.digits(p.Cut.Digits)
	} else {
		da := p.DA
		if p.Cut.given() && !p.Keep {
			da = Operand{}
		}
		c.out(s, da)
		c.terms(p.Cut.Terms, p.D.Rows, hidden)
	}
	c.ints(p.D.Rows, hidden, p.D.Cols)
	for _, o := range []Operand{p.Bias, p.OutBias} {
		if p.AddSums {
			c.inPlace(s, o)
		} else {
			c.out(s, o)
		}
	}
	c.flag(p.AddSums)
	if p.AddG {
		c.inPlace(s, p.G)
	} else {
		c.out(s, p.G)
	}
	c.flag(p.AddG)
	// For each part and column the sums of G's row, of the bias and, in the first C columns' place, nothing else: C + 1 numbers; and
	// C more a part for the scores' bias.
	if err := c.partial(q, 8*parts*(hidden*(p.D.Cols+1)+p.D.Cols), columns); err != nil {
		return err
	}
	return s.launch(q, c)
}

// blocks chooses the kernel and its blocks: of columns, and of parts of the rows.
func (p OutputBackward) blocks(c *call, hidden int) (err error) {
	if p.Cut.Digits.given() {
		c.name = fmt.Sprintf("output_digits_%d", atLeast(p.D.Cols, Narrow))
		c.grid, c.block, err = p.Cut.Digits.blocks()
		return err
	}
	c.name = fmt.Sprintf("output_backward_%d", atLeast(p.D.Cols, Narrow))
	x := atLeast(hidden, 32)
	y := blockSize / x
	columns := ceil(hidden, x)
	parts := min(max(ceil(p.D.Rows, 8*y), 1), max(1, ceil(528, columns)), 256)
	c.grid, c.block = [3]int{columns, parts, 1}, [3]int{x, y, 1}
	return nil
}
