package cmd

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// printable replaces the control characters of a text other than line ends and tabs by U+FFFD: a
// name in a data file may hold an escape sequence, which would command the user's terminal. It
// writes the marks that change the direction of the text around them as escapes: \u202e.
func printable(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			out.WriteRune(unicode.ReplacementChar)
		case unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// printing is a writer that makes texts printable. Each write holds whole characters.
type printing struct{ out io.Writer }

// Write implements io.Writer.
func (p printing) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.out, printable(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// longest is the largest number of bytes of an error. An error may quote a text of many megabytes
// from a file.
const longest = 4000

// shortened replaces the middle of a text that is longer than longest.
func shortened(text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest/2], "") + " ... " + strings.ToValidUTF8(text[len(text)-longest/2:], "")
}
