package columnar_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/mapped"
	"ppal/internal/require"
)

// peopleSchema reads the columns of the texts below.
func peopleSchema() *columnar.Schema {
	return &columnar.Schema{Layout: tabular.Layout{Repeated: []string{"age"}}, Absent: []string{"?"}, Columns: []columnar.ColumnSpec{
		{Name: "age", Numeric: true},
		{Name: "wage", Numeric: true, Missing: true},
		{Name: "job", Categories: []string{"none", "clerk", "smith"}},
		{Name: "town", Missing: true},
	}}
}

const people = "town,id,age,job,wage,age\nUlm,1,30,smith,?,1\n?,2,25.5,none,1e3,2\nBonn,3,-7,smith,0.25,3\nUlm,4,0,clerk,+2,4\n"

func TestReadSheet(t *testing.T) {
	s := require.Value(columnar.ReadSheet(strings.NewReader(people), "people", peopleSchema()))(t)
	want := []*columnar.Column{
		{Name: "age", Numbers: []float64{30, 25.5, -7, 0}}, // the first column with this name
		{Name: "wage", Numbers: []float64{math.NaN(), 1000, 0.25, 2}},
		{Name: "job", Codes: []int32{2, 0, 2, 1}, Values: []string{"none", "clerk", "smith"}},
		{Name: "town", Codes: []int32{1, -1, 0, 1}, Values: []string{"Bonn", "Ulm"}},
	}
	if diff := cmp.Diff(want, s.Columns, cmp.AllowUnexported(columnar.Column{}), cmpopts.EquateNaNs()); diff != "" || s.Rows != 4 {
		t.Error(s.Rows, diff)
	}
	kept := s.Filter(func(i int) bool { return i != 0 && i != 2 })
	if diff := cmp.Diff([]int{1, 3}, kept.Source); diff != "" || kept.Rows != 2 || kept.Number(1) != 3 {
		t.Error(diff)
	}
	var texts []string
	for _, c := range kept.Columns {
		texts = append(texts, c.Text(0), c.Text(1))
	}
	if diff := cmp.Diff([]string{"25.5", "0", "1000", "2", "none", "clerk", "", "Ulm"}, texts); diff != "" {
		t.Error(diff)
	}
}

func TestReadSheetErrors(t *testing.T) {
	replace := func(old, with string) string { return strings.Replace(people, old, with, 1) }
	for _, tc := range []struct {
		name, text string
		want       error
		says       string
	}{
		{"no such column", replace("job", "jobs"), dataerr.ErrColumn,
			`people: line 1: invalid column: no column "job"; did you mean "jobs"? the columns are town, id, age, jobs, wage, age`},
		{"not a number", replace("-7", "seven"), dataerr.ErrNumber, `people: line 4, column 3: age: "seven" is not a finite number`},
		{"not finite", replace("25.5", "-Inf"), dataerr.ErrNumber, `line 3, column 3: age: "-Inf" is not a finite number`},
		{"out of range", replace("25.5", "1e400"), dataerr.ErrNumber, `line 3, column 3: age: "1e400" is not`},
		{"NaN", replace("25.5", "NaN"), dataerr.ErrNumber, `line 3, column 3: age: "NaN" is not`},
		{"missing", replace("-7", "?"), dataerr.ErrMissing, `line 4, column 3: age: missing value: "?"`},
		{"empty", replace("-7", ""), dataerr.ErrNumber, `line 4, column 3: age: "" is not`},
		{"unknown category", replace("clerk", "Clerk"), dataerr.ErrCategory,
			`line 5, column 4: job: unknown category "Clerk", want one of none, clerk, smith`},
		{"cut", strings.TrimSuffix(people, ",+2,4\n"), dataerr.ErrTruncated, "line 5: truncated: the last line has only 4 of 6 fields"},
		{"no rows", "town,id,age,job,wage\n", dataerr.ErrTruncated, "the file has no rows"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := columnar.ReadSheet(strings.NewReader(tc.text), "people", peopleSchema())
			datatest.CheckError(t, err, tc.want, tc.says)
		})
	}
}

// TestReadSheetTooManyCategories checks that a column of mostly distinct texts is not categorical.
func TestReadSheetTooManyCategories(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,x\n")
	for i := range columnar.MaxCategories + 1 {
		fmt.Fprintf(&text, "id%d,0\n", i)
	}
	s := &columnar.Schema{Columns: []columnar.ColumnSpec{{Name: "id"}}}
	_, err := columnar.ReadSheet(strings.NewReader(text.String()), "file", s)
	datatest.CheckError(t, err, dataerr.ErrColumn, "file: line 1002, column 1: id: invalid column: more than 1000 different texts")
}

