package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
)

// wages is a user's file with eight people.
const wages = `name;age;sex;zip;wage;paid
a;20;F;89073;1;no
b;30;M;89075;2;yes
c;40;F;89073;3;no
d;50;M;89075;4;yes
e;60;F;89073;5;yes
f;70;M;89077;6;no
g;80;F;89073;7;no
h;90;M;89075;8;yes
`

// everything loads the text as a table with all rows in the training split.
func everything(t *testing.T, text string, opts TableOptions) (*Tables, error) {
	t.Helper()
	opts.File = write(t, t.TempDir(), "own.csv", []byte(text))
	if opts.Split == (Split{}) {
		opts.Split = Split{Train: 100}
	}
	return LoadTable("", "csv", opts)
}

func denseOf(t *testing.T, tables *Tables) *matrix.Dense {
	t.Helper()
	d, ok := tables.Train.Features.(*matrix.Dense)
	if !ok {
		t.Fatalf("features are %T", tables.Train.Features)
	}
	return d
}

func TestOwnCSV(t *testing.T) {
	got, err := everything(t, wages, TableOptions{
		Label: "paid", Groups: []string{"age<45"}, Ignore: []string{"name"}, Categorical: []string{"zip"},
	})
	if err != nil {
		t.Fatal(err)
	}
	table := got.Train
	if diff := cmp.Diff([]string{"age", "sex=F", "sex=M", "zip=89073", "zip=89075", "zip=89077", "wage"}, table.Columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{-1, 1, -1, 1, 1, -1, -1, 1}, table.Labels); diff != "" || !slices.Equal(table.Classes, []string{"paid=no", "paid=yes"}) {
		t.Error(diff, table.Classes)
	}
	if diff := cmp.Diff(described([]Group{{Name: "age<45", Rows: []int{0, 1, 2}}, {Name: theRest, Rows: []int{3, 4, 5, 6, 7}}}), table.Groups); diff != "" {
		t.Error(diff)
	}
	d := denseOf(t, got)
	s := math.Sqrt(5.25) // standard deviation of 1 to 8, with mean 4.5
	for i := range 8 {
		row := d.Data[i*d.Cols : (i+1)*d.Cols]
		x := (float64(i+1) - 4.5) / s
		zip := []float64{1, 0, 0}
		if i%2 == 1 {
			zip = []float64{0, 1, 0}
		}
		if i == 5 {
			zip = []float64{0, 0, 1}
		}
		want := append([]float64{x, float64(1 - i%2), float64(i % 2)}, append(zip, x)...)
		for j := range want {
			if math.Abs(row[j]-want[j]) > 1e-15 {
				t.Errorf("row %d: %v, want %v", i, row, want)
				break
			}
		}
	}
	if got.Validation != nil || got.Test != nil || len(got.Parts()) != 1 {
		t.Error("parts of 0 % are there")
	}
}

