package datasets

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// checkProblems checks that the error lists n problems, one line each, and says the texts.
func checkProblems(t *testing.T, err error, n int, want error, says ...string) {
	t.Helper()
	var p *Problems
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

// rowsText returns a file with a header and rows that the function writes.
func rowsText(header string, rows int, row func(i int) string) string {
	var text strings.Builder
	text.WriteString(header + "\n")
	for i := range rows {
		text.WriteString(row(i) + "\n")
	}
	return text.String()
}

// TestAllProblemsAtOnce checks that one run reports every bad column of a file.
func TestAllProblemsAtOnce(t *testing.T) {
	text := rowsText(",id,name,born,wage,grade,sex,y", 60, func(i int) string {
		wage := fmt.Sprint(10 * i)
		if i == 7 {
			wage = "NA"
		}
		return fmt.Sprintf("%d,r%d,\"Person, %d\",1990-%02d-%02d,%s,%c,%c,%d", i, i, i, 1+i%12, 1+i%28, wage, 'a'+i%3, 'F'+7*rune(i%2), i%2)
	})
	_, err := everything(t, text, TableOptions{Label: "y"})
	checkProblems(t, err, 4, ErrColumn,
		"own.csv: 4 problems:\n",
		`invalid column "id": it has 60 different texts in 60 rows; ignore the column (--ignore id), or replace it by numbers`,
		`invalid column "name": it has 60 different texts`,
		`invalid column "born": it holds dates, such as 1990-01-01; make numbers of the dates (--dates expand), or ignore the column (--ignore born)`,
		`line 9, column 5: wage: missing value: "NA" in 1 of 60 rows; use --missing impute or --missing drop, or ignore the column (--ignore wage)`,
		"for all of them: --ignore id,name --dates expand --missing impute")
	got, err := everything(t, text, TableOptions{Label: "y", Ignore: []string{"id", "name"}, Dates: DatesExpanded, Missing: MissingImputed})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"born day", "born day missing", "born month"}, got.Train.Columns[:3]); diff == "" {
		t.Error("dates without missing values have a flag")
	}
	if diff := cmp.Diff([]string{"born day", "born month", "born weekday", "wage", "wage missing", "grade=a", "grade=b", "grade=c", "sex=F", "sex=M"},
		got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	// Several wrong names are reported together.
	_, err = everything(t, text, TableOptions{Label: "yy", Ignore: []string{"idd"}, Groups: []string{"sexx=F"}, Features: []string{"wages"}})
	checkProblems(t, err, 4, ErrColumn, `no column "yy"`, `no column "idd"; did you mean "id"?`, `did you mean "sex"?`, `did you mean "wage"?`)
}

func TestFeatures(t *testing.T) {
	got, err := everything(t, wages, TableOptions{Label: "paid", Features: []string{"age", "wage"}, Groups: []string{"sex=F"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"age", "wage"}, got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]ColumnUse{
		{Name: "name", Became: "ignored"}, {Name: "age", Became: "number"}, {Name: "sex", Became: "group", Levels: 2},
		{Name: "zip", Became: "ignored"}, {Name: "wage", Became: "number"}, {Name: "paid", Became: "label", Levels: 2},
	}, got.Uses); diff != "" {
		t.Error(diff)
	}
	_, err = everything(t, wages, TableOptions{Label: "paid", Features: []string{"age", "paid"}})
	checkError(t, err, ErrColumn, `the label "paid" cannot be a feature`)
	_, err = everything(t, wages, TableOptions{Label: "paid", Features: []string{"age"}, Ignore: []string{"age"}})
	checkError(t, err, ErrColumn, `--features and --ignore both name "age"`)
	_, err = everything(t, wages, TableOptions{Label: "paid", Ignore: []string{"paid"}})
	checkError(t, err, ErrColumn, `the label "paid" cannot be ignored`)
}

// TestNamelessColumns reads files that pandas writes with an index column, and files with trailing
// separators.
func TestNamelessColumns(t *testing.T) {
	text := ",x,y,,\n0,1.5,0,7,\n1,2.5,1,3,\n2,0.5,0,4,\n"
	got, err := everything(t, text, TableOptions{Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x", "column 4"}, got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	notes := strings.Join(got.Notes, " ")
	if !strings.Contains(notes, "Column 1 has no name and only numbers the rows: it is ignored.") ||
		!strings.Contains(notes, "Column 5 has no name and is empty: it is ignored.") {
		t.Error(notes)
	}
	got, err = everything(t, strings.Replace(text, "2,0.5", "9,0.5", 1), TableOptions{Label: "y", Ignore: []string{"column 4", "column 5"}})
	if err != nil || !slices.Equal(got.Train.Columns, []string{"column 1", "x"}) {
		t.Errorf("%v, %v", err, got)
	}
	counted := rowsText("number,x,y", 40, func(i int) string { return fmt.Sprintf("%d,%d,%d", i+1, i*i%7, i%2) })
	got, err = everything(t, counted, TableOptions{Label: "y"})
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], `"number" only numbers the rows, so a model can learn their order: ignore it (--ignore number)`) {
		t.Errorf("%v, %q", err, got.Warnings)
	}
}

