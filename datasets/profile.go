package datasets

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// profile is a summary of the values of a column, from a first pass over the file. The profiles of
// consecutive pieces of the file, joined in order, are the profile of the file.
type profile struct {
	rows, missing int
	absent        *FileError // position of the first missing value
	absentText    string     // the text there
	marks         []string   // the distinct texts of missing values

	// Numbers of values of each kind. A value with a point is in dotted or pointGroups too.
	plain       int            // numbers as in programs; 0 if onlyCategories
	dotted      int            // plain numbers with a point that cannot separate thousands; 1 means one or more
	pointGroups int            // plain numbers with points that can separate thousands, as in 1.234; counted while dotted is 0
	texts       [textKinds]int // values that are not plain numbers

	unreal         *FileError           // position of the first infinite value
	unrealText     string               // text of the first infinite value
	text           *FileError           // position of the first text among numbers
	example        string               // the first value that is not a plain number, or the text there
	forms          formSet              // the forms in which all values are dates; example is then the first date
	undated        *FileError           // position of the first text that is not a date in any form
	undatedText    string               // the text there
	counting       bool                 // each value is a number, and one more than the value before
	whole          bool                 // each value is a whole number, without a point
	different      int                  // number of the first rows, at most maxCategories + 1, whose values are all different
	first, last    float64              // the first and the last value, while counting
	values         []string             // the distinct values in the order of the file, at most maxCategories + 1
	kinds          map[string]*distinct // of values
	stored         map[uint64]*distinct // of values that are stored as numbers, by recordReader.key
	full           bool                 // more values need not be collected
	onlyCategories bool                 // numbers count as categories
}

// distinct describes a distinct value. The number of its rows is complete unless the profile is
// full.
type distinct struct {
	kind textKind
	rows int
}

// textKind says how a value that is not a plain number is written.
type textKind uint8

const (
	commaText    textKind = iota // a number only with a decimal comma, as in 1,5
	pointText                    // a number only with a decimal point and separators of thousands, as in 1,234.5
	eitherText                   // a number whose value depends on the decimal sign, as in 1,234
	groupedText                  // a number whose value does not depend on the decimal sign, as in 1 234
	infiniteText                 // an infinity or a number out of range
	otherText
	textKinds
)

func newProfile(onlyCategories bool) *profile {
	p := &profile{onlyCategories: onlyCategories, kinds: map[string]*distinct{}, stored: map[uint64]*distinct{}}
	p.reset()
	return p
}

// reset forgets all values. It keeps the memory.
func (p *profile) reset() {
	clear(p.kinds)
	clear(p.stored)
	*p = profile{forms: allForms, counting: !p.onlyCategories, whole: !p.onlyCategories, onlyCategories: p.onlyCategories, kinds: p.kinds, stored: p.stored, values: p.values[:0]}
}

// add adds the value in a field of the last record.
func (p *profile) add(records recordReader, field int, absent *textSet) {
	p.rows++
	if x, ok := absent.number(records, field); ok {
		p.addStored(x, records, field)
		return
	}
	text := records.text(field)
	x, plain := number(text)
	if (!plain || absent.numbers) && absent.has(text) {
		if p.missing++; p.absent == nil {
			p.absent, p.absentText = position(records, field), string(text)
		}
		if !slices.ContainsFunc(p.marks, func(mark string) bool { return mark == string(text) }) {
			p.marks = append(p.marks, string(text))
		}
		p.counting = false
		return
	}
	var kind textKind
	known := false
	if !p.full && len(p.values) <= maxCategories {
		of := p.kinds[string(text)]
		if known = of != nil; !known {
			of = p.meet(text)
			if !plain && !p.onlyCategories {
				of.kind = textKindOf(text)
			}
		}
		of.rows++
		kind = of.kind
	} else if !plain && !p.onlyCategories {
		kind = textKindOf(text)
	}
	switch {
	case p.onlyCategories:
	case plain:
		p.addNumber(x, text)
	default:
		p.counting, p.whole = false, false
		p.texts[kind]++
		if !known {
			p.addText(text, kind, records, field)
		}
	}
}

