package study

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// FuzzValues checks that bounds are different finite numbers, and that a measure is read back from
// its text.
func FuzzValues(f *testing.F) {
	for _, text := range []string{"0.2:0.005:8", "0.2,0.1", "0,-1", "1:1:3", "1e-320:1:5", "1:2:1000000000", "nan", "gap(tpr, sex)", "recall[a] >=", "ratio(fpr, a) <="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseBounds(text)
		if err != nil && !errors.Is(err, ErrSweep) {
			t.Error(err)
		}
		for i, x := range list {
			if math.IsNaN(x) || math.IsInf(x, 0) || slices.Contains(list[:i], x) {
				t.Errorf("%q: %v", text, list)
			}
		}
		if err == nil && (len(list) == 0 || len(list) > max(mostBounds, len(text))) {
			t.Errorf("%q: %d values", text, len(list))
		}
		if c, err := ParseOver(text); err == nil {
			if again, err := ParseOver(c.Measure().String()); err != nil || again.Measure().String() != c.Measure().String() {
				t.Errorf("%q: %v, again %v, %v", text, c, again, err)
			}
		}
	})
}

// FuzzPoints checks that the readers of a sweep's directory return an error or points with a swept
// constraint, for any bytes.
func FuzzPoints(f *testing.F) {
	f.Add([]byte(`{"bound":0.1,"decisions":[{"constraint":"gap(tpr, sex) <= 0.1","bound":0.1}],"multipliers":[1],"slope":-1}` + "\n"))
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"bound":0.1,"decisions":[`))
	f.Add([]byte{0x3f, 0xff, 0x81})
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		points, err := readSweepPoints(path)
		if err != nil && !strings.HasPrefix(err.Error(), path+":") {
			t.Error(err)
		}
		for i := range points {
			_ = points[i].Swept()
		}
		if _, err := readSweepState(path); err != nil && !strings.HasPrefix(err.Error(), "sweep: ") {
			t.Error(err)
		}
	})
}
