package kernel

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
