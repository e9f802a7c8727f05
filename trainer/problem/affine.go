package problem

import (
	"fmt"
	"slices"

	"ppal/internal/vec"
)

// AffineRow is one constraint of an AffineMap, sum_r Coefficients[r] h_r + Constant <= Bound.
type AffineRow struct {
	Coefficients    []float64 // of h_1..h_R
	Constant, Bound float64
}

// AffineMap maps terms h, such as rates, to constraints
//
//	g_j = sum_r C_jr h_r + constant_j - bound_j - shift_j,   j = 1..m.
//
// The map runs on the host in float64. Problems on different rows or devices may share a map. A new
// shift changes all problems of the map at once, without compiling them again. A map is not safe
// for concurrent use.
type AffineMap struct {
	terms   int   // number of terms
	starts  []int // row j has the entries starts[j] to starts[j+1]
	columns []int
	values  []float64
	offsets []float64 // constant - bound
	shifts  []float64
	factor  float64   // of the objective
	weights []float64 // of the terms in the objective; nil: zeros
}

// NewAffineMap returns the map of the given number of terms to the rows, with shifts of 0. It
// returns an error that wraps ErrSettings if a row has another number of coefficients, or if a
// number is not finite.
func NewAffineMap(terms int, rows []AffineRow) (*AffineMap, error) {
	m := &AffineMap{terms: terms, starts: []int{0}, shifts: make([]float64, len(rows)), factor: 1}
	for j, r := range rows {
		if len(r.Coefficients) != terms {
			return nil, fmt.Errorf("problem: %w: row %d of the affine map has %d coefficients, want one for each of the %d terms",
				ErrSettings, j, len(r.Coefficients), terms)
		}
		offset := r.Constant - r.Bound
		if !vec.Finite(offset) || vec.FirstNonFinite(r.Coefficients) >= 0 {
			return nil, fmt.Errorf("problem: %w: row %d of the affine map has a number that is not finite", ErrSettings, j)
		}
		for t, c := range r.Coefficients {
			if c != 0 {
				m.columns, m.values = append(m.columns, t), append(m.values, c)
			}
		}
		m.starts, m.offsets = append(m.starts, len(m.columns)), append(m.offsets, offset)
	}
	return m, nil
}

// Dims returns the numbers of terms and of constraints.
func (m *AffineMap) Dims() (terms, constraints int) { return m.terms, len(m.offsets) }

// Row calls visit for each coefficient of row j that is not 0, in the order of the terms.
func (m *AffineMap) Row(j int, visit func(term int, coefficient float64)) {
	for k := m.starts[j]; k < m.starts[j+1]; k++ {
		visit(m.columns[k], m.values[k])
	}
}

// Shifts returns a copy of the shifts.
func (m *AffineMap) Shifts() []float64 { return slices.Clone(m.shifts) }

// SetShifts copies the shifts, which Apply adds to the bounds. It returns an error that wraps
// ErrSettings if the numbers of shifts and constraints differ, or if a shift is not finite.
func (m *AffineMap) SetShifts(shifts []float64) error {
	if len(shifts) != len(m.shifts) {
		return fmt.Errorf("problem: %w: %d shifts for %d constraints", ErrSettings, len(shifts), len(m.shifts))
	}
	if j := vec.FirstNonFinite(shifts); j >= 0 {
		return fmt.Errorf("problem: %w: the shift of constraint %d is %v", ErrSettings, j, shifts[j])
	}
	copy(m.shifts, shifts)
	return nil
}

// SetObjective sets the objective to factor f + sum_t weights_t h_t. nil weights are zeros. The
// default is f: factor 1 and no weights. With SetObjective, a run can begin with an objective that
// is easier to minimise, without compiling the problem again. SetObjective returns an error that
// wraps ErrSettings if the numbers of weights and terms differ, or if a number is not finite.
func (m *AffineMap) SetObjective(factor float64, weights []float64) error {
	if weights != nil && len(weights) != m.terms || !vec.Finite(factor) || vec.FirstNonFinite(weights) >= 0 {
		return fmt.Errorf("trainer: %w: an objective of the factor %v and %d weights for %d terms, want finite numbers, one for each term",
			ErrSettings, factor, len(weights), m.terms)
	}
	m.factor, m.weights = factor, slices.Clone(weights)
	return nil
}

