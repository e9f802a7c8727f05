package session

import (
	"os"
	"testing"

	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
)

// clothes returns the first rows of Fashion-MNIST's first four classes. It skips the test if the
// files are missing.
func clothes(t *testing.T, rowsPerClass int) *picture.Selection {
	t.Helper()
	dir := os.Getenv(datasets.EnvData)
	if dir == "" {
		t.Skipf("%s is not set: real files are not tested", datasets.EnvData)
	}
	train, _, err := datasets.LoadImages(dir, "fashion-mnist", 0)
	require.NoError(t, err)
	return require.Value(picture.Select(train, []int{0, 1, 2, 3}, rowsPerClass))(t)
}

// turned rotates the rows of each class: the rows from k on, then the rows before k. Only the order
// of the sums over the rows of a class changes.
func turned(s *picture.Selection, k int) *picture.Selection {
	own, pixels := *s, *s.Pixels
	pixels.Data = nil
	for c := range len(s.Offsets) - 1 {
		class := s.Pixels.Data[s.Offsets[c]*pixels.Cols : s.Offsets[c+1]*pixels.Cols]
		pixels.Data = append(append(pixels.Data, class[k*pixels.Cols:]...), class[:k*pixels.Cols]...)
	}
	own.Pixels = &pixels
	return &own
}

// finish returns the objective, the constraints and the certificate after 1,000 iterations.
func finish(t *testing.T, rows *picture.Selection, name string, products Products) map[string]float64 {
	t.Helper()
	e := assembled(t, clothing(rows, func(c *setup) {
		c.Hidden, c.Products, c.Threads = []int{8}, products, 1
		if name == "gdpa" {
			c.method = &method.GDPA{}
		}
	}))
	r := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 1000, RecordEvery: 1000}))(t)
	final := require.Value(e.Certify(r))(t)
	c := final.Certificate
	return map[string]float64{"objective": final.Objective, "stationarity": c.Stationarity, "feasibility": c.Infeasibility,
		"complementarity": c.Complementarity, "constraint 0": final.Constraints[0], "constraint 1": final.Constraints[1],
		"constraint 2": final.Constraints[2]}
}

// The smallest tolerances of the test, because the range of a few runs is a rough estimate. PPALA:
// in thirty float32 runs with different orders of the rows, a third of the runs end with
// constraints that differ from the others by 1e-5 to 2e-4, a fifth of the feasibility tolerance.
// GDPA is far from convergence, and its tolerance is the unit of float32 near 1.
const closePPALA, closeGDPA = 2e-4, 0x1p-24

// After 1,000 iterations, the results with products of three digits differ from the results with
// float32 products no more than float32 runs with different orders of the rows differ from each
// other.
func TestDigitsEndWhereFloat32Ends(t *testing.T) {
	needDigits(t)
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	rows := clothes(t, 100)
	for method, floor := range map[string]float64{"ppala": closePPALA, "gdpa": closeGDPA} {
		least, most := map[string]float64{}, map[string]float64{}
		for k := range 3 {
			for name, x := range finish(t, turned(rows, 7*k), method, Float32) {
				if k == 0 {
					least[name], most[name] = x, x
				}
				least[name], most[name] = min(least[name], x), max(most[name], x)
			}
		}
		for k := range 1 {
			for name, x := range finish(t, turned(rows, 7*k), method, Int8x3) {
				spread := max(most[name]-least[name], floor)
				if method == "ppala" && name == "objective" { // range of the objective: 7.5e-6
					spread = most[name] - least[name]
				}
				if x < least[name]-2*spread || x > most[name]+2*spread {
					t.Errorf("%s: %s is %v, in float32 %v to %v", method, name, x, least[name], most[name])
				}
			}
		}
	}
}
