package plots

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
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

// draw draws the chart: the title, under it the plot, and the legend at the right of that or, where it is wide, below.
func (c *chart) draw(canvas draw.Canvas) error {
	p, legend, err := c.parts()
	if err != nil {
		return err
	}
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	inside := draw.Crop(canvas, edge, -edge, edge, -edge)
	inside = drawTitle(inside, p.Title.TextStyle, c.heading())
	if size := legend.Rectangle(inside).Size(); tooWide(size.X, canvas.Max.X-canvas.Min.X) {
		legend.Top = false
		legend.Draw(inside)
		inside = draw.Crop(inside, 0, 0, size.Y+edge, 0)
	} else {
		legend.Draw(draw.Crop(inside, inside.Max.X-inside.Min.X-size.X*fallbackFont, 0, 0, 0))
		inside = draw.Crop(inside, 0, -size.X*fallbackFont-2*edge, 0, 0)
	}
	p.Draw(inside)
	return nil
}

// legendHeight is what a picture of that width needs beside the usual height: that of a legend below the plot.
func (c *chart) legendHeight(width vg.Length) (vg.Length, error) {
	_, legend, err := c.parts()
	if err != nil {
		return 0, err
	}
	size := legend.Rectangle(draw.NewCanvas(vgsvg.New(width, width), width, width)).Size()
	if !tooWide(size.X, width) {
		return 0, nil
	}
	return size.Y + 2*edge, nil
}

// tooWide says whether a legend leaves the plot at its left too little of a picture.
func tooWide(legend, picture vg.Length) bool { return legend*fallbackFont > widestLegend*picture }

// drawTitle draws the title over the whole width, which is more than the plot's, in two lines where one is too long, and returns
// what is left of the canvas. It begins at the left, where a viewer's wider font does not move it.
func drawTitle(canvas draw.Canvas, style text.Style, title string) draw.Canvas {
	if style.Width(title)*fallbackFont > canvas.Max.X-canvas.Min.X {
		title = strings.Replace(title, ": ", "\n", 1)
	}
	style.XAlign = text.XLeft
	canvas.FillText(style, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y}, title)
	return draw.Crop(canvas, 0, 0, 0, -style.Height(title)-titleGap)
}

// heading is the title, with what a logarithmic axis does to values that it has no place for.
func (c *chart) heading() string {
	least := math.Inf(1)
	c.eachValue(func(y float64) { least = math.Min(least, y) })
	switch at := decade(math.Log10(c.floor)); {
	case !c.logarithmic || least >= c.floor:
		return c.title
	case least < 0:
		return fmt.Sprintf("%s (0 and less drawn at %s)", c.title, at)
	default:
		return fmt.Sprintf("%s (0 drawn at %s)", c.title, at)
	}
}

// parts are the plot, whose title is empty, and the legend.
func (c *chart) parts() (*plot.Plot, *plot.Legend, error) {
	p := plot.New()
	setFonts(p)
	p.X.Label.Text = c.axis
	if c.label != c.title { // a measure's name says it already, and may be longer than the axis
		p.Y.Label.Text = c.label
	}
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
			return nil, nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for _, s := range c.curves {
		if err := c.add(p, &legend, s); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for _, l := range c.levels {
		if err := c.addLevel(p, &legend, l); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", l.name, err)
		}
	}
	if c.logarithmic {
		p.Y.Min = math.Log10(c.floor)
		p.Y.Max = math.Max(p.Y.Max+headroom, p.Y.Min+1)
	}
	if p.X.Min == p.X.Max {
		p.X.Min, p.X.Max = c.ends()
	}
	return p, &legend, nil
}

// addLevel adds a horizontal line, unless a logarithmic axis has no place for it.
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
	fallbackFont = 1.2  // how much wider a viewer's font may be than the one measured
	widestLegend = 0.45 // of a picture, beside the plot
	edge         = 4    // points around a picture, and between its parts
	titleGap     = 8    // points below the title
)

// decadeBelow is the power of ten below the smallest positive value and level, not at it: what is drawn there is 0.
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
	return math.Max(leastFloor, math.Pow(10, math.Ceil(math.Log10(smallest)-slight)-1))
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
