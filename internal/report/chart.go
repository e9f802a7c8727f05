package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Chart is a picture of curves. The page draws it as SVG; the script adds values under the pointer,
// other horizontal axes and a switch between a linear and a logarithmic vertical axis.
type Chart struct {
	Title, Note string
	// Log draws a logarithmic vertical axis at first.
	Log bool
	// Fixed removes the switch between the vertical axes.
	Fixed              bool
	PercentX, PercentY bool // the axes show shares, in percent
	Square             bool
	Lines              []Line
	Views              []View  // one for each horizontal axis; at least one
	Levels             []Level // horizontal lines

	ID string // set by the page
}

// Line is the appearance of a curve.
type Line struct {
	Name   string
	Color  string // a class of the style: "k", "c0" to "c5", "train", "validation" or "test"
	Dashed bool
	Marked bool // every point has a mark
	Dot    bool // the points are marks without a line
	Faint  bool // thin and grey
	// Value is the text in the legend while no point is chosen; "" is the last value.
	Value string
}

// View is the data of a chart over one horizontal axis.
type View struct {
	Axis   string
	Curves []Curve // one for each line of the chart
}

// Curve holds the points of a line. NaN is a missing value. Low and High, if not nil, are the edges
// of a band. Notes, if not nil, describe the points.
type Curve struct {
	X, Y, Low, High []float64
	Notes           []string
}

// Level is a horizontal line.
type Level struct {
	Name  string
	Value float64
}

// scale maps values to shares of an axis, from 0 at its beginning to 1.
type scale struct {
	Lo    float64 `json:"lo"` // logarithms to the base 10 if Log
	Hi    float64 `json:"hi"`
	Log   bool    `json:"log,omitempty"`
	Ticks []tick  `json:"ticks"`
}

// tick is a labelled place on an axis.
type tick struct {
	At    float64 `json:"at"` // share of the axis
	Label string  `json:"label"`
}

// of returns the share of the axis for a value. A logarithmic axis shows smaller values than its
// beginning at its beginning.
func (s *scale) of(v float64) float64 {
	if s.Log {
		v = math.Log10(max(v, math.Pow(10, s.Lo)))
	}
	return (v - s.Lo) / (s.Hi - s.Lo)
}

const (
	mostTicks  = 6
	leastFloor = 1e-12 // smaller values are drawn as this value on a logarithmic axis
	slight     = 1e-9
)

// linear returns a linear scale for the values between lo and hi.
func linear(lo, hi float64, percent bool) scale {
	if lo == 0 && hi == 0 {
		hi = 1
	}
	if !(hi > lo) {
		pad := max(math.Abs(lo)*0.1, 0.5)
		if percent {
			pad = 0.05
		}
		lo, hi = lo-pad, hi+pad
	}
	s := scale{Lo: lo, Hi: hi}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/mostTicks)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(m*step) <= mostTicks {
			step *= m
			break
		}
	}
	for k := math.Ceil(lo/step - slight); k*step <= hi+slight*step; k++ {
		s.Ticks = append(s.Ticks, tick{s.of(k * step), axisNumber(k*step, step, percent)})
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
func logarithmic(least, most float64, zeros bool) scale {
	s := scale{Log: true, Lo: math.Floor(math.Log10(max(least, leastFloor)) + slight), Hi: math.Ceil(math.Log10(max(most, leastFloor)) - slight)}
	if s.Hi <= s.Lo {
		s.Hi = s.Lo + 1
	}
	every := math.Ceil((s.Hi - s.Lo) / mostTicks)
	for e := s.Lo; e <= s.Hi+slight; e += every {
		label := "1e" + strconv.Itoa(int(e))
		if e >= -3 && e <= 3 {
			label = strconv.FormatFloat(math.Pow(10, e), 'g', -1, 64)
		}
		if zeros && e == s.Lo {
			label = "≤ " + label
		}
		s.Ticks = append(s.Ticks, tick{(e - s.Lo) / (s.Hi - s.Lo), label})
	}
	return s
}

// scales returns the horizontal scale of a view and its two vertical scales. The logarithmic one is
// nil if no value is positive.
func (c *Chart) scales(v *View) (x, y scale, logY *scale) {
	xlo, xhi, ylo, yhi, least := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1), math.Inf(1)
	see := func(values []float64) {
		for _, y := range values {
			if math.IsNaN(y) {
				continue
			}
			ylo, yhi = min(ylo, y), max(yhi, y)
			if y > 0 {
				least = min(least, y)
			}
		}
	}
	for k := range v.Curves {
		curve := &v.Curves[k]
		for _, x := range curve.X {
			xlo, xhi = min(xlo, x), max(xhi, x)
		}
		see(curve.Y)
		see(curve.Low)
		see(curve.High)
	}
	for _, l := range c.Levels {
		see([]float64{l.Value})
	}
	if xlo > xhi || ylo > yhi { // no points
		return linear(0, 1, c.PercentX), linear(0, 1, c.PercentY), nil
	}
	if !math.IsInf(least, 1) {
		own := logarithmic(least, yhi, ylo <= 0)
		logY = &own
	}
	if c.Square {
		return linear(0, 1, c.PercentX), linear(0, 1, c.PercentY), logY
	}
	if ylo >= 0 && ylo < 0.4*yhi { // the axis begins at 0 if 0 is close
		ylo = 0
	}
	margin := 0.04 * (yhi - ylo)
	if ylo != 0 {
		ylo -= margin
	}
	if c.marked() { // marks at the ends stay inside
		m := 0.04 * (xhi - xlo)
		if xlo != 0 {
			xlo -= m
		}
		xhi += m
	}
	return linear(xlo, xhi, c.PercentX), linear(ylo, yhi+margin, c.PercentY), logY
}

