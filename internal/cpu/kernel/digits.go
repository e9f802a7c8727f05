package kernel

import "math"

// base is the base of the digits. A remainder of at most 1/2, times base, is at most 127.
const base = 254

// Digits are a second factor B of a product with PackedBytes, quantized to K = 2 or 3 signed 8-bit
// digits an element. With c_j = max_i |B_ij|,
//
//	B_ij = c_j/127 (Q1_ij + Q2_ij/254 + Q3_ij/254^2 + rho),  |rho| <= 1/(2 254^(K-1))
//
// and digits Q from -127 to 127. Columns lie in panels of a tile's width. A panel has four rows
// after four rows, of which it has all first digits, then all second ones, and so on.
//
// Columns whose largest magnitude is tiny are scaled up first, by a power of two, so that c_j/127
// has an inverse. A column of zeros has digits of zero. A column with infinities or NaNs has no
// digits: products take its numbers.
type Digits struct {
	k            *ByteKernels
	count        int // K
	rows, cols   int
	room         int         // largest number of rows
	data         []int8      // panels
	most         []uint32    // the bits of c_j
	factors      []float32   // factors of a panel: powers of two, then 127/c_j
	tail         []float32   // the last rows of a panel's columns, filled up to four
	wide         []float64   // s c_j/127/254^(K-1)
	narrow       []float32   // of a panel: wide without the powers of two, and the inverses
	nonFinite    [][]float32 // by column: the numbers of a column without digits
	anyNonFinite []bool      // by panel
}

// Columns whose largest magnitude is below tiny are multiplied by huge.
const tiny, huge = 0x1p-64, 0x1p96

// NewDigits returns room for a factor of at most rows x cols with count digits, 2 or 3.
func (k *ByteKernels) NewDigits(rows, cols, count int) *Digits {
	if rows < 0 || cols < 0 || count < 2 || count > 3 {
		panic("kernel: digits of a negative size, or not two or three")
	}
	panels := ceil(cols, k.lanes)
	padded := panels * k.lanes
	d := &Digits{
		k:            k,
		count:        count,
		room:         rows,
		data:         Alloc[int8](panels * k.panelSize(rows, count)),
		most:         Alloc[uint32](padded),
		factors:      Alloc[float32](2 * padded),
		tail:         Alloc[float32](quad * padded),
		wide:         Alloc[float64](padded),
		narrow:       Alloc[float32](2 * padded),
		nonFinite:    make([][]float32, cols),
		anyNonFinite: make([]bool, panels),
	}
	d.Resize(rows, cols)
	return d
}

// panelSize returns the number of digits in a panel of the given number of rows. Rows that fill up
// the layout's Depth are multiplied by zeros of the data, so their digits may have any value.
func (k *ByteKernels) panelSize(rows, count int) int {
	return ceil(rows, k.layout.Depth) * k.layout.Depth * count * k.lanes
}

// Resize sets the size of the factor that Quantize takes.
func (d *Digits) Resize(rows, cols int) {
	if rows < 0 || cols < 0 || rows > d.room || cols > len(d.nonFinite) {
		panic("kernel: Resize: room for digits too small")
	}
	d.rows, d.cols = rows, cols
}

// Panels returns the number of panels.
func (d *Digits) Panels() int { return ceil(d.cols, d.k.lanes) }

// Quantize computes the digits of panels from to to-1 of b, whose rows are ld elements apart, for
// products with data of the given scale. Several goroutines may quantize different panels.
func (d *Digits) Quantize(from, to int, b []float32, ld int, scale float64) {
	checkMatrix("Quantize", b, d.rows, d.cols, ld)
	if from < 0 || to > d.Panels() {
		panic("kernel: Quantize: no such panel")
	}
	for p := from; p < to && d.rows > 0; p++ {
		j := p * d.k.lanes
		n := min(d.k.lanes, d.cols-j)
		d.k.columnMax(d.rows, n, &b[j], ld, &d.most[j])
		d.setFactors(p, scale)
		d.quantizePanel(p, n, b[j:], ld)
		d.keepNonFinite(p, n, b[j:], ld)
	}
}

// setFactors computes, from the largest magnitudes of a panel's columns, the factors of the
// elements and of the results.
func (d *Digits) setFactors(p int, scale float64) {
	lanes := d.k.lanes
	factors, narrow := d.factors[2*p*lanes:][:2*lanes], d.narrow[2*p*lanes:][:2*lanes]
	last := 1.0 // weight of the last digit, in units of the first digit
	for range d.count - 1 {
		last *= base
	}
	d.anyNonFinite[p] = false
	for j := range lanes {
		c, lift, inverse := math.Float32frombits(d.most[p*lanes+j]), float32(1), float32(0)
		if c < tiny {
			lift = huge
		}
		unit := 0.0
		switch finite := c <= math.MaxFloat32; {
		case finite && c > 0:
			inverse = 127 / (c * lift)
			unit = scale / (float64(inverse) * last)
		case !finite:
			d.anyNonFinite[p] = true
		}
		factors[j], factors[lanes+j] = lift, inverse
		d.wide[p*lanes+j] = unit / float64(lift)
		narrow[j], narrow[lanes+j] = float32(unit), 1/lift
	}
}

