package plan

import (
	"fmt"
	"math"
)

// Window is the geometry of a convolution, or of max-pooling, over pictures. A picture is a row of
// a matrix: channel by channel, and in a channel line by line. The window at output place (p, q)
// has at its place (i, j) the element in
//
//	line y = p StrideY - Top + i DilationY, column x = q StrideX - Left + j DilationX
//
// of a channel. Places outside the picture count as 0 in a convolution, and are left out in
// max-pooling. The fields of kernel.Window are the same.
type Window struct {
	Channels, Height, Width   int // of a picture
	Lines, Columns            int // of the window
	Top, Left                 int // padding before the first line and the first column
	StrideY, StrideX          int
	DilationY, DilationX      int // distance between neighbouring places of the window
	OutputHeight, OutputWidth int
}

// Places returns the number of places in a channel of the output.
func (w Window) Places() int { return w.OutputHeight * w.OutputWidth }

// Patch returns the number of elements of a picture under the window, in all channels.
func (w Window) Patch() int { return w.Channels * w.Lines * w.Columns }

// line returns the line of the picture under line i of the window for output line p, and whether
// the line is inside the picture.
func (w Window) line(p, i int) (y int, inside bool) {
	y = p*w.StrideY - w.Top + i*w.DilationY
	return y, y >= 0 && y < w.Height
}

// column is line for columns.
func (w Window) column(q, j int) (x int, inside bool) {
	x = q*w.StrideX - w.Left + j*w.DilationX
	return x, x >= 0 && x < w.Width
}

// Convolution computes the channels of the output, one for each row of Filter:
//
//	Out[n; l, p, q] = sum_{c, i, j} Filter[l; c, i, j] In[n; c, y(p, i), x(q, j)]
//
// In has a picture in each row, Filter [filters, Patch], and Out a picture of Places in each row.
type Convolution struct {
	nodes
	Window
	In, Filter, Out View
}

// ConvolutionInputGrad is the derivative of Convolution with respect to In, times D:
//
//	Out[n; c, y, x] = sum Filter[l; c, i, j] D[n; l, p, q] over y(p, i) = y, x(q, j) = x
type ConvolutionInputGrad struct {
	nodes
	Window
	D, Filter, Out View
}

// ConvolutionFilterGrad is the derivative of Convolution with respect to Filter, times D: a
// reduction over the pictures.
//
//	Out[l; c, i, j] = sum_{n, p, q} D[n; l, p, q] In[n; c, y(p, i), x(q, j)]
type ConvolutionFilterGrad struct {
	nodes
	Window
	In, D, Out View
}

// MaxPool is the largest element under the window, channel by channel. Elements that are NaN are
// left out. A window without elements gives the smallest finite number.
//
//	Out[n; c, p, q] = max_{i, j} In[n; c, y(p, i), x(q, j)]
type MaxPool struct {
	nodes
	Window
	In, Out View
}

// MaxPoolGrad adds each element of D to the element of the picture that MaxPool returned: the first
// of equal elements, line by line. Out is zero elsewhere.
type MaxPoolGrad struct {
	nodes
	Window
	In, D, Out View
}

// isOfPictures reports whether the step is one of the steps with a Window.
func isOfPictures(s Step) bool {
	switch s.(type) {
	case *Convolution, *ConvolutionInputGrad, *ConvolutionFilterGrad, *MaxPool, *MaxPoolGrad:
		return true
	}
	return false
}

// OfPictures reports whether a step of the region is a convolution, max-pooling, or a derivative of
// one of both. A row of such a region is a whole picture, so blocks have few rows.
func (r Region) OfPictures() bool {
	for _, s := range r.Steps {
		if isOfPictures(s) {
			return true
		}
	}
	return false
}

// Reads implements Step.
func (s *Convolution) Reads() []Operand { return []Operand{{s.In, ByRow}, {s.Filter, Whole}} }

