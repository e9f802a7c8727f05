package kernel

import "math"

// MaxPool computes the largest element under each window of a picture, channel by channel. Elements
// outside the picture and elements that are NaN are left out; a window without elements gives the
// smallest finite number. Of zeros with different signs, either may be the result.
func MaxPool[F Float](out, picture []F, w *Window) {
	low := lowest[F]()
	for c, to := 0, 0; c < w.Channels; c++ {
		channel := picture[c*w.Height*w.Width:][:w.Height*w.Width]
		for p := range w.OutputHeight {
			row := out[to:][:w.OutputWidth]
			to += w.OutputWidth
			if w.pairs() {
				maxPairs(row, channel, w, p, low)
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
				maxPairsGrad(to, channel, row, w, p, low)
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

// maxPairs computes line p of a channel of the output. A CPU predicts branches on the order of
// elements badly, so the only branch is for NaN and for elements that are not above low.
func maxPairs[F Float](out, channel []F, w *Window, p int, low F) {
	upper, lower := channel[2*p*w.Width:][:2*len(out)], channel[(2*p+1)*w.Width:][:2*len(out)]
	for q := range out {
		u, l := upper[2*q:2*q+2:2*q+2], lower[2*q:2*q+2:2*q+2]
		out[q] = max(u[0], u[1], l[0], l[1])
		if !(out[q] > low) { // or NaN
			out[q], _ = largest(w, channel, p, q, low)
		}
	}
}

// maxPairsGrad writes d, line p of a channel, to the places of the largest elements.
func maxPairsGrad[F Float](to, channel, d []F, w *Window, p int, low F) {
	start := 2 * p * w.Width
	upper, lower := channel[start:][:2*len(d)], channel[start+w.Width:][:2*len(d)]
	for q, g := range d {
		u, l := upper[2*q:2*q+2:2*q+2], lower[2*q:2*q+2:2*q+2]
		most, mostBelow := max(u[0], u[1]), max(l[0], l[1])
		if !(max(most, mostBelow) > low) {
			if _, at := largest(w, channel, p, q, low); at >= 0 {
				to[at] = g
			}
			continue
		}
		column := one(u[1] > u[0])
		below := one(mostBelow > most)
		column += below * (one(l[1] > l[0]) - column)
		to[start+2*q+below*w.Width+column] = g
	}
}

// one returns 1 if b is true, else 0. The compiler makes no branch of it.
func one(b bool) (n int) {
	if b {
		n = 1
	}
	return n
}
