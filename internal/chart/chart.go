// Package chart draws curves and bars: as SVG files (Picture, BarPicture), and as the parts from
// which a page draws itself (Draw, Data). Both have the same scales, ticks and lines. A picture
// with the same content has the same bytes.
package chart

import (
	"fmt"
	"math"
	"slices"
)

// Chart holds curves over one or more horizontal axes. A picture shows one axis; a page has a
// switch between the axes, and between a linear and a logarithmic vertical axis.
type Chart struct {
	Name        string // a word for the names of files
	Title, Note string
	// Log draws a logarithmic vertical axis at first.
	Log bool
	// Fixed removes the switch between the vertical axes.
	Fixed              bool
	PercentX, PercentY bool // the axes show shares, in percent
	DoublingX          bool // the horizontal axis is logarithmic, with ticks at powers of two
	Square             bool // both axes go from 0 to 1, and the area is square
	Lines              []Line
	Views              []View  // one for each horizontal axis; at least one
	Levels             []Level // horizontal lines

	ID string // set by the page
}

// Line is the appearance of a curve.
type Line struct {
	Name  string
	Color string // "k" (black), "c0" to "c5", "muted", or a split: "train", "validation", "test"
	Dash  Dash
	// Unlisted marks a curve that belongs to the curve before. A picture's legend does not list it.
	Unlisted bool
	Marked   bool // every point has a mark
	Dot      bool // the points are marks without a line
	// Value is the text in a page's legend while no point is chosen; "" is the last value.
	Value string
}

// Dash is the pattern of a line: the name of its class in the style of a page.
type Dash string

// The patterns of lines.
const (
	solid  Dash = ""
	Dashed Dash = "dashed"
	dotted Dash = "dotted"
)

// colors is the number of colours of lines; beyond, the colours repeat with dotted lines.
const colors = 6

// LineOf returns the appearance of line k of a chart.
func LineOf(name string, k int) Line {
	l := Line{Name: name, Color: fmt.Sprintf("c%d", k%colors)}
	if k/colors%2 == 1 {
		l.Dash = dotted
	}
	return l
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

// Over returns the chart with a single view, the view k.
func (c *Chart) Over(k int) *Chart {
	own := *c
	own.Views = c.Views[k : k+1]
	return &own
}

// Decades returns the number of decades that the values of the first view span; 0 if a value is not
// positive.
func (c *Chart) Decades() float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, curve := range c.Views[0].Curves {
		for _, y := range curve.Y {
			lo, hi = min(lo, y), max(hi, y)
		}
	}
	if !(lo > 0) || math.IsInf(hi, 0) {
		return 0
	}
	return math.Log10(hi / lo)
}

// Logarithmic reports whether the chart's first view has a logarithmic vertical axis.
func (c *Chart) Logarithmic() bool {
	_, _, logY := c.scales(&c.Views[0])
	return c.Log && logY != nil
}

// Switchable reports whether a page has a switch between the chart's vertical axes.
func (c *Chart) Switchable() bool {
	_, _, logY := c.scales(&c.Views[0])
	return !c.Fixed && logY != nil
}

func (c *Chart) marked() bool {
	return slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Marked || l.Dot })
}

// finite reports whether a value has a place on an axis.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// scales returns the horizontal scale of a view and its two vertical scales. The logarithmic one is
// nil if no value is positive.
func (c *Chart) scales(v *View) (x, y Scale, logY *Scale) {
	xlo, xhi, ylo, yhi, least := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1), math.Inf(1)
	see := func(values []float64) {
		for _, y := range values {
			if !finite(y) {
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
		return Linear(0, 1, c.PercentX), Linear(0, 1, c.PercentY), nil
	}
	if !math.IsInf(least, 1) {
		own := logarithmic(least, yhi, ylo <= 0)
		logY = &own
	}
	if c.Square {
		return Linear(0, 1, c.PercentX), Linear(0, 1, c.PercentY), logY
	}
	if ylo >= 0 && ylo < 0.4*yhi { // the axis begins at 0 if 0 is close
		ylo = 0
	}
	margin := 0.04 * (yhi - ylo)
	if ylo != 0 {
		ylo -= margin
	}
	y = Linear(ylo, yhi+margin, c.PercentY)
	if c.DoublingX {
		return doubling(xlo, xhi), y, logY
	}
	if c.marked() { // marks at the ends stay inside
		m := 0.04 * (xhi - xlo)
		if xlo != 0 {
			xlo -= m
		}
		xhi += m
	}
	return Linear(xlo, xhi, c.PercentX), y, logY
}
