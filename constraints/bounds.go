package constraints

import "fmt"

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