// meet adds a text to the distinct values.
func (p *profile) meet(text []byte) *distinct {
	own, of := string(text), &distinct{}
	p.kinds[own], p.values = of, append(p.values, own)
	if p.different == p.rows-1 {
		p.different++
	}
	return of
}

// addStored adds a number that the file stores as a number.
func (p *profile) addStored(x float64, records recordReader, field int) {
	if !p.full && len(p.values) <= maxCategories {
		key := records.key(field)
		of := p.stored[key]
		if of == nil {
			of = p.meet(records.text(field))
			p.stored[key] = of
		}
		of.rows++
	}
	if p.onlyCategories {
		return
	}
	p.addPlain(x)
	if x != math.Trunc(x) {
		p.whole, p.dotted = false, p.dotted+1
	}
}

// addPlain adds a plain number, without the properties of its text.
func (p *profile) addPlain(x float64) {
	p.forms = 0
	if p.rows == 1 {
		p.first = x
	} else {
		p.counting = p.counting && x == p.last+1
	}
	p.last = x
	p.plain++
}

// addNumber adds a plain number.
func (p *profile) addNumber(x float64, text []byte) {
	p.addPlain(x)
	p.whole = p.whole && bytes.IndexFunc(text, func(c rune) bool { return c > '9' || c == '.' }) < 0
	// after one point that cannot separate thousands, other points do not matter
	if p.dotted == 0 && bytes.IndexByte(text, '.') >= 0 {
		if _, ok := localNumber(text, commaDecimals); ok {
			p.pointGroups++
		} else {
			p.dotted++
		}
	}
}

// addText adds a text that is not a plain number, and that is not known to occur before.
func (p *profile) addText(text []byte, kind textKind, records recordReader, field int) {
	if p.example == "" {
		p.example = string(text)
	}
	if p.forms != 0 {
		p.forms = datesAs(string(text), p.forms)
	}
	if p.forms == 0 && p.undated == nil && datesAs(string(text), allForms) == 0 {
		p.undated, p.undatedText = position(records, field), string(text)
	}
	switch {
	case kind == infiniteText && p.unreal == nil:
		p.unreal, p.unrealText = position(records, field), string(text)
	case kind == otherText && p.text == nil:
		p.text, p.example = position(records, field), string(text)
	}
}

// textKindOf returns the kind of a text that is not a plain number.
func textKindOf(text []byte) textKind {
	withComma, isComma := localNumber(text, commaDecimals)
	withPoint, isPoint := localNumber(text, pointDecimals)
	switch {
	case isComma && isPoint && withComma == withPoint:
		return groupedText
	case isComma && isPoint:
		return eitherText
	case isComma:
		return commaText
	case isPoint:
		return pointText
	case looksNumeric(string(text)):
		return infiniteText
	}
	return otherText
}

// join adds the values of next, which follow those of p in the file.
func (p *profile) join(next *profile) {
	switch {
	case next.rows == 0:
		return
	case p.rows == 0:
		p.first, p.counting = next.first, next.counting
	default:
		p.counting = p.counting && next.counting && next.first == p.last+1
	}
	p.last, p.whole = next.last, p.whole && next.whole
	if p.different == p.rows {
		for _, v := range next.values[:next.different] {
			if _, known := p.kinds[v]; known || p.different > maxCategories {
				break
			}
			p.different++
		}
	}
	p.rows, p.missing, p.plain = p.rows+next.rows, p.missing+next.missing, p.plain+next.plain
	if p.absent == nil {
		p.absent, p.absentText = next.absent, next.absentText
	}
	for _, mark := range next.marks {
		if !slices.Contains(p.marks, mark) {
			p.marks = append(p.marks, mark)
		}
	}
	if p.dotted == 0 {
		p.dotted, p.pointGroups = next.dotted, p.pointGroups+next.pointGroups
	}
	if p.example == "" || p.text == nil && next.text != nil {
		p.example = next.example
	}
	if p.text == nil {
		p.text = next.text
	}
	if p.unreal == nil {
		p.unreal, p.unrealText = next.unreal, next.unrealText
	}
	if p.undated == nil {
		p.undated, p.undatedText = next.undated, next.undatedText
	}
	for kind, n := range next.texts {
		p.texts[kind] += n
	}
	p.forms &= next.forms
	for _, v := range next.values {
		of := next.kinds[v]
		if own := p.kinds[v]; own != nil {
			own.rows += of.rows
		} else if len(p.values) <= maxCategories {
			p.kinds[v], p.values = &distinct{of.kind, of.rows}, append(p.values, v)
		}
	}
}

