package datasets

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/recordio"
)

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

// TestSniffSeparator checks texts whose examined part ends within a record. The other cases are in
// testdata/readers.txt.
func TestSniffSeparator(t *testing.T) {
	// the examined part of the file ends inside a line
	long := "a;b;c\n" + strings.Repeat(strings.Repeat("x", 2000)+";1,5;2\n", 100)
	for name, tc := range map[string]struct {
		text string
		want rune
	}{
		"cut beginning": {long, ';'},
		// the second record is whole and the third is cut, so the second counts
		"cut in the third record": {"a,b;c\n1,2,3;" + strings.Repeat("4", recordio.SniffBytes/2) + "\n" + strings.Repeat("x", recordio.SniffBytes), ';'},
	} {
		t.Run(name, func(t *testing.T) {
			if got := recordio.SniffSeparator([]byte(tc.text[:min(len(tc.text), recordio.SniffBytes)]), tabular.Layout{}); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
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
