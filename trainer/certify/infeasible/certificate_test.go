package infeasible

import "testing"

// A certificate proves a conflict only if the combination of gradients is small both against the
// gradients and against the violation.
func TestProves(t *testing.T) {
	for _, test := range []struct {
		stationarity, radius float64
		want                 bool
	}{
		{0.01, 3, true}, {0.01, 1, false}, {0.1, 3, false}, {0.1, 1, false},
	} {
		c := &Certificate{Stationarity: test.stationarity, Radius: test.radius}
		if got := c.Proves(); got != test.want {
			t.Errorf("stationarity %v and radius %v prove a conflict: %t", test.stationarity, test.radius, got)
		}
	}
}
