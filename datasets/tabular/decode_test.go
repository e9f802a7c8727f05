package tabular

import (
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
