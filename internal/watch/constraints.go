package watch

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"ppal/constraints"
	"ppal/internal/rundir"
)

// row is a constraint with its present value.
type row struct {
	text    string  // the constraint with its bound
	value   float64 // of counted decisions, or of the smooth function
	counted bool    // the value is of counted decisions
	excess  float64 // beyond the bound; at most 0 within the bound
	within  bool    // within the bound; a smooth value up to the feasibility tolerance
}

// rows returns the constraints of the last record in their order, each once. Smooth constraints
// that belong to the same bound count as one, the worst. If the run bounds decisions, the value is
// of the counted decisions on the training rows.
func (s *state) rows() []row {
	last, set := s.last(), &s.run.settings
	var list []row
	for j, g := range last.Constraints {
		r := row{text: fmt.Sprintf("constraint %d", j+1), excess: g, value: g}
		if j < len(set.Provenance.Bounds) {
			r.value = g + set.Provenance.Bounds[j]
		}
		if len(set.Provenance.Constraints) == len(last.Constraints) {
			r.text = set.Provenance.Constraints[j]
		}
		words, _, _ := strings.Cut(r.text, ": ") // after a colon: a smooth part of the constraint
		if c, err := constraints.Parse(words); err == nil {
			r.text = words
			v, ok := last.Measures[rundir.MeasureKey(rundir.Training, c.Measure().String())]
			sign := 1.0
			if c.IsAtLeast() {
				sign = -1
			}
			if r.counted = ok && set.BoundsOn == rundir.OnDecisions; r.counted {
				r.value, r.excess = v, sign*(v-c.Bound())
			} else {
				r.value = c.Bound() + sign*g
			}
		}
		if r.within = r.excess <= set.Tolerance; r.counted { // the run judges at its end: see constraints.Counted.Judge
			r.within = r.excess <= 0
		}
		if k := slices.IndexFunc(list, func(other row) bool { return other.text == r.text }); k < 0 {
			list = append(list, r)
		} else if r.excess > list[k].excess {
			list[k] = r
		}
	}
	return list
}

// unmet says in words how many constraints exceed their bounds.
func unmet(rows []row) string {
	n := 0
	var worst row
	for _, r := range rows {
		if !r.within {
			if n == 0 || r.excess > worst.excess {
				worst = r
			}
			n++
		}
	}
	switch {
	case n == 0 && len(rows) == 1:
		return "the constraint is within its bound"
	case n == 0:
		return fmt.Sprintf("all %d constraints are within their bounds", len(rows))
	}
	return fmt.Sprintf("%d of %d constraints exceed their bounds, the worst is %s (now %.4g)", n, len(rows), worst.text, worst.value)
}

// table returns a line for each constraint, at most the given number of lines. It leaves out the
// constraints that are furthest within their bounds.
func table(rows []row, most int) (lines []string) {
	rest := ""
	if len(rows) > most {
		slices.SortStableFunc(rows, func(a, b row) int {
			switch {
			case a.excess > b.excess:
				return -1
			case a.excess < b.excess:
				return 1
			}
			return 0
		})
		hidden := rows[most-1:]
		rest = fmt.Sprintf("and %d more, %s", len(hidden), unmet(hidden))
		rows = rows[:most-1]
	}
	width := 0
	counted := slices.ContainsFunc(rows, func(r row) bool { return r.counted })
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r.text))
	}
	head := "now, smooth"
	if counted {
		head = "now, counted on the training rows"
	}
	lines = append(lines, pad("constraint", width)+"  "+head)
	for _, r := range rows {
		state := "within the bound"
		if !r.within {
			state = fmt.Sprintf("exceeded by %.2g", r.excess)
		}
		lines = append(lines, fmt.Sprintf("%s  %-10.4g %s", pad(r.text, width), r.value, state))
	}
	if rest != "" {
		lines = append(lines, rest)
	}
	return lines
}

// pad adds spaces up to the width.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