// Writes implements Step.
func (s *Convolution) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *Convolution) FLOPs() int64 { return s.flops(s.In.Rows, s.Filter.Rows) }

// flops counts the arithmetic of a convolution of some pictures.
func (w Window) flops(pictures, filters int) int64 {
	return 2 * int64(pictures) * int64(w.Places()) * int64(w.Patch()) * int64(filters)
}

// Reads implements Step.
func (s *ConvolutionInputGrad) Reads() []Operand { return []Operand{{s.D, ByRow}, {s.Filter, Whole}} }

// Writes implements Step.
func (s *ConvolutionInputGrad) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *ConvolutionInputGrad) FLOPs() int64 { return s.flops(s.D.Rows, s.Filter.Rows) }

// Reads implements Step.
func (s *ConvolutionFilterGrad) Reads() []Operand { return []Operand{{s.In, ByRow}, {s.D, ByRow}} }

// Writes implements Step.
func (s *ConvolutionFilterGrad) Writes() []Operand { return []Operand{{s.Out, Sum}} }

// FLOPs implements Step.
func (s *ConvolutionFilterGrad) FLOPs() int64 { return s.flops(s.In.Rows, s.Out.Rows) }

// Reads implements Step.
func (s *MaxPool) Reads() []Operand { return []Operand{{s.In, ByRow}} }

// Writes implements Step.
func (s *MaxPool) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *MaxPool) FLOPs() int64 { return int64(s.Out.Len()) * int64(s.Lines*s.Columns) }

// Reads implements Step.
func (s *MaxPoolGrad) Reads() []Operand { return []Operand{{s.In, ByRow}, {s.D, ByRow}} }

// Writes implements Step.
func (s *MaxPoolGrad) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *MaxPoolGrad) FLOPs() int64 { return int64(s.D.Len()) * int64(s.Lines*s.Columns) }

func (s *Convolution) String() string {
	return assign(s.Out, fmt.Sprintf("convolution %v(%s, %s)", s.Window, operand(s.In), operand(s.Filter)), false)
}

func (s *ConvolutionInputGrad) String() string {
	return assign(s.Out, fmt.Sprintf("convolution' by input %v(%s, %s)", s.Window, operand(s.D), operand(s.Filter)), false)
}

func (s *ConvolutionFilterGrad) String() string {
	return assign(s.Out, fmt.Sprintf("convolution' by filter %v(%s, %s)", s.Window, operand(s.In), operand(s.D)), false)
}

func (s *MaxPool) String() string {
	return assign(s.Out, fmt.Sprintf("maxpool %v(%s)", s.Window, operand(s.In)), false)
}

func (s *MaxPoolGrad) String() string {
	return assign(s.Out, fmt.Sprintf("maxpool' %v(%s, %s)", s.Window, operand(s.In), operand(s.D)), false)
}

// String names the window's size, and stride, padding and dilation where they are not 1, 0 and 1.
func (w Window) String() string {
	text := fmt.Sprintf("%dx%d", w.Lines, w.Columns)
	if w.StrideY != 1 || w.StrideX != 1 {
		text += fmt.Sprintf(" stride %dx%d", w.StrideY, w.StrideX)
	}
	if w.Top != 0 || w.Left != 0 {
		text += fmt.Sprintf(" padding %dx%d", w.Top, w.Left)
	}
	if w.DilationY != 1 || w.DilationX != 1 {
		text += fmt.Sprintf(" dilation %dx%d", w.DilationY, w.DilationX)
	}
	return text
}

// visit calls f for every pair of places (p, q) of the output and (i, j) of the window that has an
// element inside the picture: with the output's index in a channel, the index in the filter's
// channel, and the index in the picture's channel.
func (w Window) visit(f func(out, at, in int)) {
	for p := range w.OutputHeight {
		for q := range w.OutputWidth {
			for i := range w.Lines {
				y, inside := w.line(p, i)
				for j := range w.Columns {
					if x, in := w.column(q, j); inside && in {
						f(p*w.OutputWidth+q, i*w.Columns+j, y*w.Width+x)
					}
				}
			}
		}
	}
}

