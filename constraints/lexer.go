package constraints

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokenEnd     tokenKind = iota
	tokenWord              // a name or a number
	tokenQuoted            // a name in double quotes
	tokenSymbol            // one of ( ) [ ] , * = %
	tokenCompare           // one of <= >= < > == = at depth 0
	tokenBad               // a quote that does not end
)

// token is a lexical unit of the text.
type token struct {
	kind tokenKind
	text string // the text of the token; for a quoted name without its quotes
	at   int    // the byte position of the start
}

// lex splits the text into tokens. Inside brackets or parentheses, < and > are letters of a name,
// as in age<25. Outside, < and > are comparisons.
func (p *parser) lex() {
	depth := p.depth
	for at := 0; at < len(p.text); {
		c, size := utf8.DecodeRuneInString(p.text[at:])
		rest := p.text[at:]
		switch {
		case unicode.IsSpace(c):
			at += size
			continue
		case c == '"':
			text, length := unquote(rest)
			kind := tokenQuoted
			if length == 0 {
				kind, length = tokenBad, len(rest)
			}
			p.tokens = append(p.tokens, token{kind, text, at})
			at += length
			continue
		case depth == 0 && strings.ContainsRune("<>=≤≥!", c):
			text := rest[:size]
			if c != '≤' && c != '≥' && len(rest) > size && rest[size] == '=' {
				text = rest[:size+1]
			}
			p.tokens = append(p.tokens, token{tokenCompare, text, at})
			at += len(text)
			continue
		case strings.ContainsRune("()[],*=%", c):
			switch c {
			case '(', '[':
				depth++
			case ')', ']':
				depth = max(0, depth-1)
			}
			p.tokens = append(p.tokens, token{tokenSymbol, rest[:size], at})
			at += size
			continue
		}
		length := wordLength(rest, depth)
		p.tokens = append(p.tokens, token{tokenWord, rest[:length], at})
		at += length
	}
	p.tokens = append(p.tokens, token{tokenEnd, "", len(p.text)})
}

// wordLength returns the number of bytes of the word at the beginning of the text.
func wordLength(text string, depth int) int {
	for at := 0; at < len(text); {
		c, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case unicode.IsSpace(c) || strings.ContainsRune(`"()[],*%`, c):
			return at
		case depth == 0 && strings.ContainsRune("<>=≤≥!", c):
			return at
		case c == '=' && (at == 0 || !strings.ContainsRune("<>!", rune(text[at-1]))):
			return at // = separates an attribute from its value, but belongs to <= and >=
		}
		at += size
	}
	return len(text)
}

// unquote reads a name in double quotes from the beginning of the text. Inside the quotes, \" means
// a quote and \\ means a backslash. length is the number of bytes read, or 0 if the text has no
// closing quote.
func unquote(text string) (name string, length int) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), i + 1
		case c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", 0
}

// quoted returns a name as the language writes the name between brackets. The name is in quotes if
// it has more than one word, if the parser could read it as another token, or if a = behind it
// would become part of it.
func quoted(name string) string {
	if name != "" && wordLength(name+"=", 1) == len(name) && utf8.ValidString(name) &&
		!strings.EqualFold(name, wordMin) && !strings.Contains(name, "\\") {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

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
