package datasets

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// readNumbers sets the numbers of new rows. A number has the spelling that the training's values or
// the first row gives it.
func (c *column) readNumbers(texts, values, absent []string) error {
	c.spell(values)
	c.numbers = make([]float64, len(texts))
	known := map[string]float64{}
	for i, text := range texts {
		x, ok := known[text]
		if !ok {
			if x, ok = localNumber([]byte(text), c.decimal); slices.Contains(absent, text) {
				x = math.NaN()
			} else if !ok {
				return fmt.Errorf("%w: row %d: %s holds numbers and %s is %w", ErrGroup, i+1, c.name, quoted([]byte(text)), ErrNumber)
			}
			if _, named := c.spelled[x]; !named {
				c.spelled[x] = text
			}
			known[text] = x
		}
		c.numbers[i] = x
	}
	return nil
}

// readTexts sets the categories of new rows, in alphabetical order.
func (c *column) readTexts(texts, absent []string) {
	c.codes = make([]int32, 0, len(texts))
	codes := map[string]int32{}
	for _, text := range texts {
		code, ok := codes[text]
		if !ok {
			if code = -1; !slices.Contains(absent, text) {
				code = int32(len(c.values))
				c.values = append(c.values, text)
			}
			codes[text] = code
		}
		c.codes = append(c.codes, code)
	}
	c.sortValues(codes)
}

// spell lets numbers have the names of the first texts that write them.
func (c *column) spell(texts []string) {
	c.spelled = make(map[float64]string)
	for _, text := range texts {
		if x, ok := localNumber([]byte(text), c.decimal); ok {
			x = c.exactly(x)
			if _, known := c.spelled[x]; !known {
				c.spelled[x] = text
			}
		}
	}
}

// spelling returns the name of a number: as in the file, if the column knows the file's texts.
func (c *column) spelling(x float64) string {
	if text, ok := c.spelled[x]; ok {
		return text
	}
	text := formatNumber(x)
	if c.decimal == commaDecimals {
		text = strings.Replace(text, ".", ",", 1)
	}
	return text
}
