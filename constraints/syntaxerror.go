package constraints

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrSyntax marks text that is not a constraint, rate or measure. The error is a *SyntaxError.
var ErrSyntax = errors.New("constraints: invalid constraint")

// SyntaxError reports text that is not a constraint, or a name in the text that the rows do not
// have.
type SyntaxError struct {
	Text    string // the text that was read
	At      int    // the byte position of the problem in Text
	Problem string
	Hint    string // the nearest valid word, or advice; may be ""
}

// Error returns one line: the text, the column of the problem, the problem and the hint.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%q, %s", e.Text, e.Detail()) }

// Detail returns the column, the problem and the hint: the line of Error without the text.
func (e *SyntaxError) Detail() string {
	text := fmt.Sprintf("column %d: %s", e.Column(), e.Problem)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Is reports whether target is ErrSyntax.
func (e *SyntaxError) Is(target error) bool { return target == ErrSyntax }

// Column returns the place of the problem in characters from 1.
func (e *SyntaxError) Column() int {
	return utf8.RuneCountInString(e.Text[:min(e.At, len(e.Text))]) + 1
}

// Caret returns the text and, on a second line, a caret below the problem.
func (e *SyntaxError) Caret() string {
	text := strings.Map(func(r rune) rune { // one column for each character
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, e.Text)
	return text + "\n" + strings.Repeat(" ", e.Column()-1) + "^"
}
