package loader_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/loader"
	"ppal/internal/recordio"
	"ppal/internal/require"
	"ppal/internal/textvalue"
)

// The profiles of the pieces of a column, joined, are the profile of the column.
func TestProfilesJoin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	texts := []string{"1", "2", "3", "1.5", "1.234", "1,234", "1,5", "1.234,5", "1,234.5", "1 234", "inf", "1e999", "a", "b", "", "NA", "2020-01-02", "3/4/2020"}
	absent := columnar.NewTextSet(loader.AbsentTexts)
	records := recordio.NewFieldReader("file", ',', 1)
	profileOf := func(from, to int, values []string, onlyCategories, full bool) *columnar.Profile {
		p := columnar.NewProfile(onlyCategories)
		p.Full = full
		for i := from; i < to; i++ {
			text := fmt.Sprintf("\"%s%s\"\n", values[i], strings.Repeat(" ", i%5%2))
			records.Reset(recordio.Chunk{Text: []byte(text), Last: true, Line: i + 2})
			require.NoError(t, records.Next())
			p.Add(records, 0, absent)
		}
		return p
	}
	for round := range 3000 {
		own := texts[rng.IntN(len(texts)):]
		own = own[:1+rng.IntN(len(own))]
		values := make([]string, rng.IntN(12))
		for i := range values {
			if values[i] = own[rng.IntN(len(own))]; round%3 == 0 {
				values[i] = strconv.Itoa(i + round%2)
			}
		}
		if round%500 == 0 {
			for i := range columnar.MaxCategories + 200 {
				values = append(values, "v"+strconv.Itoa(i))
			}
		}
		onlyCategories := rng.IntN(4) == 0
		want := profileOf(0, len(values), values, onlyCategories, false)
		joined := columnar.NewProfile(onlyCategories)
		for from := 0; from < len(values); {
			to := min(from+rng.IntN(4)*(1+len(values)/50), len(values))
			joined.Join(profileOf(from, to, values, onlyCategories, len(joined.Values) > columnar.MaxCategories))
			from = to
		}
		if !joined.Counting { // then the other numbers do not matter
			joined.First, joined.Last = want.First, want.Last
		}
		if len(want.Values) > columnar.MaxCategories { // then the counts do not matter
			for _, p := range []*columnar.Profile{want, joined} {
				for _, of := range p.Kinds {
					of.Rows, of.Padded = 0, 0
				}
			}
		}
		if diff := cmp.Diff(want, joined, cmp.AllowUnexported(columnar.Profile{}, columnar.Distinct{})); diff != "" {
			t.Fatalf("%q: %s", values, diff)
		}
	}
}

// manyLines returns a table of several chunks whose columns change late: texts among numbers, a
// missing value, and categories in an order that is not that of the alphabet.
func manyLines(rows int) string {
	var text strings.Builder
	text.WriteString("x,c,late,n,y\n")
	for i := range rows {
		fmt.Fprintf(&text, "%.17g,%s,%d,%d,%s\n", math.Sin(float64(i)), []string{"q", "\"a,\n b\"", "z"}[i*i%7%3], i, i%50, []string{"no", "yes"}[i%3%2])
	}
	return text.String()
}

