package measure

import (
	"testing"

	"ppal/internal/decide"
	"ppal/internal/require"
)

// Fewer than 10 accepted rows, or 1% of the training rows, are few, unless as few rows are
// positive.
func TestFew(t *testing.T) {
	for _, c := range []struct {
		accepted, positive, rows int
		want                     bool
	}{{9, 200, 240, true}, {10, 200, 240, false}, {10, 200, 1001, true}, {11, 200, 1001, false}, {5, 5, 1000, false}, {5, 6, 1000, true}} {
		rates := require.Value(decide.NewRates(c.rows, 2, nil, func(int) []decide.Entry { return nil }))(t)
		s := Solution{Constant: -1, Accepted: c.accepted, Positive: c.positive, Rates: rates}
		if got := s.Few(); got != c.want {
			t.Errorf("%d of %d rows accepted, %d positive: few %t", c.accepted, c.rows, c.positive, got)
		}
	}
}