// Apply writes g for the terms h, with the shifts.
func (m *AffineMap) Apply(g, h []float64) { m.apply(g, h, m.shifts) }

// ApplyUnshifted writes g for the terms h as if all shifts were 0: the excess of h over the user's
// bounds.
func (m *AffineMap) ApplyUnshifted(g, h []float64) { m.apply(g, h, nil) }

// apply writes g for the terms h with the given shifts; nil shifts are zeros.
func (m *AffineMap) apply(g, h, shifts []float64) {
	for j := range g {
		sum := m.offsets[j]
		for k := m.starts[j]; k < m.starts[j+1]; k++ {
			sum += m.values[k] * h[m.columns[k]]
		}
		if shifts != nil {
			sum -= shifts[j]
		}
		g[j] = sum
	}
}

// Transpose writes dst = C^T w.
func (m *AffineMap) Transpose(dst, w []float64) {
	clear(dst)
	for j, v := range w {
		if v == 0 {
			continue
		}
		for k := m.starts[j]; k < m.starts[j+1]; k++ {
			dst[m.columns[k]] += m.values[k] * v
		}
	}
}

// Affine is a problem whose constraints are affine functions of the terms h, the constraints of
// another problem. The objective may contain a linear function of the terms (SetObjective). Affine
// implements NonSmooth. It does not implement Sampler. For mini-batches, wrap the problem of a
// batch.
type Affine struct {
	Problem      // of the terms
	m            *AffineMap
	h            []float64 // the terms at the last Forward
	coefficients []float64 // of f and the terms
}

var (
	_ Problem   = (*Affine)(nil)
	_ NonSmooth = (*Affine)(nil)
	_ Several   = (*Affine)(nil)
)

// NewAffine returns the problem whose terms are the constraints of terms and whose constraints are
// the map m of the terms. It returns an error that wraps ErrSettings if the map is for another
// number of terms.
func NewAffine(terms Problem, m *AffineMap) (*Affine, error) {
	if n := Constraints(terms); n != m.terms {
		return nil, fmt.Errorf("problem: %w: the affine map is for %d terms, the problem has %d", ErrSettings, m.terms, n)
	}
	return &Affine{Problem: terms, m: m, h: make([]float64, m.terms), coefficients: make([]float64, 1+m.terms)}, nil
}

// Map returns the map, which other problems may share.
func (a *Affine) Map() *AffineMap { return a.m }

// Terms returns h of the last Forward (not a copy).
func (a *Affine) Terms() []float64 { return a.h }

// Dims implements Problem.
func (a *Affine) Dims() (n, m int) { n, _ = a.Problem.Dims(); return n, len(a.m.offsets) }

// Forward implements Problem.
func (a *Affine) Forward(g []float64) (float64, error) {
	f, err := a.Problem.Forward(a.h)
	if err != nil {
		return f, err
	}
	a.m.Apply(g, a.h)
	f *= a.m.factor
	for t, w := range a.m.weights {
		f += w * a.h[t]
	}
	return f, nil
}

// Backward implements Problem.
func (a *Affine) Backward(coefficients []float64, d Vector) error {
	a.ofTerms(a.coefficients, coefficients)
	return a.Problem.Backward(a.coefficients, d)
}

// ofTerms writes the coefficients of f and the terms.
func (a *Affine) ofTerms(dst, coefficients []float64) {
	dst[0] = coefficients[0] * a.m.factor
	a.m.Transpose(dst[1:], coefficients[1:])
	for t, w := range a.m.weights {
		dst[1+t] += coefficients[0] * w
	}
}

// BackwardSeveral implements Several.
func (a *Affine) BackwardSeveral(coefficients [][]float64, d []Vector) error {
	own := make([][]float64, len(coefficients))
	for i, c := range coefficients {
		own[i] = make([]float64, len(a.coefficients))
		a.ofTerms(own[i], c)
	}
	return BackwardSeveral(a.Problem, own, d)
}

// Inner implements Form.
func (a *Affine) Inner() Problem { return a.Problem }

// NonSmooth implements NonSmooth. It reports whether the terms themselves have kinks.
func (a *Affine) NonSmooth() bool { return FeaturesOf(a.Problem).Kinks }
