package chart

import (
	"encoding/json"
	"math"
	"strconv"
)

// Data is a chart for the script of a page.
type Data struct {
	ID       string     `json:"id"`
	Log      bool       `json:"log"`
	PercentX bool       `json:"percentX,omitempty"`
	PercentY bool       `json:"percentY,omitempty"`
	Lines    []lineData `json:"lines"`
	Views    []viewData `json:"views"`
	Levels   []float64  `json:"levels,omitempty"`
}

type lineData struct {
	Name string `json:"name"`
	Dot  bool   `json:"dot,omitempty"`
}

type viewData struct {
	Axis   string      `json:"axis"`
	X      Scale       `json:"x"`
	Y      Scale       `json:"y"`
	LogY   *Scale      `json:"logY,omitempty"`
	Curves []curveData `json:"curves"`
}

// curveData is a curve for the script. A list that equals the list of the first curve (X), or of
// the same curve of the first view (Y), is left out.
type curveData struct {
	X     numbers  `json:"x,omitempty"`
	Y     numbers  `json:"y,omitempty"`
	Low   numbers  `json:"low,omitempty"`
	High  numbers  `json:"high,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

// Data returns the chart for the script of a page.
func (c *Chart) Data() Data {
	d := Data{ID: c.ID, Log: c.Logarithmic(), PercentX: c.PercentX, PercentY: c.PercentY}
	for _, l := range c.Lines {
		d.Lines = append(d.Lines, lineData{l.Name, l.Dot})
	}
	for _, l := range c.Levels {
		d.Levels = append(d.Levels, l.Value)
	}
	for i := range c.Views {
		v := &c.Views[i]
		own := viewData{Axis: v.Axis}
		own.X, own.Y, own.LogY = c.scales(v)
		for k, curve := range v.Curves {
			data := curveData{X: curve.X, Y: curve.Y, Low: curve.Low, High: curve.High, Notes: curve.Notes}
			if k > 0 && same(curve.X, v.Curves[0].X) {
				data.X = nil
			}
			if i > 0 && same(curve.Y, c.Views[0].Curves[k].Y) {
				data.Y = nil
			}
			own.Curves = append(own.Curves, data)
		}
		d.Views = append(d.Views, own)
	}
	return d
}

// same reports whether two lists are the same memory.
func same(a, b []float64) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// numbers are written with six significant digits, and NaN as null.
type numbers []float64

// MarshalJSON implements json.Marshaler.
func (n numbers) MarshalJSON() ([]byte, error) {
	out := []byte{'['}
	for i, v := range n {
		if i > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			out = append(out, "null"...)
		} else {
			out = strconv.AppendFloat(out, v, 'g', 6, 64)
		}
	}
	return append(out, ']'), nil
}

var _ json.Marshaler = numbers(nil)
