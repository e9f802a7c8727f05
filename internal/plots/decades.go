package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
)

// decades sets the ticks of an axis of exponents: the powers of ten, thinned out if there are many,
// with ticks at 2 and 5 between them if there are few.
type decades struct{}

var _ plot.Ticker = decades{}

const (
	mostDecades = 8 // labelled
	fewDecades  = 2
	slight      = 1e-9 // rounding
)

// Ticks implements plot.Ticker; min and max are exponents of ten.
func (decades) Ticks(min, max float64) []plot.Tick {
	first, last := int(math.Floor(min)), int(math.Ceil(max))
	every := (last - first + mostDecades - 1) / mostDecades
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		label := ""
		if (e-first)%every == 0 {
			label = decade(float64(e))
		}
		ticks = append(ticks, plot.Tick{Value: float64(e), Label: label})
		if every > 1 {
			continue
		}
		for digit := 2.0; digit < 10; digit++ {
			minor := plot.Tick{Value: float64(e) + math.Log10(digit)}
			if last-first <= fewDecades && (digit == 2 || digit == 5) {
				minor.Label = fmt.Sprintf("%.4g", digit*math.Pow(10, float64(e)))
			}
			ticks = append(ticks, minor)
		}
	}
	// a tick outside the axis would take space
	outside := func(t plot.Tick) bool { return t.Value < min-slight || t.Value > max+slight }
	return slices.DeleteFunc(ticks, outside)
}

// decade returns the label of a power of ten, written out from 0.001 to 1000.
func decade(exponent float64) string {
	e := int(math.Round(exponent))
	if -3 <= e && e <= 3 {
		return fmt.Sprintf("%.*f", max(0, -e), math.Pow(10, float64(e)))
	}
	return fmt.Sprintf("1e%d", e)
}