func TestMissing(t *testing.T) {
	text := "x,c,g,y\n1,a,u,0\nNA,b,v,1\n3,,,0\n5,a,u,1\n6,b,v,\n7,a,u,0\n8,b,v,1\n"
	drop := TableOptions{Label: "y", Groups: []string{"g"}, Attributes: []string{"c"}, Missing: MissingDropped}
	got, err := everything(t, text, drop)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 3, 5, 6}, got.Train.Source); diff != "" {
		t.Error(diff)
	}
	if note := "3 of 7 rows are left out because of missing values in x (1), c (1), g (1), y (1)."; !slices.Contains(got.Notes, note) {
		t.Errorf("notes %q", got.Notes)
	}
	if diff := cmp.Diff([]string{"x", "c=a", "c=b", "g=u", "g=v"}, got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	// Every other mode requires the label, and the advice names only flags that help.
	for _, missing := range []string{MissingRefused, MissingImputed, MissingFlagged} {
		_, err := everything(t, text, TableOptions{Label: "y", Features: []string{"x"}, Missing: missing, Ignore: nil})
		if err == nil || !strings.Contains(err.Error(), `line 6, column 4: y: missing value: "" in 1 of 7 rows; leave out these rows (--missing drop)`) {
			t.Errorf("%s: %v", missing, err)
		}
		if missing != MissingRefused && strings.Contains(err.Error(), "--missing impute") {
			t.Errorf("%s: the advice was followed already: %v", missing, err)
		}
	}
	labelled := strings.Replace(text, "v,\n", "v,0\n", 1)
	_, err = everything(t, labelled, TableOptions{Label: "y", Groups: []string{"g"}, Missing: MissingImputed})
	checkError(t, err, ErrMissing, "g: missing value: \"\" in 1 of 7 rows; leave out these rows (--missing drop), or make them a group of their own (--missing flag)")
	got, err = everything(t, labelled, TableOptions{Label: "y", Groups: []string{"g"}, Attributes: []string{"c", "x<4"}, Missing: MissingFlagged})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range got.Train.Groups {
		names = append(names, fmt.Sprint(g.Name, g.Rows))
	}
	if diff := cmp.Diff([]string{"g=u[0 3 5]", "g=v[1 4 6]", "g=missing[2]"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Attribute{
		{"c", []string{"a", "b", "missing"}, []int{0, 1, 2, 0, 1, 0, 1}}, {"x<4", []string{"x<4", "the rest"}, []int{0, 1, 0, 1, 1, 1, 1}},
	}, got.Train.Attributes); diff != "" {
		t.Error(diff)
	}
	_, err = everything(t, "x,z,y\n1,NA,0\nNA,2,1\n", TableOptions{Label: "y", Missing: MissingDropped})
	checkError(t, err, ErrMissing, "every row has a missing value; ignore the columns with many missing values")
	_, err = everything(t, "x,z,y\n1,NA,0\n2,NA,1\n", TableOptions{Label: "y", Missing: MissingImputed})
	checkError(t, err, ErrColumn, `"z": it has no values; ignore the column (--ignore z)`)
}

func TestDates(t *testing.T) {
	text := func(dates ...string) string {
		return rowsText("d,y", len(dates), func(i int) string { return fmt.Sprintf("\"%s\",%d", dates[i], i%2) })
	}
	for _, tc := range []struct {
		dates  []string
		choice string
		layout string // "": refused
		says   string
	}{
		{[]string{"2024-05-13", "1969-12-31"}, DatesExpanded, "2006-01-02", ""},
		{[]string{"2024-05-13 10:30:00", "2024-05-14 00:00:00"}, DatesExpanded, "2006-01-02 15:04:05", ""},
		{[]string{"2024-05-13T10:30:00.25Z", "2024-05-14T00:00:00+02:00"}, DatesExpanded, "2006-01-02T15:04:05Z07:00", ""},
		{[]string{"13.5.2024", "01.12.2023"}, DatesExpanded, "2.1.2006", ""},
		{[]string{"5/13/2024", "12/1/2023"}, DatesExpanded, "1/2/2006", ""},
		{[]string{"13/5/2024", "01/12/2023"}, DatesExpanded, "2/1/2006", ""},
		{[]string{"1/5/2024", "01/12/2023"}, DatesExpanded, "", "day and month can be exchanged; say which comes first (--dates day-first or --dates month-first)"},
		{[]string{"1/5/2024", "01/12/2023"}, DatesDayFirst, "2/1/2006", ""},
		{[]string{"1/5/2024", "01/12/2023"}, DatesMonthFirst, "1/2/2006", ""},
		{[]string{"Jan 5, 2024", "Dec 31, 2023"}, DatesExpanded, "Jan 2, 2006", ""},
		{[]string{"2024-01", "2023-12"}, DatesExpanded, "2006-01", ""},
		{[]string{"2024-05-13", "1969-12-31"}, "", "", `"d": it holds dates, such as 2024-05-13; make numbers of the dates (--dates expand)`},
	} {
		got, err := everything(t, text(tc.dates...), TableOptions{Label: "y", Dates: tc.choice})
		if tc.layout == "" {
			checkError(t, err, ErrColumn, tc.says)
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tc.dates, err)
			continue
		}
		if e := got.Preparation.Encodings[0]; e.Date != tc.layout || e.Part != "day" || e.Column != "d" {
			t.Errorf("%q: %+v", tc.dates, e)
		}
		if err := got.Preparation.Check(); err != nil {
			t.Error(err)
		}
		// The same preparation reads new rows.
		again, err := got.Preparation.Read(strings.NewReader(text(tc.dates...)), "new")
		if err != nil || !slices.Equal(again.Data, denseOf(t, got).Data) {
			t.Errorf("%q: new rows: %v", tc.dates, err)
		}
	}
	// With Categorical, dates are categories.
	got, err := everything(t, text("2024-05-13", "2024-05-14"), TableOptions{Label: "y", Categorical: []string{"d"}})
	if err != nil || !slices.Equal(got.Train.Columns, []string{"d=2024-05-13", "d=2024-05-14"}) {
		t.Errorf("%v, %v", err, got)
	}
}

