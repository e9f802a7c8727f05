package recordio

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"ppal/datasets/dataerr"
	"ppal/internal/option"
)

// wideEncoding returns the encoding of the beginning of a text in UTF-16 or UTF-32, or "".
func wideEncoding(head []byte) string {
	for _, mark := range []struct{ bytes, encoding string }{ // UTF-32's little-endian mark begins with UTF-16's
		{"\xff\xfe\x00\x00", "UTF-32LE"}, {"\x00\x00\xfe\xff", "UTF-32BE"}, {"\xff\xfe", "UTF-16LE"}, {"\xfe\xff", "UTF-16BE"},
	} {
		if bytes.HasPrefix(head, []byte(mark.bytes)) {
			return mark.encoding
		}
	}
	return WideWithoutMark(head)
}

// WideWithoutMark guesses the encoding of a text with zero bytes and without a byte order mark,
// from the places of the zero bytes among the first characters, which are mostly Latin.
func WideWithoutMark(head []byte) string {
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

// convert returns the command that converts a file to UTF-8.
func convert(encoding, name string) string {
	return fmt.Sprintf("iconv -f %s -t UTF-8 %s > utf8.csv", encoding, option.ShellWord(name))
}

// CheckUTF8 returns an error if a text of the file is not in UTF-8. Its advice names the probable
// encoding.
func CheckUTF8(text, name string) (advice string, err error) {
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
		fmt.Errorf("%w: %q is not in UTF-8, probably the text is in %s", dataerr.ErrFormat, text, encoding)
}
