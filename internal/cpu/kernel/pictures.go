package kernel

import "math"

// Window is the geometry of a convolution over pictures. A picture lies channel by channel, and in
// a channel line by line. The window at output place (p, q) has at its place (i, j) the element in
//
//	line y = p StrideY - Top + i DilationY, column x = q StrideX - Left + j DilationX
//
// of a channel, or 0 outside the picture. The columns of the matrix C [Patch, Places] are the
// elements under the window, one column for each place of the output:
//
//	C[(c, i, j), (p, q)] = picture[c, y(p, i), x(q, j)]
type Window struct {
	Channels, Height, Width   int // of a picture
	Lines, Columns            int // of the window
	Top, Left                 int // padding before the first line and the first column
	StrideY, StrideX          int
	DilationY, DilationX      int // distance between neighbouring places of the window
	OutputHeight, OutputWidth int
}

// Places returns the number of places in a channel of the output.
func (w *Window) Places() int { return w.OutputHeight * w.OutputWidth }

// Patch returns the number of elements under the window, in all channels.
func (w *Window) Patch() int { return w.Channels * w.Lines * w.Columns }

// patchBytes is the size of the part of C that is packed at a time. It stays in a level-2 cache
// together with the filters.
const patchBytes = 192 << 10

// span returns the number of places in a part of C: a multiple of the widths of all panels.
func (k *Kernels[F]) span(w *Window) int {
	const widths = 96 // a multiple of 12 and of the panels' widths, 8, 16 and 32
	parts := patchBytes / int(sizeof[F]()) / max(1, w.Patch()) / widths
	return min(w.Places(), max(1, parts)*widths)
}

// Patches is memory that one goroutine needs for convolutions. It grows to the largest part of C
// and the largest framed picture.
type Patches[F Float] struct {
	panels  *Panels[F]
	rows    *PackedFloats[F]
	product []F
	framed  []F
}

// NewPatches returns empty memory for convolutions.
func (k *Kernels[F]) NewPatches() *Patches[F] {
	return &Patches[F]{k.NewPanels(0, 0), k.NewPackedFloats(0, 0), nil, nil}
}

// factor returns panels for a factor of the given size.
func (p *Patches[F]) factor(k *Kernels[F], rows, cols int) *Panels[F] {
	if p.panels.widen(cols); rows*p.panels.padded(cols) > len(p.panels.data) {
		p.panels = k.NewPanels(rows, cols)
	}
	p.panels.Resize(rows, cols)
	return p.panels
}

// Convolve computes Out = F C for one picture. filters holds F [filters, Patch], and out is
// [filters, Places]. The sums have the order of [Kernels.Mul].
func (k *Kernels[F]) Convolve(out, picture []F, w *Window, filters *PackedFloats[F], s *Scratch[F], p *Patches[F]) {
	framed := p.frame(picture, w)
	places, span := w.Places(), k.span(w)
	for at := 0; at < places; at += span {
		n := min(span, places-at)
		c := p.factor(k, w.Patch(), n)
		for j := 0; j < n; j += c.width {
			fillPatches(c.panel(j), c.panelWidth(j), framed, w, at+j, min(c.width, n-j))
		}
		k.Mul(out[at:], places, filters, 0, filters.rows, c, s)
	}
}

// ConvolveInputGrad computes the derivative with respect to the picture: the elements of F^T D, D
// [filters, Places], are added to the elements of the picture that they come from. filters holds
// F^T [Patch, filters].
func (k *Kernels[F]) ConvolveInputGrad(picture, d []F, w *Window, filters *PackedFloats[F], s *Scratch[F], p *Patches[F]) {
	framed := p.emptyFrame(w)
	places, span := w.Places(), k.span(w)
	for at := 0; at < places; at += span {
		n := min(span, places-at)
		c := p.factor(k, filters.cols, n)
		c.PackPanels(0, c.Count(), d[at:], places, false)
		if len(p.product) < w.Patch()*n {
			p.product = Alloc[F](w.Patch() * n)
		}
		k.Mul(p.product, n, filters, 0, filters.rows, c, s)
		addPatches(framed, p.product, w, at, n)
	}
	clear(picture)
	eachLine(picture, framed, w, func(line, framed []F) { copy(line, framed) })
}

// AddConvolveFilterGrad adds the derivative with respect to the filters to sums: sums += C D^T, a
// matrix [Patch, filters]. D is [filters, Places]. The sums have the order of
// [Kernels.AddMulTrans], with a part of C as a block.
func (k *Kernels[F]) AddConvolveFilterGrad(sums, picture, d []F, filters int, w *Window, s *Scratch[F], p *Patches[F]) {
	framed := p.frame(picture, w)
	places, span := w.Places(), k.span(w)
	for at := 0; at < places; at += span {
		n := min(span, places-at)
		p.rows.Resize(n, w.Patch())
		p.rows.fillPatches(framed, w, at)
		c := p.factor(k, n, filters)
		c.PackPanels(0, c.Count(), d[at:], places, true)
		k.addMulPanels(sums, filters, p.rows, c, s)
	}
}

// addMulPanels computes G += X^T D for a packed factor D with as many rows as X.
func (k *Kernels[F]) addMulPanels(g []F, ldg int, x *PackedFloats[F], d *Panels[F], s *Scratch[F]) {
	if k.products.gemm != nil {
		k.products.gemm.multiply(true, true, x.cols, d.cols, x.rows, x.data, x.cols, d.data, d.cols, g, ldg)
		return
	}
	for f := 0; f < x.cols; f += k.products.rows {
		for j := 0; j < d.cols; j += d.width {
			k.addTile(g, ldg, x, 0, x.rows, f, j, d, s)
		}
	}
}

