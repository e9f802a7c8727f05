package kernel

import "math"

// MaxPool computes the largest element under each window of a picture, channel by channel. Elements
// outside the picture and elements that are NaN are left out; a window without elements gives the
// smallest finite number.
func MaxPool[F Float](out, picture []F, w *Window) {
	low := lowest[F]()
	for c, to := 0, 0; c < w.Channels; c++ {
		channel := picture[c*w.Height*w.Width:][:w.Height*w.Width]
		for p := range w.OutputHeight {
			row := out[to:][:w.OutputWidth]
			to += w.OutputWidth
			if w.pairs() {
				upper, lower := channel[2*p*w.Width:][:2*len(row)], channel[(2*p+1)*w.Width:][:2*len(row)]
				maxPairs(row, upper, lower, low)
				continue
			}
			for q := range row {
				row[q], _ = largest(w, channel, p, q, low)
			}
		}
	}
}

// MaxPoolGrad sets out to zero, and adds d for each window to the element of out that MaxPool takes
// from the picture: the first of equal elements, line by line.
func MaxPoolGrad[F Float](out, picture, d []F, w *Window) {
	low := lowest[F]()
	clear(out)
	for c, from := 0, 0; c < w.Channels; c++ {
		channel, to := picture[c*w.Height*w.Width:][:w.Height*w.Width], out[c*w.Height*w.Width:][:w.Height*w.Width]
		for p := range w.OutputHeight {
			row := d[from:][:w.OutputWidth]
			from += w.OutputWidth
			if w.pairs() {
				at := 2 * p * w.Width
				maxPairsGrad(row, channel[at:][:2*len(row)], channel[at+w.Width:][:2*len(row)], to[at:][:2*len(row)], to[at+w.Width:][:2*len(row)], low)
				continue
			}
			for q, x := range row {
				if _, at := largest(w, channel, p, q, low); at >= 0 {
					to[at] += x
				}
			}
		}
	}
}

// lowest returns the smallest finite number.
func lowest[F Float]() F {
	if sizeof[F]() == 4 {
		return F(-math.MaxFloat32)
	}
	least := -math.MaxFloat64
	return F(least)
}

// largest returns the largest element under the window at place (p, q), and the index of the first
// such element, or low and -1 if there is none.
func largest[F Float](w *Window, channel []F, p, q int, low F) (element F, at int) {
	element, at = low, -1
	for i := range w.Lines {
		y := p*w.StrideY - w.Top + i*w.DilationY
		if y < 0 || y >= w.Height {
			continue
		}
		for j := range w.Columns {
			x := q*w.StrideX - w.Left + j*w.DilationX
			if x >= 0 && x < w.Width && channel[y*w.Width+x] > element {
				element, at = channel[y*w.Width+x], y*w.Width+x
			}
		}
	}
	return element, at
}

// pairs reports whether the windows are 2 x 2 and side by side, and all inside the picture.
func (w *Window) pairs() bool {
	return w.Lines == 2 && w.Columns == 2 && w.StrideY == 2 && w.StrideX == 2 && w.DilationY == 1 && w.DilationX == 1 &&
		w.Top == 0 && w.Left == 0 && 2*w.OutputHeight <= w.Height && 2*w.OutputWidth <= w.Width
}

// maxPairs computes a line of the output from two lines of the picture.
func maxPairs[F Float](out, upper, lower []F, low F) {
	for q := range out {
		x, u, l := low, upper[2*q:2*q+2:2*q+2], lower[2*q:2*q+2:2*q+2]
		if u[0] > x {
			x = u[0]
		}
		if u[1] > x {
			x = u[1]
		}
		if l[0] > x {
			x = l[0]
		}
		if l[1] > x {
			x = l[1]
		}
		out[q] = x
	}
}

// maxPairsGrad writes a line of d to the places of the largest elements in two lines of the
// picture.
func maxPairsGrad[F Float](d, upper, lower, toUpper, toLower []F, low F) {
	for q, g := range d {
		x, at, u, l := low, -1, upper[2*q:2*q+2:2*q+2], lower[2*q:2*q+2:2*q+2]
		if u[0] > x {
			x, at = u[0], 0
		}
		if u[1] > x {
			x, at = u[1], 1
		}
		if l[0] > x {
			x, at = l[0], 2
		}
		if l[1] > x {
			at = 3
		}
		switch {
		case at < 0:
		case at < 2:
			toUpper[2*q+at] = g
		default:
			toLower[2*q+at-2] = g
		}
	}
}
