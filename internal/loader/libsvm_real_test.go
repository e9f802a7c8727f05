package loader

import (
	"path/filepath"
	"slices"
	"testing"

	"ppal/datasets/matrix"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// TestRealLIBSVM checks the published files: rows, features, entries, queries, and the counts of
// some labels.
func TestRealLIBSVM(t *testing.T) {
	dir := datatest.RealData(t)
	for _, test := range []struct {
		path                         string
		cols                         int
		rows, features, entries, ids int
		ones                         bool
		label                        float64
		labelled                     int
	}{
		{"adult/a9a", 0, 32561, 123, 451592, 0, true, 1, 7841},
		{"adult/a9a.t", 0, 16281, 122, 225731, 0, true, 1, 3846}, // no row has feature 123
		{"adult/a9a.t", 123, 16281, 123, 225731, 0, true, 1, 3846},
		{"mslr/mslr_sample_10rows.txt", 0, 10, 136, 900, 1, false, 2, 4},
	} {
		s := require.Value(LoadLIBSVM(filepath.Join(dir, filepath.FromSlash(test.path)), test.cols))(t)
		labelled := 0
		for _, l := range s.Labels {
			if l == test.label {
				labelled++
			}
		}
		rows, cols := s.X.Dims()
		ids := s.Queries.Len()
		if rows != test.rows || cols != test.features || len(s.X.Columns) != test.entries || ids != test.ids || (s.X.Values == nil) != test.ones || labelled != test.labelled {
			t.Errorf("%s: %d x %d, %d entries, %d queries, ones %t, %d rows of label %v", test.path, rows, cols, len(s.X.Columns), ids, s.X.Values == nil, labelled, test.label)
		}
	}
}

// TestRealMQ2008 checks the authors' counts for MQ2008: 15,211 rows of 46 features in 784 queries,
// relevance 0 to 2.
func TestRealMQ2008(t *testing.T) {
	dir := datatest.RealData(t)
	rows, ids := 0, map[string]bool{}
	for _, name := range []string{"S1.txt", "S2.txt", "S3.txt", "S4.txt", "S5.txt"} {
		s := require.Value(LoadLIBSVM(filepath.Join(dir, "mq2008", name), 46))(t)
		rows += s.X.Rows
		for i, q := range s.Queries.Of {
			ids[s.Queries.Names[q]] = true
			if l := s.Labels[i]; l != 0 && l != 1 && l != 2 {
				t.Errorf("%s: row %d has label %v", name, i, l)
			}
		}
		if center, deviation := matrix.Moments(s.X); deviation <= 0 || slices.Max(center) > 1 || slices.Min(center) < 0 { // features lie in [0, 1]
			t.Errorf("%s: means %v, deviation %v", name, center, deviation)
		}
	}
	if rows != 15211 || len(ids) != 784 {
		t.Errorf("%d rows, %d queries", rows, len(ids))
	}
}
