package plots

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ppal/internal/rates"
)

// Rates are the rates of decisions on the splits of a run.
type Rates struct {
	Title  string
	Splits []SplitRates
}

// SplitRates are the rates and the ROC curve of one split.
type SplitRates struct {
	Name    string // training, validation, test
	Trained bool   // the split holds training rows
	Table   *rates.Table
	ROC     []rates.Point // nil: none
}

// The file names of the plots of rates.
const (
	GroupRatesFile = "rates.svg"
	ROCFile        = "roc.svg"
)

// WriteRates draws the rates into the folder dir, which it creates. rates.svg has a bar for the
// rows of each group and split, with the interval on held-out rows: with two classes a chart each
// for the positive rate, the true and the false positive rate and the error, else a chart of the
// recalls of the classes. roc.svg has the ROC curve of each split with the chosen threshold, if
// there are curves. WriteRates returns the names of the files.
func WriteRates(dir string, r Rates) ([]string, error) {
	f, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	if err := f.saveBars(r.charts()); err != nil {
		return f.names, err
	}
	if slices.ContainsFunc(r.Splits, func(s SplitRates) bool { return s.ROC != nil }) {
		err = f.saveROC(r)
	}
	return f.names, err
}

// barChart has a block of bars for each line, one bar for each split.
type barChart struct {
	title string
	lines []string   // names of the blocks, from the top
	bars  [][]bar    // of each line, for each split
	names []string   // of the splits
	style []barStyle // of the splits
}

// bar is a value with an interval.
type bar struct {
	value    float64 // NaN: no value
	interval *[2]float64
}

// barStyle is a split's colour.
type barStyle struct{ fill, outline style }

// mostBlocks is the largest number of groups in a chart of bars.
const mostBlocks = 12

// charts returns the charts of the rates.
func (r Rates) charts() []*barChart {
	first := r.Splits[0].Table
	if len(first.Classes) != 2 {
		c := r.newChart(r.Title + "\nshare of each class's rows that are decided correctly")
		for _, class := range first.Classes {
			c.add(class, r, func(t *rates.Table) rates.Rates {
				return rates.Rates{"": t.Overall[rates.RecallOf(class)]}
			}, "")
		}
		return []*barChart{c}
	}
	groups := first.Shown(mostBlocks)
	var charts []*barChart
	for _, q := range []struct{ name, title string }{
		{rates.PositiveRate, "positive rate"}, {rates.TruePositiveRate, "true positive rate"},
		{rates.FalsePositiveRate, "false positive rate"}, {rates.Error, "error"},
	} {
		title := q.title
		if len(groups) < len(first.ByGroup) {
			title += fmt.Sprintf(" (%d of %d groups)", len(groups), len(first.ByGroup))
		}
		c := r.newChart(title)
		c.add("all rows", r, func(t *rates.Table) rates.Rates { return t.Overall }, q.name)
		for _, g := range groups {
			c.add(first.ByGroup[g].Group, r, func(t *rates.Table) rates.Rates { return t.ByGroup[g].Rates }, q.name)
		}
		charts = append(charts, c)
	}
	return charts
}

// newChart returns a chart without lines.
func (r Rates) newChart(title string) *barChart {
	c := &barChart{title: title}
	for _, s := range r.Splits {
		name := s.Name + " rows"
		if !s.Trained {
			name += ", 95% interval"
		}
		c.names = append(c.names, name)
		c.style = append(c.style, splitStyle(s.Name))
	}
	return c
}

// splitStyle returns a split's colours, the same in all pictures.
func splitStyle(split string) barStyle {
	line := style{color: trainingColor(), width: vg.Points(1.6)}
	switch split {
	case "validation":
		line.color = palette()[1]
	case "test":
		line.color = palette()[0]
	}
	return barStyle{fill: line, outline: line}
}

// add adds a block of bars: the named rate of each split.
func (c *barChart) add(line string, r Rates, of func(t *rates.Table) rates.Rates, name string) {
	block := make([]bar, len(r.Splits))
	for k, s := range r.Splits {
		block[k].value = math.NaN()
		if rate, ok := of(s.Table)[name]; ok && rate.Rows > 0 {
			block[k] = bar{rate.Value, rate.Interval}
		}
	}
	c.lines, c.bars = append(c.lines, line), append(c.bars, block)
}

// Sizes of a chart of bars.
const (
	barHeight   = 9 * vg.Length(1)
	blockGap    = 8 * vg.Length(1)
	chartMargin = 62 * vg.Length(1) // a title of one line, axis and its label
	titleLine   = 14 * vg.Length(1) // a further line of the title
)

// height returns the height of the chart.
func (c *barChart) height() vg.Length {
	block := barHeight*vg.Length(len(c.names)) + blockGap
	return chartMargin + titleLine*vg.Length(strings.Count(c.title, "\n")) + block*vg.Length(len(c.lines))
}

// saveBars writes the charts in two columns, or one chart alone, with one legend.
func (f *folder) saveBars(charts []*barChart) error {
	cols := min(2, len(charts))
	rows := (len(charts) + cols - 1) / cols
	const legend = 20
	w := width * vg.Length(cols)
	h := charts[0].height()*vg.Length(rows) + legend
	return f.save(GroupRatesFile, w, h, func(canvas draw.Canvas) error {
		whiten(canvas)
		charts[0].drawLegend(draw.Crop(canvas, edge, -edge, 0, -edge))
		area := draw.Crop(canvas, 0, 0, 0, -legend)
		tiles := draw.Tiles{Cols: cols, Rows: rows, PadX: tilePadding, PadY: tilePadding / 2,
			PadTop: tilePadding / 2, PadBottom: tilePadding / 2, PadLeft: tilePadding / 2, PadRight: tilePadding}
		for i, c := range charts {
			c.draw(tiles.At(area, i%cols, i/cols))
		}
		return nil
	})
}

