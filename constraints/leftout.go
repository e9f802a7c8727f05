package constraints

import (
	"fmt"
	"slices"
	"strings"

	"ppal/internal/option"
)

// TrainedSystem resolves an objective and constraints of an earlier training on other rows. leftOut
// is System.LeftOut of the training, and the values of the attributes of rows are those of the
// training. A rate may have no rows.
func TrainedSystem(minimize Rate, subject []Constraint, rows *Population, leftOut [][]string) (*System, error) {
	if len(leftOut) != len(subject) {
		return nil, fmt.Errorf("constraints: the training left out the groups of %d constraints, want %d", len(leftOut), len(subject))
	}
	return newSystem(minimize, subject, rows, leftOut, nil)
}

// compared returns the rates of the slices without those that the last constraint leaves out,
// because they count fewer training rows than the measure's minimum, or no row.
func (s *System) compared(r *resolver, m Measure, list []slice) (set []linear, err error) {
	var out []string
	left := &s.LeftOut[len(s.LeftOut)-1]
	for _, of := range list {
		cells := len(s.Rates)
		l, err := s.rate(r, m.rate.kind, of)
		if err != nil {
			return nil, err
		}
		n := s.rows(l)
		leave := n < max(1, m.minimum)
		if s.trained != nil {
			leave = slices.Contains(s.trained[len(s.LeftOut)-1], l.name)
		}
		if !leave {
			set = append(set, l)
			continue
		}
		if s.Margins != nil && n == 0 {
			return nil, fmt.Errorf("%w: %s: %s counts no training row", ErrEmptyGroup, r.text, l.name)
		}
		s.forget(cells) // a smooth rate without rows does not exist
		out, *left = append(out, fmt.Sprintf("%s (%s)", l.name, option.Counted(n, "row"))), append(*left, l.name)
	}
	s.note(r.text, out, m)
	return set, nil
}

// forget removes the cells from index n on, which only a rate that is left out uses.
func (s *System) forget(n int) {
	for _, c := range s.Rates[n:] {
		delete(s.index, c.key())
	}
	s.Rates, s.sizes = s.Rates[:n], s.sizes[:n]
}

// note adds a note about groups that a constraint does not bound.
func (s *System) note(text string, out []string, m Measure) {
	if len(out) == 0 {
		return
	}
	n := len(out)
	if n > mostNames {
		out = append(out[:mostNames:mostNames], fmt.Sprintf("and %d others", n-mostNames))
	}
	few := "no rows"
	if m.minimum > 1 {
		few = "fewer than " + option.Counted(m.minimum, "row")
	}
	s.Notes = append(s.Notes, fmt.Sprintf("%s: left out because the rate counts %s: %s", text, few, strings.Join(out, ", ")))
}
