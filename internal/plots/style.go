package plots

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// style is the appearance of a line.
type style struct {
	color  color.Color
	width  vg.Length
	dashes []vg.Length
	round  int // how often the palette has been used up
}

// palette is the palette of Okabe and Ito, which colour-blind readers can distinguish, without
// black (the objective's colour) and yellow (too light on white).
func palette() []color.Color {
	return []color.Color{
		color.RGBA{0xD5, 0x5E, 0x00, 0xFF}, // vermillion
		color.RGBA{0x00, 0x72, 0xB2, 0xFF}, // blue
		color.RGBA{0x00, 0x9E, 0x73, 0xFF}, // bluish green
		color.RGBA{0xE6, 0x9F, 0x00, 0xFF}, // orange
		color.RGBA{0x56, 0xB4, 0xE9, 0xFF}, // sky blue
		color.RGBA{0xCC, 0x79, 0xA7, 0xFF}, // reddish purple
	}
}

const (
	fontSize  = 10
	titleSize = 11
)

func objectiveStyle() style { return style{color: color.Black, width: vg.Points(2.2)} }

// constraintStyle returns the style of constraint j in every plot. If there are more constraints
// than colours, the colours repeat with dotted lines.
func constraintStyle(j int) style {
	colors := palette()
	s := style{color: colors[j%len(colors)], width: vg.Points(1.6), round: j / len(colors)}
	if s.round > 0 {
		s.dashes = []vg.Length{vg.Points(1.5 * float64(s.round)), vg.Points(2)}
	}
	return s
}

func (s style) dashed() style {
	s.dashes, s.width = []vg.Length{vg.Points(4), vg.Points(3)}, vg.Points(1.1)
	return s
}

func (s style) line() draw.LineStyle {
	return draw.LineStyle{Color: s.color, Width: s.width, Dashes: s.dashes}
}

// mark returns the marker of a line with a single point: a disc, and other shapes when the colours
// repeat.
func (s style) mark() draw.GlyphStyle {
	shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.CrossGlyph{}}
	return draw.GlyphStyle{Color: s.color, Radius: vg.Points(3), Shape: shapes[s.round%len(shapes)]}
}

// faint returns the line's colour for a band, transparent enough to show other lines.
func (s style) faint() color.Color {
	r, g, b, _ := s.color.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0x2E}
}

func levelStyle() style {
	return style{color: color.Gray{0x55}, width: vg.Points(1.2), dashes: []vg.Length{vg.Points(6), vg.Points(3)}}
}

func gridStyle() draw.LineStyle {
	return draw.LineStyle{Color: color.Gray{0xE2}, Width: vg.Points(0.5)}
}

// sans sets a text in the sans-serif font.
func sans(t *text.Style, size vg.Length) {
	t.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func setFonts(p *plot.Plot) {
	sans(&p.Title.TextStyle, titleSize)
	p.Title.Padding = vg.Points(6)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		sans(&a.Label.TextStyle, fontSize)
		sans(&a.Tick.Label, fontSize-1)
		a.Label.Padding = vg.Points(3)
	}
}
