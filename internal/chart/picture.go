package chart

// Picture is an SVG file of one chart, or of several charts in columns. The areas of all charts
// have the same size. Of each chart the picture shows the first view.
type Picture struct {
	Head    string // what all charts show: a line above them
	Charts  []*Chart
	Columns int // 0: 1
}

// Write writes the picture to a file, whose directory it creates.
func (p *Picture) Write(path string) error { return writeFile(path, p.svg()) }

// svg returns the picture as an SVG file.
func (p *Picture) svg() []byte {
	columns, width := max(1, p.Columns), oneColumn
	if columns > 1 {
		width = twoColumns
	}
	panelWidth := (width - 2*margin - columnGap*float64(columns-1)) / float64(columns)
	panels := make([]*panel, len(p.Charts))
	labels := 0.0 // width of the labels of the vertical axes
	for i, c := range p.Charts {
		panels[i] = newPanel(c, panelWidth)
		labels = max(labels, panels[i].labels())
	}
	var b drawingBoard
	y := b.head(p.Head, width)
	for at := 0; at < len(panels); at += columns {
		row := panels[at:min(at+columns, len(panels))]
		above, below, height := 0.0, 0.0, 0.0
		for _, n := range row {
			n.place(labels)
			above, height, below = max(above, n.head.height()), max(height, n.height), max(below, n.legend.height())
		}
		for k, n := range row {
			n.draw(&b, margin+float64(k)*(panelWidth+columnGap), y, above)
		}
		y += above + height + axisRoom + below
		if at+columns < len(panels) {
			y += rowGap
		}
	}
	return b.file(p.Head, width, y+margin)
}

// panel is a chart in a picture.
type panel struct {
	chart  *Chart
	space  float64 // width of the panel
	head   heading
	legend legend
	// left is the width of the labels; width and height are the size of the area.
	left, width, height float64
}

func newPanel(c *Chart, space float64) *panel {
	return &panel{chart: c, space: space, head: newHeading(c.Title, c.Note, space)}
}

// labels returns the width of the labels of the vertical axis.
func (n *panel) labels() float64 {
	widest := 0.0
	for _, t := range n.chart.draw(1, 1).Y {
		widest = max(widest, textWidth(t.Label, tickSize))
	}
	return widest
}

// place computes the size of the area. labels is the width of the labels of all charts.
func (n *panel) place(labels float64) {
	n.left = labels + tickGap
	n.width, n.height = n.space-n.left-lastLabel, plotHeight
	if n.chart.Square {
		n.width = min(n.width, 2*plotHeight)
		n.height = n.width
	}
	n.legend = newLegend(n.chart, n.space-n.left)
}

// draw draws the panel. above is the height of the headings of the panel's row.
func (n *panel) draw(b *drawingBoard, x, y, above float64) {
	n.head.draw(b, x, y)
	x, y = x+n.left, y+above
	d := n.chart.draw(n.width, n.height)
	for _, t := range d.Y {
		h := y + n.height*(1-t.At)
		b.add(`<line x1="%s" x2="%s" y1="%s" y2="%s" stroke="%s"/>`, x, x+n.width, h, h, grid)
		b.text(x-tickGap, h+0.35*tickSize, "end", tickText, t.Label)
	}
	b.add(`<line x1="%s" x2="%s" y1="%s" y2="%s" stroke="%s"/>`, x, x+n.width, y+n.height, y+n.height, muted)
	for _, t := range d.X {
		at := x + n.width*t.At
		b.add(`<line x1="%s" x2="%s" y1="%s" y2="%s" stroke="%s"/>`, at, at, y+n.height, y+n.height+4, muted)
		b.text(at, y+n.height+17, "middle", tickText, t.Label)
	}
	b.text(x+n.width/2, y+n.height+33, "middle", mutedText, d.Axis)
	b.add(`<g transform="translate(%s %s)" fill="none" stroke-linejoin="round">`, x, y)
	for _, l := range d.Lines {
		if l.Band != "" {
			b.add(`<path d="%s" fill="%s" fill-opacity="0.16"/>`, l.Band, color(l.Color))
		}
	}
	for _, l := range d.Levels {
		b.add(`<path d="M0 %sH%s" %s/>`, l.Y, n.width, levelStroke)
	}
	for _, l := range d.Lines {
		if l.Path != "" {
			b.add(`<path d="%s" %s/>`, l.Path, l.stroke())
		}
		for _, m := range l.Marks {
			b.mark(m, l.Color)
		}
	}
	b.add(`</g>`)
	n.legend.draw(b, x, y+n.height+axisRoom)
}

