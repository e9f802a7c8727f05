package datasets

import (
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
