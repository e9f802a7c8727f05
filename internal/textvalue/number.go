// Package textvalue parses the texts of fields: numbers in the notation of programs, numbers with
// local decimal signs, and dates. It also lists names for messages.
package textvalue

import (
	"math"
	"strconv"
)

// MaxIndex is the largest index, because columns are int32 from 0.
const MaxIndex = math.MaxInt32

// maxQuoted is the length up to which an error quotes a field.
const maxQuoted = 40

// Quoted returns the field in quotes for an error, cut after maxQuoted bytes.
func Quoted(field []byte) string {
	if len(field) > maxQuoted {
		return strconv.Quote(string(field[:maxQuoted])) + "..."
	}
	return strconv.Quote(string(field))
}

// WholeNumber parses decimal digits, up to MaxIndex.
func WholeNumber(digits []byte) (n int, ok bool) {
	if len(digits) == 0 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = 10*n + int(c-'0'); n > MaxIndex {
			return 0, false
		}
	}
	return n, true
}

// powers holds the powers of ten that float64 represents exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Number parses a finite decimal number: an optional sign, digits with at most one point, and an
// optional exponent. Other texts that Go takes for numbers, such as 1_000 and 0x1p4, are texts:
// other programs refuse them. All readers of rows parse numbers here.
//
// If the digits, as an integer, and the power of ten that divides them are exact in float64, only
// the quotient is rounded (Clinger, "How to read floating point numbers accurately", PLDI 1990).
// strconv parses other numbers, with the same rounding.
func Number(text []byte) (x float64, ok bool) {
	const mostDigits = 19 // of an integer below 2^64
	digits := text
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		digits = digits[1:]
	}
	if len(digits) == 0 || digits[0] > '9' { // also inf and nan
		return 0, false
	}
	mantissa, at := uint64(0), 0
	for ; at < len(digits) && digits[at]-'0' <= 9; at++ {
		mantissa = 10*mantissa + uint64(digits[at]-'0')
	}
	count, fraction := at, 0
	if at < len(digits) && digits[at] == '.' {
		for at++; at < len(digits) && digits[at]-'0' <= 9; at++ {
			mantissa = 10*mantissa + uint64(digits[at]-'0')
			fraction++
		}
	}
	if count += fraction; at < len(digits) || count == 0 || count > mostDigits || mantissa > 1<<53 {
		if !decimalForm(digits[at:]) {
			return 0, false
		}
		x, err := strconv.ParseFloat(string(text), 64)
		return x, err == nil
	}
	if x = float64(mantissa) / powers[fraction]; text[0] == '-' {
		x = -x
	}
	return x, true
}

// decimalForm reports whether the text has only the characters of a decimal number with an
// exponent.
func decimalForm(text []byte) bool {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+' {
			return false
		}
	}
	return true
}

// FormatNumber returns the shortest text that parses as x.
func FormatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Half converts a float16 (IEEE 754 binary16) to float64.
func Half(bits uint16) float64 {
	const exponents, places, bias = 0x1f << 10, 13, 0x1p112 // float32 has 13 more bits of mantissa; 2^(127-15)
	x := float64(math.Float32frombits(uint32(bits&0x7fff)<<places)) * bias
	if bits&exponents == exponents {
		if x = math.Inf(1); bits&^(exponents|0x8000) != 0 {
			x = math.NaN()
		}
	}
	if bits&0x8000 != 0 {
		return -x
	}
	return x
}