// channel returns channel c of a row that has channels of the given size.
func channel[T any](row []T, c, size int) []T { return row[c*size : (c+1)*size] }

func convolution[T Float](s *Convolution, m *Memory[T], lo, hi int) {
	sums := make([]float64, s.Places())
	for n := lo; n < hi; n++ {
		for l := range s.Filter.Rows {
			clear(sums)
			for c := range s.Channels {
				filter, in := channel(m.Row(s.Filter, l), c, s.Lines*s.Columns), channel(m.Row(s.In, n), c, s.Height*s.Width)
				s.visit(func(to, at, from int) { sums[to] += float64(filter[at]) * float64(in[from]) })
			}
			for i, x := range sums {
				channel(m.Row(s.Out, n), l, s.Places())[i] = T(x)
			}
		}
	}
}

func convolutionInputGrad[T Float](s *ConvolutionInputGrad, m *Memory[T], lo, hi int) {
	sums := make([]float64, s.Height*s.Width)
	for n := lo; n < hi; n++ {
		for c := range s.Channels {
			clear(sums)
			for l := range s.Filter.Rows {
				filter, d := channel(m.Row(s.Filter, l), c, s.Lines*s.Columns), channel(m.Row(s.D, n), l, s.Places())
				s.visit(func(from, at, to int) { sums[to] += float64(filter[at]) * float64(d[from]) })
			}
			for i, x := range sums {
				channel(m.Row(s.Out, n), c, s.Height*s.Width)[i] = T(x)
			}
		}
	}
}

func convolutionFilterGrad[T Float](s *ConvolutionFilterGrad, m *Memory[T], lo, hi int, sums []float64) {
	for n := lo; n < hi; n++ {
		for l := range s.Out.Rows {
			for c := range s.Channels {
				to := channel(channel(sums, l, s.Patch()), c, s.Lines*s.Columns)
				d, in := channel(m.Row(s.D, n), l, s.Places()), channel(m.Row(s.In, n), c, s.Height*s.Width)
				s.visit(func(from, at, place int) { to[at] += float64(d[from]) * float64(in[place]) })
			}
		}
	}
}

// largest writes the place in the picture's channel of each largest element under the window, -1 if
// there is none, and the elements themselves.
func largest[T Float](w Window, in []T, places []int, elements []float64) {
	for i := range places {
		places[i], elements[i] = -1, lowest[T]()
	}
	w.visit(func(to, _, from int) {
		if x := float64(in[from]); x > elements[to] {
			places[to], elements[to] = from, x
		}
	})
}

// lowest returns the smallest finite number.
func lowest[T Float]() float64 {
	if _, single := any(T(0)).(float32); single {
		return -math.MaxFloat32
	}
	return -math.MaxFloat64
}

func maxPool[T Float](s *MaxPool, m *Memory[T], lo, hi int) {
	places, elements := make([]int, s.Places()), make([]float64, s.Places())
	for n := lo; n < hi; n++ {
		for c := range s.Channels {
			largest(s.Window, channel(m.Row(s.In, n), c, s.Height*s.Width), places, elements)
			for i, x := range elements {
				channel(m.Row(s.Out, n), c, s.Places())[i] = T(x)
			}
		}
	}
}

func maxPoolGrad[T Float](s *MaxPoolGrad, m *Memory[T], lo, hi int) {
	places, elements := make([]int, s.Places()), make([]float64, s.Places())
	for n := lo; n < hi; n++ {
		clear(m.Row(s.Out, n))
		for c := range s.Channels {
			largest(s.Window, channel(m.Row(s.In, n), c, s.Height*s.Width), places, elements)
			d, out := channel(m.Row(s.D, n), c, s.Places()), channel(m.Row(s.Out, n), c, s.Height*s.Width)
			for i, to := range places {
				if to >= 0 {
					out[to] += d[i]
				}
			}
		}
	}
}
