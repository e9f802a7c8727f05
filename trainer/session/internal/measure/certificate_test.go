package measure

import (
	"testing"

	"ppal/internal/require"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// TestCertifyBetterKeepsNotResolved checks that the certificate in float64 is not resolved if the
// search of the training was not.
func TestCertifyBetterKeepsNotResolved(t *testing.T) {
	p := require.Value(problem.Functions{N: 1, M: 1, F: func(x []float64) float64 { return -2 * x[0] }, Gradient: func(dst, _ []float64) { dst[0] = -2 },
		G: func(dst, x []float64) { dst[0] = x[0] - 1 }, JacobianT: func(dst, _, w []float64) { dst[0] = w[0] }}.New([]float64{1}))(t)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	for _, unresolved := range []bool{false, true} {
		for _, own := range []*certify.Own{nil, {Nu: []float64{1.5}}} {
			c, err := certifyBetter(p, &at, certify.Certificate{Nu: []float64{1.75}, Own: own, NotResolved: unresolved}, certify.Settings{})
			if err != nil || c.NotResolved != unresolved || c.Nu[0] != 1.75 || c.Stationarity != 0.25 || (c.Own != nil) != (own != nil) {
				t.Errorf("not resolved: %t, own multiplier %+v: %+v, %v", unresolved, own, c, err)
			}
		}
	}
}
