package chart

import (
	"bytes"
	"compress/zlib"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// WritePDFs writes a PDF file beside each of this package's SVG files in the directory.
func WritePDFs(dir string) error {
	pictures, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	for _, path := range pictures {
		svg, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("chart: %w", err)
		}
		pdf, err := toPDF(svg)
		if err != nil {
			return fmt.Errorf("chart: %s: %w", path, err)
		}
		if err := writeFile(strings.TrimSuffix(path, ".svg")+".pdf", pdf); err != nil {
			return err
		}
	}
	return nil
}

// toPDF converts an SVG file of this package to a PDF file of one page (ISO 32000-1). A pixel
// becomes a point. Texts are in Helvetica, which every reader has; a character that the encoding
// lacks becomes a question mark.
func toPDF(svg []byte) ([]byte, error) {
	p := page{opacities: map[string]bool{}}
	in := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return p.file(), nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := p.start(token); err != nil {
				return nil, err
			}
		case xml.CharData:
			if p.open != nil {
				p.text(p.open, string(token))
			}
		case xml.EndElement:
			p.open = nil
			if token.Name.Local == "g" {
				p.op("Q")
			}
		}
	}
}

// page is a page of a PDF file.
type page struct {
	operators
	width, height float64
	open          element         // the open text
	opacities     map[string]bool // the shares of fill-opacity
}

// operators are operators of a page, each after its operands.
type operators struct{ bytes.Buffer }

func (o *operators) op(name string, operands ...float64) {
	for _, v := range operands {
		o.WriteString(strconv.FormatFloat(math.Round(1000*v)/1000, 'f', -1, 64) + " ")
	}
	o.WriteString(name + "\n")
}

// element has the attributes of an element.
type element map[string]string

// number returns a number; 0 without the attribute, as in SVG.
func (e element) number(name string) float64 {
	v, _ := strconv.ParseFloat(e[name], 64)
	return v
}

// start draws an element, or opens it.
func (p *page) start(token xml.StartElement) error {
	e, outline := element{}, operators{}
	for _, a := range token.Attr {
		e[a.Name.Local] = a.Value
	}
	switch token.Name.Local {
	case "title":
		return nil
	case "svg":
		p.width, p.height = e.number("width"), e.number("height")
		p.op("cm", 1, 0, 0, -1, 0, p.height) // from the top, as in SVG
		p.op("j", 1)                         // round joins
		return nil
	case "g":
		var x, y float64
		if _, err := fmt.Sscanf(e["transform"], "translate(%g %g)", &x, &y); err != nil {
			return fmt.Errorf("the transform %q: %w", e["transform"], err)
		}
		p.op("q")
		p.op("cm", 1, 0, 0, 1, x, y)
		return nil
	case "text":
		p.open = e
		return nil
	case "line":
		outline.op("m", e.number("x1"), e.number("y1"))
		outline.op("l", e.number("x2"), e.number("y2"))
	case "rect":
		outline.op("re", e.number("x"), e.number("y"), e.number("width"), e.number("height"))
	case "circle":
		outline.circle(e.number("cx"), e.number("cy"), e.number("r"))
	case "path":
		if err := outline.path(e["d"]); err != nil {
			return err
		}
	default:
		return fmt.Errorf("the element <%s> has no form in PDF", token.Name.Local)
	}
	p.paint(e, outline.Bytes())
	return nil
}

// paint fills and strokes an outline.
func (p *page) paint(e element, outline []byte) {
	p.op("q")
	how := "n"
	if fill := e["fill"]; fill != "" && fill != "none" {
		how = "f"
		p.op("rg", rgb(fill)...)
		if share := e["fill-opacity"]; share != "" {
			p.opacities[share] = true
			fmt.Fprintf(p, "/O%s gs\n", share)
		}
	}
	if stroke := e["stroke"]; stroke != "" {
		how = map[string]string{"n": "S", "f": "B"}[how]
		p.op("RG", rgb(stroke)...)
		if e["stroke-width"] != "" {
			p.op("w", e.number("stroke-width"))
		}
		fmt.Fprintf(p, "[%s] 0 d\n", e["stroke-dasharray"])
	}
	p.Write(outline)
	p.op(how)
	p.op("Q")
}

