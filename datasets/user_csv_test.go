package datasets

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"time"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/newrows"
	"ppal/internal/require"
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
func everything(t *testing.T, text string, opts tabular.TableOptions) (*tabular.Tables, error) {
	t.Helper()
	opts.File = datatest.Write(t, t.TempDir(), "own.csv", []byte(text))
	if opts.Split == (tabular.Split{}) {
		opts.Split = tabular.Split{Train: 100}
	}
	return LoadTable("", "csv", opts)
}

// prepared returns the features of all rows of a text as new rows have them.
func prepared(t *testing.T, p *tabular.Preparation, text string) (features []float64) {
	t.Helper()
	rows := newrows.NewRows{Preparation: p, Work: func(x, results []float64) ([]float64, error) { return append(results, x...), nil },
		Emit: func(b *newrows.Block) error { features = append(features, b.Results...); return nil }}
	require.NoError(t, rows.Read(strings.NewReader(text), "new"))
	return features
}

func denseOf(t *testing.T, tables *tabular.Tables) *matrix.Dense {
	t.Helper()
	d, ok := tables.Train.Features.(*matrix.Dense)
	if !ok {
		t.Fatalf("features are %T", tables.Train.Features)
	}
	return d
}

// TestUserCSVHeldOut checks that held-out rows are standardised with the mean and deviation of the
// training rows.
func TestUserCSVHeldOut(t *testing.T) {
	var text strings.Builder
	text.WriteString("x,y,row\n")
	for i := range 100 {
		fmt.Fprintf(&text, "%d,%d,%d\n", i*i, i%2, i)
	}
	got := require.Value(everything(t, text.String(), tabular.TableOptions{Label: "y", Split: tabular.DefaultSplit, Seed: 3, Ignore: []string{"row"}}))(t)
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

// manyLabels returns a file whose label is a measurement.
func manyLabels() string {
	var text strings.Builder
	text.WriteString("x,y\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "%d,%d.5\n", i, i)
	}
	return text.String()
}

func TestUserCSVErrors(t *testing.T) {
	_, err := everything(t, manyLabels(), tabular.TableOptions{Label: "y"})
	datatest.CheckError(t, err, dataerr.ErrLabel, `column "y": label out of range: it holds more than 1000 different numbers (0.5, 1.5, 10.5, 100.5, 1000.5 and 996 more), so it is probably a `+
		`quantity; want a condition for class +1, as in --label 'y=VALUE' or --label 'y>=NUMBER', or --categorical y for a class of each number`)
	_, err = LoadTable("", "csv", tabular.TableOptions{Label: "y", File: "nowhere.csv"})
	datatest.CheckError(t, err, fs.ErrNotExist, "nowhere.csv")
	_, err = LoadTable("", "csv", tabular.TableOptions{Label: "y"})
	datatest.CheckError(t, err, dataerr.ErrOption, "csv needs the path of a file")
	_, err = LoadTable("", "csv", tabular.TableOptions{File: "x"})
	datatest.CheckError(t, err, dataerr.ErrOption, "csv needs the label's column")
}

// TestUserCSVIdentifiers checks that the error names columns that identify rows.
func TestUserCSVIdentifiers(t *testing.T) {
	for form, advice := range map[string]string{"person %d": "ignore", "photos/%d.JPG": "read the pictures (--picture who), or ignore"} {
		var text strings.Builder
		text.WriteString("who,y\n")
		for i := range 60 {
			fmt.Fprintf(&text, form+",%d\n", i, i%2)
		}
		_, err := everything(t, text.String(), tabular.TableOptions{Label: "y"})
		datatest.CheckError(t, err, dataerr.ErrColumn, `"who": it has 60 different texts in 60 rows; `+advice+` the column (--ignore who)`)
	}
}

// TestUserCSVOneBadDate checks that the error names the line of the text that is not a date: in the
// middle, in the first row, and in the last piece of a large file.
func TestUserCSVOneBadDate(t *testing.T) {
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
		_, err := everything(t, text.String(), tabular.TableOptions{Label: "y", Dates: tabular.DatesExpanded})
		datatest.CheckError(t, err, dataerr.ErrColumn, fmt.Sprintf(`line %d, column 1: invalid column "joined": most values are dates, such as %s, and %q is not a date; correct such values`,
			tc.bad+2, first, tc.text))
	}
}
