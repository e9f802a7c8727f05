package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// The forms that pictures have beside SVG.
const (
	PDF = "pdf" // one page; a pixel is a point
	PNG = "png" // two pixels for each of SVG
)

// Convert writes a file of the form PDF or PNG beside each of this package's SVG files in the
// directory.
func Convert(dir, form string) error {
	pictures, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	for _, path := range pictures {
		svg, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("chart: %w", err)
		}
		file, err := converted(svg, form)
		if err != nil {
			return fmt.Errorf("chart: %s: %w", path, err)
		}
		if err := writeFile(strings.TrimSuffix(path, ".svg")+"."+form, file); err != nil {
			return err
		}
	}
	return nil
}

// sheet is a picture of another form. Coordinates are in SVG's pixels, from the top left.
type sheet interface {
	shape(outline outline, s style)
	// text draws a text of which the given share is left of x; y is its baseline's.
	text(x, y, left, size float64, bold bool, color [3]uint8, text string)
	file() ([]byte, error)
}

// style has the colours of a shape; nil paints nothing.
type style struct {
	fill, stroke *[3]uint8
	opacity      float64 // of the fill
	width        float64 // of the stroke
	dashes       []float64
}

// outline is a sequence of segments, with PDF's names: m moves to a point, l draws a line to a
// point, c a cubic curve to the third of its points, and h closes the path.
type outline []segment

type segment struct {
	op     byte
	points []point
}

type point struct{ x, y float64 }

func (o *outline) add(op byte, points ...point) { *o = append(*o, segment{op, points}) }

// converted returns an SVG file of this package in another form.
func converted(svg []byte, form string) ([]byte, error) {
	r := reader{form: form}
	in := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return r.to.file()
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := r.start(token); err != nil {
				return nil, err
			}
		case xml.CharData:
			if e := r.open; e != nil {
				left := map[string]float64{"middle": 0.5, "end": 1}[e["text-anchor"]]
				r.to.text(r.origin.x+e.number("x"), r.origin.y+e.number("y"), left, e.number("font-size"),
					e["font-weight"] == "bold", *rgb(e["fill"]), string(token))
			}
		case xml.EndElement:
			r.open = nil
			if token.Name.Local == "g" {
				last := len(r.outer) - 1
				r.origin, r.outer = r.outer[last], r.outer[:last]
			}
		}
	}
}

// reader draws the elements of an SVG file on a sheet.
type reader struct {
	form   string
	to     sheet
	open   element // the open text
	origin point   // of the open group
	outer  []point // origins of the groups around it
}

// element has the attributes of an element.
type element map[string]string

// number returns a number; 0 without the attribute, as in SVG.
func (e element) number(name string) float64 {
	v, _ := strconv.ParseFloat(e[name], 64)
	return v
}

// start draws an element, or opens it.
func (r *reader) start(token xml.StartElement) error {
	e, o := element{}, outline(nil)
	for _, a := range token.Attr {
		e[a.Name.Local] = a.Value
	}
	at := func(x, y float64) point { return point{r.origin.x + x, r.origin.y + y} }
	switch token.Name.Local {
	case "title":
		return nil
	case "svg":
		width, height := e.number("width"), e.number("height")
		r.to = map[string]func(width, height float64) sheet{PDF: newPage, PNG: newRaster}[r.form](width, height)
		return nil
	case "g":
		var x, y float64
		if _, err := fmt.Sscanf(e["transform"], "translate(%g %g)", &x, &y); err != nil {
			return fmt.Errorf("the transform %q: %w", e["transform"], err)
		}
		r.outer, r.origin = append(r.outer, r.origin), at(x, y)
		return nil
	case "text":
		r.open = e
		return nil
	case "line":
		o.add('m', at(e.number("x1"), e.number("y1")))
		o.add('l', at(e.number("x2"), e.number("y2")))
	case "rect":
		x, y, width, height := e.number("x"), e.number("y"), e.number("width"), e.number("height")
		o.add('m', at(x, y))
		for _, corner := range []point{at(x+width, y), at(x+width, y+height), at(x, y+height)} {
			o.add('l', corner)
		}
		o.add('h')
	case "circle":
		o.circle(at(e.number("cx"), e.number("cy")), e.number("r"))
	case "path":
		if err := o.path(e["d"], r.origin); err != nil {
			return err
		}
	default:
		return fmt.Errorf("the element <%s> has no form in %s", token.Name.Local, strings.ToUpper(r.form))
	}
	r.to.shape(o, e.style())
	return nil
}

// style returns the style of an element.
func (e element) style() style {
	s := style{fill: rgb(e["fill"]), stroke: rgb(e["stroke"]), opacity: 1, width: 1}
	if e["fill-opacity"] != "" {
		s.opacity = e.number("fill-opacity")
	}
	if e["stroke-width"] != "" {
		s.width = e.number("stroke-width")
	}
	for _, v := range strings.Fields(e["stroke-dasharray"]) {
		length, _ := strconv.ParseFloat(v, 64)
		s.dashes = append(s.dashes, length)
	}
	return s
}

// rgb returns a colour of the form #rgb or #rrggbb; nil for other texts.
func rgb(color string) *[3]uint8 {
	digits, found := strings.CutPrefix(color, "#")
	if !found {
		return nil
	}
	each := len(digits) / 3
	var c [3]uint8
	for i := range c {
		v, _ := strconv.ParseUint(strings.Repeat(digits[i*each:(i+1)*each], 2)[:2], 16, 8)
		c[i] = uint8(v)
	}
	return &c
}

// circle outlines a disc by four cubic curves.
func (o *outline) circle(at point, r float64) {
	x, y := at.x, at.y
	c := r * 0.5523 // the curves leave the circle by 0.03% of the radius
	o.add('m', point{x + r, y})
	o.add('c', point{x + r, y + c}, point{x + c, y + r}, point{x, y + r})
	o.add('c', point{x - c, y + r}, point{x - r, y + c}, point{x - r, y})
	o.add('c', point{x - r, y - c}, point{x - c, y - r}, point{x, y - r})
	o.add('c', point{x + c, y - r}, point{x + r, y - c}, point{x + r, y})
}

// command matches a command of a path and its numbers.
var command = regexp.MustCompile(`([A-Za-z])([^A-Za-z]*)`)

// path outlines the path of an SVG file.
func (o *outline) path(d string, origin point) error {
	at := origin
	for _, part := range command.FindAllStringSubmatch(d, -1) {
		numbers := strings.Fields(part[2])
		values := make([]float64, 2)
		for i := range min(2, len(numbers)) {
			v, err := strconv.ParseFloat(numbers[i], 64)
			if err != nil {
				return fmt.Errorf("the path %q: %w", d, err)
			}
			values[i] = v
		}
		switch part[1] {
		case "M", "L":
			at = point{origin.x + values[0], origin.y + values[1]}
		case "H":
			at.x = origin.x + values[0]
		case "h":
			at.x += values[0]
		case "v":
			at.y += values[0]
		case "Z":
			o.add('h')
			continue
		default:
			return fmt.Errorf("the command %s of a path has no form elsewhere", part[1])
		}
		o.add(map[bool]byte{true: 'm', false: 'l'}[part[1] == "M"], at)
	}
	return nil
}
