package kernels

import "ppal/internal/plan"

// Patches copies the elements of pictures under the windows of all places, so that a convolution is
// a product: to has a row for each element of a window, and places columns for each picture.
//
//	To[c, i, j; n, p, q] = In[n; c, y(p, i), x(q, j)], 0 outside the picture
func (s *Set) Patches(q Queue, w plan.Window, to, in Operand) error {
	c := &call{name: "patches"}
	c.out(s, to)
	c.in(s, in)
	return s.windows(q, c, w, in.Rows, w.Places())
}

// PatchesSum is the transpose of Patches: it adds the elements of d in their pictures' places.
//
//	Out[n; c, y, x] = sum of D[c, i, j; n, p, q] over y(p, i) = y, x(q, j) = x
func (s *Set) PatchesSum(q Queue, w plan.Window, out, d Operand) error {
	c := &call{name: "patches_sum"}
	c.out(s, out)
	c.in(s, d)
	return s.windows(q, c, w, out.Rows, w.Height*w.Width)
}

// MaxPool runs plan.MaxPool.
func (s *Set) MaxPool(q Queue, w plan.Window, out, in Operand) error {
	c := &call{name: "max_pool"}
	c.out(s, out)
	c.in(s, in)
	return s.windows(q, c, w, in.Rows, w.Places())
}

// MaxPoolGrad runs plan.MaxPoolGrad. Each thread finds the windows whose largest element is its
// own, and adds in the order of these windows.
func (s *Set) MaxPoolGrad(q Queue, w plan.Window, out, in, d Operand) error {
	c := &call{name: "max_pool_grad"}
	c.out(s, out)
	c.in(s, in, d)
	return s.windows(q, c, w, in.Rows, w.Height*w.Width)
}

// windows launches a pass with a thread for each of the places of each picture, whose blocks share
// the channels.
func (s *Set) windows(q Queue, c *call, w plan.Window, pictures, places int) error {
	if pictures == 0 {
		return nil
	}
	const each = 4 // channels that a thread takes at a time
	c.grid, c.block = [3]int{ceil(pictures*places, blockSize), min(ceil(w.Channels, each), maxGrid), 1}, [3]int{blockSize, 1, 1}
	c.ints(pictures)
	c.window(w)
	return s.launch(q, c)
}

// window adds the geometry of windows.
func (c *call) window(w plan.Window) {
	c.ints(w.Channels, w.Height, w.Width, w.Lines, w.Columns, w.Top, w.Left, w.StrideY, w.StrideX, w.DilationY, w.DilationX, w.OutputHeight, w.OutputWidth)
}

// Normalize runs plan.Normalize on groups ranges of columns.
func (s *Set) Normalize(q Queue, groups int, epsilon float64, out, in Operand) error {
	c := &call{name: "normalize"}
	c.out(s, out)
	c.in(s, in)
	return s.ranges(q, c, groups, epsilon, in)
}

// NormalizeGrad runs plan.NormalizeGrad.
func (s *Set) NormalizeGrad(q Queue, groups int, epsilon float64, out, in, d Operand) error {
	c := &call{name: "normalize_grad"}
	c.out(s, out)
	c.in(s, in, d)
	return s.ranges(q, c, groups, epsilon, in)
}

// longRange is the number of elements from which a range has a block of threads. Shorter ranges
// have at most a warp.
const longRange = 1024

// ranges launches a pass over ranges of in's columns.
func (s *Set) ranges(q Queue, c *call, groups int, epsilon float64, in Operand) error {
	if in.Rows == 0 {
		return nil
	}
	size := in.Cols / groups
	x := blockSize
	if size < longRange {
		x = atLeast(size, 32)
	}
	c.grid, c.block = [3]int{ceil(in.Rows*groups, blockSize/x), 1, 1}, [3]int{x, blockSize / x, 1}
	c.ints(in.Rows, groups, size)
	c.float64s(epsilon)
	return s.launch(q, c)
}
