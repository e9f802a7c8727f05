package kernel

// stretch is a run of places in one line of the output: places at to at+n-1 of a part of C, from
// column q of output line p on.
type stretch struct{ at, n, p, q int }

// stretch returns the run that begins with place i of the n places from first on.
func (w *Window) stretch(first, i, n int) stretch {
	p, q := (first+i)/w.OutputWidth, (first+i)%w.OutputWidth
	return stretch{i, min(n-i, w.OutputWidth-q), p, q}
}

// inside returns the part of a run whose elements at window column j are inside the picture: the
// places from to to-1 of the run, and the picture's column of place from. If no place is inside,
// from and to are equal and the column is 0.
func (w *Window) inside(r stretch, j int) (from, to, x int) {
	x = r.q*w.StrideX - w.Left + j*w.DilationX
	to = r.n
	if w.StrideX == 1 { // without divisions, which take 40 cycles and more on some CPUs
		from = min(max(0, -x), r.n)
		to = max(from, min(r.n, w.Width-x))
	} else {
		if x < 0 {
			from = min(r.n, (-x+w.StrideX-1)/w.StrideX)
		}
		if last := x + (r.n-1)*w.StrideX; last >= w.Width {
			to = max(from, r.n-((last-w.Width)/w.StrideX+1))
		}
	}
	if from == to {
		return from, to, 0
	}
	return from, to, x + from*w.StrideX
}

// fillPatches writes C for n places from first on to a panel. Line l of the panel has width
// elements: line l of C, filled up with zeros.
func fillPatches[F Float](panel []F, width int, picture []F, w *Window, first, n int) {
	if n < width {
		for l := range w.Patch() {
			clear(panel[l*width+n : (l+1)*width])
		}
	}
	for i := 0; i < n; {
		r := w.stretch(first, i, n)
		i += r.n
		l := 0
		for c := range w.Channels {
			channel := picture[c*w.Height*w.Width:][:w.Height*w.Width]
			for u := range w.Lines {
				y := r.p*w.StrideY - w.Top + u*w.DilationY
				if y < 0 || y >= w.Height {
					for range w.Columns {
						clear(panel[l*width+r.at:][:r.n])
						l++
					}
					continue
				}
				line := channel[y*w.Width:][:w.Width]
				for j := range w.Columns {
					copyStretch(panel[l*width+r.at:][:r.n], line, w, r, j)
					l++
				}
			}
		}
	}
}

// copyStretch writes the elements at window column j of a run of places.
func copyStretch[F Float](to, line []F, w *Window, r stretch, j int) {
	from, until, x := w.inside(r, j)
	for i := range from {
		to[i] = 0
	}
	if w.StrideX == 1 {
		copy(to[from:until], line[x:])
	} else {
		for i := from; i < until; i++ {
			to[i] = line[x]
			x += w.StrideX
		}
	}
	for i := until; i < len(to); i++ {
		to[i] = 0
	}
}

// fillPatches sets x to C^T for the places from first on.
func (x *PackedFloats[F]) fillPatches(picture []F, w *Window, first int) {
	if x.tileCols == 0 {
		x.fillPatchRows(picture, w, first)
		return
	}
	for i := 0; i < x.rows; i += panelRows {
		fillPatches(x.data[i*x.cols:][:panelRows*x.cols], panelRows, picture, w, first+i, min(panelRows, x.rows-i))
	}
}

// fillPatchRows is fillPatches for rows one after the other.
func (x *PackedFloats[F]) fillPatchRows(picture []F, w *Window, first int) {
	column := make([]F, x.cols)
	for i := range x.rows {
		fillPatches(column, 1, picture, w, first+i, 1)
		x.SetRow(i, column)
	}
}

// addPatches adds the elements of a matrix of C's shape, for n places from first on, to the
// elements of the picture that they come from: run by run of places, and for each run line by line
// of the matrix.
func addPatches[F Float](picture, c []F, w *Window, first, n int) {
	for i := 0; i < n; {
		r := w.stretch(first, i, n)
		i += r.n
		l := 0
		for channel := range w.Channels {
			for u := range w.Lines {
				y := r.p*w.StrideY - w.Top + u*w.DilationY
				if y < 0 || y >= w.Height {
					l += w.Columns
					continue
				}
				line := picture[(channel*w.Height+y)*w.Width:][:w.Width]
				for j := range w.Columns {
					from, until, x := w.inside(r, j)
					addStretch(line[x:], c[l*n+r.at:][from:until], w.StrideX)
					l++
				}
			}
		}
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
