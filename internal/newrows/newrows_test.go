package newrows

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// trained returns the features of all rows of a text as training makes them.
func trained(p *tabular.Preparation, text string) (*matrix.Dense, error) {
	s, err := columnar.ReadSheet(strings.NewReader(text), "file",
		&columnar.Schema{Layout: p.Layout, Absent: p.Absent, Columns: (&loader.Design{Encodings: p.Encodings}).Specs()})
	if err != nil {
		return nil, err
	}
	rows := make([]int, s.Rows)
	for i := range rows {
		rows[i] = i
	}
	return loader.MakeFeatures(p, s, rows)
}

// newRows collects the features and the kept texts of all blocks of NewRows.
func newRows(p *tabular.Preparation, r io.Reader, set NewRows) (x *matrix.Dense, kept [][]string, unknown int, err error) {
	x = &matrix.Dense{Cols: len(p.Columns())}
	kept = make([][]string, len(set.Keep))
	set.Preparation = p
	set.Work = func(features, results []float64) ([]float64, error) {
		if n := len(features); n == 0 || 8*n > featureBytes && n > x.Cols {
			return nil, fmt.Errorf("%d features in one call", n)
		}
		return append(results, features...), nil
	}
	set.Emit = func(b *Block) error {
		if b.First != x.Rows || len(b.Results) != b.Rows*x.Cols || b.Rows == 0 {
			return fmt.Errorf("a block of %d rows from %d with %d numbers, after %d rows", b.Rows, b.First, len(b.Results), x.Rows)
		}
		x.Data, x.Rows, unknown = append(x.Data, b.Results...), x.Rows+b.Rows, unknown+b.Unknown
		for k, texts := range b.Kept {
			if len(texts) != b.Rows {
				return fmt.Errorf("%d texts of %d rows", len(texts), b.Rows)
			}
			kept[k] = append(kept[k], texts...)
		}
		return nil
	}
	err = set.Read(r, "file")
	return x, kept, unknown, err
}

// newColumns returns a preparation with a column of each kind.
func newColumns() *tabular.Preparation {
	return &tabular.Preparation{Absent: []string{"", "NA"}, Encodings: []tabular.Encoding{
		{Column: "x", Center: 1, Scale: 2},
		{Column: "y", Center: 3, Scale: 1, Missing: true},
		{Column: "c", Categories: []string{"a", "b b", "z"}, Levels: []string{"b b", "a"}},
		{Column: "d", Categories: []string{"p", "q"}, Missing: true},
	}}
}

