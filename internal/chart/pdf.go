package chart

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// page is a PDF file of one page (ISO 32000-1). Texts are in Helvetica, which every reader has; a
// character that the encoding lacks becomes a question mark.
type page struct {
	bytes.Buffer  // operators, each after its operands
	width, height float64
	opacities     map[string]bool // shares of opacity
}

func newPage(width, height float64) sheet {
	p := &page{width: width, height: height, opacities: map[string]bool{}}
	p.op("cm", 1, 0, 0, -1, 0, height) // from the top, as in SVG
	p.op("j", 1)                       // round joins
	return p
}

// decimal returns a number with at most three decimals.
func decimal(v float64) string {
	return strconv.FormatFloat(math.Round(1000*v)/1000, 'f', -1, 64)
}

func (p *page) op(name string, operands ...float64) {
	for _, v := range operands {
		p.WriteString(decimal(v) + " ")
	}
	p.WriteString(name + "\n")
}

// color sets a colour.
func (p *page) color(name string, c [3]uint8) {
	p.op(name, float64(c[0])/255, float64(c[1])/255, float64(c[2])/255)
}

// shape implements sheet.
func (p *page) shape(o outline, s style) {
	p.op("q")
	how := "n"
	if s.fill != nil {
		how = "f"
		p.color("rg", *s.fill)
		if s.opacity != 1 {
			share := decimal(s.opacity)
			p.opacities[share] = true
			fmt.Fprintf(p, "/O%s gs\n", share)
		}
	}
	if s.stroke != nil {
		how = map[string]string{"n": "S", "f": "B"}[how]
		p.color("RG", *s.stroke)
		p.op("w", s.width)
		fmt.Fprintf(p, "%g 0 d\n", s.dashes)
	}
	for _, segment := range o {
		var operands []float64
		for _, at := range segment.points {
			operands = append(operands, at.x, at.y)
		}
		p.op(string(segment.op), operands...)
	}
	p.op(how)
	p.op("Q")
}

// text implements sheet.
func (p *page) text(x, y, left, size float64, bold bool, color [3]uint8, text string) {
	p.op("BT")
	p.color("rg", color)
	fmt.Fprintf(p, "/%s %g Tf\n", map[bool]string{false: "Regular", true: "Bold"}[bold], size)
	p.op("Tm", 1, 0, 0, -1, x-left*textWidth(text, size)/widerFont, y)
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

// file implements sheet.
func (p *page) file() ([]byte, error) {
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
	return out.Bytes(), nil
}