// drawLegend draws the splits' names and colours in one line at the top.
func (c *barChart) drawLegend(canvas draw.Canvas) {
	p := plot.New()
	setFonts(p)
	text := p.X.Tick.Label
	text.XAlign, text.YAlign = draw.XLeft, draw.YCenter
	x, y := canvas.Min.X+tilePadding, canvas.Max.Y-8
	for k, name := range c.names {
		box := vg.Rectangle{Min: vg.Point{X: x, Y: y - 4}, Max: vg.Point{X: x + 14, Y: y + 4}}
		c.paint(canvas, box, c.style[k])
		canvas.FillText(text, vg.Point{X: x + 19, Y: y}, name)
		x += 19 + text.Width(name)*fallbackFont + 18
	}
}

// paint fills a rectangle in a split's colour.
func (c *barChart) paint(canvas draw.Canvas, box vg.Rectangle, s barStyle) {
	r, g, b, _ := s.fill.color.RGBA()
	canvas.FillPolygon(lightened(r, g, b), corners(box))
	outline := s.outline.line()
	outline.Width = vg.Points(0.8)
	canvas.StrokeLines(outline, append(corners(box), box.Min))
}

func corners(b vg.Rectangle) []vg.Point {
	return []vg.Point{b.Min, {X: b.Max.X, Y: b.Min.Y}, b.Max, {X: b.Min.X, Y: b.Max.Y}}
}

// draw draws the chart: horizontal bars with their intervals over an axis of percent from 0.
func (c *barChart) draw(canvas draw.Canvas) {
	p := plot.New()
	setFonts(p)
	canvas = drawTitle(canvas, p.Title.TextStyle, c.title)
	p.X.Min, p.X.Max = 0, c.most()
	p.X.Tick.Marker = percentTicks{}
	n := float64(len(c.lines))
	p.Y.Min, p.Y.Max = -n, 0
	ticks := make(plot.ConstantTicks, len(c.lines))
	for i, line := range c.lines {
		ticks[i] = plot.Tick{Value: -float64(i) - 0.5, Label: label(line)}
	}
	p.Y.Tick.Marker, p.Y.Tick.Length = ticks, 0
	p.Y.Tick.Label.XAlign = draw.XRight
	p.Add((*barPlotter)(c))
	p.Draw(canvas)
}

// most returns the end of the axis: the largest bar or interval, and a little more.
func (c *barChart) most() float64 {
	most := 0.01
	for _, block := range c.bars {
		for _, b := range block {
			if math.IsNaN(b.value) {
				continue
			}
			most = max(most, b.value)
			if b.interval != nil {
				most = max(most, b.interval[1])
			}
		}
	}
	return min(1, most*1.04)
}

// barPlotter draws the bars.
type barPlotter barChart

// Plot implements plot.Plotter.
func (c *barPlotter) Plot(canvas draw.Canvas, p *plot.Plot) {
	xOf, yOf := p.Transforms(&canvas)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if x := xOf(t.Value); t.Value > 0 {
			canvas.StrokeLine2(gridStyle(), x, canvas.Min.Y, x, canvas.Max.Y)
		}
	}
	for i, block := range c.bars {
		top := yOf(-float64(i)) - blockGap/2
		for k, b := range block {
			middle := top - barHeight*(vg.Length(k)+0.5)
			if math.IsNaN(b.value) {
				continue
			}
			box := vg.Rectangle{Min: vg.Point{X: xOf(0), Y: middle - barHeight/2 + 1}, Max: vg.Point{X: xOf(b.value), Y: middle + barHeight/2 - 1}}
			(*barChart)(c).paint(canvas, box, c.style[k])
			if b.interval != nil {
				whisker(canvas, xOf(b.interval[0]), xOf(b.interval[1]), middle)
			}
		}
	}
}

// whisker draws an interval.
func whisker(canvas draw.Canvas, low, high, y vg.Length) {
	line := objectiveStyle().line()
	line.Width = vg.Points(1)
	canvas.StrokeLine2(line, low, y, high, y)
	for _, x := range []vg.Length{low, high} {
		canvas.StrokeLine2(line, x, y-2.5, x, y+2.5)
	}
}

// mostLabel is the largest number of characters of a block's name.
const mostLabel = 32

// label returns a block's name, shortened, with room for a wider font in the viewer: names end at
// the axis, and a viewer that lacks the font starts them at the same place.
func label(name string) string {
	if text := []rune(name); len(text) > mostLabel {
		name = string(text[:mostLabel-3]) + "..."
	}
	return name + strings.Repeat(" ", 1+len(name)/3)
}

// percentTicks are labelled ticks at a round number of percent.
type percentTicks struct{}

// Ticks implements plot.Ticker.
func (percentTicks) Ticks(least, most float64) []plot.Tick {
	const wanted = 6 // largest number of ticks
	step := 100.0    // percent
	for _, s := range []float64{50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01} {
		if 100*(most-least)/s > wanted {
			break
		}
		step = s
	}
	var ticks []plot.Tick
	for k := math.Ceil(100*least/step - slight); k*step <= 100*most+slight; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step / 100, Label: strconv.FormatFloat(math.Round(100*k*step)/100+0, 'f', -1, 64) + "%"})
	}
	return ticks
}
