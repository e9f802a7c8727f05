package tabular

import (
	"math"
	"slices"
	"strconv"
	"time"

	"ppal/internal/textvalue"
)

// Titles returns the names of the columns whose texts Decode returns; nil for rows in LIBSVM's
// format.
func (p *Preparation) Titles() (names []string) {
	for i := range p.Encodings {
		names = append(names, p.Encodings[i].Title())
	}
	return names
}

// Decode returns the text of each column of a prepared row: the number with six significant
// digits, or the category. The text is "" for a missing value, and for a category without a
// feature unless only one category has none. A row with another number of features than the
// preparation has panics.
func (p *Preparation) Decode(row []float64) (texts []string) {
	for i := range p.Encodings {
		e := &p.Encodings[i]
		width := e.Width()
		texts = append(texts, e.decode(row[:width]))
		row = row[width:]
	}
	return texts
}

// Restored returns the whole number that x, a sum of which center is a term, is up to rounding,
// or x: a feature of 0 that was centred and scaled comes back as 0, not as -7e-18.
func Restored(x, center float64) float64 {
	if whole := math.Round(x); math.Abs(x-whole) <= 1e-9*max(math.Abs(x), math.Abs(center)) {
		return whole + 0 // not -0
	}
	return x
}

// decode returns the column's text from its features.
func (e *Encoding) decode(features []float64) string {
	if e.Missing && features[len(features)-1] != 0 {
		return ""
	}
	if e.Numeric() {
		x := Restored(features[0]*e.Scale+e.Center, e.Center)
		if e.Part == textvalue.DatePart {
			return time.Unix(0, 0).UTC().AddDate(0, 0, int(math.Floor(x))).Format(time.DateOnly)
		}
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	levels := e.EncodedLevels()
	for k, level := range levels {
		if features[k] != 0 {
			return level
		}
	}
	if len(e.Categories) == len(levels)+1 { // the category without a feature
		for _, c := range e.Categories {
			if !slices.Contains(levels, c) {
				return c
			}
		}
	}
	return ""
}
