package loader_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/require"
)

// The row of a number that is too large is found in any block of rows.
func TestFirstInfiniteFeature(t *testing.T) {
	const rows, wrong = 50000, 30000
	s := &columnar.Sheet{Name: "file", Rows: rows, Columns: []*columnar.Column{{Name: "x", Numbers: make([]float64, rows)}, {Name: "z", Numbers: make([]float64, rows)}}}
	s.Columns[1].Numbers[wrong], s.Columns[0].Numbers[wrong+9] = 1e300, 1e300
	p := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1e-10}, {Column: "z", Scale: 1e-10}}}
	all := make([]int, rows)
	for i := range all {
		all[i] = i
	}
	_, err := loader.MakeFeatures(p, s, all)
	datatest.CheckFileError(t, err, dataerr.ErrNumber, fmt.Sprintf(`row %d of "z" is out of range once standardised`, wrong+1))
	_, err = loader.NewEncodedRows(p, s, all)
	datatest.CheckFileError(t, err, dataerr.ErrNumber, fmt.Sprintf(`row %d of "z" is out of range once standardised`, wrong+1))
	defer func() {
		if recover() == nil {
			t.Error("a wrong number of elements is accepted")
		}
	}()
	m := require.Value(loader.NewEncodedRows(p, s, all[:10]))(t)
	m.Float64(make([]float64, 5), 0, 2)
}

// Features of each number of rows around a block, and the row of an infinite feature that begins a
// block.
func TestFeatureBlocks(t *testing.T) {
	const height = loader.FeatureBlock / 8
	p := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Center: 1, Scale: 2}}}
	for rows := height - 1; rows <= height+1; rows++ {
		s := &columnar.Sheet{Name: "file", Rows: rows, Columns: []*columnar.Column{{Name: "x", Numbers: make([]float64, rows)}}}
		all := make([]int, rows)
		for i := range all {
			all[i], s.Columns[0].Numbers[i] = i, float64(i)
		}
		inMemory := require.Value(loader.MakeFeatures(p, s, all))(t)
		onDemand := require.Value(loader.NewEncodedRows(p, s, all))(t)
		got := make([]float64, rows)
		onDemand.Float64(got, 0, rows)
		for i := range all {
			if want := (float64(i) - 1) / 2; inMemory.Data[i] != want || got[i] != want {
				t.Fatalf("%d rows: row %d is %v and %v, want %v", rows, i, inMemory.Data[i], got[i], want)
			}
		}
		if rows > height {
			all[height], s.Columns[0].Numbers[height] = 0, 1
			all[0], s.Columns[0].Numbers[0] = height, math.MaxFloat64
			p := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1e-10}}}
			_, err := loader.MakeFeatures(p, s, all)
			datatest.CheckFileError(t, err, dataerr.ErrNumber, `row 1 of "x" is out of range once standardised`)
			_, err = loader.NewEncodedRows(p, s, all)
			datatest.CheckFileError(t, err, dataerr.ErrNumber, `row 1 of "x" is out of range once standardised`)
		}
	}
}

// The features of a part are kept if they are at most DenseFeatures, and else made from the columns
// on demand.
func TestFeaturesOfLargePartsAreNotKept(t *testing.T) {
	s := &columnar.Sheet{Rows: 9, Columns: []*columnar.Column{{Name: "x", Numbers: make([]float64, 9)}}}
	e := &loader.Encoded{Sheet: s, By: &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}}, Names: make([]string, loader.DenseFeatures/8)}
	for rows, kept := range map[int]bool{8: true, 9: false} {
		m := require.Value(e.Take(make([]int, rows)))(t)
		if _, dense := m.(*matrix.Dense); dense != kept {
			t.Errorf("%d rows of %d features: %T", rows, len(e.Names), m)
		}
	}
}

