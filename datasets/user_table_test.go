package datasets

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/newrows"
	"ppal/internal/require"
)

// checkProblems checks that the error lists n problems, one line each, and says the texts.
func checkProblems(t *testing.T, err error, n int, want error, says ...string) {
	t.Helper()
	var p *dataerr.Problems
	if !errors.As(err, &p) || !errors.Is(err, want) || len(p.List) != n {
		t.Fatalf("error %v, want %d problems, %v", err, n, want)
	}
	lines := 0
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if strings.HasPrefix(line, "  ") {
			lines++
		}
	}
	if advice := min(1, len(p.Advice)); n > 1 && lines != n+advice {
		t.Errorf("%d lines for %d problems: %v", lines, n, err)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}

// TestAllProblemsAtOnce checks that one run reports every bad column of a file.
func TestAllProblemsAtOnce(t *testing.T) {
	text := datatest.RowsText(",id,name,born,wage,grade,sex,y", 60, func(i int) string {
		wage := fmt.Sprint(10 * i)
		if i == 7 {
			wage = "NA"
		}
		return fmt.Sprintf("%d,r%d,\"Person, %d\",1990-%02d-%02d,%s,%c,%c,%d", i, i, i, 1+i%12, 1+i%28, wage, 'a'+i%3, 'F'+7*rune(i%2), i%2)
	})
	_, err := everything(t, text, tabular.TableOptions{Label: "y"})
	checkProblems(t, err, 4, dataerr.ErrColumn,
		"own.csv: 4 problems:\n",
		`invalid column "id": it has 60 different texts in 60 rows; ignore the column (--ignore id), or replace it by numbers`,
		`invalid column "name": it has 60 different texts`,
		`invalid column "born": it holds dates, such as 1990-01-01; make numbers of the dates (--dates expand), or ignore the column (--ignore born)`,
		`line 9, column 5: wage: missing value: "NA" in 1 of 60 rows; use --missing impute or --missing drop, or ignore the column (--ignore wage)`,
		"for all of them: --ignore id,name --dates expand --missing impute")
	got := require.Value(everything(t, text, tabular.TableOptions{Label: "y", Ignore: []string{"id", "name"}, Dates: tabular.DatesExpanded, Missing: tabular.MissingImputed}))(t)
	if diff := cmp.Diff([]string{"born day", "born day missing", "born month"}, got.Train.Columns[:3]); diff == "" {
		t.Error("dates without missing values have a flag")
	}
	if diff := cmp.Diff([]string{"born day", "born month", "born weekday", "wage", "wage missing", "grade=a", "grade=b", "grade=c", "sex=F", "sex=M"},
		got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	// Several wrong names are reported together.
	_, err = everything(t, text, tabular.TableOptions{Label: "yy", Ignore: []string{"idd"}, Groups: []string{"sexx=F"}, Features: []string{"wages"}})
	checkProblems(t, err, 4, dataerr.ErrColumn, `no column "yy"`, `no column "idd"; did you mean "id"?`, `did you mean "sex"?`, `did you mean "wage"?`)
}

// TestNumberedRows checks when a column that numbers the rows is worth a warning.
func TestNumberedRows(t *testing.T) {
	counted := datatest.RowsText("number,x,y", 21, func(i int) string { return fmt.Sprintf("%d,%d,%d", i+1, i*i%7, i%2) })
	for name, opts := range map[string]tabular.TableOptions{
		"20 rows": {File: strings.TrimSuffix(counted, "21,1,0\n"), Label: "y"}, "an attribute": {File: counted, Label: "y", Ignore: []string{"number"}, Attributes: []string{"number<9"}},
	} {
		if got, err := everything(t, opts.File, opts); err != nil || len(got.Warnings) > 0 {
			t.Errorf("%s: %v, %v", name, err, got)
		}
	}
	got, err := everything(t, counted, tabular.TableOptions{Label: "y"})
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], `"number" only numbers the rows, so a model can learn their order: ignore it (--ignore number)`) {
		t.Errorf("%v, %q", err, got.Warnings)
	}
}

// TestTextsAmongNumbers refuses numbers with a few texts, which would become categories.
func TestTextsAmongNumbers(t *testing.T) {
	text := datatest.RowsText("x,y", 100, func(i int) string {
		if i == 50 {
			return "unknown,1"
		}
		return fmt.Sprintf("%d,%d", i/2, i%2)
	})
	_, err := everything(t, text, tabular.TableOptions{Label: "y"})
	datatest.CheckError(t, err, dataerr.ErrColumn, `line 52, column 1: invalid column "x": 99 of 100 values are numbers, the others are texts such as "unknown"; correct these values`)
	if _, err = everything(t, text, tabular.TableOptions{Label: "y", Categorical: []string{"x"}}); err == nil {
		return
	}
	datatest.CheckError(t, err, dataerr.ErrColumn, "different texts")
}

