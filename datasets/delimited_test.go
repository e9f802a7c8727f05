package datasets

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// layoutOf returns a layout with a separator, 0 to detect it, and with names of the columns.
func layoutOf(separator rune, header []string) Layout {
	l := Layout{Header: header}
	if separator != 0 {
		l.Separator = string(separator)
	}
	return l
}

// allRecords reads all records of a text, the header first.
func allRecords(text string, separator rune, header []string) ([][]string, error) {
	d, err := newDelimited(strings.NewReader(text), "file", layoutOf(separator, header))
	if err != nil {
		return nil, err
	}
	out := [][]string{d.header}
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
func eachRow(d *delimited, visit func(row []string) error) error {
	fields := d.reader(len(d.header))
	for {
		c, err := d.next(nil)
		if err == nil {
			err = fields.each(c, func() error {
				var row []string
				for _, field := range fields.fields {
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
		"cut in the third record": {"a,b;c\n1,2,3;" + strings.Repeat("4", sniffBytes/2) + "\n" + strings.Repeat("x", sniffBytes), ';'},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sniffSeparator([]byte(tc.text[:min(len(tc.text), sniffBytes)]), Layout{}); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestDelimitedErrors(t *testing.T) {
	whole := string(gzipped([]byte("a,b\n" + strings.Repeat("1,2\n", 100))))
	_, err := allRecords(whole[:len(whole)-9], 0, nil)
	checkError(t, err, ErrTruncated, "the file ends too early")
	// An error of reading counts even if the next call of Read succeeds.
	_, err = newDelimited(iotest.TimeoutReader(strings.NewReader("a,b\n1,2\n")), "file", Layout{})
	checkError(t, err, iotest.ErrTimeout, "file: byte 8: timeout")
}
