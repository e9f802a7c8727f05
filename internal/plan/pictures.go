package plan

import (
	"fmt"

	"ppal/trainer/graph/describe"
)

// Window is the geometry of a convolution, or of max-pooling, over the pictures in the rows of a
// matrix. The fields of kernel.Window are the same.
type Window = describe.Window

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

// MaxPool is describe.MaxPool. The maximum leaves out places outside the picture:
//
//	Out[n; c, p, q] = max_{i, j} In[n; c, y(p, i), x(q, j)]
type MaxPool struct {
	nodes
	Window
	In, Out View
}

// MaxPoolGrad is describe.MaxPoolGrad.
type MaxPoolGrad struct {
	nodes
	Window
	In, D, Out View
}

// checkPooling returns an error if max-pooling with a window does not fit the inputs, which should
// have the given numbers of columns.
func checkPooling(w Window, in []*value, columns ...int) error {
	fits := len(in) == len(columns) && min(w.Lines, w.Columns, w.StrideY, w.StrideX, w.DilationY, w.DilationX, w.OutputHeight, w.OutputWidth) > 0
	for i, n := range columns {
		fits = fits && in[i].cols == n && in[i].rows == in[0].rows
	}
	if !fits {
		return fmt.Errorf("described as max-pooling of pictures of %d x %d x %d by windows %v at %d x %d places, which do not fit its inputs",
			w.Channels, w.Height, w.Width, w, w.OutputHeight, w.OutputWidth)
	}
	return nil
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
func (s *Convolution) FLOPs() int64 { return convolved(s.Window, s.In.Rows, s.Filter.Rows) }

// convolved counts the arithmetic of a convolution of some pictures.
func convolved(w Window, pictures, filters int) int64 {
	return 2 * int64(pictures) * int64(w.Places()) * int64(w.Patch()) * int64(filters)
}

// Reads implements Step.
func (s *ConvolutionInputGrad) Reads() []Operand { return []Operand{{s.D, ByRow}, {s.Filter, Whole}} }

// Writes implements Step.
func (s *ConvolutionInputGrad) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *ConvolutionInputGrad) FLOPs() int64 { return convolved(s.Window, s.D.Rows, s.Filter.Rows) }

// Reads implements Step.
func (s *ConvolutionFilterGrad) Reads() []Operand { return []Operand{{s.In, ByRow}, {s.D, ByRow}} }

// Writes implements Step.
func (s *ConvolutionFilterGrad) Writes() []Operand { return []Operand{{s.Out, Sum}} }

// FLOPs implements Step.
func (s *ConvolutionFilterGrad) FLOPs() int64 { return convolved(s.Window, s.In.Rows, s.Out.Rows) }

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

// channel returns channel c of a row that has channels of the given size.
func channel[T any](row []T, c, size int) []T { return row[c*size : (c+1)*size] }

func convolution[T Float](s *Convolution, m *Memory[T], lo, hi int) {
	sums := make([]float64, s.Places())
	for n := lo; n < hi; n++ {
		for l := range s.Filter.Rows {
			clear(sums)
			for c := range s.Channels {
				filter, in := channel(m.Row(s.Filter, l), c, s.Lines*s.Columns), channel(m.Row(s.In, n), c, s.Height*s.Width)
				s.Visit(func(to, at, from int) { sums[to] += float64(filter[at]) * float64(in[from]) })
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
				s.Visit(func(from, at, to int) { sums[to] += float64(filter[at]) * float64(d[from]) })
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
				s.Visit(func(from, at, place int) { to[at] += float64(d[from]) * float64(in[place]) })
			}
		}
	}
}

func maxPool[T Float](s *MaxPool, m *Memory[T], lo, hi int) {
	for n := lo; n < hi; n++ {
		describe.MaxOf(s.Window, m.Row(s.Out, n), m.Row(s.In, n))
	}
}

func maxPoolGrad[T Float](s *MaxPoolGrad, m *Memory[T], lo, hi int) {
	for n := lo; n < hi; n++ {
		describe.MaxGradOf(s.Window, m.Row(s.Out, n), m.Row(s.In, n), m.Row(s.D, n))
	}
}
