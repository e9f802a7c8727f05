package study

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/rundir"
)

// FuzzFolder checks that a comparison's directory with any bytes as study, records, mark or grid
// gives an error in one line, or runs that are not finished; never a panic.
func FuzzFolder(f *testing.F) {
	s := discStudy()
	description := require.Value(s.content())(f)
	f.Add(description)
	f.Add([]byte("version: 1\ndata: [{name: a, sha256: b}]\n"))
	f.Add([]byte(`{"records":1,"sha256":"","failure":"x"}`))
	f.Add([]byte("gdpa:\n  step: [1, 2]\n"))
	f.Add([]byte("a: &x [*x]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := filepath.Join(t.TempDir(), "d")
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "runs"), 0o755))
		at := &comparisonFolder{dir: dir}
		for _, path := range []string{at.study(), at.records("a"), at.mark("a")} {
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
		if _, err := s.claim(dir); err != nil && !errors.Is(err, ErrComparison) {
			t.Error(err)
		}
		if _, ok := at.Find("a"); ok {
			t.Error("the run is finished")
		}
		if _, err := ReadGrid(at.study()); err != nil && (!errors.Is(err, ErrComparison) || strings.ContainsAny(err.Error(), "\n\r")) {
			t.Errorf("the grid: %v", err)
		}
		_, _ = rundir.ReadMetrics(at.records("a"))
	})
}

// FuzzBudget checks that a budget is a positive number of a known unit, and is read back from its
// text.
func FuzzBudget(f *testing.F) {
	for _, text := range []string{"iterations", "seconds:10", "gradients:1e3", "seconds", "seconds:-1", "seconds:10m", "seconds:inf", "iterations:nan", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBudget(text, 5)
		if err != nil {
			if !errors.Is(err, ErrComparison) {
				t.Error(err)
			}
			return
		}
		if !(b.Amount > 0) || math.IsInf(b.Amount, 0) {
			t.Errorf("%q: %v", text, b)
		}
		if _, err := ParseBudget(b.String(), 5); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
