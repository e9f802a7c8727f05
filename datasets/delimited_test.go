package datasets

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
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

func TestDelimited(t *testing.T) {
	want := [][]string{{"a", "b b", "c"}, {"1", "x", "2.5"}, {"2", "y", ""}}
	for name, text := range map[string]string{
		"comma":              "a,b b,c\n1,x,2.5\n2,y,\n",
		"semicolon, no end":  "a;b b;c\n1;x;2.5\n2;y;",
		"tab":                "a\tb b\tc\n1\tx\t2.5\n2\ty\t\n",
		"bar":                "a|b b|c\n1|x|2.5\n2|y|\n",
		"CRLF":               "a,b b,c\r\n1,x,2.5\r\n2,y,\r\n",
		"quotes":             "\"a\",\"b b\",\"c\"\n\"1\",x,\"2.5\"\n2,\"y\",\"\"\n",
		"blanks":             "a, b b ,c\n 1,x,\t2.5\n2, y , \n",
		"byte order mark":    "\ufeffa,b b,c\n1,x,2.5\n2,y,\n",
		"mark and quotes":    "\ufeff\"a\",b b,c\n1,x,2.5\n2,y,\n",
		"blank lines":        "\na,b b,c\n\n1,x,2.5\n2,y,\n\n",
		"gzip":               string(gzipped([]byte("a,b b,c\n1,x,2.5\n2,y,\n"))),
		"commas in a column": "a;b b;c\n\"1\";x;2.5\n2;y;\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := allRecords(text, 0, nil)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// Fields may contain separators, quotes and line ends, and the header may be given.
func TestDelimitedQuotes(t *testing.T) {
	got, err := allRecords("\"1,5\",\"say \"\"no\"\"\"\n\"two\nlines\",2\n", 0, []string{"x", "y"})
	want := [][]string{{"x", "y"}, {"1,5", `say "no"`}, {"two\nlines", "2"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestSniffSeparator(t *testing.T) {
	// the examined part of the file ends inside a line
	long := "a;b;c\n" + strings.Repeat(strings.Repeat("x", 2000)+";1,5;2\n", 100)
	for name, tc := range map[string]struct {
		text string
		want rune
	}{
		"decimal commas":            {"a;b\n1,5;2,5\n3;4,25\n", ';'},
		"commas within quotes":      {"a;b\n\"1,2,3\";x\n", ';'},
		"ragged, by the first line": {"a|b|c\n1|2\n", '|'},
		"nothing to tell by":        {"a\n1\n", ','},
		"cut beginning":             {long, ';'},
		"semicolons in text":        {"a,b,c\n\"x;y;z;w\",1,2\n", ','},
		"an open quote at the end":  {"a,b,c;d\n1,2;3\n\"x", ';'},
		"every quote is wrong":      {"x,y;z;w\n1,2,\"b\"c,d\n", ';'},
		"a wrong quote at once":     {"1;2;3;4\"5,6\n", ','},
		"the second record differs": {"a,b;c\n1,2,3;4\n5,6;7\n", ';'},
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
	for _, tc := range []struct {
		name, text string
		want       error
		says       string
	}{
		{"empty", "", ErrTruncated, "byte 0: truncated: the file is empty"},
		{"blank", " \n\n", ErrTruncated, "the file is empty"},
		{"one column", "a\n1\n", ErrFormat, "line 1, column 1: wrong format: there is only one column; the separator is ','"},
		{"no header", "1,2\n3,4\n", ErrFormat, "line 1, column 1: wrong format: the first line holds numbers"},
		{"damaged Parquet", "PAR1\x15\x04\x15", ErrFormat, "wrong format: the Parquet file cannot be read: "},
		{"Arrow", "ARROW1\x00\x00", ErrFormat, "byte 0: wrong format: it is an Arrow file, want text of separated fields; convert it: python -c"},
		{"Excel", "PK\x03\x04\x14", ErrFormat, "it is a zip archive or an Excel file, want text"},
		{"Latin-1", "a,\xe9t\xe9\n1,2\n", ErrFormat,
			"line 1, column 2: wrong format: \"\\xe9t\\xe9\" is not in UTF-8, probably the text is in ISO-8859-1; convert it: iconv -f ISO-8859-1 -t UTF-8 file"},
		{"Windows-1252", "a,b\n1,x\n2,\x80 5\n", ErrFormat, "line 3, column 2: wrong format: \"\\x80 5\" is not in UTF-8, probably the text is in WINDOWS-1252"},
		{"UTF-16", "\xff\xfea\x00,\x00b\x00\n\x001\x00,\x002\x00\n\x00", ErrFormat, "byte 0: wrong format: the text is in UTF-16LE, want UTF-8; convert it: iconv -f UTF-16LE"},
		{"UTF-16 without mark", "\x00a\x00,\x00b\x00\n\x001\x00,\x002\x00\n", ErrFormat, "the text is in UTF-16BE, want UTF-8"},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00,\x00\x00\x00", ErrFormat, "the text is in UTF-32LE, want UTF-8"},
		{"UTF-32 without mark", "\x00\x00\x00a\x00\x00\x00,\x00\x00\x00b\x00\x00\x00\n", ErrFormat, "the text is in UTF-32BE, want UTF-8"},
		{"too few fields", "a,b,c\n1,2,3\n1,2\n1,2,3\n", ErrFormat, "line 3: wrong format: 2 fields, want 3"},
		{"too many fields", "a,b\n1,2,3\n", ErrFormat, "line 2: wrong format: 3 fields, want 2"},
		{"cut in the last line", "a,b,c\n1,2,3\n1,2", ErrTruncated, "line 3: truncated: the last line has only 2 of 3 fields"},
		{"cut in a quoted field", "a,b\n1,2\n1,\"no", ErrTruncated, "line 3, column 2: truncated: the quote is not closed"},
		{"bare quote", "a,b\n1,2\n1,n\"o\n1,2\n", ErrFormat, `line 3, column 2: wrong format: bare " in non-quoted-field`},
		{"gzip cut", whole[:len(whole)-9], ErrTruncated, "the file ends too early"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := allRecords(tc.text, 0, nil)
			checkError(t, err, tc.want, tc.says)
		})
	}
	// An error of reading counts even if the next call of Read succeeds.
	_, err := newDelimited(iotest.TimeoutReader(strings.NewReader("a,b\n1,2\n")), "file", Layout{})
	checkError(t, err, iotest.ErrTimeout, "file: byte 8: timeout")
}
