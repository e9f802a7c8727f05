package datasets

import (
	"fmt"
	"ppal/internal/option"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// spellings are distinct texts of a column that differ in spelling only.
type spellings struct {
	texts  []string // with the numbers of their rows: "1" (85 rows)
	number bool     // they are the same number; otherwise they differ in case, blanks or the composition of letters
}

// alike returns the texts of the column that differ in spelling only, or nil if the column has too
// many texts.
func (p *profile) alike() (all []spellings) {
	if len(p.values) > maxCategories {
		return nil
	}
	of := map[string][]string{}
	var keys []string
	for _, v := range p.values {
		key := norm.NFC.String(strings.ToLower(strings.Join(strings.Fields(v), " ")))
		if x, ok := number([]byte(v)); ok {
			key = formatNumber(x)
		}
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], v)
	}
	for _, key := range keys {
		if len(of[key]) < 2 {
			continue
		}
		var s spellings
		for _, v := range slices.Sorted(slices.Values(of[key])) {
			text := strconv.Quote(v)
			if !norm.NFC.IsNormalString(v) { // looks like the composed text
				text = strconv.QuoteToASCII(v)
			}
			s.texts = append(s.texts, fmt.Sprintf("%s (%s)", text, option.Counted(p.kinds[v].rows, "row")))
			_, s.number = number([]byte(v))
		}
		all = append(all, s)
	}
	return all
}

// String lists the texts: "0" (115 rows) and "0.0" (105 rows).
func (s spellings) String() string {
	last := len(s.texts) - 1
	return listed(s.texts[:last], 10) + " and " + s.texts[last]
}

// oneSpelling returns ErrLabel if the label has two spellings of a number as two values.
func (p *profile) oneSpelling() error {
	for _, s := range p.alike() {
		if s.number {
			return fmt.Errorf("%w: %v are the same number; write it in one way", ErrLabel, s)
		}
	}
	return nil
}

// mostly is a percentage of a column's values. If more values than this percentage are numbers, or
// dates, the other texts are probably marks or errors.
const mostly = 80

// mostlyDates returns a date if most of the distinct values are dates, and another text is not.
func (p *profile) mostlyDates() (example string, ok bool) {
	if p.undated == nil {
		return "", false
	}
	dates := 0
	for _, text := range p.values {
		if datesAs(text, allForms) != 0 {
			if dates++; example == "" {
				example = text
			}
		}
	}
	return example, 100*dates > mostly*len(p.values)
}

// doubtful returns an example of a number with two readings.
func (p *profile) doubtful() string {
	for _, text := range p.values {
		if x, ok := localNumber([]byte(text), commaDecimals); ok {
			if y, ok := localNumber([]byte(text), pointDecimals); ok && x != y {
				return text
			}
		}
	}
	return p.example
}
