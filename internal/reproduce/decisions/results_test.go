package decisions

import "testing"

// Best returns the smallest error among the points that meet the bound. If no point meets the
// bound, Best returns the smallest violation.
func TestBest(t *testing.T) {
	fair, better, unmet, worse := cells(0, 40, 0, 16), cells(0, 45, 0, 18), cells(0, 50, 0, 10), cells(0, 50, 0, 0)
	for _, c := range []struct {
		points []Counts
		want   Counts
	}{{[]Counts{unmet, fair, better}, better}, {[]Counts{worse, unmet}, unmet}} {
		if got, ok := with(Own, nil, 1, 1, 1, c.points...).best(parity); !ok || got.Accepted != c.want {
			t.Errorf("%v, want %v", got.Accepted, c.want)
		}
	}
	if _, ok := with(Own, nil, 1, 1, 1).best(parity); ok {
		t.Error("a fit without points has a best point")
	}
}
