package plan

import "math"

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
