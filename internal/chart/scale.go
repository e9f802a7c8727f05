package chart

import (
	"math"
	"strconv"
)

// Scale maps values to shares of an axis, from 0 at its beginning to 1.
type Scale struct {
	Lo    float64 `json:"lo"` // logarithms to the base 10 if Log
	Hi    float64 `json:"hi"`
	Log   bool    `json:"log,omitempty"`
	Ticks []Tick  `json:"ticks"`
}

// Tick is a labelled place on an axis.
type Tick struct {
	At    float64 `json:"at"` // share of the axis
	Label string  `json:"label"`
}

// Of returns the share of the axis for a value. A logarithmic axis shows smaller values than its
// beginning at its beginning.
func (s *Scale) Of(v float64) float64 {
	if s.Log {
		v = math.Log10(max(v, math.Pow(10, s.Lo)))
	}
	return (v - s.Lo) / (s.Hi - s.Lo)
}

const (
	mostTicks  = 6
	fewDecades = 2     // a shorter logarithmic axis has labels at 2 and 5 too
	leastFloor = 1e-12 // smaller values are drawn as this value on a logarithmic axis
	slight     = 1e-9  // rounding
)

// Linear returns a linear scale for the values between lo and hi, with ticks at round numbers.
func Linear(lo, hi float64, percent bool) Scale {
	if lo == 0 && hi == 0 {
		hi = 1
	}
	if !(hi-lo > slight*max(math.Abs(lo), math.Abs(hi))) { // equal but for rounding
		pad := max(math.Abs(lo)*0.1, 0.5)
		if percent {
			pad = 0.05
		}
		lo, hi = lo-pad, hi+pad
	}
	s := Scale{Lo: lo, Hi: hi}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/mostTicks)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(m*step) <= mostTicks {
			step *= m
			break
		}
	}
	first, last := math.Ceil(lo/step-slight), math.Floor(hi/step+slight)
	for k := range int(last-first) + 1 {
		v := (first + float64(k)) * step
		s.Ticks = append(s.Ticks, Tick{s.Of(v), axisNumber(v, step, percent)})
	}
	return s
}

// axisNumber formats a tick's value with the digits of the step.
func axisNumber(v, step float64, percent bool) string {
	unit := ""
	if percent {
		v, step, unit = 100*v, 100*step, "%"
	}
	v += 0 // no -0
	digits := max(0, int(math.Ceil(-math.Log10(step)-slight)))
	if a := math.Abs(v); digits > 4 || a >= 1e6 {
		return strconv.FormatFloat(math.Round(v/step)*step, 'g', 4, 64) + unit
	}
	if math.Abs(v) < step/2 {
		return "0" + unit
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + unit
}

// logarithmic returns a logarithmic scale that begins at the power of ten below the least positive
// value. If there are values of 0 or less, the first label says that they lie there.
func logarithmic(least, most float64, zeros bool) Scale {
	s := Scale{Log: true, Lo: math.Floor(math.Log10(max(least, leastFloor)) + slight), Hi: math.Ceil(math.Log10(max(most, leastFloor)) - slight)}
	if s.Hi <= s.Lo {
		s.Hi = s.Lo + 1
	}
	every := math.Ceil((s.Hi - s.Lo) / mostTicks)
	digits := []float64{1}
	if s.Hi-s.Lo <= fewDecades {
		digits = []float64{1, 2, 5}
	}
	for e := s.Lo; e <= s.Hi+slight; e += every {
		for _, d := range digits {
			if e == s.Hi && d > 1 {
				break
			}
			label := strconv.FormatFloat(d, 'g', -1, 64) + "e" + strconv.Itoa(int(e))
			if e >= -3 && e <= 3 {
				label = strconv.FormatFloat(d*math.Pow(10, e), 'f', max(0, -int(e)), 64)
			}
			if zeros && e == s.Lo && d == 1 {
				label = "≤ " + label
			}
			s.Ticks = append(s.Ticks, Tick{(e + math.Log10(d) - s.Lo) / (s.Hi - s.Lo), label})
		}
	}
	return s
}

// doubling returns a logarithmic scale with ticks at the powers of two.
func doubling(least, most float64) Scale {
	first, last := math.Floor(math.Log2(least)+slight), math.Ceil(math.Log2(most)-slight)
	last = max(last, first+1)
	s := Scale{Log: true, Lo: first * math.Log10(2), Hi: last * math.Log10(2)}
	for e := first; e <= last; e++ {
		s.Ticks = append(s.Ticks, Tick{(e - first) / (last - first), strconv.FormatFloat(math.Exp2(e), 'g', -1, 64)})
	}
	return s
}