// A table and its errors are the same for any number of threads and any pieces in which the text
// arrives.
func TestReadingIsTheSameForAnyNumberOfThreads(t *testing.T) {
	text := manyLines(20000)
	at := func(row int) int { return strings.Index(text, fmt.Sprintf(",%d,", row)) + 1 }
	for name, text := range map[string]string{
		"whole":                text,
		"a text among numbers": text[:at(15000)] + "x" + text[at(15000):],
		"a missing number":     text[:at(16000)] + "," + text[at(16000)+len("16000,"):],
		"too few fields":       text[:at(12000)] + "\n" + text[at(12000):],
		"a wrong quote":        text[:at(13000)] + "1\"" + text[at(13000):],
		"Latin-1":              text[:at(14000)] + "\xe9" + text[at(14000):],
		"cut":                  text[:at(15000)],
		"several problems":     text[:at(13000)] + "NA,x,y\n" + text[at(13000):at(17000)] + "\"x" + text[at(17000):],
	} {
		for _, missing := range []string{tabular.MissingRefused, tabular.MissingDropped} {
			if require.Racing && missing == tabular.MissingDropped && name != "several problems" {
				continue // the same goroutines
			}
			opts := tabular.TableOptions{File: "file", Label: "y", Missing: missing, Attributes: []string{"c"}}
			want := summaryWith(4, strings.NewReader(text), opts)
			if got := summaryWith(4, halves{strings.NewReader(text)}, opts); got != want {
				t.Errorf("%s, in small pieces: %s\nwant %s", name, got, want)
			}
			if require.Racing {
				continue
			}
			if got := summaryWith(1, strings.NewReader(text), opts); got != want {
				t.Errorf("%s, one thread: %s\nwant %s", name, got, want)
			}
		}
	}
}

// halves is a text that arrives in small pieces.
type halves struct{ *strings.Reader }

func (h halves) Read(p []byte) (int, error) { return iotest.HalfReader(h.Reader).Read(p) }

// summaryWith reads a table with a number of threads, and returns everything that the text
// determines, or the error.
func summaryWith(threads int, r io.ReadSeeker, opts tabular.TableOptions) string {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	source, err := loader.ReadUserCSV(context.Background(), r, opts)
	if err != nil {
		return err.Error()
	}
	tables, err := source.Split(tabular.TableOptions{Split: tabular.Split{Train: 100}})
	if err != nil {
		return err.Error()
	}
	train := tables.Train
	return fmt.Sprintf("%s %v %+v %v %v %v", train.SHA256(), tables.Uses, *tables.Preparation, tables.Notes, train.Attributes[0].Of[:99], train.Source[9000:9999])
}

// Reading a table takes no memory for each field, and less than the table's numbers and codes
// again.
func TestReadingAllocatesLittle(t *testing.T) {
	require.NoRace(t, "TestReadingIsTheSameForAnyNumberOfThreads reads with the same goroutines")
	const rows = 60000
	text := manyLines(rows)
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	require.Value(loader.ReadUserCSV(t.Context(), strings.NewReader(text), tabular.TableOptions{File: "file", Label: "y"}))(t)
	runtime.ReadMemStats(&now)
	sheet := uint64(rows * (3*8 + 2*4))
	if allocations, taken := now.Mallocs-before.Mallocs, now.TotalAlloc-before.TotalAlloc; allocations > rows/2 || taken > 4*sheet+8<<20 {
		t.Errorf("%d allocations, %d bytes", allocations, taken)
	}
}