func (c *Chart) marked() bool {
	return slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Marked || l.Dot })
}

// Logarithmic reports whether the chart's first view has a logarithmic vertical axis.
func (c *Chart) Logarithmic() bool {
	_, _, logY := c.scales(&c.Views[0])
	return c.Log && logY != nil
}

// Switchable reports whether the chart has a switch between the vertical axes.
func (c *Chart) Switchable() bool {
	_, _, logY := c.scales(&c.Views[0])
	return !c.Fixed && logY != nil
}

// drawing is the chart as it appears without the script.
type drawing struct {
	X, Y   []tick
	Axis   string
	Lines  []drawnLine
	Levels []drawnLevel
}

// drawnLine is a line in coordinates from 0 to 1000, from the left and from the top.
type drawnLine struct {
	Line
	Path, Band string
	Marks      []mark
	Last       string // the last value
}

// mark is the place of a point in percent, from the left and from the top.
type mark struct{ X, Y float64 }

type drawnLevel struct {
	Level
	Y float64 // from 0 to 1000, from the top
}

// Draw returns the first view.
func (c *Chart) Draw() drawing {
	v := &c.Views[0]
	x, y, logY := c.scales(v)
	if c.Log && logY != nil {
		y = *logY
	}
	d := drawing{X: x.Ticks, Y: y.Ticks, Axis: v.Axis}
	for k, l := range c.Lines {
		curve := &v.Curves[k]
		own := drawnLine{Line: l, Last: cmp.Or(l.Value, c.value(last(curve.Y)))}
		if !l.Dot {
			own.Path = path(curve.X, curve.Y, &x, &y)
		}
		if curve.Low != nil {
			own.Band = band(curve, &x, &y)
		}
		for i := range curve.X {
			if (l.Marked || l.Dot || len(curve.X) == 1) && !math.IsNaN(curve.Y[i]) {
				own.Marks = append(own.Marks, mark{places(100 * x.of(curve.X[i])), places(100 - 100*y.of(curve.Y[i]))})
			}
		}
		d.Lines = append(d.Lines, own)
	}
	for _, l := range c.Levels {
		if !y.Log || l.Value > 0 {
			d.Levels = append(d.Levels, drawnLevel{l, places(1000 - 1000*y.of(l.Value))})
		}
	}
	return d
}

// last returns the last known value; NaN if there is none.
func last(values []float64) float64 {
	for i := len(values) - 1; i >= 0; i-- {
		if !math.IsNaN(values[i]) {
			return values[i]
		}
	}
	return math.NaN()
}

// value formats a value for the legend.
func (c *Chart) value(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case c.PercentY:
		return percent(v)
	}
	return short(v)
}

// places rounds a coordinate.
func places(v float64) float64 { return math.Round(10*v) / 10 }

// path returns a line as the path of an SVG; a missing value interrupts the line.
func path(xs, ys []float64, x, y *scale) string {
	var out strings.Builder
	pen := "M"
	for i := range xs {
		if math.IsNaN(ys[i]) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&out, "%s%v %v", pen, places(1000*x.of(xs[i])), places(1000-1000*y.of(ys[i])))
		pen = "L"
	}
	return out.String()
}

// band returns the outline of a curve's band.
func band(c *Curve, x, y *scale) string {
	xs, ys := slices.Clone(c.X), slices.Clone(c.Low)
	for i := len(c.X) - 1; i >= 0; i-- {
		xs, ys = append(xs, c.X[i]), append(ys, c.High[i])
	}
	keep := 0
	for i := range xs {
		if !math.IsNaN(ys[i]) {
			xs[keep], ys[keep] = xs[i], ys[i]
			keep++
		}
	}
	if keep == 0 {
		return ""
	}
	return path(xs[:keep], ys[:keep], x, y) + "Z"
}
