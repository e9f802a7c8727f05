package constraints

import (
	"fmt"
	"slices"
)

// Margins is a family of surrogates: decreasing functions of margins replace decisions. Rates
// without margins have probabilities instead: see Sample.Nodes.
//
//	one score s_i        1[decision is wrong]        ->  phi(y_i s_i),  y_i = -1 or +1
//	                     1[s_i > 0]                  ->  phi(-s_i)
//	C scores S_i         1[decision is not class c]  ->  sum_{j != c} phi(S_ic - S_ij)
//
// A system of margins counts wrong decisions where a system of probabilities counts right
// decisions: error is the cell of the wrong decisions, and an accuracy is 1 - error.
type Margins struct {
	Objective   Phi // the surrogate in the objective
	Constraints Phi // the surrogate in the constraints
	Form        Form
}

// Form says how the inequalities of a system become the constraints of the smooth problem.
type Form string

// The forms.
const (
	// Each makes each inequality a smooth constraint. A gap of two groups has two.
	Each Form = "each"
	// Absolute makes the largest inequality of each of System.Subject a constraint, as in |h| - eps
	// for a gap of two groups. Such constraints have kinks.
	Absolute Form = "absolute"
	// Maximum makes the largest of all inequalities the only constraint, for methods that support a
	// single constraint.
	Maximum Form = "max"
)

// Forms lists the forms, the default first.
func Forms() []Form { return []Form{Each, Absolute, Maximum} }

// valid returns an error for an unknown surrogate or form.
func (m Margins) valid() error {
	for _, phi := range []Phi{m.Objective, m.Constraints} {
		if err := phi.valid(); err != nil {
			return err
		}
	}
	if !slices.Contains(Forms(), m.Form) {
		return fmt.Errorf("constraints: unknown form %q of the constraints", m.Form)
	}
	return nil
}

// Smooth reports whether the surrogates are differentiable everywhere. The kinks of Absolute and
// Maximum are described by System.Pieces instead.
func (m Margins) Smooth() bool { return m.Objective.Smooth() && m.Constraints.Smooth() }

// Piece is one smooth piece of a constraint that is the maximum of its pieces: g_j = max over the
// pieces p of j of Sign*h_Term + Offset. Piece has the fields of problem.Piece and converts to it:
// problem.Piece(p).
type Piece struct {
	Constraint, Term int
	Sign, Offset     float64
}

// NewMarginSystem returns the system of NewSystem with surrogates of margins. The nodes of a Sample
// are then the constraints themselves or, if System.Pieces is not nil, the terms of the pieces. A
// rate without such a surrogate, such as a precision or a loss, is an error.
func NewMarginSystem(minimize Rate, subject []Constraint, train *Population, m Margins) (*System, error) {
	if m.Form == "" {
		m.Form = Each
	}
	if err := m.valid(); err != nil {
		return nil, err
	}
	s, err := newSystem(minimize, subject, train, nil, &m)
	if err != nil {
		return nil, err
	}
	s.makeTerms()
	return s, nil
}

// asMargin gives the cell of a rate its surrogate. flip says that the cell now counts the decisions
// that are not the target, so that its rate is 1 minus the former rate.
func (s *System) asMargin(c *Cell, kind rateKind) (flip bool, err error) {
	c.phi = s.Margins.Constraints
	if s.ofObjective {
		c.phi = s.Margins.Objective
	}
	own := c.target == ownClass || c.class == c.target && !c.not
	d, _ := kind.definition()
	switch {
	case c.loss, c.joint != jointNone, c.target == earlierDecision, len(s.classes) > 2 && !own:
		return false, fmt.Errorf("constraints: %s has no surrogate of margins", kind)
	}
	c.missed = own && (d.unclassed || len(s.classes) > 2)
	return c.missed, nil
}

// marginTerm is a node of a system of margins: a linear function of cells, minus an offset.
type marginTerm struct {
	coefficients []float64 // of System.Rates
	offset       float64
}

// makeTerms makes the terms of the nodes, and the pieces of constraints that are maxima.
func (s *System) makeTerms() {
	for k, b := range s.Bounds {
		if s.Margins.Form == Each {
			s.place = append(s.place, k)
			s.terms = append(s.terms, marginTerm{b.Coefficients, b.Bound - b.Constant})
			continue
		}
		place := b.Constraint
		if s.Margins.Form == Maximum {
			place = 0
		}
		s.place = append(s.place, place)
		piece := Piece{Constraint: place, Term: len(s.terms), Sign: 1, Offset: -b.Bound}
		negated := slices.IndexFunc(s.terms, func(t marginTerm) bool { return opposite(t, b) })
		if negated >= 0 {
			piece.Term, piece.Sign = negated, -1
		} else {
			s.terms = append(s.terms, marginTerm{b.Coefficients, -b.Constant})
		}
		s.pieces = append(s.pieces, piece)
	}
	s.common = s.allRows()
}

// opposite reports whether the inequality bounds the negated term.
func opposite(t marginTerm, b Inequality) bool {
	for k, c := range b.Coefficients {
		if c != -t.coefficients[k] {
			return false
		}
	}
	return b.Constant == t.offset
}

