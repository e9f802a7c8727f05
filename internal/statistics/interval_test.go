package statistics

import (
	"math"
	"testing"
)

// TestClopperPearson compares intervals with scipy.stats.beta.ppf. The intervals for 10 rows are
// also in published tables of binomial confidence limits.
func TestClopperPearson(t *testing.T) {
	for _, c := range []struct {
		hits, rows int
		level      float64
		low, high  float64
	}{
		{0, 10, 0.95, 0, 0.3084971078187607},
		{1, 10, 0.95, 0.0025285785444617865, 0.4450161170281954},
		{5, 10, 0.95, 0.18708602844739855, 0.8129139715526015},
		{10, 10, 0.95, 0.6915028921812392, 1},
		{3, 59, 0.99, 0.00580891954014757, 0.1738905956890539},
		{365, 7326, 0.95, 0.04495198580129301, 0.055055164861071496},
		{20, 400, 0.975, 0.028622578367760398, 0.08016925535724523},
		{1, 100000, 0.95, 2.531780477933316e-07, 5.571516034774275e-05},
		{49990, 50000, 0.999, 0.9994949658657996, 0.9999460159362635},
		{250000, 1000000, 0.95, 0.24915153568554574, 0.2508499125965476},
		{0, 0, 0.95, 0, 1},
	} {
		got := Count{c.hits, c.rows}.Interval(c.level)
		if math.Abs(got.Low-c.low) > 1e-9 || math.Abs(got.High-c.high) > 1e-9 {
			t.Errorf("%d of %d at %v: [%v, %v], want [%v, %v]", c.hits, c.rows, c.level, got.Low, got.High, c.low, c.high)
		}
	}
}
