package kernel

import (
	"math"
	"unsafe"

	"ppal/trainer/graph/describe"
)

// Window is the geometry of a convolution, or of max-pooling, over pictures. The columns of the
// matrix C [Patch, Places] are the elements under the window, one column for each place of the
// output:
//
//	C[(c, i, j), (p, q)] = picture[c, y(p, i), x(q, j)]
type Window struct{ describe.Window }

// pictures holds the passes over pictures of one level that are no products.
type pictures[F Float] struct {
	// panel[l*ld+i] = picture[at[l]+i], and picture[at[l]+i] += panel[l*ld+i]
	copyLines, addLines func(lines, n int, panel *F, ld int, picture *F, at *int)
	// max-pooling of pairs of columns in two lines, and its derivative
	maxPairs     func(n int, out, upper, lower *F)
	maxPairsGrad func(n int, toUpper, toLower, upper, lower, d *F)
}

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
	starts  []int
}

// NewPatches returns empty memory for convolutions.
func (k *Kernels[F]) NewPatches() *Patches[F] {
	return &Patches[F]{k.NewPanels(0, 0), k.NewPackedFloats(0, 0), nil, nil, nil}
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
	framed, lines := p.frame(picture, w), p.lines(w)
	places, span := w.Places(), k.span(w)
	for at := 0; at < places; at += span {
		n := min(span, places-at)
		c := p.factor(k, w.Patch(), n)
		for j := 0; j < n; j += c.width {
			k.fillPatches(c.panel(j), c.panelWidth(j), framed, w, lines, at+j, min(c.width, n-j))
		}
		k.Mul(out[at:], places, filters, 0, filters.rows, c, s)
	}
}

// ConvolveInputGrad computes the derivative with respect to the picture: the elements of F^T D, D
// [filters, Places], are added to the elements of the picture that they come from. filters holds
// F^T [Patch, filters].
func (k *Kernels[F]) ConvolveInputGrad(picture, d []F, w *Window, filters *PackedFloats[F], s *Scratch[F], p *Patches[F]) {
	framed, lines := p.emptyFrame(w), p.lines(w)
	places, span := w.Places(), k.span(w)
	for at := 0; at < places; at += span {
		n := min(span, places-at)
		c := p.factor(k, filters.cols, n)
		c.PackPanels(0, c.Count(), d[at:], places, false)
		if len(p.product) < w.Patch()*n {
			p.product = Alloc[F](w.Patch() * n)
		}
		k.Mul(p.product, n, filters, 0, filters.rows, c, s)
		k.addPatches(framed, p.product, w, lines, at, n)
	}
	clear(picture)
	eachLine(picture, framed, w, func(line, framed []F) { copy(line, framed) })
}

