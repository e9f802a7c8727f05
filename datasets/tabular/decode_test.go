package tabular

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	p := Preparation{Encodings: []Encoding{
		{Column: "age", Center: 40, Scale: 10},
		{Column: "job", Categories: []string{"clerk", "nurse", "pilot"}},
		{Column: "income", Center: 1e6, Scale: 2, Missing: true},
		{Column: "member", Categories: []string{"no", "yes"}, Levels: []string{"yes"}},
		{Column: "born", Scale: 1, Date: "02.01.2006", Part: "day"},
		{Column: "owner", Categories: []string{"no", "yes"}, Levels: []string{"no"}},
		{Column: "town", Categories: []string{"a", "b", "c"}, Levels: []string{"a"}},
	}}
	if diff := cmp.Diff([]string{"age", "job", "income", "member", "born day", "owner", "town"}, p.Titles()); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		row  []float64
		want []string
	}{
		{[]float64{-0.5, 0, 1, 0, 0.25, 0, 1, 19000, 0, 0}, []string{"35", "nurse", "1e+06", "yes", "2022-01-08", "yes", ""}},
		{[]float64{0, 0, 0, 0, 0, 1, 0, 0, 1, 1}, []string{"40", "", "", "no", "1970-01-01", "no", "a"}},
	} {
		if diff := cmp.Diff(c.want, p.Decode(c.row)); diff != "" {
			t.Error(diff)
		}
	}
}

// Every whole number comes back from its feature, whatever the center and the scale.
func TestRestored(t *testing.T) {
	for k := range 2000 {
		x, e := float64(k%40-20), Encoding{Column: "n", Center: 0.37 * float64(k) / 7, Scale: 0.1 + float64(k)/3}
		if got, want := e.decode([]float64{(x - e.Center) / e.Scale}), strconv.Itoa(k%40-20); got != want {
			t.Fatalf("%g with center %g and scale %g is %s", x, e.Center, e.Scale, got)
		}
	}
	for _, x := range []float64{0.5, 1e-5, -3.25, 7.000001} {
		if got := Restored(x, 2); got != x {
			t.Errorf("%g became %g", x, got)
		}
	}
}
