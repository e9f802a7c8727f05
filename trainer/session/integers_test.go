package session

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// integersFile writes a table with 100 columns of small integers, some of them negative, a column
// of categories, and a column with the values 1 and extra.
func integersFile(t *testing.T, extra string) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(61, 62))
	var text strings.Builder
	text.WriteString("y,sex")
	for j := range 100 {
		fmt.Fprintf(&text, ",p%d", j)
	}
	text.WriteString(",extra\n")
	for i := range 400 {
		fmt.Fprintf(&text, "%d,%s", i%2, []string{"a", "b", "c"}[rng.IntN(3)])
		for j := range 100 {
			fmt.Fprintf(&text, ",%d", rng.IntN(220)/(1+j%5)-10*(j%2)+30*(i%2)*(j%3/2))
		}
		fmt.Fprintf(&text, ",%s\n", []string{"1", extra}[i%2])
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	return path
}

// A table of small integers uses products of digits, and a note says so. The results equal those
// that float64 computes from the standardised features.
func TestIntegersAreKeptAsBytes(t *testing.T) {
	require.NoRace(t, "TestIntegersOnGPU reads the same bytes, and internal/cpu runs the same products")
	needDigits(t)
	for _, tc := range []struct {
		hidden   []int
		extra    string
		products Products
		ran      string
	}{
		{[]int{9}, "2", "", "int8"}, {nil, "2", "", "int8"}, {[]int{9}, "2", Int8x3, "int8x3"}, {[]int{9}, "2", Int8x2, "int8x2"}, {[]int{9}, "2", Float32, "float32"},
		{[]int{9}, "2.5", "", "float32"}, {[]int{9}, "300", "", "float32"},
	} {
		open := func(dtype tensor.Dtype, products Products) *assembly {
			return buildOptions(t, onTable(DemographicParity{}, CSV(integersFile(t, tc.extra), "y", "sex=a"), func(o *Options) {
				o.Model = &models.Spec{Hidden: tc.hidden, Activation: models.Tanh}
				o.Device.Dtype, o.Device.Products = dtype, products
			}))
		}
		e, exact := open(tensor.Float32, tc.products), open(tensor.Float64, "")
		noted := slices.ContainsFunc(e.Describe().Notes, func(n string) bool { return strings.Contains(n, "stores them as bytes") })
		if e.Describe().Products != tc.ran || noted != (tc.ran != "float32") {
			t.Errorf("%+v: %s, %q", tc, e.Describe().Products, e.Describe().Notes)
		}
		if e.Describe().Features != 104 {
			t.Errorf("%d features", e.Describe().Features)
		}
		x := e.iterate()
		got, want := e.tablePass(t, x), exact.tablePass(t, x)
		for i, what := range []string{"scores", "gradient"} {
			bound := 1e-6
			if tc.ran == "int8x2" {
				bound = 1e-4
			}
			if d := relative(got[i], want[i]); !(d <= bound) {
				t.Errorf("%+v: %s differ by %.2g", tc, what, d)
			}
		}
		r := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 20, RecordEvery: 20}))(t)
		require.Value(e.Certify(r))(t)
	}
}

// tablePass returns the scores and the objective's gradient at x.
func (e *assembly) tablePass(t *testing.T, x []float64) [2][]float64 {
	t.Helper()
	p := e.splits[0].problem
	p.Space().Write(problem.Iterate, x)
	_, m := p.Dims()
	require.Value(p.Forward(make([]float64, m)))(t)
	v := require.Value(p.Watched(0))(t)
	d, weights := p.Space().New(), make([]float64, m+1)
	weights[0] = 1
	require.NoError(t, p.Backward(weights, d))
	gradient := make([]float64, len(x))
	p.Space().Read(gradient, d)
	return [2][]float64{append([]float64{}, graph.Float64s(v)...), gradient}
}
