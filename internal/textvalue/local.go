package textvalue

import (
	"bytes"
	"unicode/utf8"
)

// The ways of writing numbers, as in Encoding.Decimal.
const (
	PlainNumbers  = ""  // 1234.5, -2e3
	CommaDecimals = "," // 1234,5 or 1.234,5: a decimal comma, and separators of thousands
	PointDecimals = "." // 1,234.5: a decimal point, and separators of thousands
)

// LocalNumber parses a finite number with a decimal comma or point and separators of thousands. All
// separators of the number are the same character: a blank, an apostrophe, or a point or comma that
// is not the decimal sign. Three digits follow every separator.
func LocalNumber(text []byte, decimal string) (x float64, ok bool) {
	if decimal == PlainNumbers {
		return Number(text)
	}
	var plain [64]byte
	out := plain[:0]
	rest := text
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		out, rest = append(out, rest[0]), rest[1:]
	}
	var exponent []byte
	if at := bytes.IndexAny(rest, "eE"); at >= 0 {
		rest, exponent = rest[:at], rest[at:]
	}
	whole, fraction, _ := bytes.Cut(rest, []byte(decimal))
	if out, ok = ungrouped(out, whole); !ok {
		return 0, false
	}
	out = append(append(out, '.'), fraction...)
	return Number(append(out, exponent...))
}

// ungrouped appends the digits of a whole number to out and drops the separators of thousands.
func ungrouped(out, whole []byte) (digits []byte, ok bool) {
	at := bytes.IndexFunc(whole, func(c rune) bool { return c < '0' || c > '9' })
	if at < 0 {
		return append(out, whole...), true
	}
	c, size := utf8.DecodeRune(whole[at:])
	switch c {
	case '.', ',', ' ', '\'', '\u2019', '\u00a0', '\u202f':
	default:
		return nil, false
	}
	groups := bytes.Split(whole, whole[at:at+size])
	for i, g := range groups {
		if !AllDigits(g) || i > 0 && len(g) != 3 || i == 0 && (len(g) < 1 || len(g) > 3 || g[0] == '0') {
			return nil, false
		}
		out = append(out, g...)
	}
	return out, true
}

// AllDigits reports whether all characters of the text are digits.
func AllDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
