package columnar

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ppal/datasets/dataerr"
	"ppal/internal/textvalue"
)

// ReadNumbers sets the numbers of new rows. A number has the spelling that the training's values or
// the first row gives it.
func (c *Column) ReadNumbers(texts, values, absent []string) error {
	c.Spell(values)
	c.Numbers = make([]float64, len(texts))
	known := map[string]float64{}
	for i, text := range texts {
		x, ok := known[text]
		if !ok {
			if x, ok = textvalue.LocalNumber([]byte(text), c.Decimal); slices.Contains(absent, text) {
				x = math.NaN()
			} else if !ok {
				return fmt.Errorf("%w: row %d: %s holds numbers and %s is %w", dataerr.ErrGroup, i+1, c.Name, textvalue.Quoted([]byte(text)), dataerr.ErrNumber)
			}
			if _, named := c.Spelled[x]; !named {
				c.Spelled[x] = text
			}
			known[text] = x
		}
		c.Numbers[i] = x
	}
	return nil
}

// ReadTexts sets the categories of new rows, in alphabetical order.
func (c *Column) ReadTexts(texts, absent []string) {
	c.Codes = make([]int32, 0, len(texts))
	codes := map[string]int32{}
	for _, text := range texts {
		code, ok := codes[text]
		if !ok {
			if code = -1; !slices.Contains(absent, text) {
				code = int32(len(c.Values))
				c.Values = append(c.Values, text)
			}
			codes[text] = code
		}
		c.Codes = append(c.Codes, code)
	}
	c.sortValues(codes)
}

// Spell lets numbers have the names of the first texts that write them.
func (c *Column) Spell(texts []string) {
	c.Spelled = make(map[float64]string)
	for _, text := range texts {
		if x, ok := textvalue.LocalNumber([]byte(text), c.Decimal); ok {
			x = c.exactly(x)
			if _, known := c.Spelled[x]; !known {
				c.Spelled[x] = text
			}
		}
	}
}

// spelling returns the name of a number: as in the file, if the column knows the file's texts.
func (c *Column) spelling(x float64) string {
	if text, ok := c.Spelled[x]; ok {
		return text
	}
	text := textvalue.FormatNumber(x)
	if c.Decimal == textvalue.CommaDecimals {
		text = strings.Replace(text, ".", ",", 1)
	}
	return text
}