// Rows of several chunks are in the order of the file, with its categories and row numbers, also if
// rows are dropped.
func TestReadSheetChunks(t *testing.T) {
	const rows = 60000
	category := func(i int) string { return fmt.Sprintf("k%03d", (i/1000*37+i%5)%200) } // other categories in each chunk
	var text strings.Builder
	text.WriteString("x,c,free,gap\n")
	for i := range rows {
		gap := "1"
		if i%7 == 3 {
			gap = "?"
		}
		fmt.Fprintf(&text, "%d.5,%s,%d,%s\n", i, category(i), rows-i, gap)
	}
	for _, drop := range []bool{false, true} {
		s := require.Value(columnar.ReadSheet(strings.NewReader(text.String()), "file", &columnar.Schema{Absent: []string{"?"}, Drop: drop, Columns: []columnar.ColumnSpec{
			{Name: "x", Numeric: true}, {Name: "c"}, {Name: "free", Many: true, Guess: true}, {Name: "gap", Numeric: true, Missing: !drop},
		}}))(t)
		row := 0
		for i := range rows {
			missing := i%7 == 3
			if drop && missing {
				continue
			}
			x, c, free, gap := s.Columns[0], s.Columns[1], s.Columns[2], s.Columns[3]
			if x.Numbers[row] != float64(i)+0.5 || c.Text(row) != category(i) || free.Numbers[row] != float64(rows-i) ||
				math.IsNaN(gap.Numbers[row]) != missing || s.Number(row) != i {
				t.Fatalf("drop %v: row %d: %v, %s, %v, %v, number %d", drop, i, x.Numbers[row], c.Text(row), free.Numbers[row], gap.Numbers[row], s.Number(row))
			}
			row++
		}
		if s.Rows != row {
			t.Errorf("drop %v: %d rows, want %d", drop, s.Rows, row)
		}
	}
}

