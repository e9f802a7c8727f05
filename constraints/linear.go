package constraints

import (
	"fmt"
	"slices"
	"strings"
)

// linear is a rate as a linear function of cells: rate = constant + sum over the parts of
// coefficient times the rate of the cell. A precision is a ratio of two cells instead: right /
// (right + wrong).
type linear struct {
	name      string
	of        slice // the rows
	constant  float64
	parts     []part
	precision bool // parts are the two cells right and wrong
}

// part is a cell, by its index in System.Rates, with a coefficient.
type part struct {
	cell        int
	coefficient float64
}

// rate resolves a kind of rate on one slice as a linear function of cells. It adds new cells to the
// system.
func (s *System) rate(r *resolver, kind rateKind, of slice) (linear, error) {
	positive := of.class
	if positive < 0 && len(s.classes) == 2 {
		positive = 1
	}
	name := string(kind)
	if len(of.label) > 0 {
		name += "[" + strings.Join(of.label, ", ") + "]"
	}
	l := linear{name: name, of: of}
	d, ok := kind.definition()
	switch {
	case !ok:
		return l, fmt.Errorf("constraints: %s is not a rate", kind)
	case !d.unclassed && positive < 0:
		return l, r.failed("", fmt.Sprintf("%s needs a class, because there are %d classes", kind, len(s.classes)),
			fmt.Sprintf("write %s[%s], or %s[*] for each class", kind, quoted(s.classes[0]), kind))
	}
	l.constant, l.precision = d.constant, d.quotient
	for _, p := range d.parts {
		c := p.cell(of.class, positive)
		c.where = of.where
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
		if b, err := c.on(s.train); err == nil {
			s.sizes[k] = len(b.rows)
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
