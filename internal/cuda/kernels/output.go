package kernels

import (
	"fmt"
	"slices"
	"strings"
)

// Narrow is the largest number of columns of a narrow product: the scores of an output layer.
const Narrow = 16

// OutputForward is a product with a narrow factor (W.Cols <= Narrow), fused with the activation
// before and the bias after, in one pass over the activations:
//
//	A = f(A + 1 Bias)   in place, unless Activation is Identity and Bias is not given
//	Out = A W + 1 OutBias
//
// Sums have the elements' type.
type OutputForward struct {
	Activation   Activation
	A, Bias      Operand // rows x h; 1 x h or not given
	W            Operand // h x C
	Transposed   bool    // W is given as its transpose (C x h)
	Out, OutBias Operand // rows x C; 1 x C or not given
	Add          bool    // accumulate into Out
}

// OutputForward runs the pass.
func (s *Set) OutputForward(q Queue, p OutputForward) error {
	if p.Out.Cols > Narrow {
		return fmt.Errorf("kernels: %d columns for a narrow product, want at most %d", p.Out.Cols, Narrow)
	}
	if p.Out.Rows == 0 {
		return nil
	}
	if name := p.wide(s.dtype); name != "" {
		return s.outputForwardWide(q, name, p)
	}
	c := &call{name: fmt.Sprintf("output_forward_%d", atLeast(p.Out.Cols, Narrow))}
	x := atLeast(p.A.Cols, 32)
	c.grid, c.block = [3]int{min(ceil(p.Out.Rows, 2*blockSize/x), 2048), 1, 1}, [3]int{x, blockSize / x, 1}
	f := p.Activation
	if f == Identity && !p.Bias.isSet() {
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

// WideScores lists the largest numbers of scores of the passes with loads of 128 bits. A pass also
// runs for the smaller numbers that have no pass of their own.
var WideScores = []int{1, 2, 3, 4, 8, 10, 16}

// wideScores returns the number in WideScores for a number of scores up to Narrow.
func wideScores(scores int) int {
	i, _ := slices.BinarySearch(WideScores, scores)
	return WideScores[i]
}

// The passes with loads of 128 bits take wideColumns columns and wideRows rows of float32 at a
// time. The rows begin at multiples of 16 bytes.
const (
	wideColumns = 4
	wideRows    = 4
)

// wideRowsOf reports whether the rows of a matrix of float32 consist of whole groups of 128 bits.
func wideRowsOf(o Operand) bool {
	const aligned = 16
	return o.Cols%wideColumns == 0 && o.Stride%wideColumns == 0 && o.At%aligned == 0
}

// wideWithoutGaps reports whether a matrix of float32 has no gaps and begins at a multiple of 16
// bytes.
func wideWithoutGaps(o Operand) bool { return o.Stride == o.Cols && o.At%16 == 0 }

// wide returns the kernel output_forward_wide that can run the pass, or "".
func (p OutputForward) wide(t Dtype) string {
	f, ok := map[Activation]string{Identity: "none", ReLU: "relu", Sigmoid: "sigmoid"}[p.Activation]
	if !ok || t != Float32 || p.Activation == Identity && p.Bias.isSet() || p.Transposed ||
		!wideRowsOf(p.A) || p.Bias.isSet() && p.Bias.At%16 != 0 || !wideWithoutGaps(p.W) {
		return ""
	}
	return fmt.Sprintf("output_forward_wide_%d_%s", wideScores(p.Out.Cols), f)
}

// outputForwardWide runs the pass by output_forward_wide.
func (s *Set) outputForwardWide(q Queue, name string, p OutputForward) error {
	// At the end, the threads of a row add their sums of wideRows rows to each other, one by one. With
	// many scores, fewer threads share a row.
	most := 16
	if p.Out.Cols > 4 {
		most = 8
	}
	x := atLeast(p.A.Cols/wideColumns, most)
	c := &call{name: name, grid: [3]int{min(ceil(p.Out.Rows, wideRows*blockSize/x), 4096), 1, 1}, block: [3]int{x, blockSize / x, 1}}
	if p.Activation == Identity {
		c.in(s, p.A)
	} else {
		c.inPlace(s, p.A)
	}
	c.in(s, p.Bias, p.W, p.OutBias)
	c.ints(p.Out.Rows, p.A.Cols)
	c.sum(s, p.Out, p.Add)
	return s.launch(q, c)
}

// OutputBackward is the backward pass of OutputForward, one pass over the activations A = f(Z)
// (rows x h) and the gradient D of the scores (rows x C, C <= Narrow). Results that are not given
// are omitted:
//
//	DA = f'(A) (D W^T)          rows x h, may be A itself
//	Bias = 1^T DA               1 x h, in float64; needs DA
//	G = A^T D                   h x C
//	OutBias = 1^T D             1 x C, in float64
//	Quantized                   DA, quantized for products with 8-bit data
//
// If Quantized is given, DA is written only if Keep is set, or in columns without digits; DA must
// be given either way. AddG accumulates into G; AddSums accumulates into Bias and OutBias. G's sums
// have the elements' type within a block of rows and are float64 over the blocks.
type OutputBackward struct {
	Activation Activation
	A, D       Operand
	W          Operand // h x C; needed by DA
	Transposed bool    // W is given as its transpose (C x h)
	DA, Bias   Operand
	Quantized  Quantized
	Keep       bool
	G, OutBias Operand
	AddG       bool
	AddSums    bool
}

// OutputBackward runs the pass.
func (s *Set) OutputBackward(q Queue, p OutputBackward) error {
	if err := p.Quantized.check(s.dtype); err != nil {
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
	if err := p.blocks(c, hidden, p.wide(s.dtype)); err != nil {
		return err
	}
	wide := strings.Contains(c.name, "_wide_") // compiled for the activation and the number of scores
	columns, parts := c.grid[0], c.grid[1]
	if !wide {
		c.ints(int(p.Activation))
	}
	c.in(s, p.A, p.D, p.W)
	c.flag(p.Transposed)
	switch {
	case p.Quantized.Digits.isSet():
		c.out(s, p.DA)
		if !wide {
			c.flag(p.Keep)
		}
		c.digits(p.Quantized.Digits)
	case wide:
		c.out(s, p.DA)
	default:
		da := p.DA
		if p.Quantized.isSet() && !p.Keep {
			da = Operand{}
		}
		c.out(s, da)
		c.terms(p.Quantized.Terms, p.D.Rows, hidden)
	}
	c.ints(p.D.Rows, hidden)
	if !wide {
		c.ints(p.D.Cols)
	}
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
	// Partial sums of each part of the rows: C + 1 numbers for each column, G's row and the bias, and
	// C numbers for the bias of the scores.
	if err := c.partial(q, 8*parts*(hidden*(p.D.Cols+1)+p.D.Cols), columns); err != nil {
		return err
	}
	return s.launch(q, c)
}

// digitsActivations are the activations of the kernels output_digits_wide. A block of their threads
// has digitsQuads times four columns.
var digitsActivations = map[Activation]string{Sigmoid: "sigmoid", ReLU: "relu"}

const digitsQuads = 2

// wideDigits returns the kernel output_digits_wide that can run the pass, or "". With two
// digits, there are kernels for four scores only. With 11 to 15 scores, the kernel for several
// numbers of scores would need more registers than a thread has.
func (p OutputBackward) wideDigits() string {
	f, count, scores := digitsActivations[p.Activation], p.Quantized.Digits.Count, wideScores(p.D.Cols)
	absent := count != 3 && p.D.Cols != 4 || scores == Narrow && p.D.Cols < Narrow
	if f == "" || absent || p.Keep || !p.W.isSet() || !wideRowsOf(p.A) || !wideWithoutGaps(p.D) {
		return ""
	}
	return fmt.Sprintf("output_digits_wide_%d_%d_%s", scores, count, f)
}

// wideSlopes are the activations of the kernels output_backward_wide.
var wideSlopes = map[Activation]string{Sigmoid: "sigmoid", ReLU: "relu", Tanh: "tanh"}

// wide reports whether output_backward_wide can run. It computes all results and does not quantize.
func (p OutputBackward) wide(t Dtype) bool {
	return t == Float32 && wideSlopes[p.Activation] != "" && !p.Quantized.isSet() && p.W.isSet() && p.DA.isSet() &&
		p.A.isSet() && wideRowsOf(p.A) && wideRowsOf(p.DA) && wideWithoutGaps(p.D)
}

// wideResident are the blocks of output_backward_wide that an H200 holds at a time, by the number
// in WideScores.
var wideResident = map[int]int{1: 3 * 132, 2: 3 * 132, 3: 2 * 132, 4: 2 * 132, 8: 132, 10: 132, 16: 132}

// blocks chooses the kernel and its blocks of threads: columns by parts of the rows.
func (p OutputBackward) blocks(c *call, hidden int, wide bool) (err error) {
	if wide {
		const quads = 8
		c.name = fmt.Sprintf("output_backward_wide_%d_%s", wideScores(p.D.Cols), wideSlopes[p.Activation])
		columns := ceil(hidden, wideColumns*quads)
		parts := min(ceil(p.D.Rows, wideRows*blockSize/quads), max(1, wideResident[wideScores(p.D.Cols)]/columns))
		c.grid, c.block = [3]int{columns, parts, 1}, [3]int{quads, blockSize / quads, 1}
		return nil
	}
	if p.Quantized.Digits.isSet() {
		c.name = fmt.Sprintf("output_digits_%d", atLeast(p.D.Cols, Narrow))
		c.grid, c.block, err = p.Quantized.Digits.blocks()
		if name := p.wideDigits(); name != "" {
			c.name = name
			c.grid[0], c.block = ceil(p.Quantized.Digits.Width, wideColumns*digitsQuads), [3]int{digitsQuads, blockSize / digitsQuads, 1}
		}
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
