package constraints

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// System is an objective and constraints in the language, resolved on the training rows: classes
// and groups are known and fixed. Every rate is linear in decisions,
//
//	rate_r = (1/n_r) sum over the rows of cell r of 1[decision_i = target_i],
//
// and the smooth rate has a probability in place of the indicator: sigmoid(s_i) for one score, the
// softmax for several scores. Let h be the rates, followed by the l1 norm of the weights if a
// constraint names the norm. The constraints are
//
//	sum_r Coefficients_jr h_r + Constant_j <= Bound_j,   j = 1..m.
//
// A gap over K groups gives K (K - 1) inequalities, rate_a - rate_b <= bound for each ordered pair.
// A ratio gives b rate_c - rate_a <= 0 for each ordered pair. An excess gives rate_a - rate <=
// bound for each group, where rate counts all rows, and a distance also gives rate - rate_a <=
// bound.
type System struct {
	Minimize Rate
	Subject  []Constraint
	// Margins are the surrogates; nil: probabilities.
	Margins *Margins
	// Rates are the elementary rates h_1..h_R.
	Rates []Cell
	// L1 reports whether h has one more element, the l1 norm of the weights.
	L1 bool
	// Bounds are the inequalities of the smooth problem.
	Bounds []Inequality
	// LeftOut names, for each constraint, the rates of classes and groups that the constraint leaves
	// out.
	LeftOut [][]string
	// Notes are sentences that name the groups that the constraints leave out, with the reason.
	Notes []string

	classes   []string
	train     *Population
	trained   [][]string     // LeftOut of the training; nil: the rows of train decide
	index     map[string]int // index in Rates of a cell's key
	sizes     []int          // training rows or pairs of each cell
	documents *documents     // counts the pairs of the training rows; nil for a system of rows
	objective linear
	measured  []measured // for each constraint of the user
	sides     [][]linear // for each inequality of Bounds: the rate, or the two rates that it compares

	leftOut     []string // the rates, with their sizes, that the constraint being resolved leaves out
	ofObjective bool     // the rates that are resolved belong to the objective
	// The terms of the nodes of a system of margins, their pieces, the constraint of each inequality,
	// and the cell of all rows that every term subtracts, or -1.
	terms  []marginTerm
	pieces []Piece
	place  []int
	common int
}

// Inequality is one row of the smooth constraints.
type Inequality struct {
	Constraint   int    // index in System.Subject
	Name         string // the user's constraint, with the part of the constraint
	Coefficients []float64
	Constant     float64
	Bound        float64
}

// measured says how to compute the value of a user's constraint from cells.
type measured struct {
	// sets of a single rate; for a measure that compares groups, sets of the rates of the groups. With
	// Measure.WithAll the first rate of a set counts all rows.
	sets [][]linear
	l1   bool
}

// The largest numbers of groups that a measure compares: of gaps and ratios, whose pairs of groups
// become inequalities, and of excesses and distances.
const (
	mostGroups        = 100
	mostGroupsWithAll = 1000
)

// ErrNotLinear marks a rate that is not linear in decisions in a place that requires a linear rate.
var ErrNotLinear = errors.New("constraints: not linear in decisions")

// NewSystem resolves an objective and constraints on the training rows. The objective is one of
// Objectives, with selectors or without, or a sum of ParseObjective. The error is a *SyntaxError if
// the rows do not have a name of the constraints, wraps ErrNotLinear if a constraint cannot be
// linear, and wraps ErrEmptyGroup if a rate has no training rows.
func NewSystem(minimize Rate, subject []Constraint, train *Population) (*System, error) {
	return newSystem(minimize, subject, train, nil, nil)
}

