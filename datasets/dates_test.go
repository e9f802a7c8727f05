package datasets

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/newrows"
	"ppal/internal/textvalue"
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
		datatest.Write(t, "", name, []byte(content))
	}
	const says = `joined: "01/31/2016" is not a date in the form day/month/year, as in training`
	tables := loaded(t, "csv", tabular.TableOptions{File: path, Label: "y", Dates: tabular.DatesDayFirst})
	rows := newrows.NewRows{Preparation: tables.Preparation, Work: func(x, results []float64) ([]float64, error) { return append(results, x...), nil }, Emit: func(*newrows.Block) error { return nil }}
	datatest.CheckError(t, rows.Read(strings.NewReader(bad), "new"), dataerr.ErrNumber, says)
	_, err := LoadTable("", "csv", tabular.TableOptions{File: path, Label: "y", Dates: tabular.DatesDayFirst, TestFile: other})
	datatest.CheckError(t, err, dataerr.ErrNumber, says)
	for _, layout := range textvalue.DateLayouts {
		if words := textvalue.DateWords.Replace(layout); strings.ContainsAny(words, "0123456789") || !strings.Contains(words, "year") || !strings.Contains(words, "month") {
			t.Errorf("%s: %s", layout, words)
		}
	}
}

// TestManyDates checks that dates are not categories, so their number has no limit.
func TestManyDates(t *testing.T) {
	var many []string
	for i := range columnar.MaxCategories + 1 {
		many = append(many, time.Unix(int64(i)*86400, 0).UTC().Format("2006-01-02"))
	}
	text := datatest.RowsText("d,y", len(many), func(i int) string { return fmt.Sprintf("%s,%d", many[i], i%2) })
	if _, err := everything(t, text, tabular.TableOptions{Label: "y", Dates: tabular.DatesExpanded}); err != nil {
		t.Errorf("%d dates: %v", len(many), err)
	}
}