// streamed prepares new rows in blocks, as prediction does.
func streamed(t *testing.T, p *tabular.Preparation, text string) []float64 {
	t.Helper()
	var all []float64
	n := &newrows.NewRows{
		Preparation: p,
		Work:        func(features, results []float64) ([]float64, error) { return append(results, features...), nil },
		Emit: func(b *newrows.Block) error {
			all = append(all, b.Results...)
			return nil
		},
	}
	require.NoError(t, n.Read(strings.NewReader(text), "new"))
	return all
}

// TestNewRowsOfAnyTable checks that prediction prepares rows as training does: dates, decimal
// commas and columns without a name.
func TestNewRowsOfAnyTable(t *testing.T) {
	text := datatest.RowsText(";when;wage;g;y", 40, func(i int) string {
		return fmt.Sprintf("%d;%d.%d.2023;1.%03d,%d;%c;%d", 7*i%20, 1+i%28, 1+i%12, i*i%1000, i%10, 'a'+i%3, i%2)
	})
	got := require.Value(everything(t, text, tabular.TableOptions{Label: "y", Dates: tabular.DatesExpanded}))(t)
	if diff := cmp.Diff([]string{"column 1", "when day", "when month", "when weekday", "wage", "g=a", "g=b", "g=c"}, got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(denseOf(t, got).Data, streamed(t, got.Preparation, text)); diff != "" {
		t.Error(diff)
	}
	latin := strings.Replace(text, ";a;", ";\xe4;", 1)
	n := &newrows.NewRows{Preparation: got.Preparation, Work: func(_, r []float64) ([]float64, error) { return r, nil }, Emit: func(*newrows.Block) error { return nil }}
	datatest.CheckError(t, n.Read(strings.NewReader(latin), "new"), dataerr.ErrFormat, `line 2, column 4: wrong format: "\xe4" is not in UTF-8, probably the text is in ISO-8859-1`)
}

// TestLabelsOfNewRows checks that a condition's label gives new rows their classes.
func TestLabelsOfNewRows(t *testing.T) {
	text := "mass;marital;z;y\n3.000,5;single;1;a\n4.000,5;married;2;b\n5.000,0;single;3;c\n"
	for label, want := range map[string][]int{"mass>=4000": {0, 1, 1}, "marital!=married": {1, 0, 1}, "marital=single": {1, 0, 1}} {
		got := require.Value(everything(t, text, tabular.TableOptions{Label: label, Features: []string{"z"}}))(t)
		texts := []string{"3.000,5", "4.000,5", "5.000,0"}
		if strings.HasPrefix(label, "marital") {
			texts = []string{"single", "married", "single"}
		}
		classes, err := newrows.LabelClasses(&got.Label, texts)
		if err != nil || !slices.Equal(classes, want) {
			t.Errorf("%s: %v, %v", label, classes, err)
		}
		for i, class := range classes {
			if got.Train.Labels[i] != 2*class-1 {
				t.Errorf("%s: the training labels are %v", label, got.Train.Labels)
			}
		}
	}
}

// The notes count the features that are numbers, and name the constant columns.
func TestNotesOfFeatures(t *testing.T) {
	text := datatest.RowsText("mass,length,colour,same,y", 40, func(i int) string {
		return fmt.Sprintf("%d,%d,%s,7,%d", i*i%17, i*3%11, []string{"red", "blue", "green"}[i%3], i%2)
	})
	got := require.Value(everything(t, text, tabular.TableOptions{Label: "y"}))(t)
	for _, want := range []string{
		"3 of 6 features are numbers, standardised with the mean and the standard deviation of the training rows.",
		"These columns are constant in the training rows, so their features are 0: same.",
	} {
		if !slices.Contains(got.Notes, want) {
			t.Errorf("notes %q, want %q", got.Notes, want)
		}
	}
}

// Categories and labels say nothing about the decimal sign of numbers.
func TestDecimalSignOfCategories(t *testing.T) {
	text := "size;mass;y\n1,5;1,234;0\n2,5;2,345;1\n"
	for name, tc := range map[string]struct {
		opts tabular.TableOptions
		ok   bool
	}{
		"numbers":    {tabular.TableOptions{Label: "y"}, true},
		"categories": {tabular.TableOptions{Label: "y", Categorical: []string{"size"}}, false},
		"a label":    {tabular.TableOptions{Label: "size=1,5"}, false},
	} {
		got, err := everything(t, text, tc.opts)
		if tc.ok {
			if err != nil || got.Preparation.Encodings[1].Center != (1.234+2.345)/2 {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		datatest.CheckError(t, err, dataerr.ErrColumn, "which has two readings")
	}
}

// The categories of a column are counted over all chunks: one more than the limit, in a later
// chunk, is too many.
func TestCategoriesOverChunks(t *testing.T) {
	for extra, ok := range map[int]bool{0: true, 1: false} {
		var text strings.Builder
		text.WriteString("c,y\n")
		for i := range 4000 {
			k := i % columnar.MaxCategories
			if i > 3900 {
				k += extra
			}
			fmt.Fprintf(&text, "category %0200d,%d\n", k, i%2)
		}
		got, err := everything(t, text.String(), tabular.TableOptions{Label: "y"})
		if !ok {
			datatest.CheckError(t, err, dataerr.ErrColumn, `"c": it has more than 1000 different texts in 4000 rows`)
		} else if err != nil || len(got.Preparation.Encodings[0].Categories) != columnar.MaxCategories {
			t.Errorf("%d categories: %v", columnar.MaxCategories, err)
		}
	}
}

// TestNewAttribute makes attributes of new rows: of categories, of numbers, and of conditions, as
// the training read them.
func TestNewAttribute(t *testing.T) {
	absent := &tabular.Preparation{Absent: []string{"?", ""}}
	number := tabular.Reading{Columns: []tabular.ColumnReading{{Column: "c", Number: true}}}
	comma := tabular.Reading{Columns: []tabular.ColumnReading{{Column: "c", Number: true, Decimal: ","}}}
	text, flag := tabular.Reading{Columns: []tabular.ColumnReading{{Column: "c"}}}, tabular.Reading{Missing: tabular.MissingFlagged}
	flagged := tabular.Reading{Missing: tabular.MissingFlagged, Columns: number.Columns}
	for _, test := range []struct {
		reading       tabular.Reading
		text          string
		texts, values []string
		want          tabular.Attribute
	}{
		{text, "c", []string{"b", "a", "?", "b"}, nil, tabular.Attribute{Name: "c", Values: []string{"a", "b"}, Of: []int{1, 0, -1, 1}}},
		{text, "c", []string{"b", "a", "?", "b"}, []string{"z", "b"}, tabular.Attribute{Name: "c", Values: []string{"z", "b", "a"}, Of: []int{1, 2, -1, 1}}},
		{text, "c", []string{"01", "1", "1.0"}, []string{"01", "1"}, tabular.Attribute{Name: "c", Values: []string{"01", "1", "1.0"}, Of: []int{0, 1, 2}}},
		{tabular.Reading{}, "c", []string{"01", "1"}, nil, tabular.Attribute{Name: "c", Values: []string{"01", "1"}, Of: []int{0, 1}}}, // not used in training
		{number, "c", []string{"10", "9", "10", "9.0"}, nil, tabular.Attribute{Name: "c", Values: []string{"9", "10"}, Of: []int{1, 0, 1, 0}}},
		{number, "c", []string{"10", "9", "?"}, []string{"9.0", "10.0"}, tabular.Attribute{Name: "c", Values: []string{"9.0", "10.0"}, Of: []int{1, 0, -1}}},
		{comma, "c", []string{"1,50", "2", "1.000,5"}, []string{"1,5", "2,0"}, tabular.Attribute{Name: "c", Values: []string{"1,5", "2,0", "1.000,5"}, Of: []int{0, 1, 2}}},
		{comma, "c=1,5", []string{"1,50", "2"}, []string{"c=1,5", columnar.TheRest}, tabular.Attribute{Name: "c=1,5", Values: []string{"c=1,5", columnar.TheRest}, Of: []int{0, 1}}},
		{comma, "c<2.5", []string{"2,4", "2,6"}, nil, tabular.Attribute{Name: "c<2.5", Values: []string{"c<2.5", columnar.TheRest}, Of: []int{0, 1}}},
		{flagged, "c", []string{"10", "?"}, []string{"9", "10", columnar.TheMissing}, tabular.Attribute{Name: "c", Values: []string{"9", "10", columnar.TheMissing}, Of: []int{1, 2}}},
		{flagged, "c<10", []string{"10", "9", "?"}, nil, tabular.Attribute{Name: "c<10", Values: []string{"c<10", columnar.TheRest}, Of: []int{1, 0, 1}}},
		{flagged, "c=missing", []string{"10", "?"}, nil, tabular.Attribute{Name: "c=missing", Values: []string{"c=missing", columnar.TheRest}, Of: []int{1, 0}}},
		{flagged, "c=missing", []string{"10", "9"}, nil, tabular.Attribute{Name: "c=missing", Values: []string{"c=missing", columnar.TheRest}, Of: []int{1, 1}}},
		{flag, "c!=a", []string{"a", "b", "?"}, nil, tabular.Attribute{Name: "c!=a", Values: []string{"c!=a", columnar.TheRest}, Of: []int{1, 0, 1}}},
		{tabular.Reading{}, "c<10", []string{"10", "9", "?"}, nil, tabular.Attribute{Name: "c<10", Values: []string{"c<10", columnar.TheRest}, Of: []int{1, 0, -1}}},
		{text, "c=b", []string{"b", "a", "?"}, nil, tabular.Attribute{Name: "c=b", Values: []string{"c=b", columnar.TheRest}, Of: []int{0, 1, -1}}},
		{text, "c=z", []string{"b", "a"}, []string{"c=z", columnar.TheRest}, tabular.Attribute{Name: "c=z", Values: []string{"c=z", columnar.TheRest}, Of: []int{1, 1}}},
	} {
		got, err := newrows.NewAttribute(&test.reading, test.text, "c", test.texts, test.values, absent)
		if err != nil {
			t.Errorf("%s of %q: %v", test.text, test.texts, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s of %q: %s", test.text, test.texts, diff)
		}
		groups := got.Groups()
		for i, k := range got.Of {
			for v := range groups {
				if slices.Contains(groups[v].Rows, i) != (v == k) {
					t.Errorf("row %d with the value %d: group %d is %v", i, k, v, groups[v].Rows)
				}
			}
		}
	}
	if _, err := newrows.NewAttribute(&text, "d", "c", nil, nil, absent); err == nil {
		t.Error("an attribute of an unknown column")
	}
	if _, err := newrows.NewAttribute(&text, "c=z", "c", []string{"a"}, nil, absent); err == nil {
		t.Error("an attribute of an unknown category")
	}
	if _, err := newrows.NewAttribute(&number, "c", "c", []string{"1", "x"}, nil, absent); !errors.Is(err, dataerr.ErrNumber) || !strings.Contains(err.Error(), "row 2") {
		t.Errorf("a text among numbers: %v", err)
	}
}

// TestSparseAttributesByHand makes attributes of features, and of blocks of features.
func TestSparseAttributesByHand(t *testing.T) {
	x := &matrix.CSR{Rows: 3, Cols: 5, Starts: []int{0, 2, 4, 5}, Columns: []int32{0, 3, 1, 4, 2}}
	got := require.Value(SparseAttributes((&tabular.Preparation{}), "own", x, []string{"2", "5"}, [][]string{nil, {"feature 5", columnar.TheRest}}))(t)
	want := []tabular.Attribute{{Name: "2", Values: []string{"feature 2", columnar.TheRest}, Of: []int{1, 0, 1}}, {Name: "5", Values: []string{"feature 5", columnar.TheRest}, Of: []int{1, 0, 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	d := &loader.SparseDesign{Names: []string{"sex=F", "sex=M", "sex=X", "race=a", "race=b"}, Blocks: []int{0, 0, 0, 1, 1}, Titles: []string{"sex", "race"}}
	if diff := cmp.Diff([]string{"F", "M", "X"}, d.Categories("sex")); diff != "" {
		t.Error(diff)
	}
	got, by, err := d.Attributes(x, []string{"race", "sex", "race=b"})
	require.NoError(t, err)
	want = []tabular.Attribute{{Name: "race", Values: []string{"a", "b"}, Of: []int{0, 1, -1}}, {Name: "sex", Values: []string{"F", "M", "X"}, Of: []int{0, 1, 2}}, {Name: "race=b", Values: []string{"race=b", columnar.TheRest}, Of: []int{1, 0, -1}}}
	if diff := cmp.Diff(want, got) + cmp.Diff([]int32{3, 0, 3}, by); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int32{0, 1, 2}, d.Sensitive([]int32{1})[1:]); diff != "" {
		t.Error(diff)
	}
	adult := &matrix.CSR{Rows: 1, Cols: 123, Starts: []int{0, 0}}
	for name, ok := range map[string]bool{"adult": true, "synthetic-adult": true, "libsvm": false} {
		if got, err := SparseAttributes((&tabular.Preparation{}), name, adult, []string{"sex"}, [][]string{{"Female", "Male"}}); (err == nil) != ok || ok && len(got[0].Values) != 2 {
			t.Errorf("the attribute sex of %s: %v, %v", name, got, err)
		}
	}
}
