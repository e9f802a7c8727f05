package constraints

import (
	"fmt"
	"slices"
	"strings"

	"ppal/internal/vec"
)

// Cell is an elementary rate: the share of some rows on which the decision equals a target,
//
//	rate = (number of rows i with decision_i = target_i) / (number of rows),
//
// or the mean loss of some rows. A Cell names classes and groups and holds no rows, so a Cell
// applies to any set of rows.
type Cell struct {
	Name  string
	where []condition
	// class restricts the rows to a class, or to all other classes if not is true; -1: all rows.
	class int
	not   bool
	// target is the decision that counts: an index of a class, ownClass or earlierDecision.
	target int
	// joint counts a row only if its label is the target (jointRight) or another class (jointWrong).
	joint jointLabel
	file  string // file of earlier decisions, for the target earlierDecision
	loss  bool
	// missed counts the decisions that are not the target.
	missed bool
	phi    Phi // the surrogate, in a system of margins
	// pairs says which pairs of documents the cell counts; the zero value: the cell counts rows. The
	// conditions are those of the more relevant document. The cell counts wrong pairs.
	pairs pairKind
}

// The targets that depend on the row.
const (
	ownClass        = -1 // the label of the row
	earlierDecision = -2 // the row's earlier decision in Cell.file
)

// jointLabel is a condition on the label of a counted row.
type jointLabel uint8

const (
	jointNone jointLabel = iota
	jointRight
	jointWrong
)

// condition restricts rows to a value of an attribute.
type condition struct{ attribute, value string }

// GroupName names the rows with a value of an attribute in tables of rates: sex=Female. A group of
// the attribute "groups", and rows that meet a condition, have the value as their name.
func GroupName(attribute, value string) string {
	if attribute == value || attribute == GroupsName {
		return value
	}
	return attribute + "=" + value
}

// nameOf names the rows that meet all conditions: race=Black, sex=Female.
func nameOf(where []condition) string {
	names := make([]string, len(where))
	for k, w := range where {
		names[k] = GroupName(w.attribute, w.value)
	}
	return strings.Join(names, ", ")
}

// IsMissed reports whether the cell counts the decisions that are not the target.
func (c *Cell) IsMissed() bool { return c.missed }

// Phi returns the surrogate of the cell in a system of margins: see Margins.
func (c *Cell) Phi() Phi { return c.phi }

// IsLoss reports whether the cell is a mean loss, which decisions do not determine.
func (c *Cell) IsLoss() bool { return c.loss }

// key returns a text that two cells share exactly if they define the same rate. The name does not
// count.
func (c *Cell) key() string {
	return fmt.Sprintf("%q %d %t %d %d %q %t %t %v %d", c.where, c.class, c.not, c.target, c.joint, c.file, c.loss, c.missed, c.phi, c.pairs)
}

// named sets the name of the cell from its other fields.
func (c *Cell) named(classes []string) {
	var conditions []string
	kind := "share decided "
	switch {
	case c.pairs != noPairs:
		kind = string(c.pairs.rate(c.loss))
	case c.loss:
		kind = string(kindLoss)
	case c.missed:
		kind = string(kindError)
	case c.target == ownClass:
		kind = string(kindAccuracy)
	case c.target == earlierDecision:
		kind = "decisions as in " + c.file
	default:
		kind += classes[c.target]
	}
	switch {
	case c.joint == jointRight:
		kind += ", rightly"
	case c.joint == jointWrong:
		kind += ", wrongly"
	}
	if c.class >= 0 {
		label := classes[c.class]
		if c.not {
			label = "not " + label
		}
		conditions = append(conditions, "class "+label)
	}
	for _, w := range c.where {
		conditions = append(conditions, w.attribute+"="+w.value)
	}
	c.Name = kind
	if len(conditions) > 0 {
		c.Name += " of " + strings.Join(conditions, ", ")
	}
}

// boundCell is a Cell on the rows of a population.
type boundCell struct {
	*Cell
	rows    []int32
	labels  []int
	earlier []int
	weights []float64 // of the rows of the population; nil: 1 each
	mass              // of the cell's rows
	heavy   float64   // the largest weight of a row of the cell
}

