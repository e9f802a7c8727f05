package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppal/internal/require"
)

// placed is a text of a picture.
type placed struct {
	x, y   float64
	anchor string
	text   string
}

// read checks that a picture is well-formed XML with finite numbers, and returns its texts and its
// size.
func read(t *testing.T, svg []byte) (texts []placed, width, height float64) {
	t.Helper()
	if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
		t.Error("the picture holds a number that is not finite")
	}
	require.Value(fmt.Sscanf(string(svg[bytes.Index(svg, []byte("viewBox")):]), "viewBox=\"0 0 %f %f\"", &width, &height))(t)
	in := xml.NewDecoder(bytes.NewReader(svg))
	var open *placed
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return texts, width, height
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local != "text" {
				continue
			}
			open = &placed{}
			for _, a := range token.Attr {
				switch a.Name.Local {
				case "x":
					open.x, _ = strconv.ParseFloat(a.Value, 64)
				case "y":
					open.y, _ = strconv.ParseFloat(a.Value, 64)
				case "text-anchor":
					open.anchor = a.Value
				}
			}
		case xml.CharData:
			if open != nil {
				open.text += string(token)
			}
		case xml.EndElement:
			if open != nil {
				texts, open = append(texts, *open), nil
			}
		}
	}
}

// inside checks that all texts are in the picture, in a viewer with the widest font too, and that
// no two texts overlap. The picture has a form in PDF.
func inside(t *testing.T, svg []byte) []placed {
	t.Helper()
	require.Value(converted(svg, PDF))(t)
	texts, width, height := read(t, svg)
	type box struct{ left, right, top, bottom float64 }
	var boxes []box
	for _, at := range texts {
		w := textWidth(at.text, tickSize)
		left := at.x - map[string]float64{"middle": w / 2, "end": w}[at.anchor]
		b := box{left, left + w, at.y - 8, at.y + 2}
		if b.left < -1 || b.right > width+1 || b.top < 0 || b.bottom > height {
			t.Errorf("%q is at %+v, outside of %g x %g", at.text, b, width, height)
		}
		for k, other := range boxes {
			if b.left < other.right && other.left < b.right && b.top < other.bottom && other.top < b.bottom {
				t.Errorf("%q is on %q", at.text, texts[k].text)
			}
		}
		boxes = append(boxes, b)
	}
	return texts
}

func find(texts []placed, text string) (at placed, found bool) {
	k := slices.IndexFunc(texts, func(p placed) bool { return p.text == text })
	if k < 0 {
		return at, false
	}
	return texts[k], true
}

// curves returns a chart with a curve for each name.
func curves(names ...string) *Chart {
	c := &Chart{Title: "Losses", Note: "A note.", Views: []View{{Axis: "iteration"}}, Levels: []Level{{"bound 0.2", 0.2}}}
	for k, name := range names {
		var curve Curve
		for i := range 20 {
			curve.X, curve.Y = append(curve.X, float64(i)), append(curve.Y, math.Exp(-float64(i*(k+1))/8))
		}
		c.Lines, c.Views[0].Curves = append(c.Lines, LineOf(name, k)), append(c.Views[0].Curves, curve)
	}
	return c
}

// The areas of all charts of a picture have the same size and stand in columns, whatever their
// labels, notes and legends.
func TestAreasAgree(t *testing.T) {
	small, large, long := curves("a"), curves("b", "c"), curves("a long name of a constraint that needs the whole width of its column", "e", "f")
	small.Log = true
	for i := range large.Views[0].Curves[0].Y {
		large.Views[0].Curves[0].Y[i] *= 1e5
	}
	long.Note = strings.Repeat("This note has many words. ", 8)
	svg := (&Picture{Head: "plada on adult", Charts: []*Chart{small, large, long, small}, Columns: 2}).svg()
	inside(t, svg)
	var lefts, widths []string
	for _, m := range regexp.MustCompile(`<path d="M0 [\d.]+H([\d.]+)"|<g transform="translate\(([\d.]+) `).FindAllStringSubmatch(string(svg), -1) {
		if m[1] != "" {
			widths = append(widths, m[1])
		} else {
			lefts = append(lefts, m[2])
		}
	}
	if len(lefts) != 4 || lefts[0] != lefts[2] || lefts[1] != lefts[3] || len(slices.Compact(widths)) != 1 {
		t.Errorf("the areas begin at %v and are %v wide", lefts, widths)
	}
}

