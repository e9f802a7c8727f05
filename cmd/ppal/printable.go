package main

import (
	"io"
	"strings"
	"unicode"
)

// printable replaces the control characters of a text other than line ends and tabs. A name in a
// data file may hold an escape sequence, which would command the user's terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
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
