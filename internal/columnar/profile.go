package columnar

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// Profile is a summary of the values of a column, from a first pass over the file. The profiles of
// consecutive pieces of the file, joined in order, are the profile of the file. JSON keeps a
// profile of texts in UTF-8 to which no values are added.
type Profile struct {
	Rows, Missing int
	Absent        *dataerr.FileError // position of the first missing value
	AbsentText    string             // the text there
	Marks         []string           // the distinct texts of missing values

	// Numbers of values of each kind. A value with a point also counts in Dotted or PointGroups.
	Plain       int            // numbers as in programs; 0 if OnlyCategories
	Dotted      int            // plain numbers with a point that cannot separate thousands; 1 means one or more
	PointGroups int            // plain numbers with points that can separate thousands, as in 1.234; counted while Dotted is 0
	Texts       [textKinds]int // values that are not plain numbers

	Unreal         *dataerr.FileError   // position of the first infinite value
	UnrealText     string               // text of the first infinite value
	Text           *dataerr.FileError   // position of the first text among numbers
	Example        string               // the first value that is not a plain number, or the text there
	Forms          textvalue.FormSet    // the forms in which all values are dates; Example is then the first date
	Undated        *dataerr.FileError   // position of the first text that is not a date in any form
	UndatedText    string               // the text there
	Counting       bool                 // each value is a number, and one more than the value before
	Whole          bool                 // each value is a whole number, without a point
	Different      int                  // number of the first rows, at most MaxCategories + 1, whose values are all different
	First, Last    float64              // the first and the last value, while Counting is true
	Values         []string             // the distinct values in the order of the file, at most MaxCategories + 1; some if many
	unspelled      []float64            // distinct numbers in the order of the file, whose texts are not yet in Values
	Kinds          map[string]*Distinct // of values
	stored         map[uint64]*Distinct // of values that are stored as numbers, by RecordReader.Key or their bits
	Full           bool                 // more values need not be collected
	Many           bool                 // more than MaxCategories distinct values, of which Values lacks some
	OnlyCategories bool                 // numbers count as categories
}

// Distinct describes a distinct value. The numbers of its rows are complete unless the profile is
// full.
type Distinct struct {
	Kind   TextKind `json:",omitempty"`
	Rows   int
	Padded int `json:",omitempty"` // the rows in which the file has blanks around the value
}

// TextKind says how a value that is not a plain number is written.
type TextKind uint8

const (
	CommaText    TextKind = iota // a number only with a decimal comma, as in 1,5
	PointText                    // a number only with a decimal point and separators of thousands, as in 1,234.5
	EitherText                   // a number whose value depends on the decimal sign, as in 1,234
	GroupedText                  // a number whose value does not depend on the decimal sign, as in 1 234
	InfiniteText                 // an infinity or a number out of range
	OtherText                    // any other text
	textKinds
)

// NewProfile returns an empty profile. With onlyCategories, numbers count as categories.
func NewProfile(onlyCategories bool) *Profile {
	p := &Profile{OnlyCategories: onlyCategories, Kinds: map[string]*Distinct{}, stored: map[uint64]*Distinct{}}
	p.Reset()
	return p
}

// Reset forgets all values. It keeps the memory.
func (p *Profile) Reset() {
	clear(p.Kinds)
	clear(p.stored)
	*p = Profile{Forms: textvalue.AllForms, Counting: !p.OnlyCategories, Whole: !p.OnlyCategories, OnlyCategories: p.OnlyCategories, Kinds: p.Kinds, stored: p.stored, Values: p.Values[:0], unspelled: p.unspelled[:0]}
}

// Add adds the value in a field of the last record.
func (p *Profile) Add(records recordio.RecordReader, field int, absent *textSet) {
	p.Rows++
	if x, ok := absent.Number(records, field); ok {
		p.addStored(x, records, field)
		return
	}
	text := records.Text(field)
	x, plain := textvalue.Number(text)
	if (!plain || absent.numbers) && absent.has(text) {
		if p.Missing++; p.Absent == nil {
			p.Absent, p.AbsentText = position(records, field), recordio.Absent(text, records, field)
		}
		if !slices.ContainsFunc(p.Marks, func(mark string) bool { return mark == string(text) }) {
			p.Marks = append(p.Marks, string(text))
		}
		p.Counting = false
		return
	}
	var kind TextKind
	known := false
	if !p.Full && len(p.Values) <= MaxCategories {
		distinct := p.Kinds[string(text)]
		if known = distinct != nil; !known {
			distinct = p.meet(text)
			if !plain && !p.OnlyCategories {
				distinct.Kind = TextKindOf(text)
			}
		}
		distinct.Rows++
		if records.Padded(field) {
			distinct.Padded++
		}
		kind = distinct.Kind
	} else if !plain && !p.OnlyCategories {
		kind = TextKindOf(text)
	}
	switch {
	case p.OnlyCategories:
	case plain:
		p.addNumber(x, text)
	default:
		p.Counting, p.Whole = false, false
		p.Texts[kind]++
		if !known {
			p.addText(text, kind, records, field)
		}
	}
}

