package datasets

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
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
	s, err := columnar.ReadSheet(strings.NewReader(people), "people", peopleSchema())
	if err != nil {
		t.Fatal(err)
	}
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
