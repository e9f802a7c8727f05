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
	"ppal/internal/newrows"
	"ppal/internal/require"
	"ppal/internal/textvalue"
)

// flowers returns a file with rows of three species, in turns.
func flowers(rows int) string {
	var text strings.Builder
	text.WriteString("petal,place,species\n")
	for i := range rows {
		fmt.Fprintf(&text, "%d,%s,%s\n", i*i%17, []string{"north", "south"}[i%2], []string{"rose", "iris", "lily"}[i%3])
	}
	return text.String()
}

func TestSeveralClassesErrors(t *testing.T) {
	if got := textvalue.UpTo(7, 7) + ", " + textvalue.UpTo(8, 7); got != "7, more than 7" {
		t.Error(got)
	}
	numbers := "x,y\n"
	for i := range 30 {
		numbers += fmt.Sprintf("%d,%d\n", i%7, i)
	}
	texts := "x,y\n"
	for i := range 101 {
		texts += fmt.Sprintf("%d,c%d\n", i%7, i)
	}
	if _, err := everything(t, texts, tabular.TableOptions{Label: "y"}); err == nil || strings.Contains(err.Error(), ">=NUMBER") {
		t.Errorf("advice for texts: %v", err)
	}
	for _, tc := range []struct {
		name, text string
		opts       tabular.TableOptions
		want       error
		says       string
	}{
		{"a quantity", numbers, tabular.TableOptions{Label: "y"}, dataerr.ErrLabel,
			"it holds 30 different numbers (0, 1, 10, 11, 12 and 25 more), so it is probably a quantity; want a condition for class +1, as in --label 'y=VALUE'"},
		{"many texts", texts, tabular.TableOptions{Label: "y"}, dataerr.ErrLabel, "it has 101 values (c0, c1, c10, c100, c11 and 96 more), want at most 100 classes, or a condition for class +1, as in --label 'y=VALUE'"},
	} {
		_, err := everything(t, tc.text, tc.opts)
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: want one line: %v", tc.name, err)
			continue
		}
		datatest.CheckError(t, err, tc.want, tc.says)
	}
	if got, err := everything(t, numbers, tabular.TableOptions{Label: "y", Categorical: []string{"y"}}); err != nil || len(got.Train.Classes) != 30 || got.Train.Classes[2] != "2" {
		t.Errorf("a class of each number: %v", err)
	}
	if got, err := everything(t, strings.Replace(flowers(9), "lily", "", 1), tabular.TableOptions{Label: "species", Missing: tabular.MissingDropped}); err != nil || got.Train.Rows() != 8 {
		t.Errorf("a dropped label: %v", err)
	}
}

// A class without training rows is an error, and a class without held-out rows is a warning.
func TestRareClasses(t *testing.T) {
	text := "part" + flowers(60)
	text = strings.ReplaceAll(text, "partpetal", "part,petal")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := 1; i < len(lines); i++ {
		lines[i] = []string{"train", "validation", "test"}[max(0, i/3%5-2)] + "," + lines[i]
	}
	rare := func(part string) (*tabular.Tables, error) {
		own := strings.Join(append(slices.Clone(lines), part+",5,north,oak"), "\n") + "\n"
		return everything(t, own, tabular.TableOptions{Label: "species", SplitColumn: "part"})
	}
	_, err := rare("test")
	datatest.CheckError(t, err, dataerr.ErrEmpty, "no rows of class oak (1 in the file) among the training rows; leave out such classes (--classes iris,lily,rose), or use another --split or --split-seed")
	if strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	got := require.Value(rare("train"))(t)
	want := "The split leaves no rows of class oak (validation rows), oak (test rows): the rates of these classes are not known there."
	if got.Test == nil || !slices.Contains(got.Warnings, want) {
		t.Errorf("warnings %q, want %q", got.Warnings, want)
	}
	// without the class, the table is as before
	own := strings.Join(append(slices.Clone(lines), "test,5,north,oak"), "\n") + "\n"
	got, err = everything(t, own, tabular.TableOptions{Label: "species", SplitColumn: "part", Classes: []string{"iris", "lily", "rose"}})
	if note := "--classes leaves out 1 rows of class oak."; err == nil && !slices.Contains(got.Notes, note) {
		t.Errorf("notes %q, want %q", got.Notes, note)
	}
	if err != nil || slices.Contains(got.Test.Source, 60) || got.Train.Rows()+got.Validation.Rows()+got.Test.Rows() != 60 {
		t.Error(err)
	}
	if classes, err := newrows.LabelClasses(&got.Label, []string{"oak", "rose"}); err != nil || classes[0] != -1 || classes[1] != 2 {
		t.Error(classes, err)
	}
	_, err = newrows.LabelClasses(&got.Label, []string{"elm"})
	datatest.CheckError(t, err, dataerr.ErrLabel, `label of row 1: label out of range: "elm", want one of iris, lily, rose`)
}

// A split keeps the shares of every class.
func TestSeveralClassesSplit(t *testing.T) {
	file := datatest.Write(t, t.TempDir(), "own.csv", []byte(flowers(300)))
	got := loaded(t, "csv", tabular.TableOptions{File: file, Label: "species", Groups: []string{"place"}, Seed: 5})
	for _, p := range got.Parts() {
		for k, n := range p.ClassCounts() {
			if share := map[string]int{"training": 70, "validation": 15, "test": 15}[p.Name]; n < share-2 || n > share+2 {
				t.Errorf("%s: %d rows of %s, want about %d", p.Name, n, p.Classes[k], share)
			}
		}
	}
}

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