// TestNewRows reads files with another order of columns, with additional columns, and without the
// label.
func TestNewRows(t *testing.T) {
	p := newColumns()
	want := []float64{
		1, 2, 0, 0, 1, 1, 0, 0,
		-0.5, 0, 1, 1, 0, 0, 0, 1,
		0, -1, 0, 0, 0, 0, 1, 0,
	}
	for name, text := range map[string]string{
		"as trained":   "x,y,c,d\n3,5,a,p\n0,NA,b b,\n1,2,z,q\n",
		"other order":  "d,y,c,x\np,5,a,3\n,NA,b b,0\nq,2,z,1\n",
		"more columns": ",d,note,y,c,label,x\n0,p,u,5,a,1,3\n1,,u,NA,b b,1,0\n2,q,\"v,\"\"w\n\",2,z,0,1\n",
		"tabs, CRLF":   "x\ty\tc\td\r\n3\t5\ta\tp\r\n0\tNA\tb b\t\r\n1\t2\tz\tq\r\n",
		"quotes":       "\"x\";y;c;d\n\"3\";5;\"a\";p\n0;\"NA\"; \"b b\" ;\"\"\n1;2;z;q",
		"gzip":         string(datatest.Gzipped([]byte("x,y,c,d\n3,5,a,p\n0,NA,b b,\n1,2,z,q\n"))),
	} {
		text = strings.ReplaceAll(text, `"b b" ;`, `"b b";`)
		x, _, _, err := newRows(p, strings.NewReader(text), NewRows{})
		if err != nil || x.Rows != 3 {
			t.Fatalf("%s: %d rows, %v", name, x.Rows, err)
		}
		if diff := cmp.Diff(want, x.Data); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestNewRowsErrors checks that an error names the line and the column, and that NewRows emits the
// rows before the error.
func TestNewRowsErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want error
		says string
		rows int
	}{
		"category":    {"x,y,c,d\n3,5,a,p\n3,5,astronaut,p\n", dataerr.ErrCategory, `file: line 3, column 3: c: unknown category "astronaut", want one of a, b b, z`, 1},
		"number":      {"x,y,c,d\nfive,5,a,p\n", dataerr.ErrNumber, `line 2, column 1: x: "five" is not a finite number`, 0},
		"infinite":    {"x,y,c,d\n1e308,5,a,p\n", nil, "", 1},
		"missing":     {"x,y,c,d\nNA,5,a,p\n", dataerr.ErrMissing, `line 2, column 1: x: missing value: "NA"`, 0},
		"missing too": {"x,y,c,d\n1,5,,p\n", dataerr.ErrMissing, `line 2, column 3: c: missing value: ""`, 0},
		"column":      {"x,y,c\n1,5,a\n", dataerr.ErrColumn, `line 1: invalid column: no column "d"`, 0},
		"twice":       {"x,y,c,x,d\n1,5,a,2,p\n", dataerr.ErrColumn, `line 1: invalid column: 2 columns are named "x"; remove or rename all but one`, 0},
		"twice, too":  {"x,y,c, d ,d\n1,5,a,p,p\n", dataerr.ErrColumn, `2 columns are named "d"`, 0},
		"underscore":  {"x,y,c,d\n1_0,5,a,p\n", dataerr.ErrNumber, `line 2, column 1: x: "1_0" is not a finite number`, 0},
		"hexadecimal": {"x,y,c,d\n0x1p4,5,a,p\n", dataerr.ErrNumber, `"0x1p4" is not a finite number`, 0},
		"fields":      {"x,y,c,d\n1,5,a\n1,5,a,p\n", dataerr.ErrFormat, "line 2: wrong format: 3 fields, want 4", 0},
		"cut":         {"x,y,c,d\n1,5,a,p\n1,5", dataerr.ErrTruncated, "line 3: truncated: the last line has only 2 of 4 fields", 1},
		"bare quote":  {"x,y,c,d\n1,5,a,p\n1,5,a\"b,p\n1,5,a,p\n", dataerr.ErrFormat, `line 3, column 3: wrong format: bare "`, 1},
		"open quote":  {"x,y,c,d\n1,5,\"a,p\n1,5,a,p\n", dataerr.ErrTruncated, "line 2, column 3: truncated", 0},
		"empty":       {"", dataerr.ErrTruncated, "empty", 0},
		"no rows":     {"x,y,c,d\n\n", dataerr.ErrTruncated, "the file has no rows", 0},
		"no gzip":     {"\x1f\x8b\x08\x00", dataerr.ErrTruncated, "ends too early", 0},
	} {
		x, _, _, err := newRows(newColumns(), strings.NewReader(tc.text), NewRows{})
		if x.Rows != tc.rows {
			t.Errorf("%s: %d rows, want %d", name, x.Rows, tc.rows)
		}
		if tc.want == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var at *dataerr.FileError
		if !errors.Is(err, tc.want) || !errors.As(err, &at) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %v: %s", name, err, tc.want, tc.says)
		}
	}
	small := &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1e-10}, {Column: "y", Scale: 1}}}
	if _, _, _, err := newRows(small, strings.NewReader("x,y\n1e308,1\n"), NewRows{}); !errors.Is(err, dataerr.ErrNumber) ||
		!strings.Contains(err.Error(), "out of range once standardised") {
		t.Errorf("an infinite feature: %v", err)
	}
}

