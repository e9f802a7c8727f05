package datasets

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
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
