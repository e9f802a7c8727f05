package reproduce

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ppal/internal/config"
)

// The documented names exist, and the settings and grids of all contenders resolve.
func TestStudiesResolve(t *testing.T) {
	want := []string{"dp-adult", "dp-bank", "dp-compas", "eo-adult", "eo-bank", "eo-compas", "if-communities", "mnpc-fashion-mnist",
		"mnpc-cifar10", "alpha-sweep", "beta-sweep", "duals", "ranking-mslr"}
	var have []string
	for _, f := range Figures() {
		have = append(have, f.Name)
		if f.Title == "" || f.Source == "" {
			t.Errorf("%s has the title %q and the source %q", f.Name, f.Title, f.Source)
		}
		if f.Reason != "" {
			continue
		}
		for _, full := range []bool{false, true} {
			names, studies := f.Studies(Options{Full: full, Seeds: 2, DataDir: "data", Workers: 2})
			if !slices.Equal(names, []string{published, automatic}) || len(f.claims) == 0 {
				t.Errorf("%s: comparisons %v, %d claims", f.Name, names, len(f.claims))
			}
			for _, s := range studies {
				if !slices.Equal(s.Seeds, []uint64{1, 2}) || s.Budget.Amount <= 0 {
					t.Errorf("%s: seeds %v, budget %v", s.Title, s.Seeds, s.Budget)
				}
				for _, c := range s.Contenders {
					for _, point := range append([]config.Values{nil}, c.Grid...) {
						if _, err := config.Resolve(merged(c.Values, point), nil); err != nil {
							t.Errorf("%s: %s: %v", s.Title, c.Name, err)
						}
					}
				}
			}
		}
	}
	if !slices.Equal(have, want) {
		t.Errorf("the experiments are %v, want %v", have, want)
	}
}

// In a comparison, all searches have the same number of points.
func TestSearchesAreEqual(t *testing.T) {
	for _, f := range Figures() {
		points := 0
		for _, c := range f.published {
			switch {
			case len(c.Grid) == 0:
			case points == 0:
				points = len(c.Grid)
			case len(c.Grid) != points:
				t.Errorf("%s: %s searches %d points, others %d", f.Name, c.Name, len(c.Grid), points)
			}
		}
	}
}

func TestFullIsLarger(t *testing.T) {
	f, err := Lookup("mnpc-cifar10")
	if err != nil {
		t.Fatal(err)
	}
	for full, want := range map[bool][2]string{false: {"1000", "64"}, true: {"0", "256"}} {
		_, studies := f.Studies(Options{Full: full, Seeds: 1})
		v := studies[0].Contenders[0].Values
		if got := [2]string{v["rows-per-class"], v["hidden"]}; got != want {
			t.Errorf("full %v: %v, want %v", full, got, want)
		}
	}
}

func TestLookup(t *testing.T) {
	if f, err := Lookup("duals"); err != nil || f.Name != "duals" {
		t.Errorf("%v, %v", f.Name, err)
	}
	if _, err := Lookup("dp-mars"); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "dp-adult") {
		t.Errorf("an unknown name: %v", err)
	}
	if _, err := Lookup("ranking-mslr"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "ranking") {
		t.Errorf("a name that is to come: %v", err)
	}
}
