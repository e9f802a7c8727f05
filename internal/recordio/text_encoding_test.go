package recordio_test

import (
	"bytes"
	"strings"
	"testing"

	"ppal/internal/recordio"
)

// Names and values that begin like another format's first bytes stay text.
func TestTextsLikeOtherFormats(t *testing.T) {
	for _, name := range []string{"ORC", "FEA1", "ARROW1", "PK", "BZh", "7z", "Obj", "RDX2", "X", "html", "[a]", "{a}", "%PDF", "@relation"} {
		if err := recordio.CheckText([]byte(name+",x,y\n1,2,yes\n"), "file", "text"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The commands that convert a file of another format name the file as a word of a shell.
func TestConvertingNames(t *testing.T) {
	name := "it's a $(file)"
	for i, f := range recordio.ForeignForms {
		if strings.Contains(f.Convert, "'%s'") || strings.Contains(f.Convert, `"%s"`) || strings.Count(f.Convert, "%s") != 1 {
			t.Errorf("form %d: %s", i, f.Convert)
		}
	}
	for _, head := range []string{"\x93NUMPY\x01", "BZh91AY&SY", "a,b\r1,2\r", "\xff\xfea\x00,\x00"} {
		err := recordio.CheckText([]byte(head), name, "a table")
		if err == nil || !strings.Contains(err.Error(), ` 'it'\''s a $(file)'`) {
			t.Errorf("%q: %v", head, err)
		}
	}
}

// TestWideTexts checks the guess of an encoding without a mark, at the least share of zeros.
func TestWideTexts(t *testing.T) {
	wide := func(order string, wrong int) []byte { // 16 characters of 4 bytes; the first wrong ones have no zeros
		text := bytes.Repeat([]byte(order), 16)
		for i := range 4 * wrong {
			text[i] = 'x'
		}
		return text
	}
	for order, want := range map[string]string{"a\x00\x00\x00": "UTF-32LE", "\x00\x00\x00a": "UTF-32BE", "a\x00b\x00": "UTF-16LE", "\x00a\x00b": "UTF-16BE",
		"a\x00\x00b": "", "ab\x00\x00": "", "\x00\x00ab": "", "\x00a\x00\x00": "UTF-16BE", "\x00\x00a\x00": "UTF-16LE", "abc\x00": "", "\x00abc": "", "abcd": ""} {
		for wrong, enough := range map[int]bool{0: true, 3: true, 4: false} { // 13 of 16 are more than three quarters
			if got := recordio.WideWithoutMark(wide(order, wrong)); enough && got != want || !enough && got != "" {
				t.Errorf("%q, %d characters without zeros: %q, want %q", order, wrong, got, want)
			}
		}
	}
	if got := recordio.WideWithoutMark([]byte("a\x00\x00")); got != "" {
		t.Errorf("3 bytes: %q", got)
	}
	if got := recordio.WideWithoutMark([]byte("a\x00\x00\x00b\x00\x00")); got != "UTF-32LE" {
		t.Errorf("7 bytes: %q", got)
	}
	if got := recordio.WideWithoutMark(append(wide("a\x00\x00\x00", 0), strings.Repeat("x", 640)...)); got != "UTF-32LE" {
		t.Errorf("704 bytes, of which the first 64 count: %q", got)
	}
	for text, want := range map[string]string{"a\x80": "WINDOWS-1252", "a\x9f": "WINDOWS-1252", "a\xa0": "ISO-8859-1", "a\xe9": "ISO-8859-1"} {
		if advice, err := recordio.CheckUTF8(text, "file"); err == nil || !strings.Contains(advice, "iconv -f "+want) {
			t.Errorf("%q: %s, %v, want %s", text, advice, err, want)
		}
	}
	if _, err := recordio.CheckUTF8("é", "file"); err != nil {
		t.Error(err)
	}
}