// meet adds a text to the distinct values.
func (p *Profile) meet(text []byte) *Distinct {
	own, distinct := string(text), &Distinct{}
	p.Kinds[own], p.Values = distinct, append(p.Values, own)
	if p.Different == p.Rows-1 {
		p.Different++
	}
	return distinct
}

// addPlain adds a plain number, without the properties of its text.
func (p *Profile) addPlain(x float64) {
	p.Forms = 0
	if p.Rows == 1 {
		p.First = x
	} else {
		p.Counting = p.Counting && x == p.Last+1
	}
	p.Last = x
	p.Plain++
}

// addNumber adds a plain number.
func (p *Profile) addNumber(x float64, text []byte) {
	p.addPlain(x)
	p.Whole = p.Whole && bytes.IndexFunc(text, func(c rune) bool { return c > '9' || c == '.' }) < 0
	// after one point that cannot separate thousands, other points do not matter
	if p.Dotted == 0 && bytes.IndexByte(text, '.') >= 0 {
		if _, ok := textvalue.LocalNumber(text, textvalue.CommaDecimals); ok {
			p.PointGroups++
		} else {
			p.Dotted++
		}
	}
}

// addText adds a text that is not a plain number, and that is not known to occur before.
func (p *Profile) addText(text []byte, kind TextKind, records recordio.RecordReader, field int) {
	if p.Example == "" {
		p.Example = string(text)
	}
	if p.Forms != 0 {
		p.Forms = textvalue.DatesAs(string(text), p.Forms)
	}
	if p.Forms == 0 && p.Undated == nil && textvalue.DatesAs(string(text), textvalue.AllForms) == 0 {
		p.Undated, p.UndatedText = position(records, field), string(text)
	}
	switch {
	case kind == InfiniteText && p.Unreal == nil:
		p.Unreal, p.UnrealText = position(records, field), string(text)
	case kind == OtherText && p.Text == nil:
		p.Text, p.Example = position(records, field), string(text)
	}
}

// TextKindOf returns the kind of a text that is not a plain number.
func TextKindOf(text []byte) TextKind {
	withComma, isComma := textvalue.LocalNumber(text, textvalue.CommaDecimals)
	withPoint, isPoint := textvalue.LocalNumber(text, textvalue.PointDecimals)
	switch {
	case isComma && isPoint && withComma == withPoint:
		return GroupedText
	case isComma && isPoint:
		return EitherText
	case isComma:
		return CommaText
	case isPoint:
		return PointText
	case LooksNumeric(string(text)):
		return InfiniteText
	}
	return OtherText
}

// Join adds the values of next, which follow the values of p in the file. Spell precedes Join.
func (p *Profile) Join(next *Profile) {
	switch {
	case next.Rows == 0:
		return
	case p.Rows == 0:
		p.First, p.Counting = next.First, next.Counting
	default:
		p.Counting = p.Counting && next.Counting && next.First == p.Last+1
	}
	p.Last, p.Whole, p.Many = next.Last, p.Whole && next.Whole, p.Many || next.Many
	if p.Different == p.Rows {
		for _, v := range next.Values[:next.Different] {
			if _, known := p.Kinds[v]; known || p.Different > MaxCategories {
				break
			}
			p.Different++
		}
	}
	p.Rows, p.Missing, p.Plain = p.Rows+next.Rows, p.Missing+next.Missing, p.Plain+next.Plain
	if p.Absent == nil {
		p.Absent, p.AbsentText = next.Absent, next.AbsentText
	}
	for _, mark := range next.Marks {
		if !slices.Contains(p.Marks, mark) {
			p.Marks = append(p.Marks, mark)
		}
	}
	if p.Dotted == 0 {
		p.Dotted, p.PointGroups = next.Dotted, p.PointGroups+next.PointGroups
	}
	if p.Example == "" || p.Text == nil && next.Text != nil {
		p.Example = next.Example
	}
	if p.Text == nil {
		p.Text = next.Text
	}
	if p.Unreal == nil {
		p.Unreal, p.UnrealText = next.Unreal, next.UnrealText
	}
	if p.Undated == nil {
		p.Undated, p.UndatedText = next.Undated, next.UndatedText
	}
	for kind, n := range next.Texts {
		p.Texts[kind] += n
	}
	p.Forms &= next.Forms
	for _, v := range next.Values {
		distinct := next.Kinds[v]
		if own := p.Kinds[v]; own != nil {
			own.Rows += distinct.Rows
			own.Padded += distinct.Padded
		} else if p.Distinct() <= MaxCategories {
			p.Kinds[v], p.Values = &Distinct{distinct.Kind, distinct.Rows, distinct.Padded}, append(p.Values, v)
		}
	}
}

// Has reports whether one of the texts marks a missing value in the column.
func (p *Profile) Has(marks []string) bool {
	return slices.ContainsFunc(p.Marks, func(mark string) bool { return slices.Contains(marks, mark) })
}

