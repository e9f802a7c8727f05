package chart

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// The sizes of pictures, in pixels. Pictures are legible at the width of a README's column.
const (
	oneColumn  = 640.0 // width of a picture with one column
	twoColumns = 980.0
	plotHeight = 220.0

	titleSize  = 13.0 // of fonts
	textSize   = 11.5
	tickSize   = 11.0
	lineHeight = 16.0
	baseline   = 12.0 // of a line of text, below its top

	margin    = 14.0 // around a picture
	columnGap = 28.0
	rowGap    = 22.0
	headGap   = 6.0  // below the head of a picture
	titleGap  = 12.0 // between titles and area
	tickGap   = 8.0  // between labels and area
	axisRoom  = 40.0 // for the labels and the name of the horizontal axis
	keyWidth  = 26.0 // of a line in a legend, with its gap
	keyGap    = 18.0 // between the columns of a legend
	lastLabel = 16.0 // for the half of the last label, to the right of the area
)

// The colours of texts and of the grid.
const (
	ink   = "#17191d"
	muted = "#5c636e"
	grid  = "#e4e5e8"
)

// color returns the colour of a line. The palette is that of Okabe and Ito, which colour-blind
// readers can distinguish, slightly darker where a colour is too light on white.
func color(class string) string {
	return map[string]string{
		"k": ink, "c0": "#d55e00", "c1": "#0072b2", "c2": "#00875f", "c3": "#c98500", "c4": "#3a9bd8", "c5": "#bb5f93",
		"train": "#70757e", "validation": "#0072b2", "test": "#d55e00", "muted": "#a0a5ad",
	}[class]
}

// drawingBoard collects the elements of an SVG file.
type drawingBoard struct{ out strings.Builder }

// add adds an element. The arguments are numbers and texts without special characters.
func (b *drawingBoard) add(format string, args ...any) {
	for i, a := range args {
		if v, ok := a.(float64); ok {
			args[i] = coordinate(v)
		}
	}
	fmt.Fprintf(&b.out, format+"\n", args...)
}

// text adds a text. anchor is start, middle or end.
func (b *drawingBoard) text(x, y float64, anchor, style, text string) {
	b.add(`<text x="%s" y="%s" text-anchor="%s" %s>%s</text>`, x, y, anchor, style, escape(text))
}

// escape escapes a text for XML, and replaces control characters and characters that reverse the
// direction of text: names in data may hold them.
func escape(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)))
	return out.String()
}

// The attributes of texts.
var (
	titleText = fmt.Sprintf(`font-size="%g" font-weight="bold" fill="%s"`, titleSize, ink)
	plainText = fmt.Sprintf(`font-size="%g" fill="%s"`, textSize, ink)
	mutedText = fmt.Sprintf(`font-size="%g" fill="%s"`, textSize, muted)
	tickText  = fmt.Sprintf(`font-size="%g" fill="%s"`, tickSize, muted)
)

// file returns the SVG file of a picture of the given size.
func (b *drawingBoard) file(title string, width, height float64) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]s" height="%[2]s" viewBox="0 0 %[1]s %[2]s" `+
		`font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" role="img">
<title>%[3]s</title>
<rect width="%[1]s" height="%[2]s" fill="#fff"/>
%[4]s</svg>
`, coordinate(width), coordinate(height), escape(title), b.out.String())
}

// writeFile writes a picture to a file, whose directory it creates. It removes an incomplete file.
func writeFile(path string, svg []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	if err := os.WriteFile(path, svg, 0o644); err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("chart: %w", err)
	}
	return nil
}

// heading is the part of a panel above its area.
type heading struct{ title, note []string }

func newHeading(title, note string, width float64) heading {
	return heading{wrap(title, titleSize, width), wrap(note, textSize, width)}
}

func (h heading) height() float64 {
	return lineHeight*float64(len(h.title)+len(h.note)) + titleGap
}

func (h heading) draw(b *drawingBoard, x, y float64) {
	for _, line := range h.title {
		b.text(x, y+baseline, "start", titleText, line)
		y += lineHeight
	}
	for _, line := range h.note {
		b.text(x, y+baseline, "start", mutedText, line)
		y += lineHeight
	}
}

// head draws the head of a picture and returns the height below it.
func (b *drawingBoard) head(text string, width float64) float64 {
	y := margin
	for _, line := range wrap(text, textSize, width-2*margin) {
		b.text(margin, y+baseline, "start", mutedText, line)
		y += lineHeight
	}
	if text != "" {
		y += headGap
	}
	return y
}
