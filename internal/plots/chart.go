package plots

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// chart is a picture of curves over one axis.
type chart struct {
	title, axis, label string
	logarithmic        bool
	curves             []curve
	levels             []level
	floor              float64 // where a logarithmic axis begins, and zeros are drawn
}

// curve is one line, with or without a band around it.
type curve struct {
	name   string // "" has no entry in the legend
	style  style
	points plotter.XYs
	band   plotter.XYs // its outline: the lower edge, then the upper one backwards
}

// finish sets what depends on all curves.
func (c *chart) finish() *chart {
	c.floor = c.decadeBelow()
	return c
}

// against is the quantity's chart over an axis.
func (q quantity) against(a axis) *chart {
	c := &chart{title: q.title, axis: a.label, label: q.label, logarithmic: q.logarithmic, levels: q.levels}
	for _, s := range q.series {
		line := curve{name: s.name, style: s.style}
		for i := range q.records {
			if y, known := s.of(&q.records[i]); known {
				line.points = append(line.points, plotter.XY{X: a.of(&q.records[i]), Y: y})
			}
		}
		c.curves = append(c.curves, line)
	}
	return c.finish()
}

// draw draws the chart with its legend at the right.
func (c *chart) draw(canvas draw.Canvas) error {
	p := plot.New()
	setFonts(p)
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.title, c.axis, c.label
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
	for _, s := range c.curves {
		if err := c.addBand(p, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for _, s := range c.curves {
		if err := c.add(p, &legend, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for _, l := range c.levels {
		if err := c.addLevel(p, &legend, l); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
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
	below := vg.Points(legendBelow) * vg.Length(1+strings.Count(c.title, "\n"))
	legend.Draw(draw.Crop(canvas, canvas.Max.X-canvas.Min.X-room+vg.Points(6), 0, 0, -below))
	return nil
}

// addLevel draws a level across the chart, where it has a place.
func (c *chart) addLevel(p *plot.Plot, legend *plot.Legend, l level) error {
	if c.logarithmic && l.value <= 0 {
		return nil
	}
	first, last := c.ends()
	y := c.place(l.value)
	line, err := plotter.NewLine(plotter.XYs{{X: first, Y: y}, {X: last, Y: y}})
	if err != nil {
		return err
	}
	line.LineStyle = levelStyle().line()
	p.Add(line)
	legend.Add(l.name, line)
	return nil
}

// addBand fills a curve's band, under all lines.
func (c *chart) addBand(p *plot.Plot, s curve) error {
	if len(s.band) == 0 {
		return nil
	}
	area, err := plotter.NewPolygon(c.placed(s.band))
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = s.style.faint(), 0
	p.Add(area)
	return nil
}

// add draws a curve as a line, or as a mark where it is a single point.
func (c *chart) add(p *plot.Plot, legend *plot.Legend, s curve) error {
	if len(s.points) == 0 {
		return nil
	}
	points := c.placed(s.points)
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

// placed are points where they are drawn.
func (c *chart) placed(points plotter.XYs) plotter.XYs {
	moved := make(plotter.XYs, len(points))
	for i, at := range points {
		moved[i] = plotter.XY{X: at.X, Y: c.place(at.Y)}
	}
	return moved
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
	first, last = math.Inf(1), math.Inf(-1)
	for _, s := range c.curves {
		for _, at := range s.points {
			first, last = math.Min(first, at.X), math.Max(last, at.X)
		}
	}
	switch {
	case first > last:
		return 0, 1
	case first == last:
		last++
	}
	return first, last
}

const (
	leastFloor   = 1e-9 // what is smaller is drawn as 0
	emptyFloor   = 1e-6 // where every value is 0
	headroom     = 0.08 // decades above the largest value
	legendBelow  = 24   // points from the top, for each line of the title
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

// decades is how many powers of ten the curves span.
func (c *chart) decades() float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, s := range c.curves {
		for _, at := range s.points {
			least, most = math.Min(least, at.Y), math.Max(most, at.Y)
		}
	}
	return math.Log10(most / least) // NaN where a value is negative: not above anything
}

// zeros says whether some value lies below the floor.
func (c *chart) zeros() bool {
	found := false
	c.eachValue(func(y float64) { found = found || y < c.floor })
	return found
}

func (c *chart) eachValue(visit func(y float64)) {
	for _, s := range c.curves {
		for _, at := range s.points {
			visit(at.Y)
		}
	}
	for _, l := range c.levels {
		visit(l.value)
	}
}
