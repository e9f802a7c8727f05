package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Drawing is the first view of a chart as coordinates, from the left and from the top.
type Drawing struct {
	X, Y   []Tick
	Axis   string
	Lines  []DrawnLine
	Levels []DrawnLevel
}

// DrawnLine is a line with its coordinates.
type DrawnLine struct {
	Line
	Path, Band string // of an SVG path
	Marks      []Place
	Last       string // the last value
}

// Place is the place of a mark.
type Place struct{ X, Y float64 }

// DrawnLevel is a level with its height.
type DrawnLevel struct {
	Level
	Y float64
}

// reference is the colour of lines without values of interest, such as chance.
const reference = "muted"

// unit is the size of the area in which a page draws; the page stretches the area.
const unit = 1000

// Draw returns the first view for a page, in coordinates from 0 to 1000. The places of marks are in
// percent.
func (c *Chart) Draw() Drawing {
	d := c.draw(unit, unit)
	for k := range d.Lines {
		for i, at := range d.Lines[k].Marks {
			d.Lines[k].Marks[i] = Place{round(100 * at.X / unit), round(100 * at.Y / unit)}
		}
	}
	return d
}

// draw returns the first view in an area of the given size.
func (c *Chart) draw(width, height float64) Drawing {
	v := &c.Views[0]
	x, y, logY := c.scales(v)
	if c.Log && logY != nil {
		y = *logY
	}
	d := Drawing{X: x.Ticks, Y: y.Ticks, Axis: v.Axis}
	a := area{&x, &y, width, height}
	for k, l := range c.Lines {
		curve := &v.Curves[k]
		own := DrawnLine{Line: l, Last: cmp.Or(l.Value, c.value(last(curve.Y)))}
		if l.Color == reference {
			own.Last = ""
		}
		if !l.Dot {
			own.Path = a.path(curve.X, curve.Y)
		}
		if curve.Low != nil {
			own.Band = a.band(curve)
		}
		for i := range curve.X {
			if (l.Marked || l.Dot || len(curve.X) == 1) && finite(curve.Y[i]) {
				own.Marks = append(own.Marks, a.place(curve.X[i], curve.Y[i]))
			}
		}
		d.Lines = append(d.Lines, own)
	}
	for _, l := range c.Levels {
		if !y.Log || l.Value > 0 {
			d.Levels = append(d.Levels, DrawnLevel{l, a.place(x.Lo, l.Value).Y})
		}
	}
	return d
}

// last returns the last known value; NaN if there is none.
func last(values []float64) float64 {
	for _, v := range slices.Backward(values) {
		if !math.IsNaN(v) {
			return v
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
		return Percent(v)
	}
	return Number(v)
}

// Number formats a number with four significant digits.
func Number(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-3 || a >= 1e6) {
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Percent formats a share in percent: with two decimals, and a rare one with three digits.
func Percent(v float64) string {
	decimals := 2
	for x := math.Abs(100 * v); x > 0 && x < 1 && decimals < 8; x *= 10 {
		decimals++
	}
	return strconv.FormatFloat(100*v, 'f', decimals, 64) + "%"
}

// round rounds a coordinate.
func round(v float64) float64 { return math.Round(10*v)/10 + 0 } // no -0

// coordinate formats a coordinate.
func coordinate(v float64) string { return strconv.FormatFloat(round(v), 'f', -1, 64) }

// area maps values to coordinates.
type area struct {
	x, y          *Scale
	width, height float64
}

func (a *area) place(x, y float64) Place {
	return Place{round(a.width * a.x.Of(x)), round(a.height - a.height*a.y.Of(y))}
}

// path returns a line as the path of an SVG; a missing value interrupts the line.
func (a *area) path(xs, ys []float64) string {
	var out strings.Builder
	pen := "M"
	for i := range xs {
		if !finite(ys[i]) {
			pen = "M"
			continue
		}
		at := a.place(xs[i], ys[i])
		out.WriteString(pen + coordinate(at.X) + " " + coordinate(at.Y))
		pen = "L"
	}
	return out.String()
}

// band returns the outline of a curve's band.
func (a *area) band(c *Curve) string {
	var xs, ys []float64
	for i, low := range c.Low {
		if finite(low) {
			xs, ys = append(xs, c.X[i]), append(ys, low)
		}
	}
	for i, high := range slices.Backward(c.High) {
		if finite(high) {
			xs, ys = append(xs, c.X[i]), append(ys, high)
		}
	}
	if xs == nil {
		return ""
	}
	return a.path(xs, ys) + "Z"
}
