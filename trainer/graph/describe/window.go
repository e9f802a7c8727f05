package describe

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
// max-pooling.
type Window struct {
	Channels, Height, Width   int // of a picture
	Lines, Columns            int // of the window
	Top, Left                 int // padding before the first line and the first column
	StrideY, StrideX          int
	DilationY, DilationX      int // distance between neighbouring places of the window
	OutputHeight, OutputWidth int
}

// Pixels returns the number of elements of a picture.
func (w Window) Pixels() int { return w.Channels * w.Height * w.Width }

// Places returns the number of places in a channel of the output.
func (w Window) Places() int { return w.OutputHeight * w.OutputWidth }

// Patch returns the number of elements of a picture under the window, in all channels.
func (w Window) Patch() int { return w.Channels * w.Lines * w.Columns }

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

// Visit calls f for every pair of places (p, q) of the output and (i, j) of the window that has an
// element inside the picture: with the output's index in a channel, the index in the filter's
// channel, and the index in the picture's channel.
func (w Window) Visit(f func(out, at, in int)) {
	for p := range w.OutputHeight {
		for q := range w.OutputWidth {
			for i := range w.Lines {
				y := p*w.StrideY - w.Top + i*w.DilationY
				for j := range w.Columns {
					if x := q*w.StrideX - w.Left + j*w.DilationX; y >= 0 && y < w.Height && x >= 0 && x < w.Width {
						f(p*w.OutputWidth+q, i*w.Columns+j, y*w.Width+x)
					}
				}
			}
		}
	}
}

// MaxOf computes MaxPool row by row: out has the windows' largest elements in the pictures.
func MaxOf[T float32 | float64](w Window, out, pictures []T) {
	eachLargest(w, pictures, func(place, _ int, element T) { out[place] = element })
}

// MaxGradOf computes MaxPoolGrad row by row: out, of the pictures' size, has the sums of d.
func MaxGradOf[T float32 | float64](w Window, out, pictures, d []T) {
	clear(out)
	eachLargest(w, pictures, func(place, from int, _ T) {
		if from >= 0 {
			out[from] += d[place]
		}
	})
}

// eachLargest calls f for every place of the output of all pictures: with the index of the largest
// element under the window, the first of equal ones, or -1 if there is none, and with the element.
func eachLargest[T float32 | float64](w Window, pictures []T, f func(place, from int, element T)) {
	lowest := -math.MaxFloat64
	if _, single := any(T(0)).(float32); single {
		lowest = -math.MaxFloat32
	}
	from, elements := make([]int, w.Places()), make([]T, w.Places())
	for c := range len(pictures) / (w.Height * w.Width) {
		for i := range from {
			from[i], elements[i] = -1, T(lowest)
		}
		first := c * w.Height * w.Width
		w.Visit(func(place, _, at int) {
			if x := pictures[first+at]; x > elements[place] {
				from[place], elements[place] = first+at, x
			}
		})
		for i, element := range elements {
			f(c*w.Places()+i, from[i], element)
		}
	}
}