// allRows returns the cell of all rows if every term subtracts its rate, or else -1. The nodes
// compute the rate once.
func (s *System) allRows() int {
	k := slices.IndexFunc(s.Rates, func(c Cell) bool { return c.where == nil && c.class < 0 && c.phi == s.Margins.Constraints })
	if k < 0 || slices.ContainsFunc(s.terms, func(t marginTerm) bool { return t.coefficients[k] != -1 }) {
		return -1
	}
	return k
}

// Pieces returns the smooth pieces of constraints that are maxima; nil: the nodes are the
// constraints, or the rates.
func (s *System) Pieces() []Piece { return slices.Clone(s.pieces) }

// placeOf returns the index of the constraint of the smooth problem to which inequality k of Bounds
// belongs.
func (s *System) placeOf(k int) int {
	if s.place == nil {
		return k
	}
	return s.place[k]
}

// Places returns the indices of the constraints of the smooth problem that state constraint j of
// Subject.
func (s *System) Places(j int) (list []int) {
	for k, b := range s.Bounds {
		if at := s.placeOf(k); b.Constraint == j && (len(list) == 0 || list[len(list)-1] != at) {
			list = append(list, at)
		}
	}
	return list
}

// Smooth reports whether the objective and the terms of the nodes are differentiable everywhere,
// apart from the kinks that Pieces describes.
func (s *System) Smooth() bool { return !s.L1 && (s.Margins == nil || s.Margins.Smooth()) }

// Stated is a constraint of the smooth problem: its name and its bound.
type Stated struct {
	Name  string
	Bound float64
}

// Stated returns the constraints of the smooth problem, in the order of Places.
func (s *System) Stated() (list []Stated) {
	for k, b := range s.Bounds {
		name := b.Name
		if s.pieces != nil {
			name = s.Subject[b.Constraint].String()
		}
		if at := s.placeOf(k); at < len(list) { // a further piece
			if s.Subject[b.Constraint] != s.Subject[s.Bounds[0].Constraint] && s.Margins.Form == Maximum {
				list[at].Name = "largest inequality"
			}
			list[at].Bound = max(list[at].Bound, b.Bound)
			continue
		}
		list = append(list, Stated{name, b.Bound})
	}
	return list
}

// smoothMargins does the work of Smooth for a system of margins.
func (s *Sample) smoothMargins(scores []float64) (objective float64, rates []float64, err error) {
	n, c := s.p.Len(), len(s.p.Classes)
	binary := len(scores) == n && c == 2
	if !binary && len(scores) != n*c {
		return 0, nil, fmt.Errorf("constraints: %d scores for %d rows of %d classes", len(scores), n, c)
	}
	vectors := map[marginView][]float64{}
	rates = make([]float64, len(s.cells))
	mean := -1 // the cell whose rate is known
	if binary && s.p.Weights == nil && *s.system.Margins == (Margins{Logistic, Sigmoid, s.system.Margins.Form}) {
		if mean, err = s.meanLogistic(scores, rates, vectors); err != nil {
			return 0, nil, err
		}
	}
	for k := range s.cells {
		cell := &s.cells[k]
		if k == mean || len(cell.rows) == 0 {
			continue
		}
		v := cell.marginView()
		values := vectors[v]
		if values == nil {
			if values, err = s.marginValues(scores, v, binary); err != nil {
				return 0, nil, err
			}
			vectors[v] = values
		}
		for _, i := range cell.rows {
			rates[k] += cell.weight(i) * values[i]
		}
		rates[k] /= cell.total
	}
	return s.system.objective.value(rates), rates, nil
}

// marginValues returns the row values of a view.
func (s *Sample) marginValues(scores []float64, v marginView, binary bool) ([]float64, error) {
	if binary {
		op, err := s.signed(v)
		if err != nil {
			return nil, err
		}
		return signedLosses(op, scores), nil
	}
	if v.target != ownClass {
		return nil, s.notSigned(v)
	}
	c := len(s.p.Classes)
	values := make([]float64, s.p.Len())
	inParts(len(values), func(from, to int) {
		for i := from; i < to; i++ {
			values[i] = rowLoss(v.phi, scores[i*c:][:c], s.p.Labels[i])
		}
	})
	return values, nil
}

// meanLogistic computes the rate of the cell of all wrong decisions, with logistic losses, and the
// sigmoids of the positive decisions. Both share the exponential of a row. It returns the index of
// the cell; -1: the system has no such cell.
func (s *Sample) meanLogistic(scores, rates []float64, vectors map[marginView][]float64) (int, error) {
	loss, rate := marginView{Logistic, ownClass}, marginView{Sigmoid, 1}
	all := slices.IndexFunc(s.cells, func(c boundCell) bool { return c.marginView() == loss && len(c.rows) == s.p.Len() })
	if all < 0 || !slices.ContainsFunc(s.cells, func(c boundCell) bool { return c.marginView() == rate }) {
		return -1, nil
	}
	first, err := s.signed(loss)
	if err != nil {
		return -1, err
	}
	second, err := s.signed(rate)
	if err != nil {
		return -1, err
	}
	rates[all], vectors[rate] = meanLogistic(first, second, scores)
	return all, nil
}
