package datasets

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// profile is a summary of the values of a column, from a first pass over the file.
type profile struct {
	rows, missing int
	absent        *FileError // position of the first missing value
	absentText    string     // the text there

	// Numbers of values of each kind. A value with a point is in dotted or pointGroups too.
	plain       int // numbers as in programs
	dotted      int // plain numbers with a point that cannot separate thousands; 1 means one or more
	pointGroups int // plain numbers with points that can separate thousands, as in 1.234; counted while dotted is 0
	comma       int // numbers only with a decimal comma, as in 1,5
	point       int // numbers only with a decimal point and separators of thousands, as in 1,234.5
	either      int // numbers whose value depends on the decimal sign, as in 1,234
	grouped     int // numbers whose value does not depend on the decimal sign, as in 1 234
	infinite    int // infinities and numbers out of range
	other       int // texts

	unreal         *FileError // position of the first infinite value
	unrealText     string     // text of the first infinite value
	text           *FileError // position of the first text among numbers
	example        string     // the first value that is not a plain number
	forms          formSet    // the forms in which all values are dates
	date           string     // the first date
	counting       bool       // the values are 0, 1, 2 ... or 1, 2, 3 ...
	last           float64    // the last value, while counting
	distinct       map[string]bool
	values         []string // the distinct values in the order of the file, at most maxCategories + 1
	onlyCategories bool     // numbers count as categories
}

func newProfile(onlyCategories bool) *profile {
	return &profile{forms: 1<<len(dateLayouts) - 1, counting: true, distinct: map[string]bool{}, onlyCategories: onlyCategories}
}

// add adds the value in a field of the last record.
func (p *profile) add(text string, absent []string, records recordReader, field int) {
	p.rows++
	x, plain := number([]byte(text))
	if !plain && slices.Contains(absent, text) {
		if p.missing++; p.absent == nil {
			p.absent, p.absentText = position(records, field), text
		}
		p.counting = false
		return
	}
	if len(p.values) <= maxCategories && !p.distinct[text] {
		text := string([]byte(text)) // the record refers to a larger buffer
		p.distinct[text] = true
		p.values = append(p.values, text)
	}
	if p.onlyCategories {
		return
	}
	if plain {
		p.forms = 0
		p.counting = p.counting && (p.rows == 1 && (x == 0 || x == 1) || p.rows > 1 && x == p.last+1)
		p.last = x
		p.plain++
		// after one point that cannot separate thousands, other points do not matter
		if p.dotted == 0 && strings.IndexByte(text, '.') >= 0 {
			if _, ok := localNumber([]byte(text), commaDecimals); ok {
				p.pointGroups++
			} else {
				p.dotted++
			}
		}
		return
	}
	p.counting = false
	p.addText(text, records, field)
}

// addText adds a value that is not a plain number.
func (p *profile) addText(text string, records recordReader, field int) {
	if p.example == "" {
		p.example = string([]byte(text))
	}
	if p.forms != 0 {
		p.forms = datesAs(text, p.forms)
		if p.date == "" {
			p.date = p.example
		}
	}
	withComma, isComma := localNumber([]byte(text), commaDecimals)
	withPoint, isPoint := localNumber([]byte(text), pointDecimals)
	switch {
	case isComma && isPoint && withComma == withPoint:
		p.grouped++
	case isComma && isPoint:
		p.either++
	case isComma:
		p.comma++
	case isPoint:
		p.point++
	case looksNumeric(text):
		if p.infinite++; p.unreal == nil {
			p.unreal, p.unrealText = position(records, field), string([]byte(text))
		}
	default:
		if p.other++; p.text == nil {
			p.text = position(records, field)
			p.example = string([]byte(text))
		}
	}
}

// position returns the position of a field of the last record, without an error.
func position(records recordReader, field int) *FileError {
	var e *FileError
	if errors.As(records.fail(field, errNone), &e) {
		return e
	}
	return &FileError{Offset: -1, Column: field + 1}
}

// errNone is the placeholder error of a position without an error.
var errNone = errors.New("no error")

// looksNumeric reports whether the text is a number, an infinity, or a number out of range. In a
// numeric column infinities and numbers out of range are errors; they do not make the column a
// column of text.
func looksNumeric(text string) bool {
	if _, ok := number([]byte(text)); ok {
		return true
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// numeric reports whether all values are numbers of some kind.
func (p *profile) numeric() bool { return !p.onlyCategories && p.other == 0 }

// local returns the number of values that are not numbers as in programs.
func (p *profile) local() int { return p.comma + p.point + p.either + p.grouped }

// usesComma reports whether the column holds numbers with decimal commas without doubt.
func (p *profile) usesComma() bool {
	return p.numeric() && p.comma > 0 && p.point == 0 && p.dotted == 0
}

// usesPoint reports whether the column holds numbers with decimal points without doubt.
func (p *profile) usesPoint() bool {
	return p.numeric() && p.comma == 0 && (p.point > 0 || p.dotted > 0)
}

// decimal returns how the column's numbers are written, as in Encoding. file is the decimal sign of
// the file's other columns, or the sign that the user gave; "" if the sign is not known. ok is
// false if the values are not numbers in one notation, and doubt is true if the user must give the
// sign.
func (p *profile) decimal(file string, given bool) (decimal string, ok, doubt bool) {
	switch {
	case !p.numeric():
		return "", false, false
	case p.local() == 0 && (p.pointGroups == 0 || p.dotted > 0 || file != commaDecimals):
		return plainNumbers, true, false
	case p.local() == 0 && !given: // 1.234 beside a column of decimal commas
		return "", true, true
	case p.usesComma():
		return commaDecimals, true, false
	case p.usesPoint():
		return pointDecimals, true, false
	case p.comma > 0: // some numbers have decimal commas and some have decimal points
		return "", false, false
	case p.either == 0 && p.pointGroups == 0: // blanks separate thousands
		return pointDecimals, true, false
	case file != "":
		return file, true, false
	}
	return "", true, true
}
