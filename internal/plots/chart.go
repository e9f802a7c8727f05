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

// chart is a plot of curves over one axis.
type chart struct {
	title, axis, label string
	logarithmic        bool
	percent            bool // both axes are shares, labelled in percent
	doubling           bool // shares over logarithms to the base 2, labelled 1, 2, 4
	below              bool // the legend is below the plot, also if it is narrow
	curves             []curve
	levels             []level
	floor              float64 // lower end of a logarithmic axis, where zeros are drawn
}

// curve is one line, with or without a band.
type curve struct {
	name   string // empty: no entry in the legend
	style  style
	points plotter.XYs
	band   plotter.XYs // the band's outline: the lower edge, then the upper edge backwards
	large  bool        // a single point is a large mark
	marked bool        // every point of a line has a mark
}

// finish sets the fields that depend on all curves.
func (c *chart) finish() *chart {
	c.floor = c.decadeBelow()
	return c
}

// against returns the quantity's chart over an axis.
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

// draw draws the title, the plot below, and the legend: to the right of the plot, or below if the
// legend is wide.
func (c *chart) draw(canvas draw.Canvas) error {
	p, legend, err := c.elements(canvas.Max.X - canvas.Min.X)
	if err != nil {
		return err
	}
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	inside := draw.Crop(canvas, edge, -edge, edge, -edge)
	inside = drawTitle(inside, p.Title.TextStyle, c.heading())
	if size := legend.Rectangle(inside).Size(); c.below || tooWide(size.X, canvas.Max.X-canvas.Min.X) {
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

// legendHeight returns the extra height of a picture with the given width: the height of a legend
// below the plot, or 0.
func (c *chart) legendHeight(width vg.Length) (vg.Length, error) {
	_, legend, err := c.elements(width)
	if err != nil {
		return 0, err
	}
	size := legend.Rectangle(draw.NewCanvas(vgsvg.New(width, width), width, width)).Size()
	if !c.below && !tooWide(size.X, width) {
		return 0, nil
	}
	return size.Y + 2*edge, nil
}

// tooWide reports whether a legend to the right leaves too little width for the plot.
func tooWide(legend, picture vg.Length) bool { return legend*fallbackFont > widestLegend*picture }

// drawTitle draws the title over the whole width and returns the rest of the canvas. A long title
// is broken into two lines. The title is left-aligned, so that a wider font in the viewer does not
// move its beginning.
func drawTitle(canvas draw.Canvas, style text.Style, title string) draw.Canvas {
	if style.Width(title)*fallbackFont > canvas.Max.X-canvas.Min.X {
		title = strings.Replace(title, ": ", "\n", 1)
	}
	style.XAlign = text.XLeft
	canvas.FillText(style, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y}, title)
	return draw.Crop(canvas, 0, 0, 0, -style.Height(title)-titleGap)
}

// heading returns the title. It adds a remark if a logarithmic axis cannot show some of the values.
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

// elements returns the plot, without a title, and the legend for a picture of the given width.
func (c *chart) elements(width vg.Length) (*plot.Plot, *plot.Legend, error) {
	p := plot.New()
	setFonts(p)
	p.X.Label.Text = c.axis
	// the title already contains a measure's name, which may be longer than the axis
	if c.label != c.title {
		p.Y.Label.Text = c.label
	}
	grid := plotter.NewGrid()
	grid.Horizontal, grid.Vertical = gridStyle(), gridStyle()
	p.Add(grid)
	legend := key{Legend: plot.NewLegend(), width: width}
	legend.Top, legend.Left = true, true
	sans(&legend.TextStyle, fontSize-1)
	legend.Padding, legend.ThumbnailWidth = vg.Points(4), vg.Points(20)

	if c.logarithmic {
		p.Y.Tick.Marker = decades{}
	}
	if c.percent {
		p.X.Tick.Marker, p.Y.Tick.Marker = percentTicks{}, percentTicks{}
	}
	if c.doubling {
		p.X.Tick.Marker = doublings{}
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
	if c.doubling {
		p.Y.Min, p.Y.Max = 0, 1
	}
	if p.X.Min == p.X.Max {
		p.X.Min, p.X.Max = c.ends()
	}
	return p, &legend.Legend, nil
}

// key is a legend for a picture of the given width.
type key struct {
	plot.Legend
	width vg.Length
}

// entry adds an entry. A name that is wider than the picture continues in further lines.
func (k *key) entry(name string, shown plot.Thumbnailer) {
	room := (k.width - k.ThumbnailWidth - 4*edge) / fallbackFont
	thumbnails, line := []plot.Thumbnailer{shown}, ""
	for _, word := range strings.Fields(name) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && k.TextStyle.Width(longer) > room {
			k.Add(line, thumbnails...)
			thumbnails, longer = nil, word
		}
		line = longer
	}
	k.Add(line, thumbnails...)
}

// addLevel adds a horizontal line, unless the value cannot be shown on a logarithmic axis.
func (c *chart) addLevel(p *plot.Plot, legend *key, l level) error {
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
	legend.entry(l.name, line)
	return nil
}

// addBand fills a curve's band, below all lines.
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

// add draws a curve as a line, or a single point as a marker.
func (c *chart) add(p *plot.Plot, legend *key, s curve) error {
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
		if s.large {
			mark.GlyphStyle.Radius = vg.Points(5)
		}
		shown = mark
	} else {
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.LineStyle = s.style.line()
		shown = line
		if s.marked {
			marks, err := plotter.NewScatter(points)
			if err != nil {
				return err
			}
			marks.GlyphStyle = s.style.mark()
			p.Add(marks)
		}
	}
	p.Add(shown)
	if s.name != "" {
		legend.entry(s.name, shown)
	}
	return nil
}

// placed maps points to drawing coordinates.
func (c *chart) placed(points plotter.XYs) plotter.XYs {
	moved := make(plotter.XYs, len(points))
	for i, at := range points {
		moved[i] = plotter.XY{X: at.X, Y: c.place(at.Y)}
	}
	return moved
}

// place maps a value to its drawing coordinate: on a logarithmic axis its exponent, at least the
// exponent of the floor. (plot.LogScale computes the space for labels from the data.)
func (c *chart) place(y float64) float64 {
	if c.logarithmic {
		return math.Log10(math.Max(y, c.floor))
	}
	return y
}

// ends returns the first and the last coordinate on the horizontal axis; they differ by one if
// there is only one.
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
	leastFloor = 1e-9 // smaller values are drawn as 0
	emptyFloor = 1e-6 // the floor if every value is 0
	headroom   = 0.08 // decades above the largest value
	// largest ratio of the width of a viewer's font to that of the measured font
	fallbackFont = 1.2
	widestLegend = 0.45 // share of a picture's width that a legend to the right may take
	edge         = 4    // points around a picture and between its elements
	titleGap     = 8    // points below the title
)

// decadeBelow returns the largest power of ten strictly below the smallest positive value and
// level. Zeros are drawn there.
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

// decades returns the number of decades that the curves span.
func (c *chart) decades() float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, s := range c.curves {
		for _, at := range s.points {
			least, most = math.Min(least, at.Y), math.Max(most, at.Y)
		}
	}
	return math.Log10(most / least) // NaN if a value is negative; NaN compares false
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
