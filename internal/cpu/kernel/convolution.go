package kernel

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