func newSystem(minimize Rate, subject []Constraint, train *Population, trained [][]string, m *Margins) (*System, error) {
	if err := train.check(); err != nil {
		return nil, err
	}
	s := &System{Minimize: minimize, Subject: slices.Clone(subject), Margins: m, classes: train.Classes, train: train, trained: trained,
		index: map[string]int{}, ofObjective: true}
	if err := s.setDocuments(); err != nil {
		return nil, err
	}
	if err := s.setObjective(); err != nil {
		return nil, err
	}
	s.ofObjective = false
	for j, c := range s.Subject {
		s.LeftOut = append(s.LeftOut, nil)
		m, err := s.resolve(c)
		if err != nil {
			return nil, err
		}
		for k := range j {
			if s.Subject[k] == c {
				return nil, fmt.Errorf("%w: %q is given twice", ErrSyntax, c)
			}
		}
		s.note(c.String(), c.measure)
		s.measured = append(s.measured, m)
		s.L1 = s.L1 || m.l1
	}
	if err := s.checkSize(); err != nil {
		return nil, err
	}
	for j := range s.Subject { // bound needs the final number of cells
		s.bound(j)
	}
	s.train, s.documents = nil, nil
	return s, nil
}

// Objectives returns the names of the rates that can be minimised, in alphabetical order.
func Objectives() []string {
	var names []string
	for _, d := range definitions() {
		if d.minimized {
			names = append(names, string(d.kind))
		}
	}
	slices.Sort(names)
	return names
}

// setObjective resolves the objective.
func (s *System) setObjective() error {
	if s.Minimize.kind == "" {
		return fmt.Errorf("constraints: no objective: minimize one of %s", strings.Join(Objectives(), ", "))
	}
	terms := s.Minimize.terms()
	if len(terms) == 1 {
		l, err := s.minimized(terms[0].rate)
		s.objective = l
		return err
	}
	var names []string
	s.objective.subset.class = -1
	for _, t := range terms {
		l, err := s.minimized(t.rate)
		if err != nil {
			return err
		}
		s.objective.constant += t.coefficient * l.constant
		for _, p := range l.parts {
			s.objective.parts = append(s.objective.parts, part{p.cell, t.coefficient * p.coefficient})
		}
		names = append(names, strings.TrimSuffix(t.String(), t.rate.String())+l.name)
	}
	s.objective.name = strings.Join(names, " + ")
	return nil
}

// minimized resolves a rate of the objective.
func (s *System) minimized(rate Rate) (l linear, err error) {
	r := &resolver{p: s.train, text: s.Minimize.String()}
	if d, _ := rate.kind.definition(); !d.minimized {
		hint := "minimize one of " + strings.Join(Objectives(), ", ")
		if d.complement != "" {
			hint = fmt.Sprintf("minimize %s, which is 1 - %s", d.complement, rate.kind)
		}
		return l, &SyntaxError{Text: r.text, Problem: string(rate.kind) + " cannot be minimized", Hint: hint}
	}
	list, each, err := r.subsets(rate)
	if err != nil {
		return l, err
	}
	if each {
		return l, &SyntaxError{Text: r.text, At: strings.LastIndex(r.text, "*"), Problem: "the objective is one rate", Hint: "name one class or group"}
	}
	if l, err = s.rate(r, rate.kind, list[0]); err != nil {
		return l, err
	}
	return l, s.nonEmpty(l, r.text)
}

// nonEmpty returns ErrEmptyGroup for a rate without training rows.
func (s *System) nonEmpty(l linear, text string) error {
	if s.trained == nil && s.rows(l) == 0 {
		return fmt.Errorf("%w: %s: %s counts no training %s", ErrEmptyGroup, text, l.name, s.Unit())
	}
	return nil
}