// mass adds up some rows: their number, their weights and the squares of their weights. Without
// weights, only the number counts.
type mass struct {
	n              int
	total, squares float64
}

// add adds a row.
func (m *mass) add(weight float64) {
	m.n++
	m.total += weight
	m.squares += weight * weight
}

// plus adds the rows of another mass.
func (m mass) plus(o mass) mass { return mass{m.n + o.n, m.total + o.total, m.squares + o.squares} }

// effective returns Kish's effective number of rows: see vec.EffectiveRows.
func (m mass) effective() float64 { return vec.EffectiveRows(m.n, m.total, m.squares) }

// weight returns the weight of a row of the population.
func (b *boundCell) weight(row int32) float64 {
	if b.weights == nil {
		return 1
	}
	return b.weights[row]
}

// size returns the effective number of rows as a whole number.
func (m mass) size() int { return int(m.effective() * (1 + roundOff)) }

// share returns factor times the share of a row in the cell's weight.
func (b *boundCell) share(row int32, factor float64) float64 {
	if b.weights == nil {
		return factor / b.total
	}
	return factor * (b.weights[row] / b.total)
}

// weigh sets the sums of the weights.
func (b *boundCell) weigh() {
	if n := len(b.rows); b.weights == nil {
		b.mass, b.heavy = mass{n, float64(n), float64(n)}, 1
		return
	}
	for _, i := range b.rows {
		b.add(b.weights[i])
		b.heavy = max(b.heavy, b.weights[i])
	}
}

// on finds the cell's rows in the population.
func (c *Cell) on(p *Population) (boundCell, error) {
	b := boundCell{Cell: c, labels: p.Labels, weights: p.Weights}
	var filters [][]bool
	for _, w := range c.where {
		meets, err := p.with(w)
		if err != nil {
			return b, err
		}
		filters = append(filters, meets)
	}
	if c.target == earlierDecision {
		var ok bool
		if b.earlier, ok = p.Earlier[c.file]; !ok {
			return b, fmt.Errorf("constraints: the rows have no earlier decisions of %s", c.file)
		}
	}
	counts := func(i, y int) int {
		return vec.Indicator((c.class < 0 || (y == c.class) != c.not) && (b.earlier == nil || b.earlier[i] >= 0))
	}
	n := 0 // counted first: a slice that grows takes several times the memory
	for i, y := range p.Labels {
		n += counts(i, y)
	}
	b.rows, n = make([]int32, n+1), 0
	for i, y := range p.Labels { // without a branch that depends on the row
		b.rows[n] = int32(i)
		n += counts(i, y)
	}
	b.rows = b.rows[:n]
	for _, meets := range filters {
		n = 0
		for _, i := range b.rows {
			b.rows[n] = i
			n += vec.Indicator(meets[i])
		}
		b.rows = slices.Clone(b.rows[:n])
	}
	b.weigh()
	return b, nil
}

// targetOf returns the decision that counts on row i, or -1 if no decision counts.
func (b *boundCell) targetOf(i int32) int {
	switch b.target {
	case ownClass:
		return b.labels[i]
	case earlierDecision:
		return b.earlier[i]
	}
	right := b.labels[i] == b.target
	if b.joint == jointRight && !right || b.joint == jointWrong && right {
		return -1
	}
	return b.target
}

// hits adds up the rows on which the decision is the target or, of a missed cell, is not. Decisions
// are not negative.
func (b *boundCell) hits(decisions []int) (m mass) {
	if b.weights == nil { // without a branch that depends on the decision
		n := 0
		for _, i := range b.rows {
			n += vec.Indicator((decisions[i] == b.targetOf(i)) != b.missed)
		}
		return mass{n, float64(n), float64(n)}
	}
	for _, i := range b.rows {
		if (decisions[i] == b.targetOf(i)) != b.missed {
			m.add(b.weight(i))
		}
	}
	return m
}

// linear is a rate as a linear function of cells: rate = constant + sum over the parts of
// coefficient times the rate of the cell. A precision is a ratio of two cells instead: right /
// (right + wrong).
type linear struct {
	name      string
	subset    subset // the rows
	constant  float64
	parts     []part
	precision bool // parts are the two cells right and wrong
}