// The first value that makes too many categories is reported, of all columns and chunks, unless
// another error precedes it.
func TestReadSheetFirstOfTooManyCategories(t *testing.T) {
	require.NoRace(t, "TestReadSheetChunks runs the same goroutines")
	const rows = 30000
	text := func(first, second, wrong int) string {
		var text strings.Builder
		text.WriteString("a,b,x\n")
		category := func(i, most int) string { // the row most has one category too many
			if i < most {
				return fmt.Sprint("k", i%columnar.MaxCategories)
			}
			return fmt.Sprint("n", i-most)
		}
		for i := range rows {
			x := "0"
			if i == wrong {
				x = "zero"
			}
			fmt.Fprintf(&text, "%s,%s,%s\n", category(i, first), category(i, second), x)
		}
		return text.String()
	}
	for _, tc := range []struct {
		first, second, wrong int
		want                 error
		line, column         int
	}{
		{20000, 20100, rows, dataerr.ErrColumn, 20002, 1},
		{20100, 20000, rows, dataerr.ErrColumn, 20002, 2},
		{20000, 20000, rows, dataerr.ErrColumn, 20002, 1},
		{20000, 20000, 20000, dataerr.ErrColumn, 20002, 1},
		{20000, 20000, 19999, dataerr.ErrNumber, 20001, 3},
		{20000, 20000, 20001, dataerr.ErrColumn, 20002, 1},
	} {
		_, err := columnar.ReadSheet(strings.NewReader(text(tc.first, tc.second, tc.wrong)), "file",
			&columnar.Schema{Columns: []columnar.ColumnSpec{{Name: "a"}, {Name: "b"}, {Name: "x", Numeric: true}}})
		var at *dataerr.FileError
		if !errors.As(err, &at) || !errors.Is(err, tc.want) || at.Line != tc.line || at.Column != tc.column {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

// A schema's attributes read further columns, each once; they become numbers if all texts are.
func TestReadSheetAttributes(t *testing.T) {
	s := peopleSchema()
	s.Attributes = []string{"age<20", "id", "id>2", "town=Ulm"}
	got, err := columnar.ReadSheet(strings.NewReader(people), "people", s)
	require.NoError(t, err)
	if diff := cmp.Diff([]string{"age", "wage", "job", "town", "id"}, got.Names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{1, 2, 3, 4}, got.Column("id").Numbers); diff != "" {
		t.Error(diff)
	}
	// a row is dropped only if it lacks a value that may not be missing
	s.Drop, s.Columns[2].Categories, s.Attributes = true, nil, nil
	got, err = columnar.ReadSheet(strings.NewReader(strings.Replace(people, "clerk", "?", 1)), "people", s)
	if err != nil || got.Rows != 3 || got.Number(2) != 2 {
		t.Errorf("dropped rows: %+v, %v", got, err)
	}
	s.Attributes = []string{"towns=Ulm"}
	_, err = columnar.ReadSheet(strings.NewReader(people), "people", s)
	datatest.CheckError(t, err, dataerr.ErrGroup, `no column "towns"`)
}

// A folder that is gone is an error of the table whose columns need it: at the end of short
// columns, and in the rows of long columns, before the error of a later row.
func TestPagesWithoutFolder(t *testing.T) {
	for rows, rest := range map[int]string{10: "", 40000: "cut\n"} {
		for _, column := range []string{"1", "a"} {
			dir := t.TempDir()
			pages, err := mapped.New(dir, 1<<40)
			require.NoError(t, err)
			require.NoError(t, os.Remove(dir))
			_, err = columnar.ReadSheet(strings.NewReader("x,y\n"+strings.Repeat(column+",\n", rows)+rest), "file", &columnar.Schema{Pages: pages, Layout: tabular.Layout{Separator: ","},
				Columns: []columnar.ColumnSpec{{Name: "x", Numeric: column == "1"}}})
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%d rows of %s: %v", rows, column, err)
			}
		}
	}
}

// A column without values knows its categories and whether a value of any chunk is missing, and its
// memory does not grow.
func TestReadSheetSummary(t *testing.T) {
	text := "c,x,y\na,NA,1\n" + strings.Repeat("b,1,1\n", 60000) + "NA,1,1\n"
	specs := []columnar.ColumnSpec{{Name: "c", Missing: true, Summary: true}, {Name: "x", Numeric: true, Missing: true, Summary: true},
		{Name: "y", Numeric: true, Missing: true, Summary: true}}
	s, err := columnar.ReadSheet(strings.NewReader(text), "file", &columnar.Schema{Absent: []string{"NA"}, Columns: specs})
	if err != nil || s.Rows != 60002 {
		t.Fatal(s, err)
	}
	for i, lacks := range []bool{true, true, false} {
		if c := s.Columns[i]; c.Lacks != lacks || c.Numbers != nil || c.Codes != nil {
			t.Errorf("%s: values are missing: %t, %d numbers, %d codes", c.Name, c.Lacks, len(c.Numbers), len(c.Codes))
		}
	}
	if !slices.Equal(s.Columns[0].Values, []string{"a", "b"}) {
		t.Error(s.Columns[0].Values)
	}
	numbers, codes := []float64{1, 2}, []int32{3}
	p := &columnar.SheetPart{Columns: []columnar.ColumnPart{{Numbers: numbers, Codes: codes, Places: codes, Lacks: true}}, Codes: []map[string]int32{{}}}
	p.Begin(&columnar.SheetReader{Specs: specs[1:2]})
	if c := p.Columns[0]; len(c.Numbers)+len(c.Codes)+len(c.Places) > 0 || cap(c.Numbers) != cap(numbers) || cap(c.Codes) != cap(codes) || c.Lacks {
		t.Errorf("a part begins with %+v", c)
	}
}

// The doubtful number of a message has two readings.
func TestDoubtful(t *testing.T) {
	p := &columnar.Profile{Example: "1'234", Values: []string{"abc", "1,234.5", "1,5", "1 234", "0,0", "1,234", "2,345"}}
	if got := p.Doubtful(); got != "1,234" {
		t.Error(got)
	}
	p.Values = p.Values[:4]
	if got := p.Doubtful(); got != p.Example {
		t.Error(got)
	}
}

// A profile is the same after JSON has encoded it, as for kept rows.
func TestKeptProfile(t *testing.T) {
	p := columnar.NewProfile(false)
	p.Rows, p.Missing, p.Plain, p.Dotted, p.PointGroups = 9, 1, 2, 3, 4
	p.Absent, p.AbsentText = &dataerr.FileError{Offset: -1, Line: 2, Column: 3}, "NA"
	p.Unreal, p.UnrealText = &dataerr.FileError{Offset: -1, Line: 4, Column: 5}, "inf"
	p.Text, p.Example, p.Texts[columnar.OtherText] = &dataerr.FileError{Offset: -1, Line: 6, Column: 7}, "x", 5
	p.Forms, p.Counting, p.First, p.Last = 3, false, math.Copysign(0, -1), 0.1
	p.Undated, p.UndatedText, p.Marks = &dataerr.FileError{Offset: -1, Line: 8, Column: 9}, "soon", []string{"NA"}
	p.Whole, p.Many, p.Different = false, true, 7
	p.Values, p.Kinds = []string{"x", "1,5"}, map[string]*columnar.Distinct{"x": {Kind: columnar.OtherText, Rows: 3}, "1,5": {Kind: columnar.CommaText, Rows: 2}}
	text := require.Value(json.Marshal(p))(t)
	got := &columnar.Profile{}
	if err := json.Unmarshal(text, got); err != nil || cmp.Diff(p, got, cmpopts.IgnoreUnexported(columnar.Profile{})) != "" || math.Signbit(got.First) != math.Signbit(p.First) {
		t.Errorf("%v: %s", err, cmp.Diff(p, got, cmpopts.IgnoreUnexported(columnar.Profile{})))
	}
}