// NumbersRows reports whether the values are 0, 1, 2 ... or 1, 2, 3 ...
func (p *Profile) NumbersRows() bool {
	return p.Rows > 0 && p.Counting && (p.First == 0 || p.First == 1)
}

// DistinguishesRows reports whether the values are different whole numbers, in any order, such as
// the numbers of selected or shuffled rows. It looks at the first rows.
func (p *Profile) DistinguishesRows() bool {
	return p.Rows > 0 && p.Whole && p.Missing == 0 && p.Different == min(p.Rows, MaxCategories+1)
}

// MaybeCodes reports whether the values are whole numbers with few different values, which may be
// codes of categories.
func (p *Profile) MaybeCodes() bool {
	const rowsOfCode = 20
	n := p.Distinct()
	return p.Whole && p.Plain > 0 && n > 2 && n <= MaxCategories && p.Plain >= rowsOfCode*n
}

// position returns the position of a field of the last record, without an error.
func position(records recordio.RecordReader, field int) *dataerr.FileError {
	var at *dataerr.FileError
	errors.As(records.Fail(field, nil), &at)
	return at
}

// textSet is a set of a few short texts.
type textSet struct {
	texts   []string
	lengths uint64 // bit n: a text has n bytes
	numbers bool   // a text can also be read as a number or as a date
}

// NewTextSet returns the set of the texts.
func NewTextSet(texts []string) *textSet {
	s := &textSet{texts: texts}
	for _, text := range texts {
		s.lengths |= 1 << min(len(text), 63)
		_, plain := textvalue.Number([]byte(text))
		s.numbers = s.numbers || plain || TextKindOf([]byte(text)) < InfiniteText || textvalue.DatesAs(text, textvalue.AllForms) != 0
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

// Number returns a field that the file stores as a number, unless the number's text is in the set.
func (s *textSet) Number(record recordio.RecordReader, field int) (x float64, ok bool) {
	x, ok = record.Number(field)
	return x, ok && !(s.numbers && s.has(record.Text(field)))
}

// Numbers returns what ColumnReader.Numbers returns. It is nil for other readers, and if a text in
// the set is a number.
func (s *textSet) Numbers(records recordio.RecordReader, c recordio.Chunk, field int) []float64 {
	if columns, ok := records.(recordio.ColumnReader); ok && !s.numbers {
		return columns.Numbers(c, field)
	}
	return nil
}

// HasNumbers reports whether a text in the set can also be read as a number or as a date.
func (s *textSet) HasNumbers() bool { return s.numbers }

// marks reports whether a field marks a missing value.
func (s *textSet) marks(record recordio.RecordReader, field int) bool {
	_, ok := s.Number(record, field)
	return !ok && s.has(record.Text(field))
}

// LooksNumeric reports whether the text is a number, an infinity, or a number out of range. In a
// numeric column infinities and numbers out of range are errors; they do not make the column a
// column of text.
func LooksNumeric(text string) bool {
	if strings.ContainsAny(text, "_xX") { // see number
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// Numeric reports whether all values are numbers of some kind.
func (p *Profile) Numeric() bool { return !p.OnlyCategories && p.Texts[OtherText] == 0 }

// Local returns the number of values that are not numbers as in programs.
func (p *Profile) Local() int {
	return p.Texts[CommaText] + p.Texts[PointText] + p.Texts[EitherText] + p.Texts[GroupedText]
}

// UsesComma reports whether the column holds numbers with decimal commas without doubt.
func (p *Profile) UsesComma() bool {
	return p.Numeric() && p.Texts[CommaText] > 0 && p.Texts[PointText] == 0 && p.Dotted == 0
}

// UsesPoint reports whether the column holds numbers with decimal points without doubt.
func (p *Profile) UsesPoint() bool {
	return p.Numeric() && p.Texts[CommaText] == 0 && (p.Texts[PointText] > 0 || p.Dotted > 0)
}

// Decimal returns how the column's numbers are written, as in Encoding. file is the decimal sign of
// the file's other columns, or the sign that the user gave; "" if the sign is not known. ok is
// false if the values are not numbers in one notation, and doubt is true if the user must give the
// sign.
func (p *Profile) Decimal(file string, given bool) (decimal string, ok, doubt bool) {
	switch {
	case !p.Numeric():
		return "", false, false
	case p.Local() == 0 && (p.PointGroups == 0 || p.Dotted > 0 || file != textvalue.CommaDecimals):
		return textvalue.PlainNumbers, true, false
	case p.Local() == 0 && !given: // 1.234 beside a column of decimal commas
		return "", true, true
	case p.UsesComma():
		return textvalue.CommaDecimals, true, false
	case p.UsesPoint():
		return textvalue.PointDecimals, true, false
	case p.Texts[CommaText] > 0: // some numbers have decimal commas and some have decimal points
		return "", false, false
	case p.Texts[EitherText] == 0 && p.PointGroups == 0: // blanks separate thousands
		return textvalue.PointDecimals, true, false
	case file != "":
		return file, true, false
	}
	return "", true, true
}
