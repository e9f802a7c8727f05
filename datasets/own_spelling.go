package datasets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"ppal/internal/option"
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

// remarkSpelling adds warnings about the values of the label and of groups that differ in spelling
// only, and notes about numbers with several spellings.
func (t *ownTable) remarkSpelling() {
	compared := map[string]bool{t.label: true}
	for _, text := range slices.Concat(t.opts.Groups, t.opts.Attributes) {
		if c, err := parseCondition(text, t.header); err == nil && (c.each || c.value != "") {
			compared[c.column] = true
		}
	}
	for _, c := range t.columns {
		if !compared[c.name] || c.label && t.when != nil && c.kind == numberKind {
			continue
		}
		for _, s := range c.profile.alike() {
			switch {
			case c.kind == categoryKind:
				t.warnings = append(t.warnings, fmt.Sprintf("The column %q holds %v: they differ in spelling only, and count as different values. "+
					"If they are one value, write it in one way.", c.name, s))
			case s.number:
				t.notes = append(t.notes, fmt.Sprintf("The column %q holds %v: they are one number, and one group.", c.name, s))
			}
		}
	}
}
