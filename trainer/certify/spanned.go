package certify

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"ppal/internal/vec"
	"ppal/trainer/internal/qp"
	"ppal/trainer/problem"
)

const (
	// spannedNumbers is the largest number of elements of the gradients that Measure keeps on the
	// host.
	spannedNumbers = 1 << 26
	// spannedShare is the largest excess of leastEpsilon's result over the smallest epsilon, relative
	// to the smallest.
	spannedShare = 1e-3
	// spannedWeights is the largest number of weights that leastEpsilon tries.
	spannedWeights = 60
	// spannedEqual is the largest relative difference of S and K at which leastEpsilon counts a
	// weight as balanced, and spannedBalanced the number of balanced weights that it tries.
	spannedEqual    = 1e-6
	spannedBalanced = 3
	// spannedStart is the first weight of leastEpsilon. The best one of trained models is mostly
	// between 0.02 and 0.2.
	spannedStart = 1. / 16
	// spannedRounding is the accuracy of S by normal equations, and spannedLeast the rounding error of
	// S, relative to the largest of the gradients that cancel.
	spannedRounding = 1e-10
	spannedLeast    = 1e-14
	// spannedSlope is the largest slope of a minimiser's objective, for columns of length 1, relative
	// to the objective's terms.
	spannedSlope = 1e-8
	// gramRows is the number of rows of the gradients' products that gram computes at a time: enough
	// for all threads.
	gramRows = 128
)

// spannedNewton holds the settings of the Newton steps of leastEpsilon.
var spannedNewton = qp.Newton{Iterations: 50, Still: 1e-15, Least: 1e-12}

// leastEpsilon finds the nu >= 0 with the smallest max(S, K) of the stationarity S(nu) and the
// complementarity K(nu) = sum_j nu_j |g_j|, up to spannedShare, for more than gramLimit
// constraints. S^2 + w K^2 of its minimiser over nu >= 0 bounds the smallest epsilon from below,
//
//	min over nu of max(S, K)^2 >= min over nu of (S^2 + w K^2)/(1 + w)   for each w > 0,
//
// and the largest of these bounds is the smallest epsilon: S^2 and K^2 are convex. Its w has S = K,
// or is 0 or infinite, and K/S falls as w grows (balance). K needs a single column, so that at most
// 1 + n of the multipliers of each minimiser are positive, and the active set stays small for
// thousands of constraints.
//
// If the constraints are affine functions of fewer terms (problem.Affine), as the gaps between
// rates of groups are, the gradients of the terms span those of all constraints: one backward pass
// for each term. Otherwise leastEpsilon needs a backward pass for each constraint. The result is
// not exact, and leastEpsilon returns false, if this would take more than most gradients; then only
// the constraints with the largest g have multipliers.
//
// floor is a residual that no multiplier lowers: a smaller max(S, K) needs no better multiplier.
func (c *certifier) leastEpsilon(nu []float64, most int, floor float64) (exact bool, err error) {
	s := c.span(len(nu), most)
	w, err := c.model(s)
	if err != nil {
		return false, err
	}
	y, best := make([]float64, len(s.chosen)), math.Inf(1)
	var b balance
	balanced := 0
	for range spannedWeights {
		spannedNewton.Minimise(y, w)
		w.Value(y)
		least := math.Hypot(w.stationarity, math.Sqrt(w.weight)*w.complementarity) / math.Sqrt(1+w.weight)
		if e := max(w.stationarity, w.complementarity); e < best {
			best = e
			for i, j := range s.chosen {
				nu[j] = y[i]
			}
		}
		switch {
		case best <= max(floor, spannedLeast*w.size(y)):
			return true, nil
		case best <= (1+spannedShare)*least && w.minimal(y):
			return len(y) == len(nu), nil
		}
		ratio := w.complementarity / w.stationarity
		if math.Abs(ratio-1) <= spannedEqual {
			balanced++
		}
		if balanced == spannedBalanced {
			break // rounding hides the minimiser: other weights show no smaller epsilon
		}
		w.weight = b.next(w.weight, ratio)
	}
	return best <= spannedRounding*w.size(y), nil
}

// balance finds the weight w at which a positive ratio that falls as w grows is 1. The zero value
// is ready for use.
type balance struct {
	low, high             float64 // weights with larger and smaller ratios; 0: none
	lowExcess, highExcess float64 // the logarithms of their ratios
	side                  int     // of the last weight: 1 is low, -1 high
	step                  float64 // the last change of log w
}

