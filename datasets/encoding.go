package datasets

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// binaryForms lists table formats that are not text: the first bytes of a file, the name of the
// format, and the advice for a conversion to text.
var binaryForms = []struct{ begin, form, convert string }{
	{"ARROW1", "an Arrow file", `python -c "import pandas; pandas.read_feather('%s').to_csv('table.csv', index=False)"`},
	{"PK\x03\x04", "a zip archive or an Excel file", `unzip -p '%s' > table.csv, or save the sheet as CSV`},
	{"\xd0\xcf\x11\xe0", "an Excel file", `save the sheet of '%s' as CSV`},
	{"SQLite format 3", "an SQLite file", `sqlite3 -header -csv '%s' "SELECT * FROM TABLE" > table.csv`},
}

// checkForm returns an error that names the format if the file is not text.
func checkForm(head []byte, name string) error {
	for _, f := range binaryForms {
		if bytes.HasPrefix(head, []byte(f.begin)) {
			return &FileError{Path: name, Offset: 0, Err: fmt.Errorf("%w: it is %s, want text of separated fields", ErrFormat, f.form),
				Advice: "convert it: " + fmt.Sprintf(f.convert, name)}
		}
	}
	return nil
}

// checkEncoding returns an error that names the encoding if the beginning of a text is in UTF-16 or
// UTF-32.
func checkEncoding(head []byte, name string) error {
	encoding := ""
	for _, mark := range []struct{ bytes, encoding string }{ // UTF-32's little-endian mark begins with UTF-16's
		{"\xff\xfe\x00\x00", "UTF-32LE"}, {"\x00\x00\xfe\xff", "UTF-32BE"}, {"\xff\xfe", "UTF-16LE"}, {"\xfe\xff", "UTF-16BE"},
	} {
		if bytes.HasPrefix(head, []byte(mark.bytes)) {
			encoding = mark.encoding
			break
		}
	}
	if encoding == "" {
		encoding = wideWithoutMark(head)
	}
	if encoding == "" {
		return nil
	}
	return &FileError{Path: name, Offset: 0, Err: notUTF8(encoding), Advice: "convert it: " + convert(encoding, name)}
}

// wideWithoutMark guesses the encoding of a text with zero bytes and without a byte order mark,
// from the places of the zero bytes among the first characters, which are mostly Latin.
func wideWithoutMark(head []byte) string {
	head = head[:min(len(head), 64)&^3]
	var zeros [4]int
	for i, c := range head {
		if c == 0 {
			zeros[i%4]++
		}
	}
	most := len(head) / 4
	high := func(k int) bool { return 4*zeros[k] > 3*most }
	switch {
	case most == 0:
		return ""
	case high(1) && high(2) && high(3):
		return "UTF-32LE"
	case high(0) && high(1) && high(2):
		return "UTF-32BE"
	case high(1) && high(3):
		return "UTF-16LE"
	case high(0) && high(2):
		return "UTF-16BE"
	}
	return ""
}

// notUTF8 is the error of a text in another encoding.
func notUTF8(encoding string) error {
	return fmt.Errorf("%w: the text is in %s, want UTF-8", ErrFormat, encoding)
}

// convert returns the command that converts a file to UTF-8.
func convert(encoding, name string) string {
	return fmt.Sprintf("iconv -f %s -t UTF-8 '%s' > utf8.csv", encoding, name)
}

// checkUTF8 returns an error if a text of the file is not in UTF-8. Its advice names the probable
// encoding.
func checkUTF8(text, name string) (advice string, err error) {
	if utf8.ValidString(text) {
		return "", nil
	}
	encoding := "ISO-8859-1"
	for i := range len(text) {
		if text[i] >= 0x80 && text[i] < 0xa0 { // control characters in ISO-8859-1
			encoding = "WINDOWS-1252"
		}
	}
	return "convert it: " + convert(encoding, name),
		fmt.Errorf("%w: %q is not in UTF-8, probably the text is in %s", ErrFormat, text, encoding)
}
