package columnar

import (
	"math"

	"ppal/internal/recordio"
)

// addStored adds a number that the file stores as a number.
func (p *Profile) addStored(x float64, records recordio.RecordReader, field int) {
	if !p.Full && len(p.Values) <= MaxCategories {
		key := records.Key(field)
		distinct := p.stored[key]
		if distinct == nil {
			distinct = p.meet(records.Text(field))
			p.stored[key] = distinct
		}
		distinct.Rows++
	}
	if !p.OnlyCategories {
		p.addNumeric(x)
	}
}

// addNumeric adds a number that the file stores as a number, without its distinct value.
func (p *Profile) addNumeric(x float64) {
	p.addPlain(x)
	if x != math.Trunc(x) {
		p.Whole, p.Dotted = false, p.Dotted+1
	}
}

// AddNumbers adds numbers that the file stores as numbers. spell returns the text of a number. The
// texts of distinct numbers follow with Spell, because most columns of numbers need none.
func (p *Profile) AddNumbers(numbers []float64, spell func(x float64) string) {
	for i, x := range numbers {
		if p.Many && !p.Counting && !p.Whole && (p.OnlyCategories || p.Dotted > 0) { // the others change nothing else
			n := len(numbers) - i
			if p.Rows += n; !p.OnlyCategories {
				p.Plain, p.Last = p.Plain+n, numbers[len(numbers)-1]
			}
			return
		}
		if p.Rows++; !p.Many {
			p.collect(x, spell)
		}
		if !p.OnlyCategories {
			p.addNumeric(x)
		}
	}
}

// collect adds a number to the distinct values.
func (p *Profile) collect(x float64, spell func(x float64) string) {
	key := math.Float64bits(x)
	distinct := p.stored[key]
	switch {
	case distinct != nil:
	case len(p.Values) == 0:
		if distinct, p.unspelled = new(Distinct), append(p.unspelled, x); p.Different == p.Rows-1 {
			p.Different++
		}
	default:
		text := spell(x)
		if distinct = p.Kinds[text]; distinct == nil {
			distinct = p.meet([]byte(text))
		}
	}
	p.stored[key] = distinct
	distinct.Rows++
	if p.Distinct() > MaxCategories {
		p.Many, p.unspelled = true, nil
	}
}

// Spell adds the texts of the distinct numbers to the values.
func (p *Profile) Spell(spell func(x float64) string) {
	for _, x := range p.unspelled {
		text := spell(x)
		p.Values, p.Kinds[text] = append(p.Values, text), p.stored[math.Float64bits(x)]
	}
	p.unspelled = nil
}

// Distinct returns the number of distinct values, at most MaxCategories + 1.
func (p *Profile) Distinct() int {
	if p.Many {
		return MaxCategories + 1
	}
	return len(p.Values) + len(p.unspelled)
}
