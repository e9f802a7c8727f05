package constraints

import (
	"errors"
	"fmt"
	"math"
)

// ErrEmptyClass says that a rate needs rows of a label that no row has, among all rows or in a
// group. The error's text names the label and the group.
var ErrEmptyClass = errors.New("constraints: class has no rows")

// Rows describes a set of rows for a fairness problem, without the scores.
type Rows struct {
	// Labels has one label, -1 or +1, for each row.
	Labels []int
	// Groups are sets of rows with default weights, with the problem's names in the problem's
	// order. They may overlap and need not cover all rows.
	Groups []Group
}

// check checks the labels and the names of the groups. It accepts groups without rows.
func (r Rows) check(names []string) error {
	if len(r.Labels) == 0 {
		return errors.New("constraints: no rows")
	}
	for i, y := range r.Labels {
		if y != -1 && y != 1 {
			return fmt.Errorf("constraints: row %d has label %d, want -1 or +1", i, y)
		}
	}
	if len(r.Groups) != len(names) {
		return fmt.Errorf("constraints: %d groups, the problem has %d", len(r.Groups), len(names))
	}
	for k, g := range r.Groups {
		if g.Name != names[k] {
			return fmt.Errorf("constraints: group %d is %q, the problem's is %q", k, g.Name, names[k])
		}
		if g.Weights != nil {
			return fmt.Errorf("constraints: group %q has weights: a fairness problem sets the weights of its rows itself", g.Name)
		}
	}
	return nil
}

// all returns the group of all rows.
func (r Rows) all() Group {
	g := Group{Name: "all rows", Rows: make([]int, len(r.Labels))}
	for i := range g.Rows {
		g.Rows[i] = i
	}
	return g
}

// of returns the rows of group k with the given label, or all its rows for label 0. It returns
// ErrEmptyGroup if the group has no rows, and ErrEmptyClass if no row of the group has the label.
func (r Rows) of(k, label int) ([]int, error) {
	g := r.Groups[k]
	if len(g.Rows) == 0 {
		return nil, fmt.Errorf("%w: %q", ErrEmptyGroup, g.Name)
	}
	if label == 0 {
		return g.Rows, nil
	}
	var rows []int
	for _, i := range g.Rows {
		if i < 0 || i >= len(r.Labels) {
			return nil, fmt.Errorf("constraints: group %q: row %d, want 0..%d", g.Name, i, len(r.Labels)-1)
		}
		if r.Labels[i] == label {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: group %q has no %s row", ErrEmptyClass, g.Name, sign(label))
	}
	return rows, nil
}

func sign(label int) string {
	if label < 0 {
		return "negative"
	}
	return "positive"
}

// checkNames returns an error if names is empty or if two names are equal.
func checkNames(what string, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("constraints: no %ss", what)
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("constraints: %s %q is given twice", what, name)
		}
		seen[name] = true
	}
	return nil
}

// Bounds returns one bound for each of n constraints. given holds a single bound for all
// constraints, or a bound for each constraint; otherwise the error says how many are possible.
func Bounds(given []float64, n int) ([]float64, error) {
	switch {
	case len(given) == 1 || len(given) == n && n > 0:
	case n == 1:
		return nil, fmt.Errorf("%d values; give one", len(given))
	default:
		return nil, fmt.Errorf("%d values; give one, or %d, one for each constraint", len(given), n)
	}
	bounds := make([]float64, n)
	for k := range bounds {
		bounds[k] = given[min(k, len(given)-1)]
	}
	return bounds, nil
}

// expandBounds returns Bounds for the named constraints. A bound must be finite and not negative.
func expandBounds(what string, given []float64, names []string) ([]float64, error) {
	bounds, err := Bounds(given, len(names))
	if err != nil {
		return nil, fmt.Errorf("constraints: %s has %w", what, err)
	}
	for k, b := range bounds {
		if math.IsNaN(b) || math.IsInf(b, 0) || b < 0 {
			return nil, fmt.Errorf("constraints: %s of %q is %v, want a finite number >= 0", what, names[k], b)
		}
	}
	return bounds, nil
}