// TestTwins lists the features that determine a group.
func TestTwins(t *testing.T) {
	// The entries of 4 rows: feature 0 is the group, 1 the rest, 2 everybody, 3 nobody, 4 a part of
	// the group, 5 the group and one more row.
	x := &matrix.CSR{Rows: 4, Cols: 6, Starts: []int{0, 4, 7, 10, 12}, Columns: []int32{0, 2, 4, 5, 0, 2, 5, 1, 2, 5, 1, 2}}
	for _, test := range []struct{ rows, want []int }{{[]int{0, 1}, []int{0, 1}}, {[]int{2, 3}, []int{0, 1}}, {[]int{0}, []int{4}}, {nil, nil},
		{[]int{0, 1, 2, 3}, nil}, {[]int{3}, []int{5}}} {
		var got []int
		for _, j := range loader.Twins(x, tabular.Group{Rows: test.rows}) {
			got = append(got, int(j))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("the group %v: features %v, want %v", test.rows, got, test.want)
		}
	}
	s := loader.NewSparse(x, &loader.SparseDesign{}, []int32{1, 4})
	if diff := cmp.Diff([]int32{0, -1, 1, 2, -1, 3}, s.Place) + cmp.Diff([]string{"1", "3", "4", "6"}, s.Names); diff != "" || s.Cols != 4 {
		t.Errorf("%d columns: %s", s.Cols, diff)
	}
	if diff := cmp.Diff([]int{1, 3, 4, 6}, s.Preparation().Numbers); diff != "" {
		t.Error(diff)
	}
}

// TestColumnsWithValues finds the columns of values, each column once.
func TestColumnsWithValues(t *testing.T) {
	of := map[string][]string{"sex": {"F", "M"}, "race": {"a", "b"}, "town": {"A", "c"}, "boss": {"F"}}
	names := []string{"sex", "race", "town", "boss"}
	for _, test := range []struct {
		values, classes []string
		known           []tabular.Attribute
		want            []string
	}{
		{[]string{"f", "M"}, nil, nil, []string{"sex", "boss"}},
		{[]string{"c", "a", "b"}, nil, nil, []string{"town", "race"}},
		{[]string{"F", "c"}, []string{"F"}, nil, []string{"town"}},
		{[]string{"F", "c"}, nil, []tabular.Attribute{{Name: "x", Values: []string{"F"}}}, []string{"town"}},
		{[]string{"f"}, nil, []tabular.Attribute{{Name: "sex"}}, []string{"boss"}},
		{[]string{"z"}, nil, nil, nil},
	} {
		got := loader.ColumnsWith(test.values, test.classes, test.known, names, func(name string) []string { return of[name] })
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.values, got, test.want)
		}
	}
}

// TestQuantilesByHand checks interpolated percentiles, and the digits of an intersection.
func TestQuantilesByHand(t *testing.T) {
	sorted := []float64{0, 10, 20, 40}
	for q, want := range map[int]float64{0: 0, 100: 40, 50: 15, 25: 7.5, 95: 37, 5: 1.5} {
		if got := loader.Quantile(sorted, q); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile %d: %v, want %v", q, got, want)
		}
	}
	by := &loader.Intersections{Names: []string{"a", "b"}, Values: make([][]float64, 2)}
	for i := range 200 {
		by.Values[0], by.Values[1] = append(by.Values[0], float64(i)), append(by.Values[1], float64(i*91%200))
	}
	train := make([]int, 200)
	for i := range train {
		train[i] = i
	}
	kept, note, err := by.Groups(train)
	require.NoError(t, err)
	n := 0
	for k := range 100 {
		lower := [2]float64{loader.Quantile(slices.Sorted(slices.Values(by.Values[0])), loader.IntersectionQuantiles[k/10]),
			loader.Quantile(slices.Sorted(slices.Values(by.Values[1])), loader.IntersectionQuantiles[k%10])}
		var rows []int
		for i := range train {
			if by.Values[0][i] > lower[0] && by.Values[1][i] > lower[1] {
				rows = append(rows, i)
			}
		}
		if len(rows) <= 2 { // at most 1 % of 200 rows
			continue
		}
		if n < len(kept) && (!slices.Equal(kept[n].Rows, rows) || kept[n].Levels[0] != float64(loader.IntersectionQuantiles[k/10])/100) {
			t.Errorf("intersection %d: %v, want %v", k, kept[n], rows)
		}
		n++
	}
	if n != len(kept) {
		t.Errorf("%d groups, want %d: %s", len(kept), n, note)
	}
	if want := fmt.Sprintf("%d of 100 intersectional groups", n); note[:len(want)] != want {
		t.Errorf("%s, want %s", note, want)
	}
}
