package recordio_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// A header that never ends is refused.
func TestEndlessHeader(t *testing.T) {
	require.NoRace(t, "reads 64 MiB, without goroutines")
	if _, err := recordio.NewDelimited(datatest.Again(strings.Repeat("ab", 1<<16)), "file", tabular.Layout{Separator: ","}); !errors.Is(err, recordio.ErrLongRecord) {
		t.Errorf("header: %v", err)
	}
}

// The first of several equal names is found, and names that were appended later are found.
func TestNames(t *testing.T) {
	list := []string{"a", "b", "a"}
	var p recordio.Names
	find := func(name string) int { return p.Find(name, len(list), func(i int) string { return list[i] }) }
	if a, b, c := find("a"), find("b"), find("c"); a != 0 || b != 1 || c != -1 {
		t.Error(a, b, c)
	}
	list = append(list, "c", "b")
	if b, c := find("b"), find("c"); b != 1 || c != 3 {
		t.Error(b, c)
	}
}

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

// TestSniffedSeparators checks the separator that is found, also if the examined text ends within a
// record.
func TestSniffedSeparators(t *testing.T) {
	fill := func(line, end string) string {
		n := (recordio.SniffBytes - len(end)) / len(line)
		return strings.Repeat("x", recordio.SniffBytes-len(end)-n*len(line)) + strings.Repeat(line, n) + end
	}
	pad := strings.Repeat("x", 3000) // fewer than 50 records fill the examined text
	for cut, want := range map[string]rune{"1;2": ',', "1;\"2": ','} {
		if got := recordio.SniffSeparator([]byte(fill(pad+";2,3,4\n", cut)), tabular.Layout{}); got != want {
			t.Errorf("the end is cut: %q, want %q", got, want)
		}
	}
	if got := recordio.SniffSeparator([]byte(fill(pad+";2,3,4\n"+pad+";2\n", "1;\"2")), tabular.Layout{}); got != ';' {
		t.Errorf("the end is cut, and the commas are not regular: %q", got)
	}
	for _, separator := range "\"\n\r\ufffd" {
		if _, err := recordio.NewDelimited(strings.NewReader("a,b\n1,2\n"), "file", tabular.Layout{Separator: string(separator)}); !errors.Is(err, dataerr.ErrFormat) || !strings.Contains(err.Error(), "the separator cannot be") {
			t.Errorf("the separator %q: %v", separator, err)
		}
	}
	for name, test := range map[string]struct {
		head string
		want rune
	}{
		"more fields":        {"a,b,c;d\n1,2,3;4\n", ','},
		"regular":            {"a;b,c,d\n1;2\n3;4,5\n", ';'},
		"none is regular":    {"a;b,c,d\n1\n2;3;4,5\n", ','},
		"one column":         {"a\n1\n", ','},
		"tabs":               {"a\tb\n1\t2\n", '\t'},
		"the end is cut":     {fill("1;2,3,4\n", "1;2"), ','},
		"one long record":    {fill("a;", "b,c"), ';'},
		"a wrong quote":      {"a;b;c,d\n\"1;2\",3\n", ','},
		"an open quote":      {fill("1;2;3,4\n", "1;\"2"), ';'},
		"an early wrong one": {"a;b,c\n1,2\n3,4\n", ','},
		"the second counts":  {("a,b;c\n1,2,3;" + strings.Repeat("4", recordio.SniffBytes/2) + "\n" + strings.Repeat("x", recordio.SniffBytes))[:recordio.SniffBytes], ';'},
		"decimal commas":     {("a;b;c\n" + strings.Repeat(strings.Repeat("x", 2000)+";1,5;2\n", 100))[:recordio.SniffBytes], ';'},
		"record 51 is other": {strings.Repeat("1;2\n", 50) + "1,2\n", ';'},
		"record 50 is other": {strings.Repeat("1;2,3,4\n", 49) + "1;2\n", ';'},
	} {
		if got := recordio.SniffSeparator([]byte(test.head), tabular.Layout{}); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	names := recordio.ColumnNames([][]byte{[]byte("column 2"), nil, []byte("a"), nil})
	if diff := cmp.Diff([]string{"column 2", "column 2'", "a", "column 4"}, names); diff != "" {
		t.Error(diff)
	}
	_, err := recordio.NewDelimited(strings.NewReader(recordio.ByteOrderMark+" \n"), "file", tabular.Layout{})
	datatest.CheckError(t, err, dataerr.ErrTruncated, "the file is empty")
}

// Padded finds the fields with blanks before or after them, in quotes too, and no line end.
func TestPadded(t *testing.T) {
	for line, want := range map[string]string{"a,b": "", " a,b ": "01", "a,\tb\r": "1", "a,b\r": "", "a,\"b\"\r": "", "\"a\", \"b\"": "1", "\" a\",\"b \"": "01", "a , \"b\"": "01", "\"a\",b\r": ""} {
		f := recordio.NewFieldReader("file", ',', 2)
		f.Reset(recordio.Chunk{Text: []byte(line + "\n"), Last: true, Line: 1})
		require.NoError(t, f.Next())
		got := ""
		for field := range 2 {
			if f.Padded(field) {
				got += strconv.Itoa(field)
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

// TestTrimmedFields compares trimmed with bytes.TrimSpace, on all texts of up to three characters
// of a few.
func TestTrimmedFields(t *testing.T) {
	texts := []string{""}
	for range 3 {
		for _, text := range texts {
			for _, c := range []string{"a", " ", "\t", "\r", "\x00", "!", "\u00e9", "\u0085", "\u00a0", "\u2000", "\x80", "\x7f"} {
				texts = append(texts, text+c)
			}
		}
	}
	for _, text := range texts {
		if got, want := recordio.Trimmed([]byte(text)), bytes.TrimSpace([]byte(text)); !bytes.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