// The changes of log w before there is a weight on each side of 1.
const (
	firstSlope = 3   // the first, relative to the logarithm of the ratio
	firstLeast = 0.1 // the first, at least
	firstMost  = 3   // the first, at most
	beyond     = 1.5 // to the zero of the line through the last two logarithms, times this
	leastRatio = 0.1 // at least and at most, relative to the change before
	mostRatio  = 2
)

// next takes the ratio at w and returns the next w to try. With a weight on each side of 1, next
// finds the zero by the Illinois method (Dowell and Jarratt 1971): the line through both
// logarithms, with half the value of an end that stays a second time.
func (b *balance) next(w, ratio float64) float64 {
	excess, side := math.Log(ratio), 1
	if !(excess > 0) {
		side = -1
	}
	same, before := side == b.side, 0.0
	b.side = side
	if side > 0 {
		b.low, b.lowExcess, before = w, excess, b.lowExcess
		if same {
			b.highExcess /= 2
		}
	} else {
		b.high, b.highExcess, before = w, excess, b.highExcess
		if same {
			b.lowExcess /= 2
		}
	}
	switch {
	case b.low != 0 && b.high != 0:
		if share := b.lowExcess / (b.lowExcess - b.highExcess); share > 0 && share < 1 {
			return b.low * math.Pow(b.high/b.low, share)
		}
		return math.Sqrt(b.low * b.high)
	case b.step == 0:
		b.step = float64(side) * min(max(firstSlope*math.Abs(excess), firstLeast), firstMost)
	default:
		ratio := beyond * excess / (before - excess)
		if !(ratio > 0) {
			ratio = mostRatio // the line never comes to 0
		}
		b.step *= min(max(ratio, leastRatio), mostRatio)
	}
	return w * math.Exp(b.step)
}

// span is a set of constraints whose gradients are linear functions of few gradients of terms.
type span struct {
	chosen   []int        // the constraints
	rows     [][]qp.Entry // the coefficients of the terms, row by row
	terms    int
	backward func(term int, d problem.Vector) error // writes the gradient of a term
}

// span returns the span of all m constraints, or of those with the largest g if this takes more
// than most gradients.
func (c *certifier) span(m, most int) *span {
	s := &span{chosen: make([]int, m)}
	for j := range m {
		s.chosen[j] = j
	}
	if a, ok := c.p.(*problem.Affine); ok {
		if terms, _ := a.Map().Dims(); terms <= min(m, most) {
			s.terms, s.backward = terms, unit(a.Inner(), terms)
			for j := range m {
				var row []qp.Entry
				a.Map().Row(j, func(term int, coefficient float64) { row = append(row, qp.Entry{Column: term, Value: coefficient}) })
				s.rows = append(s.rows, row)
			}
			return s
		}
	}
	if m > most {
		g := c.at.Constraints
		slices.SortStableFunc(s.chosen, func(i, j int) int { return cmp.Compare(g[j], g[i]) })
		s.chosen = s.chosen[:most]
	}
	backward := unit(c.p, m)
	s.terms, s.backward = len(s.chosen), func(term int, d problem.Vector) error { return backward(s.chosen[term], d) }
	for i := range s.chosen {
		s.rows = append(s.rows, []qp.Entry{{Column: i, Value: 1}})
	}
	return s
}

// unit returns a function that writes the gradient of constraint j of p's m constraints.
func unit(p problem.Problem, m int) func(j int, d problem.Vector) error {
	coefficients := make([]float64, 1+m)
	return func(j int, d problem.Vector) error {
		clear(coefficients)
		coefficients[1+j] = 1
		return p.Backward(coefficients, d)
	}
}

// model returns leastEpsilon's objective for the constraints of s, with the weight spannedStart.
// Its span has the values |g_j| as one more term.
func (c *certifier) model(s *span) (*spannedModel, error) {
	n, v := len(c.x), c.scratch.New()
	w := &spannedModel{certifier: c, columns: mat.NewDense(s.terms, n, nil), objective: make([]float64, n), combined: make([]float64, n),
		weight: spannedStart, sums: make([]float64, s.terms+1), products: make([]float64, s.terms+1)}
	coefficients := make([]float64, 1+len(c.at.Constraints))
	coefficients[0] = 1
	if err := c.p.Backward(coefficients, v); err != nil {
		return nil, err
	}
	c.p.Space().Read(w.objective, v)
	for t := range s.terms {
		if err := s.backward(t, v); err != nil {
			return nil, err
		}
		c.p.Space().Read(w.columns.RawRowView(t), v)
	}
	for i, j := range s.chosen {
		s.rows[i] = append(s.rows[i], qp.Entry{Column: s.terms, Value: math.Abs(c.at.Constraints[j])})
	}
	w.slope = make([]float64, len(s.rows))
	w.q = qp.NewSpanned(s.rows, s.terms+1)
	return w, nil
}