// mark draws a disc.
func (b *drawingBoard) mark(at Place, class string) {
	b.add(`<circle cx="%s" cy="%s" r="4" fill="%s" stroke="#fff"/>`, at.X, at.Y, color(class))
}

// stroke returns the attributes of a line.
func (l *Line) stroke() string {
	width, dashes := "1.8", map[Dash]string{Dashed: "5 4", dotted: "2 3"}[l.Dash]
	switch {
	case l.Color == "k":
		width = "2.2"
	case l.Color == reference:
		width = "1.2"
	case l.Dash == Dashed:
		width = "1.4"
	}
	text := `stroke="` + color(l.Color) + `" stroke-width="` + width + `"`
	if dashes != "" {
		text += ` stroke-dasharray="` + dashes + `"`
	}
	return text
}

// levelStroke has the attributes of a level.
const levelStroke = `stroke="` + muted + `" stroke-width="1.3" stroke-dasharray="7 4"`

// legend lists the lines of a chart in columns.
type legend struct {
	entries []entry
	columns int
	width   float64 // of a column
}

// entry is a line of the legend. A long name continues in further lines.
type entry struct {
	lines  []string
	stroke string
	dot    string // the class of the colour of a mark; "": a line
}

func newLegend(c *Chart, space float64) legend {
	var l legend
	names := []string{}
	add := func(name string, e entry) {
		names, l.entries = append(names, name), append(l.entries, e)
	}
	for i := range c.Lines {
		line := &c.Lines[i]
		if line.Unlisted || line.Name == "" {
			continue
		}
		e := entry{stroke: line.stroke()}
		if line.Dot || len(c.Views[0].Curves[i].X) == 1 {
			e.dot = line.Color
		}
		add(line.Name, e)
	}
	for _, level := range c.Levels {
		add(level.Name, entry{stroke: levelStroke})
	}
	widest := 0.0
	for _, name := range names {
		widest = max(widest, keyWidth+textWidth(name, textSize))
	}
	l.columns = min(max(1, int((space+keyGap)/(widest+keyGap))), max(1, len(names)))
	l.width = min(widest, space)
	for i, name := range names {
		l.entries[i].lines = wrap(name, textSize, l.width-keyWidth)
	}
	return l
}

// rows returns the number of rows of entries: the entries fill the columns one after the other.
func (l *legend) rows() int { return (len(l.entries) + max(1, l.columns) - 1) / max(1, l.columns) }

func (l *legend) height() float64 {
	most := 0.0
	for k := range l.columns {
		most = max(most, l.columnHeight(k))
	}
	return most
}

func (l *legend) column(k int) []entry {
	rows := l.rows()
	return l.entries[min(k*rows, len(l.entries)):min((k+1)*rows, len(l.entries))]
}

func (l *legend) columnHeight(k int) float64 {
	n := 0
	for _, e := range l.column(k) {
		n += len(e.lines)
	}
	return lineHeight * float64(n)
}

func (l *legend) draw(b *drawingBoard, left, top float64) {
	for k := range l.columns {
		x, y := left+float64(k)*(l.width+keyGap), top
		for _, e := range l.column(k) {
			middle := y + baseline - 0.35*textSize
			if e.dot != "" {
				b.mark(Place{x + 10, middle}, e.dot)
			} else {
				b.add(`<path d="M%s %sh20" fill="none" %s/>`, x, middle, e.stroke)
			}
			for _, line := range e.lines {
				b.text(x+keyWidth, y+baseline, "start", plainText, line)
				y += lineHeight
			}
		}
	}
}
