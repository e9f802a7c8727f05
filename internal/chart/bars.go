package chart

import "fmt"

// Bars is a chart of horizontal bars of shares, in groups. A page draws the bars itself, with Place
// and End.
type Bars struct {
	Title, Note string
	Groups      []BarGroup
}

// BarGroup is a block of bars: one for each split.
type BarGroup struct {
	Name string
	Rows int // of the first split
	Bars []Bar
}

// Bar is the value of a split, with an interval of a held-out split.
type Bar struct {
	Split, Word string // train, validation or test: the class of the colour; and the word
	Value       float64
	Interval    *[2]float64 // nil: none
	Extreme     string      // largest or smallest of the groups of a bound, or ""
}

// Text returns the value in percent.
func (b *Bar) Text() string { return Percent(b.Value) }

// IntervalText returns the interval in percent; "" without an interval.
func (b *Bar) IntervalText() string {
	if b.Interval == nil {
		return ""
	}
	return Percent(b.Interval[0]) + " to " + Percent(b.Interval[1])
}

// End returns the right end of the axis: the largest bar or interval, and a little more.
func (c *Bars) End() float64 {
	most := 0.01
	for _, g := range c.Groups {
		for _, b := range g.Bars {
			most = max(most, b.Value)
			if b.Interval != nil {
				most = max(most, b.Interval[1])
			}
		}
	}
	return min(1, most*1.02)
}

// Place returns the place of a value on the axis, in percent.
func (c *Bars) Place(v float64) float64 { return round(100 * v / c.End()) }

// Span returns the width of an interval on the axis, in percent.
func (c *Bars) Span(i *[2]float64) float64 { return round(c.Place(i[1]) - c.Place(i[0])) }

// BarPicture is an SVG file of charts of bars in two columns.
type BarPicture struct {
	Head   string
	Splits []Bar // of the legend: the name and the colour of each split
	Charts []*Bars
}

// The sizes of charts of bars.
const (
	barHeight   = 11.0
	barGap      = 2.0
	groupGap    = 10.0
	widestGroup = 190.0 // the largest width of the names of groups
)

// Write writes the picture to a file, whose directory it creates.
func (p *BarPicture) Write(path string) error { return writeFile(path, p.svg()) }

// svg returns the picture as an SVG file.
func (p *BarPicture) svg() []byte {
	columns, width := 2, twoColumns
	if len(p.Charts) == 1 {
		columns, width = 1, oneColumn
	}
	panelWidth := (width - 2*margin - columnGap*float64(columns-1)) / float64(columns)
	names := 0.0
	for _, c := range p.Charts {
		for _, g := range c.Groups {
			names = max(names, textWidth(g.Name, textSize))
		}
	}
	names = min(names, widestGroup)
	var b drawingBoard
	y := b.head(p.Head, width)
	x := margin
	for _, s := range p.Splits {
		b.bar(x, y+2, 14, s.Split)
		b.text(x+20, y+baseline, "start", plainText, s.Word)
		x += 20 + textWidth(s.Word, textSize) + keyGap
	}
	y += lineHeight + titleGap
	for at := 0; at < len(p.Charts); at += columns {
		row := p.Charts[at:min(at+columns, len(p.Charts))]
		above, height := 0.0, 0.0
		for _, c := range row {
			above, height = max(above, newHeading(c.Title, c.Note, panelWidth).height()), max(height, c.height())
		}
		for k, c := range row {
			c.draw(&b, margin+float64(k)*(panelWidth+columnGap), y, above, panelWidth, names)
		}
		y += above + height + 24
		if at+columns < len(p.Charts) {
			y += rowGap
		}
	}
	return b.file(p.Head, width, y+margin)
}

func (g *BarGroup) height() float64 {
	return max(lineHeight, float64(len(g.Bars))*(barHeight+barGap)) + groupGap
}

// height returns the height of the area.
func (c *Bars) height() float64 {
	sum := 0.0
	for i := range c.Groups {
		sum += c.Groups[i].height()
	}
	return sum
}

// draw draws the chart. above is the height of the headings of the row, and names the width of the
// names of groups.
func (c *Bars) draw(b *drawingBoard, x, y, above, width, names float64) {
	newHeading(c.Title, c.Note, width).draw(b, x, y)
	y += above
	left := x + names + tickGap
	space, height := width-names-tickGap-lastLabel, c.height()
	scale := Linear(0, c.End(), true)
	for _, t := range scale.Ticks {
		at := left + space*t.At
		b.add(`<line x1="%s" x2="%s" y1="%s" y2="%s" stroke="%s"/>`, at, at, y, y+height, grid)
		b.text(at, y+height+15, "middle", tickText, t.Label)
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		middle := y + g.height()/2
		b.text(left-tickGap, middle+0.35*textSize, "end", plainText, shorten(g.Name, textSize, names))
		top := middle - float64(len(g.Bars))*(barHeight+barGap)/2 + barGap/2
		for _, own := range g.Bars {
			b.bar(left, top, space*scale.Of(own.Value), own.Split)
			if own.Interval != nil {
				b.whisker(left+space*scale.Of(own.Interval[0]), left+space*scale.Of(own.Interval[1]), top+barHeight/2)
			}
			top += barHeight + barGap
		}
		y += g.height()
	}
	b.add(`<line x1="%s" x2="%s" y1="%s" y2="%s" stroke="%s"/>`, left, left, y-height, y, muted)
}

// bar draws a bar in the colour of a split.
func (b *drawingBoard) bar(x, y, width float64, split string) {
	b.add(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s" fill-opacity="0.6"/>`, x, y, max(1, width), barHeight, color(split))
}

// whisker draws an interval.
func (b *drawingBoard) whisker(low, high, y float64) {
	path := fmt.Sprintf("M%s %sH%sM%s %sv6M%s %sv6", coordinate(low), coordinate(y), coordinate(high), coordinate(low), coordinate(y-3), coordinate(high), coordinate(y-3))
	b.add(`<path d="%s" fill="none" stroke="%s" stroke-width="1.2"/>`, path, ink)
}