// spannedModel evaluates (S^2 + w K^2)/2 on the host: see leastEpsilon.
type spannedModel struct {
	*certifier
	q         *qp.Spanned
	columns   *mat.Dense // the gradients of the terms, row by row
	objective []float64  // grad f
	weight    float64    // w

	combined                      []float64 // grad f + J^T y of the last Value
	sums                          []float64 // the factors of the terms at the last Value
	stationarity, complementarity float64   // of the last Value
	products, slope               []float64 // of the last Model
	images                        *mat.Dense
	resolved                      bool // the last Model found its minimiser
}

// Value implements qp.Objective; residual has the smallest element of grad f + J^T y +
// subdifferential of r.
func (w *spannedModel) Value(y []float64) (value, terms float64) {
	w.q.Combine(w.sums, y)
	copy(w.combined, w.objective)
	last := len(w.sums) - 1
	for t, factor := range w.sums[:last] {
		if factor == 0 {
			continue
		}
		for k, v := range w.columns.RawRowView(t) {
			w.combined[k] += factor * v
		}
	}
	w.p.Space().Regularizer.WithMultipliers(y).Residual(w.residual, w.x, w.combined, w.set.Sphere)
	w.stationarity, w.complementarity = vec.Norm(w.residual), w.sums[last]
	return (w.stationarity*w.stationarity + w.weight*w.complementarity*w.complementarity) / 2, 0
}

// Model implements qp.Objective.
func (w *spannedModel) Model(y []float64) (target, slope []float64) {
	w.slopes()
	w.gram()
	// The model is slope'(z - y) + (z - y)'H(z - y)/2.
	image := make([]float64, len(w.sums))
	for t := range image {
		for s, v := range w.sums {
			image[t] -= w.q.Gram.At(t, s) * v
		}
	}
	w.q.Spread(w.q.Linear, image)
	for j, v := range w.slope {
		w.q.Linear[j] += v
	}
	target = slices.Clone(y)
	w.resolved = w.q.NonNegative(target)
	return target, w.slope
}

// slopes computes the slope at the y of the last Value.
func (w *spannedModel) slopes() {
	last := len(w.sums) - 1
	for t := range last {
		w.products[t] = vec.Dot(w.columns.RawRowView(t), w.residual)
	}
	w.products[last] = w.weight * w.complementarity
	w.q.Spread(w.slope, w.products)
}

// gram computes the products of the terms under the derivative of the residual at the last Value.
func (w *spannedModel) gram() {
	last := len(w.sums) - 1
	r := w.p.Space().Regularizer
	constant := r.L1Ball == nil && (r.Kind == problem.NoRegularizer || r.Kind == problem.SquaredL2) // the derivative is the identity
	if w.images == nil || !constant {
		images, products := w.columns, mat.NewDense(last, last, nil)
		if !constant {
			images = mat.DenseCopyOf(w.columns)
			for t := range last {
				w.p.Space().Regularizer.ResidualDerivative(images.RawRowView(t), w.residual, w.x, w.combined, w.set.Sphere)
			}
		}
		for from, to := 0, 0; from < last; from = to { // rows up to their diagonal: half of the products
			if to = from + gramRows; to > last-gramRows {
				to = last
			}
			rows := products.Slice(from, to, 0, to).(*mat.Dense)
			rows.Mul(images.Slice(from, to, 0, len(w.x)), w.columns.Slice(0, to, 0, len(w.x)).T())
		}
		for t := range last {
			for s := range t + 1 {
				w.q.Gram.SetSym(t, s, products.At(t, s))
			}
		}
		w.images = images
	}
	w.q.Gram.SetSym(last, last, w.weight)
}

// size returns the length of the largest of the gradients that cancel in S.
func (w *spannedModel) size(y []float64) float64 {
	size := vec.Norm(w.objective)
	for j, v := range y {
		if v > 0 {
			size = max(size, v*w.q.Length(j))
		}
	}
	return size
}

// minimal reports whether y, the point of the last Value, minimises the objective over y >= 0, up
// to spannedSlope.
func (w *spannedModel) minimal(y []float64) bool {
	w.slopes()
	size := w.size(y)
	for j, slope := range w.slope {
		most := spannedSlope * w.q.Length(j) * size
		if slope < -most || y[j] > 0 && slope > most {
			return false
		}
	}
	return w.resolved
}
