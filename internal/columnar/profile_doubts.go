package columnar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"ppal/datasets/dataerr"
	"ppal/internal/option"
	"ppal/internal/textvalue"
)

// spellings are distinct texts of a column that differ in spelling only.
type spellings struct {
	texts  []string // with the numbers of their rows: "1" (85 rows)
	Number bool     // they are the same number; otherwise they differ in case, blanks or the composition of letters
}

// Alike returns the texts of the column that differ in spelling only, or nil if the column has too
// many texts.
func (p *Profile) Alike() (all []spellings) {
	if p.Distinct() > MaxCategories {
		return nil
	}
	texts := map[string][]string{}
	var keys []string
	for _, v := range p.Values {
		key := norm.NFC.String(strings.ToLower(strings.Join(strings.Fields(v), " ")))
		if x, ok := textvalue.Number([]byte(v)); ok {
			key = textvalue.FormatNumber(x)
		}
		if texts[key] == nil {
			keys = append(keys, key)
		}
		texts[key] = append(texts[key], v)
	}
	for _, key := range keys {
		if len(texts[key]) < 2 {
			continue
		}
		var s spellings
		for _, v := range slices.Sorted(slices.Values(texts[key])) {
			text := strconv.Quote(v)
			if !norm.NFC.IsNormalString(v) { // looks like the composed text
				text = strconv.QuoteToASCII(v)
			}
			s.texts = append(s.texts, fmt.Sprintf("%s (%s)", text, option.Counted(p.Kinds[v].Rows, "row")))
			_, s.Number = textvalue.Number([]byte(v))
		}
		all = append(all, s)
	}
	return all
}

// Padded returns the values that the file has with and without blanks around them, with the numbers
// of the rows of both: they are one value.
func (p *Profile) Padded() (all []string) {
	if p.Distinct() > MaxCategories {
		return nil
	}
	for _, v := range p.Values {
		if d := p.Kinds[v]; d.Padded > 0 && d.Padded < d.Rows {
			all = append(all, fmt.Sprintf("%[1]q (%s) and %[1]q with blanks around it (%[3]s)", v, option.Counted(d.Rows-d.Padded, "row"), option.Counted(d.Padded, "row")))
		}
	}
	return all
}

// String lists the texts: "0" (115 rows) and "0.0" (105 rows).
func (s spellings) String() string {
	last := len(s.texts) - 1
	return textvalue.Listed(s.texts[:last], 10) + " and " + s.texts[last]
}

// OneSpelling returns ErrLabel if the label has two spellings of a number as two values.
func (p *Profile) OneSpelling() error {
	for _, s := range p.Alike() {
		if s.Number {
			return fmt.Errorf("%w: %v are the same number; write it in one way", dataerr.ErrLabel, s)
		}
	}
	return nil
}

// Mostly is a percentage of a column's values. If more values than this percentage are numbers, or
// dates, the other texts are probably marks or errors.
const Mostly = 80

// MostlyDates returns a date if most of the distinct values are dates, and another text is not.
func (p *Profile) MostlyDates() (example string, ok bool) {
	if p.Undated == nil {
		return "", false
	}
	dates := 0
	for _, text := range p.Values {
		if textvalue.DatesAs(text, textvalue.AllForms) != 0 {
			if dates++; example == "" {
				example = text
			}
		}
	}
	return example, 100*dates > Mostly*len(p.Values)
}

// Doubtful returns an example of a number with two readings.
func (p *Profile) Doubtful() string {
	for _, text := range p.Values {
		if x, ok := textvalue.LocalNumber([]byte(text), textvalue.CommaDecimals); ok {
			if y, ok := textvalue.LocalNumber([]byte(text), textvalue.PointDecimals); ok && x != y {
				return text
			}
		}
	}
	return p.Example
}
