package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A date in another form than in training is named as such, for new rows and in a test file.
func TestDatesOfAnotherForm(t *testing.T) {
	text := "joined,y\n"
	for i := range 60 {
		text += fmt.Sprintf("%02d/%02d/2016,%d\n", 1+i%28, 1+i%12, i/7%2)
	}
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")
	bad := "joined,y\n01/31/2016,1\n"
	for name, content := range map[string]string{path: text, other: bad} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const says = `joined: "01/31/2016" is not a date in the form day/month/year, as in training`
	tables, err := LoadTable("", "csv", TableOptions{File: path, Label: "y", Dates: DatesDayFirst})
	if err != nil {
		t.Fatal(err)
	}
	rows := NewRows{Preparation: tables.Preparation, Work: func(x, results []float64) ([]float64, error) { return append(results, x...), nil }, Emit: func(*Block) error { return nil }}
	checkError(t, rows.Read(strings.NewReader(bad), "new"), ErrNumber, says)
	_, err = LoadTable("", "csv", TableOptions{File: path, Label: "y", Dates: DatesDayFirst, TestFile: other})
	checkError(t, err, ErrNumber, says)
	for _, layout := range dateLayouts {
		if words := dateWords.Replace(layout); strings.ContainsAny(words, "0123456789") || !strings.Contains(words, "year") || !strings.Contains(words, "month") {
			t.Errorf("%s: %s", layout, words)
		}
	}
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
	// Dates are not categories, so their number has no limit.
	var many []string
	for i := range maxCategories + 1 {
		many = append(many, time.Unix(int64(i)*86400, 0).UTC().Format("2006-01-02"))
	}
	if _, err := everything(t, text(many...), TableOptions{Label: "y", Dates: DatesExpanded}); err != nil {
		t.Errorf("%d dates: %v", len(many), err)
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