// TestProfilesByHand checks the numbers of a profile, and how they decide the decimal sign.
func TestProfilesByHand(t *testing.T) {
	absent, records := columnar.NewTextSet(loader.AbsentTexts), recordio.NewFieldReader("file", ',', 1)
	fill := func(p *columnar.Profile, texts ...string) *columnar.Profile {
		for i, text := range texts {
			records.Fields, records.Record = append(records.Fields[:0], []byte(text)), i+2
			p.Add(records, 0, absent)
		}
		return p
	}
	all := textvalue.FormSet(1<<len(textvalue.DateLayouts) - 1)
	for _, test := range []struct {
		texts               []string
		plain, dotted       int
		pointGroups, absent int
		local               int
		numbers             bool // 0, 1, 2 ... or 1, 2, 3 ...
		dates               bool
		file                string // the sign of the other columns
		decimal             string
		ok, doubt           bool
	}{
		{texts: nil, dates: true, ok: true},
		{texts: []string{"0", "1", "2"}, plain: 3, numbers: true, ok: true},
		{texts: []string{"1", "2", "3"}, plain: 3, numbers: true, ok: true},
		{texts: []string{"2", "3"}, plain: 2, ok: true},
		{texts: []string{"1", "NA", "2"}, plain: 2, absent: 1, ok: true},
		{texts: []string{"1", "3"}, plain: 2, ok: true},
		{texts: []string{".5"}, plain: 1, dotted: 1, ok: true},
		{texts: []string{"1.234", "2.345"}, plain: 2, pointGroups: 2, ok: true},
		{texts: []string{"1.234", "2.345"}, plain: 2, pointGroups: 2, file: textvalue.CommaDecimals, ok: true, doubt: true},
		{texts: []string{"1.234", "2.5"}, plain: 2, pointGroups: 1, dotted: 1, file: textvalue.CommaDecimals, ok: true},
		{texts: []string{"1,5", "2"}, plain: 1, local: 1, decimal: textvalue.CommaDecimals, ok: true},
		{texts: []string{"1,234.5", "2"}, plain: 1, local: 1, decimal: textvalue.PointDecimals, ok: true},
		{texts: []string{"1,234", "2.5"}, plain: 1, dotted: 1, local: 1, decimal: textvalue.PointDecimals, ok: true},
		{texts: []string{"1,234", "2"}, plain: 1, local: 1, ok: true, doubt: true},
		{texts: []string{"1,234", "2"}, plain: 1, local: 1, file: textvalue.CommaDecimals, decimal: textvalue.CommaDecimals, ok: true},
		{texts: []string{"1 234", "1 234"}, local: 2, decimal: textvalue.PointDecimals, ok: true},
		{texts: []string{"1 234", "1.234"}, plain: 1, pointGroups: 1, local: 1, ok: true, doubt: true},
		{texts: []string{"1,5", "2.5"}, plain: 1, dotted: 1, local: 1},
		{texts: []string{"1,5", "1,234.5"}, local: 2},
		{texts: []string{"1,5", "a"}, local: 1},
		{texts: []string{"2024-05-13", "2024-05-14"}, dates: true},
		{texts: []string{"2024-05-13", "2024"}, plain: 1},
		{texts: []string{"2024", "2024-05-13"}, plain: 1},
	} {
		p := fill(columnar.NewProfile(false), test.texts...)
		if p.Rows != len(test.texts) || p.Plain != test.plain || p.Dotted != test.dotted || p.PointGroups != test.pointGroups || p.Missing != test.absent ||
			p.Local() != test.local || p.NumbersRows() != test.numbers || (p.Forms != 0) != test.dates {
			t.Errorf("%q: %+v", test.texts, p)
		}
		if decimal, ok, doubt := p.Decimal(test.file, false); decimal != test.decimal || ok != test.ok || doubt != test.doubt {
			t.Errorf("%q in a file with %q: %q, %t, doubt %t", test.texts, test.file, decimal, ok, doubt)
		}
		again := fill(columnar.NewProfile(false), "x", "1", "NA", "2020-01-02")
		again.Reset()
		if diff := cmp.Diff(p, fill(again, test.texts...), cmp.AllowUnexported(columnar.Profile{}, columnar.Distinct{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q after other texts: %s", test.texts, diff)
		}
	}
	for text, want := range map[string]columnar.TextKind{"0,0": columnar.CommaText, "1,234.5": columnar.PointText, "1,234": columnar.EitherText, "1 234": columnar.GroupedText, "inf": columnar.InfiniteText,
		"1e999": columnar.InfiniteText, "x": columnar.OtherText} {
		if got := columnar.TextKindOf([]byte(text)); got != want {
			t.Errorf("%q is of the kind %d, want %d", text, got, want)
		}
	}
	for _, test := range []struct {
		categories   bool
		texts        []string
		comma, point bool
	}{
		{texts: []string{"1,5"}, comma: true}, {texts: []string{"1,5", "x"}}, {texts: []string{"1,5", "1,234.5"}}, {texts: []string{"1,5", "2.5"}},
		{texts: []string{"2.5"}, point: true}, {texts: []string{"1,234.5"}, point: true}, {texts: []string{"2.5", "x"}}, {texts: []string{"1,234.5", "x"}},
		{texts: []string{"1", "1,234"}}, {categories: true, texts: []string{"1,5"}},
	} {
		p := fill(columnar.NewProfile(test.categories), test.texts...)
		if p.UsesComma() != test.comma || p.UsesPoint() != test.point || test.categories && p.Numeric() {
			t.Errorf("%q: comma %t, point %t, numeric %t", test.texts, p.UsesComma(), p.UsesPoint(), p.Numeric())
		}
	}
	late := fill(columnar.NewProfile(false), "1", "2")
	if late.Join(fill(columnar.NewProfile(false), "3", "5")); late.NumbersRows() {
		t.Error("1, 2, 3, 5 number the rows")
	}
	if p := columnar.NewProfile(false); p.Forms&all != all {
		t.Errorf("forms %b at the beginning", p.Forms)
	}
}

// FuzzDecisions reads any bytes as a file of decisions.
func FuzzDecisions(f *testing.F) {
	f.Add([]byte("row,score,decision\n1,0.5,yes\n2,-1,no\n"))
	f.Add([]byte("class,row\r\n\"yes\",3\r\n"))
	f.Add([]byte("row,decision\n1,yes\n1,no\n"))
	f.Add([]byte("row,decision\n99999999999999999999,yes\n"))
	kinds := []error{dataerr.ErrColumn, dataerr.ErrFormat, dataerr.ErrIndex, dataerr.ErrLabel}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		decisions, err := loader.ReadDecisions(path, []string{"no", "0"}, []string{"yes", "1"})
		if err != nil {
			var fe *dataerr.FileError
			if !errors.As(err, &fe) || !slices.ContainsFunc(kinds, func(e error) bool { return errors.Is(err, e) }) {
				t.Fatalf("unexpected kind of error: %v", err)
			}
		}
		for row, class := range decisions {
			if row < 0 || class < 0 || class > 1 {
				t.Fatalf("row %d has the class %d", row, class)
			}
		}
	})
}

