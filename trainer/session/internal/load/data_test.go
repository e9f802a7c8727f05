package load

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// A file that changes between two openings of a load is refused.
func TestChangedData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	for _, change := range []bool{false, true} {
		require.NoError(t, os.WriteFile(path, []byte("x,y\n1,a\n2,b\n"), 0o644))
		_, err := verified(t.Context(), "", datasets.CSV, []string{path}, func(report func() (*datasets.Report, error)) (*Data, error) {
			if _, err := report(); err != nil || !change {
				return &Data{}, err
			}
			return &Data{}, os.Truncate(path, 8)
		})
		if errors.Is(err, dataerr.ErrChanged) != change {
			t.Errorf("change %v: %v", change, err)
		}
	}
}

// The fingerprint depends on the files, and on the sizes, labels and groups of every split.
func TestFingerprint(t *testing.T) {
	with := func(change func(l *Data)) float64 {
		l := &Data{Center: []float64{1}, Scale: []float64{2}}
		l.Description.Data = []results.DataFile{{SHA256: "ab"}}
		for _, name := range []results.Split{results.Training, results.Test} {
			l.Splits = append(l.Splits, &Split{Name: name, Rows: Rows{Data: &matrix.Dense{Rows: 2, Cols: 1, Data: []float64{1, 2}}, Labels: []int{1, -1},
				Groups: []constraints.Group{{Rows: []int{0}}, {Rows: []int{1}}}}})
		}
		change(l)
		return l.Fingerprint()
	}
	same := func(*Data) {}
	want := with(same)
	if with(same) != want {
		t.Error("equal rows have two fingerprints")
	}
	for name, change := range map[string]func(l *Data){
		"file":    func(l *Data) { l.Description.Data[0].SHA256 = "ac" },
		"name":    func(l *Data) { l.Splits[1].Name = results.Validation },
		"columns": func(l *Data) { l.Splits[1].Data = &matrix.Dense{Rows: 2, Cols: 3, Data: make([]float64, 6)} },
		"center":  func(l *Data) { l.Center[0] = 3 },
		"scale":   func(l *Data) { l.Scale[0] = 3 },
		"label":   func(l *Data) { l.Splits[1].Labels[1] = 1 },
		"labels":  func(l *Data) { l.Splits[0].Labels = []int{-1, 1} },
		"group":   func(l *Data) { l.Splits[1].Groups[1].Rows[0] = 0 },
		"groups":  func(l *Data) { l.Splits[0].Groups[0].Rows = []int{0, 1} },
	} {
		if with(change) == want {
			t.Errorf("another %s has the same fingerprint", name)
		}
	}
}

// Two copies of each of two rows keep every property of their row.
func TestRepeatedRows(t *testing.T) {
	one := Rows{Labels: []int{0, 1}, Groups: []constraints.Group{{Name: "g", Rows: []int{1}}}, Attributes: []constraints.Attribute{{Name: "a", Of: []int{2, 3}}},
		Earlier: map[string][]int{"f": {-1, 1}}, strata: [][]int{{0}, {1}}, Source: []int{4, 7}}
	got := one.repeated(2, nil)
	for name, pair := range map[string][2]any{
		"labels": {got.Labels, []int{0, 0, 1, 1}}, "groups": {got.Groups[0].Rows, []int{2, 3}}, "attributes": {got.Attributes[0].Of, []int{2, 2, 3, 3}},
		"earlier": {got.Earlier["f"], []int{-1, -1, 1, 1}}, "strata": {got.strata, [][]int{{0, 1}, {2, 3}}}, "source": {got.Source, []int{4, 4, 7, 7}},
	} {
		if fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) {
			t.Errorf("%s %v, want %v", name, pair[0], pair[1])
		}
	}
	if len(one.Groups[0].Rows) != 1 || len(one.Earlier["f"]) != 2 {
		t.Error("the rows themselves have changed")
	}
}