func TestDateNumber(t *testing.T) {
	at := time.Date(2024, 5, 13, 18, 45, 0, 0, time.UTC) // a Monday
	for part, want := range map[string]float64{"day": float64(at.Unix()) / 86400, "month": 5, "weekday": 1, "hour": 18.75} {
		if got, ok := dateNumber("2024-05-13 18:45", "2006-01-02 15:04", part); !ok || got != want {
			t.Errorf("%s is %v, want %v", part, got, want)
		}
	}
	if got, _ := dateNumber("1970-01-04", "2006-01-02", "weekday"); got != 7 {
		t.Errorf("a Sunday is %v", got)
	}
	if got, _ := dateNumber("1969-12-31", "2006-01-02", "day"); got != -1 {
		t.Errorf("the day before 1970 is %v", got)
	}
}

func TestLocalNumber(t *testing.T) {
	no := math.NaN()
	for _, tc := range []struct {
		text         string
		comma, point float64
	}{
		{"1", 1, 1}, {"-1,5", -1.5, no}, {"1.5", no, 1.5}, {"1,234", 1.234, 1234}, {"1.234", 1234, 1.234}, {"0,125", 0.125, no},
		{"1.234,5", 1234.5, no}, {"1,234.5", no, 1234.5}, {"1.234.567", 1234567, no}, {"1,234,567", no, 1234567},
		{"1 234,5", 1234.5, no}, {"1\u00a0234", 1234, 1234}, {"1'234.5", no, 1234.5}, {"12 34", no, no}, {"1,2e3", 1200, no},
		{"1.5e3", no, 1500}, {"", no, no}, {",", no, no}, {"-", no, no}, {"1,2,3", no, no}, {"1..234", no, no}, {"a,5", no, no}, {"+2,5", 2.5, no},
		{"012,345", 12.345, no}, {",5", 0.5, no}, {"5,", 5, no}, {"1,234 567", no, no},
	} {
		for decimal, want := range map[string]float64{commaDecimals: tc.comma, pointDecimals: tc.point} {
			got, ok := localNumber([]byte(tc.text), decimal)
			if ok == math.IsNaN(want) || ok && got != want {
				t.Errorf("%q with %q: %v %v, want %v", tc.text, decimal, got, ok, want)
			}
		}
	}
}