// resolve finds the rates that a constraint bounds.
func (s *System) resolve(c Constraint) (m measured, err error) {
	text := c.String()
	if problem, hint := c.checkBound(s.Margins != nil); problem != "" {
		return m, &SyntaxError{Text: text, At: strings.LastIndex(text, " ") + 1, Problem: problem, Hint: hint}
	}
	r := &resolver{p: s.train, text: text}
	switch c.measure.form {
	case formL1:
		if s.Margins != nil {
			return m, fmt.Errorf("constraints: %s has no surrogate of margins", c.measure)
		}
		m.l1 = true
		return m, nil
	case formChurn:
		if s.Margins != nil {
			return m, fmt.Errorf("constraints: %s has no surrogate of margins", c.measure)
		}
		if _, ok := s.train.Earlier[c.measure.file]; !ok {
			return m, fmt.Errorf("constraints: %s: there are no earlier decisions of %s", text, c.measure.file)
		}
		cell := Cell{class: -1, target: earlierDecision, file: c.measure.file}
		l := linear{name: c.measure.String(), subset: subset{class: -1}, constant: 1, parts: []part{{s.cell(cell), -1}}}
		m.sets = [][]linear{{l}}
		return m, s.nonEmpty(l, text)
	case formNone:
		return m, errors.New("constraints: the zero value is not a constraint")
	}
	list, each, err := r.subsets(c.measure.rate)
	if err != nil {
		return m, err
	}
	if c.measure.form == formRate {
		m.sets, err = s.eachOf(r, c.measure, list, each)
		return m, err
	}
	if c.measure.rate.definition().quotient {
		return m, fmt.Errorf("%w: %s: precision is a ratio of decisions, so a difference or ratio of two precisions is not linear; "+
			"bound the precision of each group instead: precision[%s=*] >= 0.8", ErrNotLinear, text, c.measure.Attributes()[0])
	}
	for _, rows := range list {
		cells, out, left := len(s.Rates), len(s.leftOut), len(s.LeftOut[len(s.LeftOut)-1])
		set, err := s.groups(r, c.measure, rows)
		if each && r.pairs && errors.Is(err, ErrEmptyGroup) { // queries without some pairs
			s.leaveOut(rows, c.measure, cells, out, left)
			continue
		}
		if err != nil {
			return m, err
		}
		if c.measure.WithAll() {
			all, err := s.rate(r, c.measure.rate.kind, rows)
			if err != nil {
				return m, err
			}
			set = append([]linear{all}, set...)
		}
		m.sets = append(m.sets, set)
	}
	if len(m.sets) == 0 {
		return m, fmt.Errorf("%w: %s: no query has pairs of all groups", ErrEmptyGroup, text)
	}
	return m, nil
}

// eachOf returns the rates of a constraint on a single rate or, with *, on a rate for each class or
// group.
func (s *System) eachOf(r *resolver, m Measure, list []subset, each bool) (sets [][]linear, err error) {
	if !each {
		l, err := s.rate(r, m.rate.kind, list[0])
		if err == nil {
			err = s.nonEmpty(l, r.text)
		}
		if err != nil {
			return nil, err
		}
		if n := s.rows(l); n < m.minimum && s.trained == nil {
			return nil, fmt.Errorf("constraints: %s: %s counts %d training rows, fewer than %s %d", r.text, l.name, n, wordMin, m.minimum)
		}
		return [][]linear{{l}}, nil
	}
	kept, err := s.compared(r, m, list)
	if err != nil {
		return nil, err
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("%w: %s: no class or group has %d training rows", ErrEmptyGroup, r.text, max(1, m.minimum))
	}
	for _, l := range kept {
		sets = append(sets, []linear{l})
	}
	return sets, nil
}

// groups returns the rates of the groups that a measure compares.
func (s *System) groups(r *resolver, m Measure, rows subset) (set []linear, err error) {
	list := []subset{rows}
	for _, name := range m.Attributes() {
		a, err := r.attribute(name)
		if err != nil {
			return nil, err
		}
		var next []subset
		for _, old := range list {
			for _, v := range a.Values {
				if m.only != "" && v != m.only {
					continue
				}
				grown, err := r.value(a.Name, v)(old)
				if err != nil {
					return nil, err
				}
				next = append(next, grown)
			}
		}
		list = next
	}
	if set, err = s.compared(r, m, list); err != nil {
		return nil, err
	}
	least, most := 2, mostGroups
	if m.WithAll() {
		least, most = 1, mostGroupsWithAll
	}
	switch {
	case len(set) < least:
		text := fmt.Sprintf("%s compares groups, and %d of the %d groups %s", r.text, len(set), len(list), s.sized(len(set), m))
		if 0 < len(set) && len(set) < len(list) {
			without := s.LeftOut[len(s.LeftOut)-1]
			text += ", but not " + without[len(without)-1]
		}
		return nil, fmt.Errorf("%w: %s", ErrEmptyGroup, text)
	case len(set) > most:
		return nil, fmt.Errorf("constraints: %s compares %d groups, at most %d are supported: leave out small groups, as in %s",
			r.text, len(set), most, m.MinRows(max(2*m.minimum, 100)))
	}
	return set, nil
}

