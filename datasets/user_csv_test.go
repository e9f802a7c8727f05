package datasets

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/newrows"
	"ppal/internal/recordio"
	"ppal/internal/require"
	"ppal/internal/textvalue"
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

// TestDecimalCommas reads a European table: its numbers must be the same as in an American one.
func TestDecimalCommas(t *testing.T) {
	american := datatest.RowsText("bill;mass;share;y", 50, func(i int) string {
		return fmt.Sprintf("%.1f;%d.25;0.%03d;%d", 30+float64(i)/3, 1000+37*i, 13*i, i*i/7%2)
	})
	european := datatest.RowsText("bill;mass;share;y", 50, func(i int) string {
		bill := strings.Replace(fmt.Sprintf("%.1f", 30+float64(i)/3), ".", ",", 1)
		return fmt.Sprintf("%s;%d.%03d,25;0,%03d;%d", bill, (1000+37*i)/1000, (1000+37*i)%1000, 13*i, i*i/7%2)
	})
	want := require.Value(everything(t, american, tabular.TableOptions{Label: "y"}))(t)
	got := require.Value(everything(t, european, tabular.TableOptions{Label: "y"}))(t)
	if diff := cmp.Diff(denseOf(t, want).Data, denseOf(t, got).Data); diff != "" || len(got.Train.Columns) != 3 {
		t.Error(diff)
	}
	if note := "These columns hold numbers with decimal commas: bill, mass, share."; !slices.Contains(got.Notes, note) {
		t.Errorf("notes %q", got.Notes)
	}
	if again := prepared(t, got.Preparation, european); !slices.Equal(again, denseOf(t, got).Data) {
		t.Error("new rows differ")
	}
}

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

// layoutOf returns a layout with a separator, 0 to detect it, and with names of the columns.
func layoutOf(separator rune, header []string) tabular.Layout {
	l := tabular.Layout{Header: header}
	if separator != 0 {
		l.Separator = string(separator)
	}
	return l
}

// allRecords reads all records of a text, the header first.
func allRecords(text string, separator rune, header []string) ([][]string, error) {
	d, err := recordio.NewDelimited(strings.NewReader(text), "file", layoutOf(separator, header))
	if err != nil {
		return nil, err
	}
	out := [][]string{d.Header}
	err = eachRow(d, func(row []string) error {
		out = append(out, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// eachRow calls visit for each row of a text.
func eachRow(d *recordio.Delimited, visit func(row []string) error) error {
	fields := d.Reader(len(d.Header))
	for {
		c, err := d.Next(nil)
		if err == nil {
			err = fields.Each(c, func() error {
				var row []string
				for _, field := range fields.Fields {
					row = append(row, string(field))
				}
				return visit(row)
			})
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

func TestDelimitedErrors(t *testing.T) {
	whole := string(datatest.Gzipped([]byte("a,b\n" + strings.Repeat("1,2\n", 100))))
	_, err := allRecords(whole[:len(whole)-9], 0, nil)
	datatest.CheckError(t, err, dataerr.ErrTruncated, "the file ends too early")
	// An error of reading counts even if the next call of Read succeeds.
	_, err = recordio.NewDelimited(iotest.TimeoutReader(strings.NewReader("a,b\n1,2\n")), "file", tabular.Layout{})
	datatest.CheckError(t, err, iotest.ErrTimeout, "file: byte 8: timeout")
}

// A short last row is known to be the last one if the text ends with a chunk.
func TestLastRowAtTheEndOfAChunk(t *testing.T) {
	text := "a,b,c\n" + strings.Repeat("12,3,45\n", recordio.ChunkBytes/8-2)
	text += strings.Repeat("1", recordio.ChunkBytes-len(text)-3) + ",2\n"
	_, err := allRecords(text, ',', nil)
	datatest.CheckError(t, err, dataerr.ErrTruncated, "truncated: the last line has only 2 of 3 fields")
}

// TestFieldsAtTheEnd reads quoted fields at the end of a text without a line end.
func TestFieldsAtTheEnd(t *testing.T) {
	for text, want := range map[string][]string{
		`"1","2"`: {"1", "2"}, `"1",`: {"1", ""}, "1,\"2\"\r": {"1", "2"}, "\"a\r\"\"b\",2": {"a\r\"b", "2"}, "\"a\nb\r\nc\",\"d\"\r\n": {"a\nb\nc", "d"},
	} {
		got, err := allRecords("a,b\n"+text, ',', nil)
		if err != nil || len(got) != 2 || !slices.Equal(got[1], want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
