package plots

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// chart is a quantity against an axis.
type chart struct {
	quantity
	axis  axis
	floor float64 // where a logarithmic axis begins, and zeros are drawn
}

func (q quantity) against(a axis) *chart {
	c := &chart{quantity: q, axis: a}
	c.floor = c.decadeBelow()
	return c
}

// draw draws the chart with its legend at the right.
func (c *chart) draw(canvas draw.Canvas) error {
	p := plot.New()
	setFonts(p)
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.title, c.axis.label, c.label
	grid := plotter.NewGrid()
	grid.Horizontal, grid.Vertical = gridStyle(), gridStyle()
	p.Add(grid)
	legend := plot.NewLegend()
	legend.Top, legend.Left = true, true
	sans(&legend.TextStyle, fontSize-1)
	legend.Padding, legend.ThumbnailWidth = vg.Points(4), vg.Points(20)

	if c.logarithmic {
		p.Y.Tick.Marker = decades{}
	}
	for _, s := range c.series {
		if err := c.add(p, &legend, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for _, l := range c.levels {
		if c.logarithmic && l.value <= 0 {
			continue
		}
		first, last := c.ends()
		y := c.place(l.value)
		line, err := plotter.NewLine(plotter.XYs{{X: first, Y: y}, {X: last, Y: y}})
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		line.LineStyle = levelStyle().line()
		p.Add(line)
		legend.Add(l.name, line)
	}
	if c.logarithmic {
		p.Y.Min = math.Log10(c.floor)
		p.Y.Max = math.Max(p.Y.Max+headroom, p.Y.Min+1)
		if c.zeros() {
			p.Title.Text += fmt.Sprintf(" (0 drawn at %s)", decade(p.Y.Min))
		}
	}
	if p.X.Min == p.X.Max {
		p.X.Min, p.X.Max = c.ends()
	}
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	room := legend.Rectangle(canvas).Size().X*fallbackFont + vg.Points(10)
	p.Draw(draw.Crop(canvas, 0, -room, 0, -vg.Points(3)))
	legend.Draw(draw.Crop(canvas, canvas.Max.X-canvas.Min.X-room+vg.Points(6), 0, 0, -vg.Points(24)))
	return nil
}

// add draws a series as a line, or as a mark where it is a single point.
func (c *chart) add(p *plot.Plot, legend *plot.Legend, s series) error {
	points := c.points(s)
	var shown interface {
		plot.Plotter
		plot.Thumbnailer
	}
	if len(points) == 1 {
		mark, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		mark.GlyphStyle = s.style.mark()
		shown = mark
	} else {
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.LineStyle = s.style.line()
		shown = line
	}
	p.Add(shown)
	if s.name != "" {
		legend.Add(s.name, shown)
	}
	return nil
}

// points are a series' known values.
func (c *chart) points(s series) plotter.XYs {
	var points plotter.XYs
	for i := range c.records {
		if y, known := s.of(&c.records[i]); known {
			points = append(points, plotter.XY{X: c.axis.of(&c.records[i]), Y: c.place(y)})
		}
	}
	return points
}

// place is where a value is drawn: on a logarithmic axis its exponent, at least the floor's. (plot.LogScale takes the label's room
// from the data.)
func (c *chart) place(y float64) float64 {
	if c.logarithmic {
		return math.Log10(math.Max(y, c.floor))
	}
	return y
}

// ends are the first and the last place on the horizontal axis: one apart where there is a single one.
func (c *chart) ends() (first, last float64) {
	first, last = c.axis.of(&c.records[0]), c.axis.of(&c.records[len(c.records)-1])
	if first == last {
		last++
	}
	return first, last
}

const (
	leastFloor   = 1e-9 // what is smaller is drawn as 0
	emptyFloor   = 1e-6 // where every value is 0
	headroom     = 0.08 // decades above the largest value
	fallbackFont = 1.15 // how much wider a viewer's font may be than the one measured
)

// decadeBelow is the power of ten below the smallest positive value and level.
func (c *chart) decadeBelow() float64 {
	smallest := math.Inf(1)
	c.eachValue(func(y float64) {
		if y > 0 {
			smallest = math.Min(smallest, y)
		}
	})
	if math.IsInf(smallest, 1) {
		return emptyFloor
	}
	return math.Max(leastFloor, math.Pow(10, math.Floor(math.Log10(smallest))))
}

// zeros says whether some value lies below the floor.
func (c *chart) zeros() bool {
	found := false
	c.eachValue(func(y float64) { found = found || y < c.floor })
	return found
}

func (c *chart) eachValue(visit func(y float64)) {
	for _, s := range c.series {
		for i := range c.records {
			if y, known := s.of(&c.records[i]); known {
				visit(y)
			}
		}
	}
	for _, l := range c.levels {
		visit(l.value)
	}
}