// TestNewRowsIgnoreUnknown checks that unknown categories have 0 in all indicators, and that
// NewRows counts unknown categories.
func TestNewRowsIgnoreUnknown(t *testing.T) {
	x, _, unknown, err := newRows(newColumns(), strings.NewReader("x,y,c,d\n1,3,astronaut,p\n1,3,a,new\n"), NewRows{IgnoreUnknown: true})
	if err != nil || unknown != 2 {
		t.Fatalf("%d unknown, %v", unknown, err)
	}
	if diff := cmp.Diff([]float64{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, x.Data); diff != "" {
		t.Error(diff)
	}
	if _, _, _, err := newRows(newColumns(), strings.NewReader("x,y,c,d\n,3,a,p\n"), NewRows{IgnoreUnknown: true}); !errors.Is(err, dataerr.ErrMissing) {
		t.Errorf("a missing value is not an unknown category: %v", err)
	}
}

// TestNewRowsKeep checks that the blocks keep the texts of columns.
func TestNewRowsKeep(t *testing.T) {
	_, kept, _, err := newRows(newColumns(), strings.NewReader("x,label,y,c,d\n1, yes ,3,a,p\n1,no,3,a,q\n"), NewRows{Keep: []string{"label", "d"}})
	if diff := cmp.Diff([][]string{{"yes", "no"}, {"p", "q"}}, kept); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, _, _, err := newRows(newColumns(), strings.NewReader("x,y,c,d\n1,3,a,p\n"), NewRows{Keep: []string{"label"}}); !errors.Is(err, dataerr.ErrColumn) {
		t.Errorf("no such column: %v", err)
	}
}

// Columns that nobody uses may have equal names. Of a column that the model or the caller uses,
// there is one.
func TestNewRowsEqualNames(t *testing.T) {
	for _, tc := range []struct{ header, keep, says string }{
		{"note,note,x,y,c,d,k", "k", ""},
		{"k,k,x,y,c,d,note", "note", ""},
		{"k,k,x,y,c,d,note", "k", `2 columns are named "k"`},
		{"k, k ,x,y,c,d,note", "k", `2 columns are named "k"`},
		{"k,k,x,y,c,d,note", "k<3", `2 columns are named "k"`},
		{"y,k,x,y,c,d,note", "k", `2 columns are named "y"`},
		{"y,d,x,y,c,d,d", "y", `2 columns are named "y"`},
		{"k,d,x,y,c,d,d", "k", `3 columns are named "d"`},
	} {
		x, _, _, err := newRows(newColumns(), strings.NewReader(tc.header+"\n1,2,3,3,a,p,7\n"), NewRows{Keep: []string{tc.keep}})
		if tc.says == "" {
			if err != nil || x.Rows != 1 {
				t.Errorf("%s, %s: %v", tc.header, tc.keep, err)
			}
		} else if !errors.Is(err, dataerr.ErrColumn) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s, %s: %v, want %s", tc.header, tc.keep, err, tc.says)
		}
	}
	if _, _, _, err := newRows(newColumns(), strings.NewReader("k,k,x,y,c,d\n1,2,3,3,a,p\n"), NewRows{Required: []string{"k", "none"}}); !errors.Is(err, dataerr.ErrColumn) {
		t.Errorf("a required column: %v", err)
	}
	for _, line := range []string{"+1 1:2 1:3\n", "1:2 2:0 2:3\n"} {
		if _, _, _, err := newRows(&tabular.Preparation{Numbers: []int{1, 2}, Indices: 2}, strings.NewReader(line), NewRows{}); !errors.Is(err, dataerr.ErrIndex) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// manyRows returns a text of n rows, with a quoted line end in every third row.
func manyRows(n int) string {
	var text strings.Builder
	text.WriteString("note,c,d,y,x\n")
	for i := range n {
		note := strings.Repeat("n", i%50)
		if i%3 == 0 {
			note = `"two` + "\n" + `lines, ""` + note + `"""`
		}
		fmt.Fprintf(&text, "%s,%s,%s,%d.%02d,%g\n", note, []string{"a", `"b b"`, "z"}[i%3], []string{"p", "", "q"}[i%3], i, i%100, float64(i)/7)
	}
	return text.String()
}

// TestNewRowsChunks checks that NewRows returns the rows of training for any size of
// chunks and for several blocks.
func TestNewRowsChunks(t *testing.T) {
	const n = 20000
	p, text := newColumns(), manyRows(n)
	want, err := trained(p, text)
	require.NoError(t, err)
	for name, r := range map[string]io.Reader{"at once": strings.NewReader(text), "bit by bit": iotest.HalfReader(strings.NewReader(text))} {
		x, _, _, err := newRows(p, r, NewRows{})
		require.NoError(t, err)
		if !reflect.DeepEqual(want, x) { // faster than cmp.Diff
			t.Errorf("%s: %s", name, cmp.Diff(want, x))
		}
	}
	bad := strings.Replace(text, "15000.00,", "15000.00x,", 1)
	_, err = trained(p, bad)
	x, _, _, own := newRows(p, strings.NewReader(bad), NewRows{})
	if err == nil || own == nil || err.Error() != own.Error() || x.Rows != 15000 {
		t.Errorf("%d rows, %v, want %v", x.Rows, own, err)
	}
}

// TestNewRowsLongRecord checks that NewRows reads a record longer than a chunk, and that an endless
// record is an error.
func TestNewRowsLongRecord(t *testing.T) {
	long := "note,x,y,c,d\n" + strings.Repeat("n", 3*recordio.ChunkBytes) + ",1,3,a,p\n\"" + strings.Repeat("\n", 2*recordio.ChunkBytes) + "\",1,3,a,p\n"
	if x, _, _, err := newRows(newColumns(), strings.NewReader(long), NewRows{}); err != nil || x.Rows != 2 {
		t.Errorf("%d rows, %v", x.Rows, err)
	}
}

// TestNewRowsStops checks that Read returns the errors of Work and Emit unchanged.
func TestNewRowsStops(t *testing.T) {
	broken := errors.New("broken pipe")
	text := manyRows(50000)
	for name, set := range map[string]NewRows{
		"emit": {Emit: func(*Block) error { return broken },
			Work: func(_, results []float64) ([]float64, error) { return results, nil }},
		"work": {Emit: func(*Block) error { return nil },
			Work: func(_, results []float64) ([]float64, error) { return nil, broken }},
	} {
		set.Preparation = newColumns()
		if err := set.Read(strings.NewReader(text), "file"); err != broken {
			t.Errorf("%s: %v", name, err)
		}
	}
	set := NewRows{Preparation: newColumns(), Emit: func(*Block) error { return nil },
		Work: func(_, results []float64) ([]float64, error) { return results, nil }}
	torn := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
	if err := set.Read(torn, "file"); !errors.Is(err, broken) {
		t.Errorf("an error while reading: %v", err)
	}
}

// headerEnd returns the last line of the header: a name in quotes may have several lines.
func headerEnd(text string) int {
	line, quoted, begun := 1, false, false
	for _, c := range text {
		switch {
		case c == '\n' && begun && !quoted:
			return line
		case c == '\n':
			line++
		case c != '\r':
			quoted, begun = quoted != (c == '"'), true
		}
	}
	return line
}

// FuzzNewRows checks that NewRows and training accept the same texts and make the same
// features.
func FuzzNewRows(f *testing.F) {
	for _, text := range []string{
		"x,y,c,d\n3,5,a,p\n0,NA,b b,\n", "x;y;c;d\n\"3\";5;\"a\"\n", "x\ty\tc\td\r\n3\t5\ta\tp\r", "x,y,c,d\n1,2,\"a\n\",p\n",
		"x,y,c,d\n\n1, \"2\",\"a\"\"\",p", "x,y,c,d\n1,2,a\"b,p\n\"", manyRows(9),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := newColumns()
		want, wantErr := trained(p, text)
		x, _, _, err := newRows(p, iotest.OneByteReader(strings.NewReader(text)), NewRows{})
		if wantErr == nil {
			if diff := cmp.Diff(want, x); err != nil || diff != "" {
				t.Fatal(err, diff)
			}
			return
		}
		for _, of := range []string{"the column has no name", "only one column", "the first line holds numbers"} {
			if strings.Contains(wantErr.Error(), of) { // training tables have stricter rules for the header
				return
			}
		}
		var at, own *dataerr.FileError
		if errors.As(wantErr, &at) && at.Line <= headerEnd(text) && strings.Contains(wantErr.Error(), "is not in UTF-8") { // an unused name
			return
		}
		if err == nil {
			t.Fatalf("accepted, want %v", wantErr)
		}
		kinds := []error{dataerr.ErrFormat, dataerr.ErrTruncated, dataerr.ErrColumn, dataerr.ErrNumber, dataerr.ErrCategory, dataerr.ErrMissing}
		kind := func(err error) int { return slices.IndexFunc(kinds, func(k error) bool { return errors.Is(err, k) }) }
		if errors.As(wantErr, &at) && errors.As(err, &own) && at.Line > 1 && at.Line < own.Line {
			t.Fatalf("%v, want %v", err, wantErr)
		}
		if kind(err) < 0 {
			t.Fatalf("%v has no kind", err)
		}
	})
}

// Numbers are categories, and categories are numbers, only as the label says.
func TestLabel(t *testing.T) {
	for name, tc := range map[string]struct {
		label  tabular.Label
		values []string // nil: not compared
		texts  []string
		want   []int
		err    error
	}{
		"words":                         {tabular.Label{Column: "y", Positive: "yes", Negative: []string{"no"}}, []string{"no", "yes"}, []string{"no", "yes"}, []int{0, 1}, nil},
		"numbers":                       {tabular.Label{Positive: "+1", Negative: []string{"-1"}}, []string{"-1", "+1"}, []string{"1", "-1.0", "+1"}, []int{1, 0, 1}, nil},
		"several":                       {tabular.Label{Positive: "a", Negative: []string{"b", "c"}}, []string{"not a", "a"}, []string{"c", "b", "a"}, []int{0, 0, 1}, nil},
		"unknown":                       {tabular.Label{Positive: "a", Negative: []string{"b"}}, []string{"b", "a"}, []string{"x"}, nil, dataerr.ErrLabel},
		"condition":                     {tabular.Label{Column: "x", Condition: "x>=0.28", Otherwise: "x<0.28"}, []string{"x<0.28", "x>=0.28"}, []string{"0.28", "0.2"}, []int{1, 0}, nil},
		"no grade":                      {tabular.Label{Column: "x", Condition: "x>1", Otherwise: "x<=1", Grades: true}, []string{"x<=1", "x>1"}, []string{"2", "2.5"}, nil, dataerr.ErrLabel},
		"no number":                     {tabular.Label{Column: "x", Condition: "x>=0.28", Otherwise: "x<0.28"}, []string{"x<0.28", "x>=0.28"}, []string{"?"}, nil, dataerr.ErrNumber},
		"a word in place of 0":          {tabular.Label{Positive: "0", Negative: []string{"1"}}, nil, []string{"x"}, nil, dataerr.ErrLabel},
		"0 in place of a word":          {tabular.Label{Positive: "yes", Negative: []string{"no"}}, nil, []string{"0"}, nil, dataerr.ErrLabel},
		"a category":                    {tabular.Label{Column: "x", Condition: "x=a", Otherwise: "x!=a"}, nil, []string{"a", "5", "b"}, []int{1, 0, 0}, nil},
		"a number's spelling":           {tabular.Label{Column: "x", Condition: "x=3", Otherwise: "x!=3"}, nil, []string{"3.0", "4", "3"}, []int{1, 0, 1}, nil},
		"not a category":                {tabular.Label{Column: "x", Condition: "x!=a", Otherwise: "x=a"}, nil, []string{"a", "5", "b"}, []int{0, 1, 1}, nil},
		"a decimal comma":               {tabular.Label{Column: "x", Condition: "x>1.5", Otherwise: "x<=1.5", Decimal: ","}, nil, []string{"1,4", "1,6"}, []int{0, 1}, nil},
		"others":                        {tabular.Label{Several: []string{"2", "b", "c"}, Others: []string{"d"}}, nil, []string{"c", "d", "2.0", "b"}, []int{2, -1, 0, 1}, nil},
		"none of several":               {tabular.Label{Several: []string{"0", "b", "c"}, Others: []string{"d"}}, nil, []string{"x"}, nil, dataerr.ErrLabel},
		"another column":                {tabular.Label{Column: "x", Condition: "y>3", Otherwise: "y<=3"}, nil, []string{"4"}, nil, dataerr.ErrGroup},
		"the second row is not a label": {tabular.Label{Positive: "a", Negative: []string{"b"}}, nil, []string{"a", "?"}, nil, dataerr.ErrLabel},
	} {
		got, err := LabelClasses(&tc.label, tc.texts)
		if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) || tc.values != nil && !slices.Equal(tc.label.Values(), tc.values) {
			t.Errorf("%s: %v, %v, %s", name, tc.label.Values(), err, diff)
		}
	}
	for _, tc := range []struct {
		label tabular.Label
		known bool
	}{{tabular.Label{Column: "y"}, false}, {tabular.Label{Positive: "a"}, true}, {tabular.Label{Condition: "y>1"}, true}, {tabular.Label{Several: []string{"a", "b"}}, true}} {
		if tc.label.Known() != tc.known {
			t.Errorf("%+v is known: %t", tc.label, !tc.known)
		}
	}
}