// AddConvolveFilterGrad adds the derivative with respect to the filters to sums: sums += C D^T, a
// matrix [Patch, filters]. D is [filters, Places]. The sums have the order of
// [Kernels.AddMulTrans], with a part of C as a block.
func (k *Kernels[F]) AddConvolveFilterGrad(sums, picture, d []F, filters int, w *Window, s *Scratch[F], p *Patches[F]) {
	framed, lines := p.frame(picture, w), p.lines(w)
	places, span := w.Places(), k.span(w)
	for at := 0; at < places; at += span {
		n := min(span, places-at)
		p.rows.Resize(n, w.Patch())
		k.fillPatchRows(p.rows, framed, w, lines, at)
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

// lines returns the index of the first element of each line of the first window, channel by
// channel, in the framed picture. It is valid until the next call of lines.
func (p *Patches[F]) lines(w *Window) []int {
	height, width := w.frameSize()
	p.starts = p.starts[:0]
	for c := range w.Channels {
		for u := range w.Lines {
			p.starts = append(p.starts, (c*height+u*w.DilationY)*width)
		}
	}
	return p.starts
}

// eachRun calls do for n places from first on, by runs of places in one line of the output: with
// the number of earlier places, the number of places, and the index of the first window in the
// framed picture.
func (w *Window) eachRun(first, n int, do func(at, run, start int)) {
	_, width := w.frameSize()
	for at := 0; at < n; {
		p, q := (first+at)/w.OutputWidth, (first+at)%w.OutputWidth
		run := min(n-at, w.OutputWidth-q)
		do(at, run, p*w.StrideY*width+q*w.StrideX)
		at += run
	}
}

// fillPatches writes C for n places from first on to a panel. Line l of the panel has width
// elements: line l of C, filled up with zeros.
func (k *Kernels[F]) fillPatches(panel []F, width int, framed []F, w *Window, lines []int, first, n int) {
	if n < width {
		for l := range w.Patch() {
			clear(panel[l*width+n : (l+1)*width])
		}
	}
	w.eachRun(first, n, func(at, run, start int) {
		for j := range w.Columns {
			to, ld, from := panel[j*width+at:], w.Columns*width, framed[start+j*w.DilationX:]
			if w.StrideX == 1 {
				_, _ = to[(len(lines)-1)*ld+run-1], from[lines[len(lines)-1]+run-1]
				k.pictures.copyLines(len(lines), run, &to[0], ld, &from[0], &lines[0])
				continue
			}
			for l, line := range lines {
				for i := range run {
					to[l*ld+i] = from[line+i*w.StrideX]
				}
			}
		}
	})
}

// fillPatchRows sets x to C^T for the places from first on.
func (k *Kernels[F]) fillPatchRows(x *PackedFloats[F], framed []F, w *Window, lines []int, first int) {
	if x.tileCols > 0 {
		for i := 0; i < x.rows; i += panelRows {
			k.fillPatches(x.data[i*x.cols:][:panelRows*x.cols], panelRows, framed, w, lines, first+i, min(panelRows, x.rows-i))
		}
		return
	}
	for i := range x.rows {
		k.fillPatches(x.data[i*x.cols:][:x.cols], 1, framed, w, lines, first+i, 1)
	}
}

// addPatches adds the elements of a matrix of C's shape, for n places from first on, to the
// elements of the framed picture that they come from: run by run of places, and for each run column
// by column of the window. So lines of the picture that follow each other do not overlap.
func (k *Kernels[F]) addPatches(framed, c []F, w *Window, lines []int, first, n int) {
	w.eachRun(first, n, func(at, run, start int) {
		for j := range w.Columns {
			from, ld, to := c[j*n+at:], w.Columns*n, framed[start+j*w.DilationX:]
			if w.StrideX == 1 {
				_, _ = from[(len(lines)-1)*ld+run-1], to[lines[len(lines)-1]+run-1]
				k.pictures.addLines(len(lines), run, &from[0], ld, &to[0], &lines[0])
				continue
			}
			for l, line := range lines {
				for i := range run {
					to[line+i*w.StrideX] += from[l*ld+i]
				}
			}
		}
	})
}

// MaxPool computes the largest element under each window of a picture, channel by channel. Elements
// outside the picture and elements that are NaN are left out; a window without elements gives the
// smallest finite number. Of zeros with different signs, either may be the result.
func (k *Kernels[F]) MaxPool(out, picture []F, w *Window) {
	low := lowest[F]()
	for c, to := 0, 0; c < w.Channels; c++ {
		channel := picture[c*w.Height*w.Width:][:w.Height*w.Width]
		for p := range w.OutputHeight {
			row := out[to:][:w.OutputWidth]
			to += w.OutputWidth
			if w.pairs() {
				upper, lower := pairLines(w, channel, p)
				k.pictures.maxPairs(len(row), &row[0], &upper[0], &lower[0])
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
func (k *Kernels[F]) MaxPoolGrad(out, picture, d []F, w *Window) {
	low := lowest[F]()
	clear(out)
	for c, from := 0, 0; c < w.Channels; c++ {
		channel, to := picture[c*w.Height*w.Width:][:w.Height*w.Width], out[c*w.Height*w.Width:][:w.Height*w.Width]
		for p := range w.OutputHeight {
			row := d[from:][:w.OutputWidth]
			from += w.OutputWidth
			if w.pairs() {
				upper, lower := pairLines(w, channel, p)
				toUpper, toLower := pairLines(w, to, p)
				k.pictures.maxPairsGrad(len(row), &toUpper[0], &toLower[0], &upper[0], &lower[0], &row[0])
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

// pairLines returns the two lines of a channel under the windows of line p of the output.
func pairLines[F Float](w *Window, channel []F, p int) (upper, lower []F) {
	return channel[2*p*w.Width:][:2*w.OutputWidth], channel[(2*p+1)*w.Width:][:2*w.OutputWidth]
}

// picturesGo returns the reference of the passes in assembly.
func picturesGo[F Float]() pictures[F] {
	return pictures[F]{copyLines: copyLinesGo[F], addLines: addLinesGo[F], maxPairs: maxPairsGo[F], maxPairsGrad: maxPairsGradGo[F]}
}

func copyLinesGo[F Float](lines, n int, panel *F, ld int, picture *F, at *int) {
	to := unsafe.Slice(panel, (lines-1)*ld+n)
	for l, from := range unsafe.Slice(at, lines) {
		copy(to[l*ld:][:n], unsafe.Slice(picture, from+n)[from:])
	}
}

func addLinesGo[F Float](lines, n int, panel *F, ld int, picture *F, at *int) {
	from := unsafe.Slice(panel, (lines-1)*ld+n)
	for l, start := range unsafe.Slice(at, lines) {
		to := unsafe.Slice(picture, start+n)[start:]
		for i, v := range from[l*ld:][:n] {
			to[i] += v
		}
	}
}

// maxPairsGo computes max-pooling of pairs. A CPU predicts branches on the order of elements badly,
// so the only branch is for NaN.
func maxPairsGo[F Float](n int, out, upper, lower *F) {
	low, to, above, below := lowest[F](), unsafe.Slice(out, n), unsafe.Slice(upper, 2*n), unsafe.Slice(lower, 2*n)
	for i := range to {
		u, l := above[2*i:2*i+2:2*i+2], below[2*i:2*i+2:2*i+2]
		if to[i] = max(low, u[0], u[1], l[0], l[1]); to[i] != to[i] {
			to[i], _ = firstLargest([4]F{u[0], u[1], l[0], l[1]})
		}
	}
}

// maxPairsGradGo computes the derivative of maxPairsGo.
func maxPairsGradGo[F Float](n int, toUpper, toLower, upper, lower, d *F) {
	low, above, below := lowest[F](), unsafe.Slice(upper, 2*n), unsafe.Slice(lower, 2*n)
	to := [2][]F{unsafe.Slice(toUpper, 2*n), unsafe.Slice(toLower, 2*n)}
	for i, g := range unsafe.Slice(d, n) {
		u, l := above[2*i:2*i+2:2*i+2], below[2*i:2*i+2:2*i+2]
		most, mostBelow := max(u[0], u[1]), max(l[0], l[1])
		line := one(mostBelow > most)
		column := one(u[1] > u[0])
		column += line * (one(l[1] > l[0]) - column)
		if !(max(most, mostBelow) > low) { // or NaN
			_, place := firstLargest([4]F{u[0], u[1], l[0], l[1]})
			if line, column = max(place, 0)/2, max(place, 0)%2; place < 0 {
				g = 0
			}
		}
		to[0][2*i], to[0][2*i+1], to[1][2*i], to[1][2*i+1] = 0, 0, 0, 0
		to[line][2*i+column] = g
	}
}

// firstLargest returns the largest element that is above the smallest finite number, and its place,
// or the smallest finite number and -1.
func firstLargest[F Float](elements [4]F) (element F, place int) {
	element, place = lowest[F](), -1
	for i, x := range elements {
		if x > element {
			element, place = x, i
		}
	}
	return element, place
}

// one returns 1 if b is true, else 0. The compiler makes no branch of it.
func one(b bool) (n int) {
	if b {
		n = 1
	}
	return n
}