// TestDecimalCommas reads a European table: its numbers must be the same as in an American one.
func TestDecimalCommas(t *testing.T) {
	american := rowsText("bill;mass;share;y", 50, func(i int) string {
		return fmt.Sprintf("%.1f;%d.25;0.%03d;%d", 30+float64(i)/3, 1000+37*i, 13*i, i*i/7%2)
	})
	european := rowsText("bill;mass;share;y", 50, func(i int) string {
		bill := strings.Replace(fmt.Sprintf("%.1f", 30+float64(i)/3), ".", ",", 1)
		return fmt.Sprintf("%s;%d.%03d,25;0,%03d;%d", bill, (1000+37*i)/1000, (1000+37*i)%1000, 13*i, i*i/7%2)
	})
	want, err := everything(t, american, TableOptions{Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := everything(t, european, TableOptions{Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(denseOf(t, want).Data, denseOf(t, got).Data); diff != "" || len(got.Train.Columns) != 3 {
		t.Error(diff)
	}
	if note := "These columns hold numbers with decimal commas: bill, mass, share."; !slices.Contains(got.Notes, note) {
		t.Errorf("notes %q", got.Notes)
	}
	again, err := got.Preparation.Read(strings.NewReader(european), "new")
	if err != nil || !slices.Equal(again.Data, denseOf(t, got).Data) {
		t.Errorf("new rows: %v", err)
	}
}

func TestDecimalsInDoubt(t *testing.T) {
	column := func(values ...string) string {
		return rowsText("a;b;y", len(values)/2, func(i int) string { return fmt.Sprintf("%s;%s;%d", values[2*i], values[2*i+1], i%2) })
	}
	mean := func(text, choice string) (float64, error) {
		got, err := everything(t, text, TableOptions{Label: "y", Decimal: choice})
		if err != nil {
			return 0, err
		}
		return got.Preparation.Encodings[0].Center, nil
	}
	for _, tc := range []struct {
		text, choice string
		want         float64 // NaN: refused
	}{
		{column("1,234", "x", "2,234", "y"), "", math.NaN()},
		{column("1,234", "x", "2,234", "y"), DecimalComma, 1.734},
		{column("1,234", "x", "2,234", "y"), DecimalPoint, 1734},
		{column("1,234", "1,5", "2,234", "2"), "", 1.734}, // column b determines the sign
		{column("1,234", "1.5", "2,234", "2"), "", 1734},
		{column("1.234", "1,5", "2.234", "2"), "", math.NaN()},
		{column("1.234", "1,5", "2.234", "2"), DecimalComma, 1734},
		{column("1.234", "1,5", "2.234", "2"), DecimalPoint, 1.734},
		{column("1.234", "x", "2.234", "y"), "", 1.734}, // numbers as in programs
		{column("1.5", "1,5", "2.5", "2"), "", 2},
		{column("1 234", "x", "2 234", "y"), "", 1734},
		{column("1,234", "x", "2,234.5", "y"), "", 1734.25},
	} {
		got, err := mean(tc.text, tc.choice)
		if math.IsNaN(tc.want) {
			checkError(t, err, ErrColumn, `which has two readings: with a decimal comma and with separators of thousands; give the decimal sign (--decimal comma or --decimal point)`)
		} else if err != nil || math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%q with %q: %v, %v, want %v", tc.text, tc.choice, got, err, tc.want)
		}
	}
}

// TestTextsAmongNumbers refuses numbers with a few texts, which would become categories.
func TestTextsAmongNumbers(t *testing.T) {
	text := rowsText("x,y", 100, func(i int) string {
		if i == 50 {
			return "unknown,1"
		}
		return fmt.Sprintf("%d,%d", i/2, i%2)
	})
	_, err := everything(t, text, TableOptions{Label: "y"})
	checkError(t, err, ErrColumn, `line 52, column 1: invalid column "x": 99 of 100 values are numbers, the others are texts such as "unknown"; correct these values`)
	if _, err = everything(t, text, TableOptions{Label: "y", Categorical: []string{"x"}}); err == nil {
		return
	}
	checkError(t, err, ErrColumn, "different texts")
}

func TestLabelConditions(t *testing.T) {
	text := "mass,marital,z,y\n3000,single,1,a\n4000,married,2,b\n5000,single,3,c\n3999,divorced,4,a\n"
	for _, tc := range []struct {
		label   string
		labels  []int
		classes []string
	}{
		{"mass>=4000", []int{-1, 1, 1, -1}, []string{"mass<4000", "mass>=4000"}},
		{"mass < 4000", []int{1, -1, -1, 1}, []string{"mass>=4000", "mass < 4000"}},
		{"3500<=mass<4500", []int{-1, 1, -1, 1}, []string{"not 3500<=mass<4500", "3500<=mass<4500"}},
		{"marital!=married", []int{1, -1, 1, 1}, []string{"marital=married", "marital!=married"}},
		{"marital=single", []int{1, -1, 1, -1}, []string{"marital=divorced, married", "marital=single"}},
		{"mass=4000.0", []int{-1, 1, -1, -1}, []string{"mass=3000, 3999, 5000", "mass=4000"}},
		{"mass!=4000", []int{1, -1, 1, 1}, []string{"mass=4000", "mass!=4000"}},
	} {
		got, err := everything(t, text, TableOptions{Label: tc.label, Features: []string{"z"}})
		if err != nil {
			t.Errorf("%s: %v", tc.label, err)
			continue
		}
		if diff := cmp.Diff(tc.labels, got.Train.Labels); diff != "" || !slices.Equal(got.Train.Classes, tc.classes) {
			t.Errorf("%s: %s, %q", tc.label, diff, got.Train.Classes)
		}
	}
	for _, tc := range []struct{ label, says string }{
		{"mas>=4000", `no column "mas"; did you mean "mass"?`},
		{"mass>=heavy", `"heavy" is not a finite number`},
		{"marital>=3", `marital holds text, want marital=VALUE`},
		{"mass>=9999", "no rows of class mass>=9999"},
	} {
		_, err := everything(t, text, TableOptions{Label: tc.label, Features: []string{"z"}})
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %s", tc.label, err, tc.says)
		}
	}
	// != in groups
	got, err := everything(t, wages, TableOptions{Label: "paid", Ignore: []string{"name"}, Groups: []string{"zip!=89073"}, Attributes: []string{"sex!=F"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Group{{Name: "zip!=89073", Rows: []int{1, 3, 5, 7}}, {Name: theRest, Rows: []int{0, 2, 4, 6}}}, got.Train.Groups); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{1, 0, 1, 0, 1, 0, 1, 0}, got.Train.Attributes[0].Of); diff != "" {
		t.Error(diff)
	}
}

// streamed prepares new rows in blocks, as prediction does.
func streamed(t *testing.T, p *Preparation, text string) []float64 {
	t.Helper()
	var all []float64
	n := &NewRows{
		Preparation: p,
		Work:        func(features, results []float64) ([]float64, error) { return append(results, features...), nil },
		Emit: func(b *Block) error {
			all = append(all, b.Results...)
			return nil
		},
	}
	if err := n.Read(strings.NewReader(text), "new"); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNewRowsOfAnyTable checks that prediction prepares rows as training does: dates, decimal
// commas and columns without a name.
func TestNewRowsOfAnyTable(t *testing.T) {
	text := rowsText(";when;wage;g;y", 40, func(i int) string {
		return fmt.Sprintf("%d;%d.%d.2023;1.%03d,%d;%c;%d", 7*i%40, 1+i%28, 1+i%12, i*i%1000, i%10, 'a'+i%3, i%2)
	})
	got, err := everything(t, text, TableOptions{Label: "y", Dates: DatesExpanded})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"column 1", "when day", "when month", "when weekday", "wage", "g=a", "g=b", "g=c"}, got.Train.Columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(denseOf(t, got).Data, streamed(t, got.Preparation, text)); diff != "" {
		t.Error(diff)
	}
	latin := strings.Replace(text, ";a;", ";\xe4;", 1)
	n := &NewRows{Preparation: got.Preparation, Work: func(_, r []float64) ([]float64, error) { return r, nil }, Emit: func(*Block) error { return nil }}
	checkError(t, n.Read(strings.NewReader(latin), "new"), ErrFormat, `line 2, column 4: wrong format: "\xe4" is not in UTF-8, probably the text is in ISO-8859-1`)
}

// TestLabelsOfNewRows checks that a condition's label gives new rows their classes.
func TestLabelsOfNewRows(t *testing.T) {
	text := "mass;marital;z;y\n3.000,5;single;1;a\n4.000,5;married;2;b\n5.000,0;single;3;c\n"
	for label, want := range map[string][]int{"mass>=4000": {0, 1, 1}, "marital!=married": {1, 0, 1}, "marital=single": {1, 0, 1}} {
		got, err := everything(t, text, TableOptions{Label: label, Features: []string{"z"}})
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{"3.000,5", "4.000,5", "5.000,0"}
		if strings.HasPrefix(label, "marital") {
			texts = []string{"single", "married", "single"}
		}
		classes, err := got.Label.Classes(texts)
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