// frameSize returns the size of the framed picture: the lines and columns that windows reach, with
// the padding. Every element under a window exists there, so the loops over places need no bounds.
func (w *Window) frameSize() (height, width int) {
	height = (w.OutputHeight-1)*w.StrideY + (w.Lines-1)*w.DilationY + 1
	width = (w.OutputWidth-1)*w.StrideX + (w.Columns-1)*w.DilationX + 1
	return height, width
}

// unframed reports whether the framed picture equals the picture.
func (w *Window) unframed() bool {
	height, width := w.frameSize()
	return w.Top == 0 && w.Left == 0 && height == w.Height && width == w.Width
}

// eachLine calls do with each line of the picture that windows reach, and with the same elements of
// the framed picture.
func eachLine[F Float](picture, framed []F, w *Window, do func(line, framed []F)) {
	height, width := w.frameSize()
	n := min(w.Width, width-w.Left)
	if n <= 0 { // with long strides, all windows may lie in the padding
		return
	}
	for c := range w.Channels {
		for y := range min(w.Height, height-w.Top) {
			do(picture[(c*w.Height+y)*w.Width:][:n], framed[(c*height+w.Top+y)*width+w.Left:][:n])
		}
	}
}

// frame returns the framed picture, which may be the picture itself: it must not be written. It is
// valid until the next call of frame or emptyFrame.
func (p *Patches[F]) frame(picture []F, w *Window) []F {
	if w.unframed() {
		return picture
	}
	framed := p.emptyFrame(w)
	eachLine(picture, framed, w, func(line, framed []F) { copy(framed, line) })
	return framed
}

// emptyFrame returns a framed picture of zeros. It is valid until the next call of frame or
// emptyFrame.
func (p *Patches[F]) emptyFrame(w *Window) []F {
	height, width := w.frameSize()
	size := w.Channels * height * width
	if len(p.framed) < size {
		p.framed = Alloc[F](size)
	}
	framed := p.framed[:size]
	clear(framed)
	return framed
}

// fillPatches writes C for n places from first on to a panel. Line l of the panel has width
// elements: line l of C, filled up with zeros.
func fillPatches[F Float](panel []F, width int, framed []F, w *Window, first, n int) {
	if n < width {
		for l := range w.Patch() {
			clear(panel[l*width+n : (l+1)*width])
		}
	}
	height, line := w.frameSize()
	for i := 0; i < n; { // a run of places in one line of the output
		p, q := (first+i)/w.OutputWidth, (first+i)%w.OutputWidth
		run := min(n-i, w.OutputWidth-q)
		start := p*w.StrideY*line + q*w.StrideX
		l := 0
		for c := range w.Channels {
			for u := range w.Lines {
				from := framed[start+(c*height+u*w.DilationY)*line:]
				for j := range w.Columns {
					copyStretch(panel[l*width+i:][:run], from[j*w.DilationX:], w.StrideX)
					l++
				}
			}
		}
		i += run
	}
}

// copyStretch copies every step-th element of line.
func copyStretch[F Float](to, line []F, step int) {
	if step == 1 {
		copy(to, line)
		return
	}
	for i := range to {
		to[i] = line[i*step]
	}
}

// fillPatches sets x to C^T for the places from first on.
func (x *PackedFloats[F]) fillPatches(framed []F, w *Window, first int) {
	if x.tileCols == 0 {
		x.fillPatchRows(framed, w, first)
		return
	}
	for i := 0; i < x.rows; i += panelRows {
		fillPatches(x.data[i*x.cols:][:panelRows*x.cols], panelRows, framed, w, first+i, min(panelRows, x.rows-i))
	}
}

// fillPatchRows is fillPatches for rows one after the other.
func (x *PackedFloats[F]) fillPatchRows(framed []F, w *Window, first int) {
	column := make([]F, x.cols)
	for i := range x.rows {
		fillPatches(column, 1, framed, w, first+i, 1)
		x.SetRow(i, column)
	}
}

// addPatches adds the elements of a matrix of C's shape, for n places from first on, to the
// elements of the framed picture that they come from: run by run of places, and for each run line
// by line of the matrix.
func addPatches[F Float](framed, c []F, w *Window, first, n int) {
	height, line := w.frameSize()
	for i := 0; i < n; {
		p, q := (first+i)/w.OutputWidth, (first+i)%w.OutputWidth
		run := min(n-i, w.OutputWidth-q)
		start := p*w.StrideY*line + q*w.StrideX
		l := 0
		for channel := range w.Channels {
			for u := range w.Lines {
				to := framed[start+(channel*height+u*w.DilationY)*line:]
				for j := range w.Columns {
					addStretch(to[j*w.DilationX:], c[l*n+i:][:run], w.StrideX)
					l++
				}
			}
		}
		i += run
	}
}

// addStretch adds the elements of c to every step-th element of line.
func addStretch[F Float](line, c []F, step int) {
	if step == 1 {
		line = line[:len(c)]
		for i, v := range c {
			line[i] += v
		}
		return
	}
	for i, v := range c {
		line[i*step] += v
	}
}

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
