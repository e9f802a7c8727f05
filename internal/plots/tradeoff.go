package plots

import (
	"math"
	"path/filepath"

	"gonum.org/v1/plot/plotter"
)

// Tradeoff is a picture of several models: an error against a bounded value.
type Tradeoff struct {
	Title string
	X, Y  string  // labels of the axes
	Bound float64 // on the x-axis
	// Clouds has one element for each method; the first one is drawn in black.
	Clouds []Cloud
}

// Cloud holds the points of one method, such as one point for each split.
type Cloud struct {
	Name string
	X, Y []float64
}

// WriteTradeoff draws the picture to a file, whose directory it creates.
func WriteTradeoff(path string, t Tradeoff) error {
	f, err := newFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	c := &chart{title: t.Title, axis: t.X, label: t.Y}
	low, high := math.Inf(1), math.Inf(-1)
	for i, cloud := range t.Clouds {
		line := objectiveStyle()
		if i > 0 {
			line = constraintStyle(i - 1)
		}
		name := cloud.Name
		for k := range cloud.X {
			low, high = min(low, cloud.Y[k]), max(high, cloud.Y[k])
			c.curves = append(c.curves, curve{name: name, style: line, points: plotter.XYs{{X: cloud.X[k], Y: cloud.Y[k]}}})
			name = "" // one entry in the legend for all points
		}
	}
	if low <= high {
		c.curves = append(c.curves, curve{name: "bound", style: levelStyle(), points: plotter.XYs{{X: t.Bound, Y: low}, {X: t.Bound, Y: high}}})
	}
	return f.saveChart(filepath.Base(path), c.finish())
}