// part is a cell, by its index in System.Rates, with a coefficient.
type part struct {
	cell        int
	coefficient float64
}

// rate resolves a kind of rate on one subset as a linear function of cells. It adds new cells to
// the system.
func (s *System) rate(r *resolver, kind rateKind, rows subset) (linear, error) {
	positive := rows.class
	if positive < 0 && len(s.classes) == 2 {
		positive = 1
	}
	name := string(kind)
	if len(rows.label) > 0 {
		name += "[" + strings.Join(rows.label, ", ") + "]"
	}
	l := linear{name: name, subset: rows}
	d, ok := kind.definition()
	switch {
	case !ok:
		return l, fmt.Errorf("constraints: %s is not a rate", kind)
	case !d.unclassed && positive < 0:
		return l, r.failed("", fmt.Sprintf("%s needs a class, because there are %d classes", kind, len(s.classes)),
			fmt.Sprintf("write %s[%s], or %s[*] for each class", kind, quoted(s.classes[0]), kind))
	case d.pairs != noPairs:
		if err := s.checkPairs(r, d, rows); err != nil {
			return l, err
		}
	}
	l.constant, l.precision = d.constant, d.quotient
	for _, p := range d.parts {
		c := p.cell(rows.class, positive)
		c.where = rows.where
		coefficient := p.coefficient
		if s.Margins != nil {
			flip, err := s.asMargin(&c, kind)
			if err != nil {
				return l, err
			}
			if flip {
				coefficient, l.constant = -coefficient, l.constant+coefficient
			}
		}
		l.parts = append(l.parts, part{s.cell(c), coefficient})
	}
	return l, nil
}

// cell returns the index of the cell in Rates. It adds the cell if it is new.
func (s *System) cell(c Cell) int {
	key := c.key()
	k, known := s.index[key]
	if !known {
		c.where = slices.Clone(c.where)
		c.named(s.classes)
		k = len(s.Rates)
		s.index[key], s.Rates = k, append(s.Rates, c)
		s.sizes = append(s.sizes, 0)
		if c.pairs != noPairs {
			s.sizes[k] = s.documents.count(&c)
		} else if b, err := c.on(s.train); err == nil {
			s.sizes[k] = b.size()
		}
	}
	return k
}

// rows returns the number of training rows of the rate.
func (s *System) rows(l linear) int { return l.rows(s.sizes) }

// rows returns the number of rows that the rate counts, for the numbers of rows of the cells: the
// rows of the smallest cell. The cells of a precision have the same rows.
func (l linear) rows(sizes []int) int {
	least := sizes[l.parts[0].cell]
	for _, p := range l.parts[1:] {
		least = min(least, sizes[p.cell])
	}
	return least
}

// inequality returns the inequality l <= b, or l >= b with atLeast, in the form row h + constant <=
// limit. row has n elements. For a precision and a lower bound the inequality is
//
//	precision >= b  <=>  b (share decided wrongly) - (1 - b) (share decided rightly) <= 0.
func (l linear) inequality(n int, atLeast bool, b float64) (row []float64, constant, limit float64) {
	row = make([]float64, n)
	sign := 1.0
	if atLeast {
		sign = -1
	}
	if l.precision {
		row[l.parts[0].cell] += sign * (1 - b)
		row[l.parts[1].cell] -= sign * b
		return row, 0, 0
	}
	l.add(row, sign)
	return row, sign * l.constant, sign * b
}

// add adds factor times the rate's coefficients to the row.
func (l linear) add(row []float64, factor float64) {
	for _, p := range l.parts {
		row[p.cell] += factor * p.coefficient
	}
}

// value returns the rate for the values h of the cells.
func (l linear) value(h []float64) float64 {
	if l.precision {
		return h[l.parts[0].cell] / (h[l.parts[0].cell] + h[l.parts[1].cell])
	}
	v := l.constant
	for _, p := range l.parts {
		v += p.coefficient * h[p.cell]
	}
	return v
}
