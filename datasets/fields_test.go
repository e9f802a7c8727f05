package datasets

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/racing"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// FuzzFields checks that records are those of package encoding/csv, without the blanks around
// fields, and that both refuse the same texts in the same line.
func FuzzFields(f *testing.F) {
	for _, text := range []string{
		"a,b\n1, \"2\"\n", "a,\"b\"\"c\"\r\n\r\n \"x\r\ny\",\xff\r", "1,2\n3\n", "a\"b,c\n", "\"a\"b,c\n", "\"open,c\n1,2\n", "\"a\",\n\n,\n\r",
		"a,b\n\rx,2\n", "1\n2", "a,\u00a3b\n", "\"a\rb\nc\",2\n", "\"a\"\r,b\n", "\"a\"\r", "a,\"b\"\r",
	} {
		for _, separator := range ",; \t\u00a7" {
			f.Add(strings.ReplaceAll(text, ",", string(separator)), separator)
		}
	}
	f.Fuzz(func(t *testing.T, text string, separator rune) {
		if strings.ContainsRune("\"\r\n\ufffd\x00", separator) || !slices.Contains([]rune(string(separator)), separator) {
			return
		}
		want := csv.NewReader(strings.NewReader(text))
		want.Comma, want.TrimLeadingSpace = separator, separator != '\t'
		got := recordio.NewFieldReader("file", separator, 0)
		got.Reset(recordio.Chunk{Text: []byte(text), Line: 1, Last: true})
		for {
			record, wantErr := want.Read()
			err := got.Next()
			if wantErr != nil {
				var at *csv.ParseError
				if parse, ok := wantErr.(*csv.ParseError); ok {
					at = parse
				}
				if (err == io.EOF) != (wantErr == io.EOF) || err == nil || at != nil && err.(*dataerr.FileError).Line != at.StartLine {
					t.Fatalf("%v, want %v", err, wantErr)
				}
				return
			}
			if err != nil || len(record) != len(got.Fields) {
				t.Fatalf("%d fields, %v, want %q", len(got.Fields), err, record)
			}
			for i, field := range record {
				line, _ := want.FieldPos(i)
				if own, _ := got.Position(i); string(got.Fields[i]) != strings.TrimSpace(field) || own != line {
					t.Fatalf("%q in line %d, want %q in line %d", got.Fields[i], own, field, line)
				}
			}
		}
	})
}

// Numbers have the bits that strconv gives.
func TestNumberIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := []string{"9007199254740992", "9007199254740993", "9007199254740993.5", "0.0000000000000000001", "18446744073709551617", "1.", ".5", "-0", "+3.25",
		"0", "+1", "-.125", "0.1", "0.3", "123456.789012345", "99999999999999.9", "9999999999999999", "0.000000000000001", "1e5", "1E-5", "-1.5e+03", "4.35",
		"2.2250738585072014e-308", "5e-324", "0000000000000000000000001.5", "123456789012345678901234567890", "0.1234567890123456789"}
	for range 20000 {
		x := math.Float64frombits(rng.Uint64())
		texts = append(texts, strconv.FormatFloat(rng.NormFloat64(), 'g', -1, 64), strconv.FormatFloat(x, 'g', -1, 64),
			strconv.FormatFloat(rng.NormFloat64()*1e6, 'f', rng.IntN(16), 64), strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10)+"."+strconv.Itoa(rng.IntN(1000)))
	}
	for _, text := range texts {
		want, err := strconv.ParseFloat(text, 64)
		finite := err == nil && !math.IsNaN(want) && !math.IsInf(want, 0)
		if x, ok := textvalue.Number([]byte(text)); ok != finite || ok && math.Float64bits(x) != math.Float64bits(want) {
			t.Errorf("%s: %v, %v, want %v", text, x, ok, want)
		}
	}
	for _, text := range []string{"", "-", "+", ".", "-.", "e5", ".e5", "1e", "inf", "+inf", "-inf", "NaN", "x", "1.2.3", "--1", "1 ",
		"1_000", "1_0", "1_0.5", "1.0_5", "1e1_0", "-1_0", "0x1p4", "0X1P-2", "-0x1.8p1", "0x_1p4", "0b1", "0o7", "1e5_0", "123456789012345678901_0",
		"Infinity", "-Infinity", "+INF", "nan", "-nan", "1e999", "1f", "1d", "\u0661"} {
		if x, ok := textvalue.Number([]byte(text)); ok {
			t.Errorf("%q is %v", text, x)
		}
	}
}

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
			records.Fields, records.Record = append(records.Fields[:0], []byte(values[i])), i+2
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
					of.Rows = 0
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
			if racing.Detector && missing == tabular.MissingDropped && name != "several problems" {
				continue // the same goroutines
			}
			opts := tabular.TableOptions{File: "file", Label: "y", Missing: missing, Attributes: []string{"c"}}
			want := summaryWith(4, strings.NewReader(text), opts)
			if got := summaryWith(4, halves{strings.NewReader(text)}, opts); got != want {
				t.Errorf("%s, in small pieces: %s\nwant %s", name, got, want)
			}
			if racing.Detector {
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
	racing.Skip(t, "TestReadingIsTheSameForAnyNumberOfThreads reads with the same goroutines")
	const rows = 60000
	text := manyLines(rows)
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := loader.ReadUserCSV(t.Context(), strings.NewReader(text), tabular.TableOptions{File: "file", Label: "y"}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&now)
	sheet := uint64(rows * (3*8 + 2*4))
	if allocations, taken := now.Mallocs-before.Mallocs, now.TotalAlloc-before.TotalAlloc; allocations > rows/2 || taken > 4*sheet+8<<20 {
		t.Errorf("%d allocations, %d bytes", allocations, taken)
	}
}

// A short last row is known to be the last one if the text ends with a chunk.
func TestLastRowAtTheEndOfAChunk(t *testing.T) {
	text := "a,b,c\n" + strings.Repeat("12,3,45\n", recordio.ChunkBytes/8-2)
	text += strings.Repeat("1", recordio.ChunkBytes-len(text)-3) + ",2\n"
	_, err := allRecords(text, ',', nil)
	datatest.CheckError(t, err, dataerr.ErrTruncated, "truncated: the last line has only 2 of 3 fields")
}

// A chunk before the last one ends with a record. A record without an end is too long, and a short
// record is an error of the format: the file goes on.
func TestRecordsAtTheEndOfAChunk(t *testing.T) {
	for text, want := range map[string]error{
		"1,2": recordio.ErrLongRecord, "\"a": recordio.ErrLongRecord, "\"a\nb": recordio.ErrLongRecord, "\"a\nb\",c": recordio.ErrLongRecord, "\"a\nb\",\"c\"": recordio.ErrLongRecord, "\"a\nb\",\"c\"\r": recordio.ErrLongRecord,
		"1,2\n": io.EOF, "1,2\n3\n": dataerr.ErrFormat,
	} {
		f := recordio.NewFieldReader("file", ',', 2)
		err := f.Each(recordio.Chunk{Text: []byte(text), Line: 1}, func() error { return nil })
		if want == io.EOF {
			want = nil
		}
		if !errors.Is(err, want) || errors.Is(err, dataerr.ErrTruncated) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	// the text after a wrong quote is not in UTF-8
	err := recordio.NewFieldReader("file", ',', 2).Each(recordio.Chunk{Text: []byte("1,2\n1,n\"o\n\xe9,2\n"), Line: 1, Last: true}, func() error { return nil })
	datatest.CheckError(t, fmt.Errorf("datasets: %w", err), csv.ErrBareQuote, "line 2, column 2")
}