// Rows count from 1, the column may have the name class, and every error names the line.
func TestReadDecisions(t *testing.T) {
	for text, want := range map[string]struct {
		decisions map[int]int
		err       error
		line      int
	}{
		"row,decision\n1,yes\n3,no\n":              {map[int]int{0: 1, 2: 0}, nil, 0},
		"class,score,row\n1,0.5,2\n":               {map[int]int{1: 1}, nil, 0},
		"class,row,decision\nyes,1,no\n":           {map[int]int{0: 0}, nil, 0},
		"decision,class,row\nyes,0,1\n":            {map[int]int{0: 1}, nil, 0},
		"row,decision\n99999999999999999999,yes\n": {nil, dataerr.ErrIndex, 2},
		"row,decision\n":                           {map[int]int{}, nil, 0},
		"row,decision\n1,yes\n0,no\n":              {nil, dataerr.ErrIndex, 3},
		"row,decision\nx,yes\n":                    {nil, dataerr.ErrIndex, 2},
		"row,decision\n1,yes\n1,yes\n":             {nil, dataerr.ErrIndex, 3},
		"row,decision\n1,maybe\n":                  {nil, dataerr.ErrLabel, 2},
		"row,score\n1,2\n":                         {nil, dataerr.ErrColumn, 1},
		"decision\nyes\n":                          {nil, dataerr.ErrColumn, 1},
		"row,decision\n1,yes,no\n":                 {nil, dataerr.ErrFormat, 0},
		"":                                         {nil, dataerr.ErrFormat, 1},
	} {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		got, err := loader.ReadDecisions(path, []string{"no", "0"}, []string{"yes", "1"})
		var fe *dataerr.FileError
		if !errors.Is(err, want.err) || errors.As(err, &fe) && fe.Line != want.line || want.err == nil && !maps.Equal(got, want.decisions) {
			t.Errorf("%q: %v, %v, want %v, %v in line %d", text, got, err, want.decisions, want.err, want.line)
		}
	}
}
