package kernel

import "math"

// base is that of the slices' digits.
const base = 254

// Digits are a second factor B of a product with PackedBytes, cut into K = 2 or 3
// signed 8-bit matrices. With c_j = max_i |B_ij|,
//
//	B_ij = c_j/127 (Q1_ij + Q2_ij/254 + Q3_ij/254^2 + rho),  |rho| <= 1/(2 254^(K-1))
//
// and digits Q from -127 to 127. Columns lie in panels of a tile's width, a
// panel by fours of rows, of which each slice has its digits.
//
// Columns whose largest magnitude is tiny are scaled up first, by a power of
// two, so that c_j/127 has an inverse. A column of zeros has digits of zero. One
// with infinities or NaNs has no digits: products take its numbers.
type Digits struct {
	k            *ByteKernels
	count        int // K
	rows, cols   int
	room         int       // of rows
	data         []int8    // panels
	most         []uint32  // the bits of c_j
	factors      []float32 // of a panel: powers of two, then their 127/c_j
	tail         []float32 // the last rows of a panel's columns, filled up to four
	wide         []float64 // s c_j/127/254^(K-1)
	narrow       []float32 // of a panel: that without the powers of two, and their inverses
	nonFinite    [][]float32
	anyNonFinite []bool // of a panel
}

// The columns whose largest magnitude is below tiny are multiplied with huge.
const tiny, huge = 0x1p-64, 0x1p96

// NewDigits returns room for a factor of at most rows x cols in count slices, 2 or 3.
func (k *ByteKernels) NewDigits(rows, cols, count int) *Digits {
	if rows < 0 || cols < 0 || count < 2 || count > 3 {
		panic("kernel: slices of a negative size, or not two or three")
	}
	panels := ceil(cols, k.lanes)
	padded := panels * k.lanes
	s := &Digits{k: k, count: count, room: rows,
		data: Alloc[int8](panels * k.panelSize(rows, count)), most: Alloc[uint32](padded),
		factors: Alloc[float32](2 * padded), tail: Alloc[float32](quad * padded),
		wide: Alloc[float64](padded), narrow: Alloc[float32](2 * padded),
		nonFinite: make([][]float32, cols), anyNonFinite: make([]bool, panels)}
	s.Resize(rows, cols)
	return s
}

// panelSize is the number of digits in a panel of rows rows.
func (k *ByteKernels) panelSize(rows, count int) int {
	return ceil(rows, quad) * quad * count * k.lanes
}

// Resize sets the size of the factor that Quantize cuts.
func (s *Digits) Resize(rows, cols int) {
	if rows < 0 || cols < 0 || rows > s.room || cols > len(s.nonFinite) {
		panic("kernel: Resize: room for slices too small")
	}
	s.rows, s.cols = rows, cols
}

// Panels is the number of panels.
func (s *Digits) Panels() int { return ceil(s.cols, s.k.lanes) }

// Quantize cuts panels from to to-1 of b, whose rows are ld elements apart, for products with data of that scale. Several goroutines may cut
// different panels.
func (s *Digits) Quantize(from, to int, b []float32, ld int, scale float64) {
	checkMatrix("Quantize", b, s.rows, s.cols, ld)
	if from < 0 || to > s.Panels() {
		panic("kernel: Quantize: no such panel")
	}
	for p := from; p < to && s.rows > 0; p++ {
		j := p * s.k.lanes
		n := min(s.k.lanes, s.cols-j)
		s.k.columnMax(s.rows, n, &b[j], ld, &s.most[j])
		s.measure(p, scale)
		s.quantizePanel(p, n, b[j:], ld)
		s.keepNonFinite(p, n, b[j:], ld)
	}
}

// measure turns a panel's largest magnitudes into what digits and results are multiplied with.
func (s *Digits) measure(p int, scale float64) {
	lanes := s.k.lanes
	factors, narrow := s.factors[2*p*lanes:][:2*lanes], s.narrow[2*p*lanes:][:2*lanes]
	digits := 1.0
	for range s.count - 1 {
		digits *= base
	}
	s.anyNonFinite[p] = false
	for j := range lanes {
		c, lift, inverse := math.Float32frombits(s.most[p*lanes+j]), float32(1), float32(0)
		if c < tiny {
			lift = huge
		}
		unit := 0.0
		switch finite := c <= math.MaxFloat32; {
		case finite && c > 0:
			inverse = 127 / (c * lift)
			unit = scale / (float64(inverse) * digits)
		case !finite:
			s.anyNonFinite[p] = true
		}
		factors[j], factors[lanes+j] = lift, inverse
		s.wide[p*lanes+j] = unit / float64(lift)
		narrow[j], narrow[lanes+j] = float32(unit), 1/lift
	}
}

// quantizePanel writes the digits of a panel of n columns.
func (s *Digits) quantizePanel(p, n int, b []float32, ld int) {
	size := s.k.panelSize(s.rows, s.count)
	q, factors := s.data[p*size:][:size], &s.factors[2*p*s.k.lanes]
	cut := s.k.quantize[s.count-2]
	whole := s.rows / quad
	if whole > 0 {
		cut(whole, n, &b[0], ld, factors, &q[0])
	}
	if rest := s.rows % quad; rest > 0 {
		tail := s.tail[quad*p*s.k.lanes:][:quad*s.k.lanes]
		clear(tail)
		for i := range rest {
			copy(tail[i*s.k.lanes:][:n], b[(quad*whole+i)*ld:])
		}
		cut(1, n, &tail[0], s.k.lanes, factors, &q[whole*quad*s.count*s.k.lanes])
	}
}

// keepNonFinite copies a panel's columns that have no digits.
func (s *Digits) keepNonFinite(p, n int, b []float32, ld int) {
	if !s.anyNonFinite[p] {
		return
	}
	for j := range n {
		at := p*s.k.lanes + j
		s.nonFinite[at] = nil
		if math.Float32frombits(s.most[at]) <= math.MaxFloat32 {
			continue
		}
		for i := range s.rows {
			s.nonFinite[at] = append(s.nonFinite[at], b[i*ld+j])
		}
	}
}

// eachNonFinite visits the columns that have no digits, with their numbers.
func (s *Digits) eachNonFinite(visit func(j int, numbers []float32)) {
	for j := range s.cols {
		if s.anyNonFinite[j/s.k.lanes] && s.nonFinite[j] != nil {
			visit(j, s.nonFinite[j])
		}
	}
}

// panel is the digits of the panel from the inner index l on, a multiple of four.
func (s *Digits) panel(p, l int) *int8 {
	return &s.data[p*s.k.panelSize(s.rows, s.count)+l*s.count*s.k.lanes]
}
