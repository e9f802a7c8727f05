package study

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
)

// ErrSweep says that the settings of a sweep are wrong, or contradict its directory.
var ErrSweep = errors.New("invalid sweep")

// BoundsError is the error of a text that states no bounds. It wraps ErrSweep.
type BoundsError struct{ Problem string }

// Error returns one line.
func (e *BoundsError) Error() string { return fmt.Sprintf("sweep: %v: %s", ErrSweep, e.Problem) }

// Unwrap returns ErrSweep.
func (e *BoundsError) Unwrap() error { return ErrSweep }

// notBounds returns a BoundsError.
func notBounds(format string, args ...any) error {
	return &BoundsError{fmt.Sprintf(format, args...)}
}

// mostBounds is the largest number of points.
const mostBounds = 1000

// ParseBounds reads bounds: a list such as 0.2,0.1,0.05, or FIRST:LAST:N. The second form gives N
// bounds from FIRST to LAST with equal ratios between neighbours. FIRST and LAST must then be
// positive.
func ParseBounds(text string) ([]float64, error) {
	if !strings.Contains(text, ":") {
		var list []float64
		for _, part := range strings.Split(text, ",") {
			x, err := parseBound(part)
			if err != nil {
				return nil, err
			}
			if slices.Contains(list, x) {
				return nil, notBounds("the value %g is given twice", x)
			}
			list = append(list, x)
		}
		return list, nil
	}
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, notBounds("%q: want FIRST:LAST:N, as in 0.2:0.005:8, or a list, as in 0.2,0.1,0.05", text)
	}
	first, err := parseBound(parts[0])
	if err != nil {
		return nil, err
	}
	last, err := parseBound(parts[1])
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(parts[2]))
	switch {
	case err != nil || n < 2 || n > mostBounds:
		return nil, notBounds("%q: the number of values must be from 2 to %d", text, mostBounds)
	case first <= 0 || last <= 0:
		return nil, notBounds("%q: FIRST and LAST must be positive; give other values as a list, as in 0.02,0.01,0", text)
	case first == last:
		return nil, notBounds("%q: FIRST and LAST are equal", text)
	}
	list := make([]float64, n)
	for k := range list {
		x := first * math.Pow(last/first, float64(k)/float64(n-1))
		list[k] = roundedBound(x)
	}
	list[0], list[n-1] = first, last
	if len(slices.Compact(slices.Clone(list))) < n {
		return nil, notBounds("%q: the values are equal to four digits; give fewer", text)
	}
	return list, nil
}

func parseBound(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, notBounds("the value %q is not a finite number", text)
	}
	return x, nil
}

// roundedBound rounds to four significant digits, which read well as a bound.
func roundedBound(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil {
		return x
	}
	return y
}

// ParseOver reads the measure whose bound varies: "gap(positive_rate, sex)". A direction may
// follow, as in "recall[shirt] >=". Without it, a ratio, a true rate, a precision and an accuracy
// are bounded from below, and everything else from above. The constraint has the bound 0.
func ParseOver(text string) (constraints.Constraint, error) {
	text = strings.TrimSpace(text)
	words, direction := text, ""
	for _, d := range []string{"<=", ">="} {
		if before, found := strings.CutSuffix(text, d); found {
			words, direction = strings.TrimSpace(before), d
		}
	}
	m, err := constraints.ParseMeasure(words)
	if err != nil {
		return constraints.Constraint{}, err
	}
	if direction == ">=" || direction == "" && m.LargerIsBetter() {
		return m.AtLeast(0), nil
	}
	return m.AtMost(0), nil
}

// loosestFirst returns the values in the order from the loosest to the tightest bound.
func loosestFirst(over constraints.Constraint, values []float64) []float64 {
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, func(a, b float64) int {
		if over.IsAtLeast() {
			a, b = b, a
		}
		return cmp.Compare(b, a)
	})
	return sorted
}