// quantizePanel writes the digits of a panel of n columns.
func (d *Digits) quantizePanel(p, n int, b []float32, ld int) {
	lanes := d.k.lanes
	size := d.k.panelSize(d.rows, d.count)
	q, factors := d.data[p*size:][:size], &d.factors[2*p*lanes]
	quantize := d.k.quantize[d.count-2]
	whole := d.rows / quad
	if whole > 0 {
		quantize(whole, n, &b[0], ld, factors, &q[0])
	}
	if rest := d.rows % quad; rest > 0 {
		tail := d.tail[quad*p*lanes:][:quad*lanes]
		clear(tail)
		for i := range rest {
			copy(tail[i*lanes:][:n], b[(quad*whole+i)*ld:])
		}
		quantize(1, n, &tail[0], lanes, factors, &q[whole*quad*d.count*lanes])
	}
}

// keepNonFinite copies the columns of a panel that have no digits.
func (d *Digits) keepNonFinite(p, n int, b []float32, ld int) {
	if !d.anyNonFinite[p] {
		return
	}
	for j := range n {
		at := p*d.k.lanes + j
		d.nonFinite[at] = nil
		if math.Float32frombits(d.most[at]) <= math.MaxFloat32 {
			continue
		}
		for i := range d.rows {
			d.nonFinite[at] = append(d.nonFinite[at], b[i*ld+j])
		}
	}
}

// eachNonFinite calls visit for the columns that have no digits, with their numbers.
func (d *Digits) eachNonFinite(visit func(j int, numbers []float32)) {
	for j := range d.cols {
		if d.anyNonFinite[j/d.k.lanes] && d.nonFinite[j] != nil {
			visit(j, d.nonFinite[j])
		}
	}
}

// panel returns the digits of panel p from the inner index l on, a multiple of the layout's Depth.
func (d *Digits) panel(p, l int) *int8 {
	return &d.data[p*d.k.panelSize(d.rows, d.count)+l*d.count*d.k.lanes]
}

// derivativeFunc computes a panel of D = f'(S) (E V): the comment of derivativeSigmoidF32AVX512 in
// the generated files gives the formula.
type derivativeFunc func(m, k, n int, e *float32, lde int, v *float32, ldv int, s *float32, lds int, d *float32, sums *float64, most *uint32)

// Factors are the factors of a product E V of few inner indices.
type Factors[F Float] struct{ E, V Strided[F] }

// Derives reports whether QuantizeDerivative supports products with these numbers of columns: all
// but the last fill whole panels, and the level is above Go.
func (k *ByteKernels) Derives(columns ...int) bool {
	for _, n := range columns[:max(0, len(columns)-1)] {
		if n%k.lanes != 0 {
			return false
		}
	}
	return k.derivative[0] != nil && len(columns) > 0
}

// QuantizeDerivative computes the digits of D = f'(S) (E V), the derivative with respect to the
// inputs of a hidden layer, and adds the sums of D's columns to sums. S has the values of the
// activation f. The products E V lie side by side: those of several heads, or one product. D has at
// most RowBlock rows.
//
// Digits and sums have the bits that CombineRows, SigmoidGrad (TanhGrad, ReLUGrad), AddColumns and
// Quantize give one after the other. QuantizeDerivative writes D panel by panel to memory that
// stays in the level-1 cache, and nowhere else.
func (d *Digits) QuantizeDerivative(f Activation, s Strided[float32], products []Factors[float32], sums []float64, scale float64, scratch *ByteScratch) {
	s.check("QuantizeDerivative")
	switch {
	case d.rows > RowBlock || s.Rows != d.rows || s.Cols != d.cols || s.ColStride != 1:
		panic("kernel: QuantizeDerivative: a matrix of another size, or gaps in rows")
	case len(sums) != d.cols:
		panic("kernel: QuantizeDerivative: sums of another length")
	}
	at, lanes := 0, d.k.lanes
	for _, x := range products {
		x.E.check("QuantizeDerivative")
		x.V.check("QuantizeDerivative")
		if at%lanes != 0 || x.E.Rows != d.rows || x.E.Cols != x.V.Rows || x.E.Cols == 0 || x.E.ColStride != 1 || x.V.ColStride != 1 {
			panic("kernel: QuantizeDerivative: factors of another size, or gaps in rows or panels")
		}
		for j := 0; j < x.V.Cols && d.rows > 0; j += lanes {
			p, n := (at+j)/lanes, min(lanes, x.V.Cols-j)
			d.k.derivative[f](d.rows, x.E.Cols, n, &x.E.Data[0], x.E.RowStride, &x.V.Data[j], x.V.RowStride,
				&s.Data[at+j], s.RowStride, &scratch.panel[0], &sums[at+j], &d.most[at+j])
			d.setFactors(p, scale)
			d.quantizePanel(p, n, scratch.panel, lanes)
			d.keepNonFinite(p, n, scratch.panel, lanes)
		}
		at += x.V.Cols
	}
	if at != d.cols {
		panic("kernel: QuantizeDerivative: products of another number of columns")
	}
}