// sized returns the end of a sentence about a number of groups: "have at least 100 training rows
// that the rate counts".
func (s *System) sized(groups int, m Measure) string {
	has := "have"
	if groups == 1 {
		has = "has"
	}
	if m.minimum > 1 {
		return fmt.Sprintf("%s at least %d training %ss that the rate counts", has, m.minimum, s.Unit())
	}
	return has + " training " + s.Unit() + "s that the rate counts"
}

// bound adds the inequalities of constraint j.
func (s *System) bound(j int) {
	c, m, n := s.Subject[j], s.measured[j], s.Terms()
	text := c.String()
	add := func(name string, row []float64, constant, bound float64, sides ...linear) {
		s.Bounds = append(s.Bounds, Inequality{j, name, row, constant, bound})
		s.sides = append(s.sides, sides)
	}
	if m.l1 {
		row := make([]float64, n)
		row[len(s.Rates)] = 1
		add(text, row, 0, c.bound)
	}
	for _, set := range m.sets {
		if !c.measure.Compares() {
			row, constant, limit := set[0].inequality(n, c.atLeast, c.bound)
			name := text
			if len(m.sets) > 1 {
				name = set[0].name + strings.TrimPrefix(text, c.measure.String())
			}
			add(name, row, constant, limit, set[0])
			continue
		}
		if c.measure.IsMean() {
			row := make([]float64, n)
			constant := -set[0].constant
			set[0].add(row, -1)
			for _, l := range set[1:] {
				share := 1 / float64(len(set)-1)
				l.add(row, share)
				constant += share * l.constant
			}
			add(text, row, constant, c.bound, set[0])
			continue
		}
		for a, x := range set {
			for b, y := range set {
				// the first rate of a set with all rows is the rate of all rows
				if a == b || c.measure.WithAll() && b > 0 && (a > 0 || c.measure.form == formExcess) {
					continue
				}
				row := make([]float64, n)
				if c.measure.form != formRatio {
					x.add(row, 1)
					y.add(row, -1)
					add(fmt.Sprintf("%s: %s - %s", text, x.name, y.name), row, x.constant-y.constant, c.bound, x, y)
				} else {
					y.add(row, c.bound)
					x.add(row, -1)
					add(fmt.Sprintf("%s: %s / %s", text, x.name, y.name), row, c.bound*y.constant-x.constant, 0, x, y)
				}
			}
		}
	}
}

// Terms returns the length of h: the rates, and the l1 norm if L1 is true.
func (s *System) Terms() int {
	if s.L1 {
		return len(s.Rates) + 1
	}
	return len(s.Rates)
}

// NeedsSmooth reports whether decisions do not determine all values, because the objective or a
// constraint is a loss or the l1 norm.
func (s *System) NeedsSmooth() bool {
	return s.L1 || slices.ContainsFunc(s.Rates, func(c Cell) bool { return c.loss })
}

// ObjectiveRow returns the objective as a linear function of h: coefficients of length Terms, and a
// constant.
func (s *System) ObjectiveRow() (coefficients []float64, constant float64) {
	coefficients = make([]float64, s.Terms())
	s.objective.add(coefficients, 1)
	return coefficients, s.objective.constant
}

// IsLoss reports whether the objective is a loss, which decisions do not determine.
func (s *System) IsLoss() bool {
	return slices.ContainsFunc(s.objective.parts, func(p part) bool { return s.Rates[p.cell].loss })
}

// DependsOnLoss reports whether constraint j bounds a loss or the l1 norm, which decisions do not
// determine.
func (s *System) DependsOnLoss(j int) bool {
	m := s.measured[j]
	return m.l1 || slices.ContainsFunc(m.sets, func(set []linear) bool {
		return slices.ContainsFunc(set, func(l linear) bool {
			return slices.ContainsFunc(l.parts, func(p part) bool { return s.Rates[p.cell].loss })
		})
	})
}
