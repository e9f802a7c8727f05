package kernels

import (
	"fmt"
	"math"

	"ppal/internal/plan"
)

// Convolve is a convolution on tensor cores without patches (compute capability 8.0), with a bias
// and an activation in the same pass:
//
//	Out[n; l, p, q] = f(sum_{c, i, j} Filter[l; c, i, j] In[n; c, y(p, i), x(q, j)] + Bias[l, p, q])
//
// Backward makes it plan.ConvolutionInputGrad of a window with strides of 1, with In for D.
type Convolve struct {
	Window          plan.Window
	Backward        bool
	Terms           int // 1: factors in TF32; 2 or 3: factors as sums of so many bfloat16 terms
	In, Filter, Out Operand
	Bias            Operand    // a row of Out, or none
	Activation      Activation // Identity or ReLU, with a bias
}

// Shape returns the window and the number of filters of the convolution that the kernels compute.
// With Backward, it is a convolution of the pictures D with the filters' places in the opposite
// order.
func (c Convolve) Shape() (plan.Window, int) {
	w, filters := c.Window, c.Filter.Rows
	if !c.Backward {
		return w, filters
	}
	w.Channels, filters = filters, w.Channels
	w.Height, w.Width, w.OutputHeight, w.OutputWidth = w.OutputHeight, w.OutputWidth, w.Height, w.Width
	w.Top, w.Left = (w.Lines-1)*w.DilationY-w.Top, (w.Columns-1)*w.DilationX-w.Left
	return w, filters
}

// The places of a block of convolve, and the elements of the sums in shared memory at a time.
const (
	convolvePlaces = 128
	convolvePiece  = 16
)

// Fits returns an error if the kernels cannot compute the convolution of a number of pictures.
func (c Convolve) Fits(pictures int) error {
	w, filters := c.Shape()
	switch {
	case c.Backward && (w.StrideY != 1 || w.StrideX != 1):
		return fmt.Errorf("kernels: the derivative of a convolution with strides needs patches")
	case max(pictures*w.Places()+convolvePlaces, w.Channels*w.Height*w.Width, filters*w.Patch()) > math.MaxInt32:
		return fmt.Errorf("kernels: a convolution of %d pictures has more than 2^31 places", pictures)
	}
	return nil
}

// FilterGrad is plan.ConvolutionFilterGrad on tensor cores without patches:
//
//	Out[l; c, i, j] = sum_{n, p, q} D[n; l, p, q] In[n; c, y(p, i), x(q, j)]
type FilterGrad struct {
	Window     plan.Window
	Terms      int // as in Convolve
	In, D, Out Operand
	Add        bool // add to Out
}

// The filters of a block of filter_sums, the most places of a range, whose sums tensor cores
// truncate after each piece, the least places that are worth a block, and the blocks that fill a
// device.
const (
	gradFilters = 64
	gradLongest = 16384
	gradLeast   = 512
	gradBlocks  = 1024
	gradBits    = 31 // elements of a window, a bit each
)

// Fits returns an error if the kernels cannot compute the derivative of a number of pictures.
func (g FilterGrad) Fits(pictures int) error {
	w := g.Window
	if w.Lines*w.Columns > gradBits {
		return fmt.Errorf("kernels: the derivative by filters with more than %d elements needs patches", gradBits)
	}
	return Convolve{Window: w, Filter: g.Out}.Fits(pictures)
}

// FilterGrad launches the derivative by the filters: the sums over ranges of places, and the sum of
// the ranges in order.
func (s *Set) FilterGrad(q Queue, g FilterGrad) error {
	if err := g.Fits(g.In.Rows); err != nil {
		return err
	}
	if g.In.Rows == 0 {
		return s.clearUnless(q, g.Add, g.Out)
	}
	w, all := g.Window, g.In.Rows*g.Window.Places()
	tiles := ceil(g.Out.Rows, gradFilters) * ceil(w.Patch(), convolvePlaces)
	ranges := max(ceil(all, gradLongest), min(ceil(all, gradLeast), ceil(gradBlocks, tiles)))
	length := ceil(ceil(all, ranges), convolvePiece) * convolvePiece
	ranges = ceil(all, length)
	size := ranges * g.Out.Rows * w.Patch() * s.dtype.Size()
	part, err := q.Scratch(size)
	if err != nil {
		return err
	}
	c := &call{name: "filter_sums_tf32", grid: [3]int{tiles * ranges, 1, 1}, block: [3]int{blockSize, 1, 1}}
	if g.Terms > 1 {
		c.name = fmt.Sprintf("filter_sums_bf16x%d", g.Terms)
	}
	c.writing(part, size)
	c.in(s, g.D, g.In)
	c.ints(g.Out.Rows, g.In.Rows, length)
	c.window(w)
	if err := s.launch(q, c); err != nil {
		return err
	}
	return s.AddParts(q, part, ranges, g.Out, g.Add)
}

// Convolve launches a convolution: a pass that writes the filters as the words that tensor cores
// multiply, and the product. Blocks with 128 filters read the pictures half as often as blocks with
// 64.
func (s *Set) Convolve(q Queue, c Convolve) error {
	if err := c.Fits(c.In.Rows); err != nil || c.In.Rows == 0 {
		return err
	}
	w, filters := c.Shape()
	name, high, lines := "convolve_tf32_64", 64, 8
	switch {
	case c.Terms > 1:
		name, lines = fmt.Sprintf("convolve_bf16x%d_64", c.Terms), 4
	case filters > 64:
		name, high = "convolve_tf32_128", 128
	}
	const pair = 8 // bytes of two words
	pieces, wide := ceil(w.Patch(), convolvePiece), ceil(filters, high)*high
	size := pair * pieces * c.Terms * lines * wide
	words, err := q.Scratch(size)
	if err != nil {
		return err
	}
	place := w.Lines * w.Columns
	first := &call{name: "convolve_filters"}
	first.grid, first.block = line(2 * pieces * wide)
	first.writing(words, size)
	first.ints(c.Terms, wide)
	first.reads = append(first.reads, s.span(c.Filter))
	if c.Backward {
		first.args = append(first.args, uint64(c.Filter.At.Offset((place-1)*s.dtype.Size())))
		first.ints(place, c.Filter.Stride, -1)
	} else {
		first.args = append(first.args, uint64(c.Filter.At))
		first.ints(c.Filter.Stride, place, 1)
	}
	first.ints(filters, w.Channels, place, pieces)
	if err := s.launch(q, first); err != nil {
		return err
	}
	product := &call{name: name, grid: [3]int{wide / high * ceil(c.In.Rows*w.Places(), convolvePlaces), 1, 1}, block: [3]int{blockSize, 1, 1}}
	product.out(s, c.Out)
	product.in(s, c.In)
	product.reading(words, size)
	product.ints(filters)
	if c.Bias.isSet() {
		product.ints(int(c.Activation))
	} else {
		product.ints(-1)
	}
	product.in(s, c.Bias)
	product.ints(c.In.Rows)
	product.window(w)
	return s.launch(q, product)
}