// has reports whether one of the texts marks a missing value in the column.
func (p *profile) has(marks []string) bool {
	return slices.ContainsFunc(p.marks, func(mark string) bool { return slices.Contains(marks, mark) })
}

// numbersRows reports whether the values are 0, 1, 2 ... or 1, 2, 3 ...
func (p *profile) numbersRows() bool {
	return p.rows > 0 && p.counting && (p.first == 0 || p.first == 1)
}

// distinguishesRows reports whether the values are different whole numbers, in any order, such as
// the numbers of selected or shuffled rows. It looks at the first rows.
func (p *profile) distinguishesRows() bool {
	return p.rows > 0 && p.whole && p.missing == 0 && p.different == min(p.rows, maxCategories+1)
}

// maybeCodes reports whether the values are whole numbers with few different values, which may be
// codes of categories.
func (p *profile) maybeCodes() bool {
	const rowsOfCode = 20
	n := len(p.values)
	return p.whole && p.plain > 0 && n > 2 && n <= maxCategories && p.plain >= rowsOfCode*n
}

// position returns the position of a field of the last record, without an error.
func position(records recordReader, field int) *FileError {
	line, column := records.position(field)
	return &FileError{Offset: -1, Line: line, Column: column}
}

// textSet is a set of a few short texts.
type textSet struct {
	texts   []string
	lengths uint64 // bit n: a text has n bytes
	numbers bool   // a text can also be read as a number or as a date
}

func newTextSet(texts []string) *textSet {
	s := &textSet{texts: texts}
	for _, text := range texts {
		s.lengths |= 1 << min(len(text), 63)
		_, plain := number([]byte(text))
		s.numbers = s.numbers || plain || textKindOf([]byte(text)) < infiniteText || datesAs(text, allForms) != 0
	}
	return s
}

// has reports whether the text is in the set.
func (s *textSet) has(text []byte) bool {
	if s.lengths>>min(len(text), 63)&1 == 0 {
		return false
	}
	for _, known := range s.texts {
		if string(text) == known {
			return true
		}
	}
	return false
}

// number returns a field that the file stores as a number, unless the number's text is in the set.
func (s *textSet) number(of recordReader, field int) (x float64, ok bool) {
	x, ok = of.number(field)
	return x, ok && !(s.numbers && s.has(of.text(field)))
}

// marks reports whether a field marks a missing value.
func (s *textSet) marks(of recordReader, field int) bool {
	_, ok := s.number(of, field)
	return !ok && s.has(of.text(field))
}

// looksNumeric reports whether the text is a number, an infinity, or a number out of range. In a
// numeric column infinities and numbers out of range are errors; they do not make the column a
// column of text.
func looksNumeric(text string) bool {
	if strings.ContainsAny(text, "_xX") { // see number
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// numeric reports whether all values are numbers of some kind.
func (p *profile) numeric() bool { return !p.onlyCategories && p.texts[otherText] == 0 }

// local returns the number of values that are not numbers as in programs.
func (p *profile) local() int {
	return p.texts[commaText] + p.texts[pointText] + p.texts[eitherText] + p.texts[groupedText]
}

// usesComma reports whether the column holds numbers with decimal commas without doubt.
func (p *profile) usesComma() bool {
	return p.numeric() && p.texts[commaText] > 0 && p.texts[pointText] == 0 && p.dotted == 0
}

// usesPoint reports whether the column holds numbers with decimal points without doubt.
func (p *profile) usesPoint() bool {
	return p.numeric() && p.texts[commaText] == 0 && (p.texts[pointText] > 0 || p.dotted > 0)
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
	case p.texts[commaText] > 0: // some numbers have decimal commas and some have decimal points
		return "", false, false
	case p.texts[eitherText] == 0 && p.pointGroups == 0: // blanks separate thousands
		return pointDecimals, true, false
	case file != "":
		return file, true, false
	}
	return "", true, true
}