// TestNewRowsLocal reads numbers with decimal commas, dates in parts, and a number that marks
// missing values.
func TestNewRowsLocal(t *testing.T) {
	p := &tabular.Preparation{Absent: []string{"-999"}, Encodings: []tabular.Encoding{
		{Column: "x", Decimal: ",", Scale: 1, Missing: true},
		{Column: "when", Date: "2006-01-02", Part: "month", Scale: 1},
		{Column: "when", Date: "2006-01-02", Part: "weekday", Scale: 1},
	}}
	text := "when;x\n2024-05-13;1.234,5\n2024-12-31;-999\n"
	x, _, _, err := newRows(p, strings.NewReader(text), NewRows{})
	if diff := cmp.Diff([]float64{1234.5, 0, 5, 1, 0, 1, 12, 2}, x.Data); err != nil || diff != "" {
		t.Error(err, diff)
	}
	want, err := trained(p, text)
	if diff := cmp.Diff(want, x); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, _, _, err := newRows(p, strings.NewReader("when;x\nyesterday;1\n"), NewRows{}); !errors.Is(err, dataerr.ErrNumber) {
		t.Errorf("no date: %v", err)
	}
}

// repeated is a reader that repeats the same rows up to a number of bytes.
type repeated struct {
	rows []byte
	left int
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rows[r.at:])
	r.at = (r.at + n) % len(r.rows)
	r.left -= n
	return n, nil
}

// TestNewRowsMemory checks that the memory does not grow with the number of rows: reading 100 MB
// needs at most 32 MB at a time, and less than one allocation for 50 rows.
func TestNewRowsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 100 MB")
	}
	text := manyRows(3000)
	header, rows, _ := strings.Cut(text, "\n")
	count, peak := 0, uint64(0)
	var before, now runtime.MemStats
	set := NewRows{Preparation: newColumns(),
		Work: func(features, results []float64) ([]float64, error) { return append(results, features[:1]...), nil },
		Emit: func(b *Block) error {
			count += b.Rows
			if count%(1<<18) < b.Rows {
				runtime.GC()
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc-before.HeapAlloc)
			}
			return nil
		}}
	runtime.GC()
	runtime.ReadMemStats(&before)
	from := io.MultiReader(strings.NewReader(header+"\n"), &repeated{rows: []byte(rows), left: 100 << 20 / len(rows) * len(rows)})
	require.NoError(t, set.Read(from, "file"))
	runtime.ReadMemStats(&now)
	if allocations := now.Mallocs - before.Mallocs; count < 1<<20 || allocations > uint64(count/50) || peak > 32<<20 {
		t.Errorf("%d rows, %d allocations, %d bytes at most", count, allocations, peak)
	}
}