// TestOwnCSVHeldOut checks that held-out rows are standardised with the mean and deviation of the
// training rows.
func TestOwnCSVHeldOut(t *testing.T) {
	var text strings.Builder
	text.WriteString("x,y,row\n")
	for i := range 100 {
		fmt.Fprintf(&text, "%d,%d,%d\n", i*i, i%2, i)
	}
	got, err := everything(t, text.String(), TableOptions{Label: "y", Split: DefaultSplit, Seed: 3, Ignore: []string{"row"}})
	if err != nil {
		t.Fatal(err)
	}
	mean, square := 0.0, 0.0
	for _, r := range got.Train.Source {
		mean += float64(r*r) / 70
	}
	for _, r := range got.Train.Source {
		square += (float64(r*r) - mean) * (float64(r*r) - mean) / 70
	}
	seen := map[int]bool{}
	for _, p := range got.Parts() {
		for k, r := range p.Source {
			x := make([]float64, 1)
			p.Features.Float64(x, k, k+1)
			if want := (float64(r*r) - mean) / math.Sqrt(square); math.Abs(x[0]-want) > 1e-12 || p.Labels[k] != 2*(r%2)-1 {
				t.Errorf("%s row %d: %v and %d, want %v", p.Name, r, x[0], p.Labels[k], want)
			}
			seen[r] = true
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d of 100 rows are in a part", len(seen))
	}
	if e := got.Preparation.Encodings[0]; math.Abs(e.Center-mean) > 1e-9 || math.Abs(e.Scale-math.Sqrt(square)) > 1e-9 {
		t.Errorf("preparation %+v", e)
	}
}

func TestOwnCSVMissing(t *testing.T) {
	text := "x,c,y\n1,a,0\nNA,b,1\n3,,0\n5,a,1\n"
	_, err := everything(t, text, TableOptions{Label: "y"})
	checkProblems(t, err, 2, ErrMissing, `line 3, column 1: x: missing value: "NA" in 1 of 4 rows; use --missing impute or --missing drop, or ignore the column (--ignore x)`)
	got, err := everything(t, text, TableOptions{Label: "y", Missing: MissingImputed})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x", "x missing", "c=a", "c=b", "c missing"}, got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	d := math.Sqrt(8.0 / 3) // standard deviation of 1, 3, 5
	want := []float64{-2 / d, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 2 / d, 0, 1, 0, 0}
	for i, x := range denseOf(t, got).Data {
		if math.Abs(x-want[i]) > 1e-15 {
			t.Fatalf("features %v, want %v", denseOf(t, got).Data, want)
		}
	}
	// Labels and groups must not be missing, even with MissingImputed.
	_, err = everything(t, strings.Replace(text, "a,0", "a,?", 1), TableOptions{Label: "y", Missing: MissingImputed})
	checkError(t, err, ErrMissing, "line 2, column 3: y: missing value")
	_, err = everything(t, text, TableOptions{Label: "y", Missing: MissingImputed, Groups: []string{"c=a"}})
	checkError(t, err, ErrMissing, "line 4, column 2: c: missing value")
}

func TestOwnCSVLabels(t *testing.T) {
	text := func(labels ...string) string {
		return "x,y\n1," + strings.Join(labels, "\n2,") + "\n"
	}
	for _, tc := range []struct {
		label, text string
		want        string // the class of +1; "": an error
		says        string
	}{
		{"y", text("0", "1", "0"), "y=1", ""},
		{"y", text("1", "-1", "1"), "y=1", ""},
		{"y", text("2", "10"), "y=10", ""},
		{"y", text("Yes", "No"), "y=Yes", ""},
		{"y", text("false", "true"), "y=true", ""},
		{"y=red", text("red", "green", "blue"), "y=red", ""},
		{"y", text("red", "green"), "",
			`own.csv: column "y": label out of range: is "green" or "red" the class +1? specify it, as in --label 'y=red'`},
		{"y", text("1", "1"), "", "all values are 1, want at least two values"},
		{"y=3", text("1", "2"), "", `it is never "3", it is one of 1, 2`},
		{"y=1", text("1", "1"), "", "all values are 1, want at least two values"},
		{"y=0", text("1", "1"), "", `it is never "0", it is one of 1`},
	} {
		t.Run(tc.label+tc.text[4:], func(t *testing.T) {
			got, err := everything(t, tc.text, TableOptions{Label: tc.label})
			if tc.want == "" {
				if !errors.Is(err, ErrLabel) && !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || got.Train.Classes[1] != tc.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// manyLabels returns a file whose label is a measurement.
func manyLabels() string {
	var text strings.Builder
	text.WriteString("x,y\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "%d,%d.5\n", i, i)
	}
	return text.String()
}

func TestOwnCSVErrors(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		opts       TableOptions
		want       error
		says       string
	}{
		{"label", wages, TableOptions{Label: "pay"}, ErrColumn,
			`own.csv: line 1: invalid column: no column "pay"; did you mean "paid"? the columns are name, age`},
		{"ignored", wages, TableOptions{Label: "paid", Ignore: []string{"x"}}, ErrColumn, `no column "x"`},
		{"categorical", wages, TableOptions{Label: "paid", Categorical: []string{"x"}}, ErrColumn, `no column "x"`},
		{"group", wages, TableOptions{Label: "paid", Groups: []string{"x=1"}}, ErrGroup, `no column "x"`},
		{"group by label", wages, TableOptions{Label: "paid", Groups: []string{"paid=no"}}, ErrGroup, `no column "paid"`},
		{"repeated column", strings.Replace(wages, "zip", "age", 1), TableOptions{Label: "paid"}, ErrColumn,
			`two columns are named "age"`},
		{"empty group", wages, TableOptions{Label: "paid", Groups: []string{"age<20"}}, ErrEmpty,
			"datasets: csv: no rows of group age<20 among the training rows; use another --split or --seed, or other groups (--group)"},
		{"class too small to split", wages, TableOptions{Label: "paid", Groups: []string{"age=20"}, Split: DefaultSplit}, ErrEmpty,
			"no rows of class paid=yes among the validation rows"},
		{"nothing left", wages, TableOptions{Label: "paid", Ignore: []string{"name", "age", "sex", "zip", "wage"}}, ErrColumn,
			"no column is left"},
		{"only labels", "y,y2\n1,1\n0,1\n", TableOptions{Label: "y", Ignore: []string{"y2"}}, ErrColumn, "no column is left"},
		{"infinite", strings.Replace(wages, "89077", "Inf", 1), TableOptions{Label: "paid"}, ErrNumber,
			`line 7, column 4: zip: "Inf" is not a finite number`},
		{"nothing but missing", "x,y\n?,1\n?,0\n", TableOptions{Label: "y", Missing: MissingImputed, Categorical: []string{"x"}}, ErrColumn,
			`"x": it has no value`},
		{"no groups to drop", wages, TableOptions{Label: "paid", DropSensitive: true}, ErrOption, "--drop-sensitive needs groups"},
		{"label of many values", manyLabels(), TableOptions{Label: "y"}, ErrLabel,
			`column "y": label out of range: it holds more than 1000 different numbers (0.5, 1.5, 10.5, 100.5, 1000.5 and 996 more), so it is probably a ` +
				`quantity; want a condition for class +1, as in --label 'y=VALUE' or --label 'y>=NUMBER', or --categorical y for a class of each number`},
		{"split", wages, TableOptions{Label: "paid", Split: Split{50, 20, 20}}, ErrSplit, "50/20/20"},
		{"cut", wages[:len(wages)-6], TableOptions{Label: "paid"}, ErrTruncated,
			"line 9: truncated: the last line has only 5 of 6 fields"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := everything(t, tc.text, tc.opts)
			checkError(t, err, tc.want, tc.says)
		})
	}
	_, err := LoadTable("", "csv", TableOptions{Label: "y", File: "nowhere.csv"})
	checkError(t, err, fs.ErrNotExist, "nowhere.csv")
	_, err = LoadTable("", "csv", TableOptions{Label: "y"})
	checkError(t, err, ErrOption, "csv needs the path of a file")
	_, err = LoadTable("", "csv", TableOptions{File: "x"})
	checkError(t, err, ErrOption, "csv needs the label's column")
}

// TestOwnCSVIdentifiers checks that the error names columns that identify rows.
func TestOwnCSVIdentifiers(t *testing.T) {
	var text strings.Builder
	text.WriteString("who,y\n")
	for i := range 60 {
		fmt.Fprintf(&text, "person %d,%d\n", i, i%2)
	}
	_, err := everything(t, text.String(), TableOptions{Label: "y"})
	checkError(t, err, ErrColumn, `"who": it has 60 different texts in 60 rows; ignore the column (--ignore who)`)
}

// TestOwnCSVOneBadDate checks that the error names the line of the text that is not a date: in the
// middle, in the first row, and in the last piece of a large file.
func TestOwnCSVOneBadDate(t *testing.T) {
	for _, tc := range []struct {
		rows, bad int
		text      string
	}{{100, 40, "20X1-07-08"}, {100, 0, "soon"}, {40_000, 39_990, "2021-13-08"}} {
		var text strings.Builder
		text.WriteString("joined,y\n")
		for i := range tc.rows {
			date := time.Date(1900, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
			if i == tc.bad {
				date = tc.text
			}
			fmt.Fprintf(&text, "%s,%d\n", date, i%2)
		}
		first := "1900-01-01"
		if tc.bad == 0 {
			first = "1900-01-02"
		}
		_, err := everything(t, text.String(), TableOptions{Label: "y", Dates: DatesExpanded})
		checkError(t, err, ErrColumn, fmt.Sprintf(`line %d, column 1: invalid column "joined": most values are dates, such as %s, and %q is not a date; correct such values`,
			tc.bad+2, first, tc.text))
	}
}

// TestOwnCSVDropSensitive checks that DropSensitive drops the columns of the conditions.
func TestOwnCSVDropSensitive(t *testing.T) {
	opts := TableOptions{Label: "paid", Ignore: []string{"name", "zip"}, Groups: []string{"sex=F", "age<45"}, DropSensitive: true}
	got, err := everything(t, wages, opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"wage"}, got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	// An ignored column can still make groups.
	opts.Groups, opts.DropSensitive = []string{"zip=89077"}, false
	if got, err = everything(t, wages, opts); err != nil || len(got.Train.Groups[0].Rows) != 1 {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"age", "sex=F", "sex=M", "wage"}, got.Train.Columns); diff != "" {
		t.Error(diff)
	}
}

// The index column that pandas writes is not read. The columns behind it are found by their names
// nevertheless.
func TestConditionBehindIndexColumn(t *testing.T) {
	text := ",age,town,price\n"
	for i := range 20 {
		text += fmt.Sprintf("%d,%d,%c,%d\n", i, 20+i*i%7, 'a'+i%2, i*37%100)
	}
	s, err := readOwnCSV(strings.NewReader(text), TableOptions{File: "file", Label: "price>=50"})
	if err != nil {
		t.Fatal(err)
	}
	if s.label.Column != "price" || s.label.Condition != "price>=50" || len(s.labels) != 20 {
		t.Errorf("%+v, %d labels", s.label, len(s.labels))
	}
}