// Long names continue in further lines of the legend, and no text leaves the picture.
func TestLongNames(t *testing.T) {
	name := "gap(positive_rate, native_country*relationship, min 100) <= 0.01: positive_rate[native_country=United-States, relationship=Own-child] - " +
		"positive_rate[native_country=Mexico, relationship=Husband]"
	c := curves(name, "short", "<script>&\x1b\u202e")
	c.Title = strings.Repeat("a long title ", 12)
	texts := inside(t, (&Picture{Head: "run", Charts: []*Chart{c}}).svg())
	for _, want := range []string{"short", "<script>&\ufffd\ufffd", "bound 0.2", "iteration"} {
		if _, found := find(texts, want); !found {
			t.Errorf("no %q", want)
		}
	}
	var joined strings.Builder
	for _, at := range texts {
		joined.WriteString(at.text + " ")
	}
	if !strings.Contains(joined.String(), name) {
		t.Error("the long name is not whole")
	}
}

// A picture shows a single point as a mark, draws a band, lists no curve that belongs to another,
// and has the same bytes each time.
func TestPicture(t *testing.T) {
	c := curves("line", "aside", "point")
	c.Lines[1].Unlisted = true
	c.Views[0].Curves[2] = Curve{X: []float64{1}, Y: []float64{0.5}}
	c.Views[0].Curves[0].Low, c.Views[0].Curves[0].High = c.Views[0].Curves[1].Y, c.Views[0].Curves[0].Y
	p := &Picture{Head: "run", Charts: []*Chart{c}}
	svg := p.svg()
	texts := inside(t, svg)
	if _, found := find(texts, "aside"); found {
		t.Error("the legend lists a curve that belongs to another")
	}
	if n := bytes.Count(svg, []byte("<circle")); n != 2 { // in the area and in the legend
		t.Errorf("%d marks, want 2", n)
	}
	if n := bytes.Count(svg, []byte("fill-opacity")); n != 1 {
		t.Errorf("%d bands, want 1", n)
	}
	if !bytes.Equal(svg, p.svg()) {
		t.Error("the picture differs the second time")
	}
	empty := &Chart{Lines: []Line{{Name: "nothing"}}, Views: []View{{Curves: []Curve{{}}}}}
	inside(t, (&Picture{Charts: []*Chart{empty}}).svg())
}

func TestBars(t *testing.T) {
	c := &Bars{Title: "Positive rate", Note: "A share."}
	for k, name := range []string{"all rows", "sex=Female", strings.Repeat("a very long group ", 5)} {
		c.Groups = append(c.Groups, BarGroup{Name: name, Bars: []Bar{{Split: "train", Value: 0.1 * float64(k)}, {Split: "test", Value: 0.2, Interval: &[2]float64{0.15, 0.25}}}})
	}
	texts := inside(t, (&BarPicture{Head: "run", Splits: []Bar{{Split: "train", Word: "training rows"}}, Charts: []*Bars{c, c, c}}).svg())
	for _, want := range []string{"sex=Female", "training rows", "20%", "0%"} {
		if _, found := find(texts, want); !found {
			t.Errorf("no %q", want)
		}
	}
	if end := c.End(); math.Abs(end-0.255) > 1e-12 || c.Place(end) != 100 || c.Span(&[2]float64{0, end}) != 100 {
		t.Errorf("the axis ends at %v", end)
	}
}

// The error names a picture that cannot be written, and no part of it stays.
func TestUnwritablePicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plots", "overview.svg")
	require.NoError(t, os.MkdirAll(path, 0o755))
	if err := (&Picture{Charts: []*Chart{curves("a")}}).Write(path); err == nil || !strings.Contains(err.Error(), "overview.svg") {
		t.Errorf("%v", err)
	}
}
