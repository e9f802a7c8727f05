package datasets

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

// spelled returns 60 rows whose column y has the given texts in turn, and whose column g has texts
// that differ in spelling.
func spelled(texts ...string) string {
	return datatest.RowsText("x,g,h,y", 60, func(i int) string {
		return fmt.Sprintf("%d,%s,%s,%s", i*i%17, []string{"1", "1.0", "2", "2"}[i%4], []string{"F", "f", "M", "F", "f", " M"}[i%6], texts[i%len(texts)])
	})
}

// TestLabelSpelling: a label with two spellings of one number is refused in all forms, with the
// counts. Texts that differ in case count as different, and a warning has their counts.
func TestLabelSpelling(t *testing.T) {
	for _, opts := range []tabular.TableOptions{
		{Label: "y"}, {Label: "y=1"}, {Label: "y=1.0"}, {Label: "y=0"}, {Label: "y", Classes: []string{"1", "0"}}, {Label: "y", Classes: []string{"0", "1.0"}},
		{Label: "y", Categorical: []string{"y"}}, {Label: "y!=1", Categorical: []string{"y"}}, {Label: "y = 1"},
	} {
		for _, texts := range [][]string{{"0", "1", "1.0"}, {"0", "1", "01"}, {"1", "0", "2", "1e0", "0", "0"}} {
			_, err := everything(t, spelled(texts...), opts)
			if !errors.Is(err, dataerr.ErrLabel) || !strings.Contains(err.Error(), "are the same number; write it in one way") || !strings.Contains(err.Error(), " rows) and ") {
				t.Errorf("%+v, %q: %v", opts, texts, err)
			}
		}
	}
	for _, label := range []string{"y!=1", "y>=1"} { // numbers
		got, err := everything(t, spelled("0", "1", "1.0"), tabular.TableOptions{Label: label})
		if err != nil || !slices.Contains([]int{20, 40}, got.Train.ClassCounts()[1]) {
			t.Errorf("%s: %v", label, err)
		}
	}
	for _, opts := range []tabular.TableOptions{{Label: "y=yes"}, {Label: "y"}, {Label: "y", Classes: []string{"yes", "no"}}, {Label: "y!=no"}} {
		got := require.Value(everything(t, spelled("yes", "YES", "no"), opts))(t)
		if want := `"YES" (20 rows) and "yes" (20 rows): they differ in spelling only`; !slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("%+v: %q", opts, got.Warnings)
		}
	}
	for _, opts := range []tabular.TableOptions{{Label: "y=yes"}, {Label: "y"}, {Label: "y", Classes: []string{"no", "yes"}}, {Label: "y!=no"}} {
		got, err := everything(t, spelled("yes", " yes", "no", "yes "), opts)
		if err != nil || !slices.Equal(got.Train.ClassCounts(), []int{15, 45}) || got.Warnings != nil {
			t.Fatalf("blanks: %v, %+v", err, got)
		}
		if want := `The column "y" holds "yes" (15 rows) and "yes" with blanks around it (30 rows): they are one value`; !slices.ContainsFunc(got.Notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("%+v: %q", opts, got.Notes)
		}
	}
	if got, err := everything(t, spelled("yes ", "no"), tabular.TableOptions{Label: "y"}); err != nil || strings.Contains(strings.Join(got.Notes, ""), "blanks") {
		t.Errorf("always blanks: %v, %q", err, got.Notes)
	}
}

// Composed and decomposed letters look alike: a warning writes the decomposed ones as code points.
func TestComposedSpelling(t *testing.T) {
	rows := datatest.RowsText("x,g,y", 60, func(i int) string {
		return fmt.Sprintf("%d,%s,%s", i*i%17, []string{"caf\u00e9", "cafe\u0301", "bar"}[i%3], []string{"no", "yes"}[i%2])
	})
	got := require.Value(everything(t, rows, tabular.TableOptions{Label: "y", Attributes: []string{"g"}}))(t)
	want := `The column "g" holds "cafe\u0301" (20 rows) and "café" (20 rows): they differ in spelling only`
	if said := strings.Join(got.Warnings, "\n"); !strings.Contains(said, want) {
		t.Errorf("%s, want %s", said, want)
	}
}

// TestGroupSpelling: equal numbers are one group, and texts that differ in case are two. Notes and
// warnings have the counts, for groups and for attributes. Columns without groups need none.
func TestGroupSpelling(t *testing.T) {
	for _, tc := range []struct {
		names       []string
		categorical []string
		want        string
		groups      int
	}{
		{[]string{"g"}, nil, `The column "g" holds "1" (15 rows) and "1.0" (15 rows): they are one number`, 2},
		{[]string{"g"}, []string{"g"}, `The column "g" holds "1" (15 rows) and "1.0" (15 rows): they differ in spelling only`, 3},
		{[]string{"h"}, nil, `The column "h" holds "F" (20 rows) and "f" (20 rows): they differ in spelling only`, 3},
		{[]string{"h"}, nil, `The column "h" holds "M" (10 rows) and "M" with blanks around it (10 rows): they are one value`, 3},
		{[]string{"h=F"}, nil, `The column "h" holds "F" (20 rows)`, 2},
		{[]string{"g<2"}, nil, "", 2},
	} {
		for _, group := range []bool{true, false} {
			opts := tabular.TableOptions{Label: "y", Categorical: tc.categorical}
			if group {
				opts.Groups = tc.names
			} else {
				opts.Attributes = tc.names
			}
			got := require.Value(everything(t, spelled("yes", "no", "no", "yes", "yes"), opts))(t)
			said := strings.Join(slices.Concat(got.Notes, got.Warnings), "\n")
			n := len(got.Train.Groups)
			if !group {
				n = len(got.Train.Attributes[0].Values)
			}
			if tc.want == "" && strings.Contains(said, " rows) and ") || !strings.Contains(said, tc.want) || n != tc.groups {
				t.Errorf("%q, group %t: %d groups, %s", tc.names, group, n, said)
			}
		}
	}
}