// rgb returns the shares of a colour of the form #rgb or #rrggbb.
func rgb(color string) []float64 {
	digits := strings.TrimPrefix(color, "#")
	each := len(digits) / 3
	shares := make([]float64, 3)
	for i := range shares {
		v, _ := strconv.ParseUint(strings.Repeat(digits[i*each:(i+1)*each], 2)[:2], 16, 8)
		shares[i] = float64(v*1000/255) / 1000
	}
	return shares
}

// circle outlines a disc by four cubic curves.
func (o *operators) circle(x, y, r float64) {
	c := r * 0.5523 // the curves leave the circle by 0.03% of the radius
	o.op("m", x+r, y)
	o.op("c", x+r, y+c, x+c, y+r, x, y+r)
	o.op("c", x-c, y+r, x-r, y+c, x-r, y)
	o.op("c", x-r, y-c, x-c, y-r, x, y-r)
	o.op("c", x+c, y-r, x+r, y-c, x+r, y)
}

// command matches a command of a path and its numbers.
var command = regexp.MustCompile(`([A-Za-z])([^A-Za-z]*)`)

// path outlines the path of an SVG file.
func (o *operators) path(d string) error {
	var x, y float64
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
			x, y = values[0], values[1]
		case "H":
			x = values[0]
		case "h":
			x += values[0]
		case "v":
			y += values[0]
		case "Z":
			o.op("h")
			continue
		default:
			return fmt.Errorf("the command %s of a path has no form in PDF", part[1])
		}
		o.op(map[bool]string{true: "m", false: "l"}[part[1] == "M"], x, y)
	}
	return nil
}

// text draws a text from, around or up to its place.
func (p *page) text(e element, text string) {
	size, x := e.number("font-size"), e.number("x")
	width := textWidth(text, size) / widerFont
	switch e["text-anchor"] {
	case "middle":
		x -= width / 2
	case "end":
		x -= width
	}
	p.op("BT")
	p.op("rg", rgb(e["fill"])...)
	fmt.Fprintf(p, "/%s %g Tf\n", map[string]string{"": "Regular", "bold": "Bold"}[e["font-weight"]], size)
	p.op("Tm", 1, 0, 0, -1, x, e.number("y"))
	fmt.Fprintf(p, "<%x> Tj\n", encoded(text))
	p.op("ET")
}

// encoded returns a text in PDF's standard encoding WinAnsiEncoding.
func encoded(text string) []byte {
	var out []byte
	for _, r := range strings.ReplaceAll(text, "≤", "<=") { // of the least label of a log axis
		switch {
		case r <= '~' || r >= 0xA0 && r <= 0xFF:
			out = append(out, byte(r))
		case r == '…':
			out = append(out, 0x85)
		default:
			out = append(out, '?')
		}
	}
	return out
}

// file returns the PDF file.
func (p *page) file() []byte {
	var content, out bytes.Buffer
	z := zlib.NewWriter(&content)
	_, _ = z.Write(p.Bytes()) // a buffer takes everything
	_ = z.Close()
	states := ""
	for _, share := range slices.Sorted(maps.Keys(p.opacities)) {
		states += fmt.Sprintf("/O%s<</ca %[1]s>>", share)
	}
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Count 1/Kids[3 0 R]>>",
		fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 %g %g]/Contents 4 0 R/Resources<</Font<</Regular 5 0 R/Bold 6 0 R>>"+
			"/ExtGState<<%s>>>>>>", p.width, p.height, states),
		fmt.Sprintf("<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream", content.Len(), content.Bytes()),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>",
	}
	out.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	table := "0000000000 65535 f \n"
	for i, object := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start, count := out.Len(), len(objects)+1
	fmt.Fprintf(&out, "xref\n0 %[1]d\n%[2]strailer\n<</Size %[1]d/Root 1 0 R>>\nstartxref\n%[3]d\n%%%%EOF\n", count, table, start)
	return out.Bytes()
}
