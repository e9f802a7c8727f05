package chart

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
)

// contents returns the operators of a PDF file of one page. It checks that the table at the end has
// the offset of each object.
func contents(t *testing.T, pdf []byte) string {
	t.Helper()
	var start, count int
	require.Value(fmt.Sscanf(string(pdf[bytes.LastIndex(pdf, []byte("startxref")):]), "startxref\n%d\n%%%%EOF", &start))(t)
	lines := strings.Split(string(pdf[start:]), "\n")
	require.Value(fmt.Sscanf(lines[1], "0 %d", &count))(t)
	for i := 1; i < count; i++ {
		var offset int
		require.Value(fmt.Sscanf(lines[2+i], "%d 00000 n ", &offset))(t)
		if want := fmt.Sprintf("%d 0 obj\n", i); len(lines[2+i]) != 19 || !bytes.HasPrefix(pdf[offset:], []byte(want)) {
			t.Fatalf("the table has %q for object %d", lines[2+i], i)
		}
	}
	_, stream, _ := bytes.Cut(pdf, []byte("stream\n"))
	return string(require.Value(io.ReadAll(require.Value(zlib.NewReader(bytes.NewReader(stream)))(t)))(t))
}

// Each element has its operators.
func TestPDF(t *testing.T) {
	for element, want := range map[string]string{
		`<line x1="1" x2="3" y1="2" y2="4.5" stroke="#fff"/>`:                                 "q\n1 1 1 RG\n1 w\n[] 0 d\n1 2 m\n3 4.5 l\nS\nQ\n",
		`<rect width="7" height="8" fill="#0033ff" fill-opacity="0.6"/>`:                      "q\n0 0.2 1 rg\n/O0.6 gs\n0 0 m\n7 0 l\n7 8 l\n0 8 l\nh\nf\nQ\n",
		`<path d="M1 2H9M-3.5 4v6L0 0Z" fill="none" stroke="#000" stroke-dasharray="5 4"/>`:   "q\n0 0 0 RG\n1 w\n[5 4] 0 d\n1 2 m\n9 2 l\n-3.5 4 m\n-3.5 10 l\n0 0 l\nh\nS\nQ\n",
		`<circle cx="5" cy="6" r="0" fill="#000" stroke="#fff"/>`:                             "q\n0 0 0 rg\n1 1 1 RG\n1 w\n[] 0 d\n5 6 m\n" + strings.Repeat("5 6 5 6 5 6 c\n", 4) + "B\nQ\n",
		`<g transform="translate(2 3)"><path d="M0 0h5" stroke-width="2" stroke="#000"/></g>`: "q\n0 0 0 RG\n2 w\n[] 0 d\n2 3 m\n7 3 l\nS\nQ\n",
		`<g transform="translate(2 3)"/><path d="M1 1" fill="#000"/>`:                         "q\n0 0 0 rg\n1 1 m\nf\nQ\n",
		// Helvetica's widths are 667, 667, 278 and 584; the other characters count 650, 650 and 1000.
		`<text x="50" y="9" text-anchor="end" font-size="10" font-weight="bold" fill="#000">AB é&lt;…猫</text>`: "BT\n0 0 0 rg\n/Bold 10 Tf\n1 0 0 -1 5.04 9 Tm\n<414220e93c853f> Tj\nET\n",
		`<text font-size="9" fill="#000">≤ 1</text>`:                                                           "BT\n0 0 0 rg\n/Regular 9 Tf\n1 0 0 -1 0 0 Tm\n<3c3d2031> Tj\nET\n",
	} {
		pdf := require.Value(converted(file(element), PDF))(t)
		got := contents(t, pdf)
		if strings.Contains(element, "opacity") != bytes.Contains(pdf, []byte("/ExtGState<</O0.6<</ca 0.6>>>>")) {
			t.Errorf("%s: the page's states are not those of its opacities", element)
		}
		if start := "1 0 0 -1 0 60 cm\n1 j\n"; got != start+want {
			t.Errorf("%s:\n%s", element, got)
		}
	}
	for _, element := range []string{`<ellipse/>`, `<path d="M0 0C1 1 2 2 3 3"/>`, `<path d="Ma 0"/>`, `<g transform="scale(2)"/>`, `<line`} {
		if _, err := converted(file(element), PDF); err == nil {
			t.Errorf("%s was converted", element)
		}
	}
}

// file returns an SVG file of 100 by 60 pixels.
func file(element string) []byte {
	return []byte(`<svg width="100" height="60"><title>a</title>` + element + `</svg>`)
}

// Each element darkens as many pixels as its area has; four pixels of a PNG file are one of SVG.
func TestPNG(t *testing.T) {
	for element, want := range map[string]float64{
		`<rect x="2" y="3" width="7" height="8" fill="#000"/>`:                                        56,
		`<rect x="2.25" y="3" width="7" height="8" fill="#000"/>`:                                     56,
		`<rect x="-3" y="50" width="7" height="80" fill="#000"/>`:                                     40, // within the picture
		`<rect width="7" height="8" fill="#000" fill-opacity="0.6"/>`:                                 33.6,
		`<circle cx="30" cy="30" r="10" fill="#000"/>`:                                                100 * math.Pi,
		`<circle cx="30" cy="30" r="10" stroke="#000" stroke-width="2"/>`:                             40 * math.Pi,
		`<path d="M10 10L40 50L70 10Z" fill="#000"/>`:                                                 1200,
		`<path d="M10 10H50" stroke="#000" fill="none"/>`:                                             40,
		`<path d="M10 10L40 50" stroke="#000" stroke-width="4"/>`:                                     200,
		`<path d="M10 10H50v30" stroke="#000" stroke-width="4"/>`:                                     276 + math.Pi, // with a quarter of the join's disc
		`<path d="M10 20H50H10" stroke="#000" stroke-width="4"/>`:                                     160 + 2*math.Pi,
		`<line x1="10" x2="60" y1="5" y2="5" stroke="#000" stroke-width="2" stroke-dasharray="5 3"/>`: 64, // six dashes and 2
		`<path d="M10 10h12v12" stroke="#000" stroke-width="2" stroke-dasharray="10 4"/>`:             40, // the gap is at the corner
		`<path d="M10 10H50" stroke="#000" stroke-dasharray="0"/>`:                                    40, // no dashes
		`<g transform="translate(90 50)"><rect width="20" height="20" fill="#000"/></g>`:              100,
		`<text x="50" y="30" font-size="20" text-anchor="middle" fill="#fff">white on white</text>`:   0,
		`<rect width="100" height="60" fill="#fff"/><rect width="10" height="10" fill="#ff0000"/>`:    200.0 / 3, // red is white's third
	} {
		picture := require.Value(png.Decode(bytes.NewReader(require.Value(converted(file(element), PNG))(t))))(t)
		if got := darkness(picture, picture.Bounds()); math.Abs(got-want) > 0.01*want+0.1 {
			t.Errorf("%s darkens %.2f pixels, want %.2f", element, got, want)
		}
		if size := picture.Bounds().Size(); size.X != 200 || size.Y != 120 {
			t.Errorf("%s: a picture of %v", element, size)
		}
	}
	if _, err := converted(file(`<ellipse/>`), PNG); err == nil || !strings.Contains(err.Error(), "no form in PNG") {
		t.Errorf("%v", err)
	}
}

// A text stands on its line, and left of, around or right of its place.
func TestPNGText(t *testing.T) {
	all := map[string]float64{}
	for anchor, left := range map[string]float64{"start": 0, "middle": 0.5, "end": 1} {
		svg := file(`<text x="50" y="30" font-size="20" text-anchor="` + anchor + `" fill="#000">HHH</text>`)
		picture := require.Value(png.Decode(bytes.NewReader(require.Value(converted(svg, PNG))(t))))(t)
		all[anchor] = darkness(picture, picture.Bounds())
		if before := darkness(picture, image.Rect(0, 0, 100, 120)); math.Abs(before-left*all[anchor]) > 0.1*all[anchor] {
			t.Errorf("%s: %g of %g is left of its place", anchor, before, all[anchor])
		}
		if below := darkness(picture, image.Rect(0, 61, 200, 120)); all[anchor] < 50 || below > 0 {
			t.Errorf("%s: %g of %g is below its line", anchor, below, all[anchor])
		}
	}
	bold := file(`<text x="50" y="30" font-size="20" font-weight="bold" fill="#000">HHH</text>`)
	picture := require.Value(png.Decode(bytes.NewReader(require.Value(converted(bold, PNG))(t))))(t)
	if got := darkness(picture, picture.Bounds()); got < 1.1*all["start"] {
		t.Errorf("bold letters darken %g, others %g", got, all["start"])
	}
}

// darkness returns the dark area of a part of a picture, in pixels of SVG.
func darkness(picture image.Image, part image.Rectangle) float64 {
	sum := 0.0
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			sum += 1 - float64(r+g+b)/(3*0xffff)
		}
	}
	return sum / (perPixel * perPixel)
}

// A file of the other form stands beside each picture, and the error names a picture that has none.
func TestConvert(t *testing.T) {
	dir := t.TempDir()
	picture := filepath.Join(dir, "overview.svg")
	require.NoError(t, (&Picture{Head: "run", Charts: []*Chart{curves("a", "b")}}).Write(picture))
	require.NoError(t, Convert(dir, PDF))
	if text := contents(t, require.Value(os.ReadFile(filepath.Join(dir, "overview.pdf")))(t)); !strings.Contains(text, fmt.Sprintf("<%x> Tj", "Losses")) {
		t.Errorf("no title in\n%s", text)
	}
	require.NoError(t, os.WriteFile(picture, []byte("<svg><ellipse/></svg>"), 0o644))
	if err := Convert(dir, PNG); err == nil || !strings.Contains(err.Error(), "overview.svg") || !strings.Contains(err.Error(), "<ellipse>") {
		t.Errorf("%v", err)
	}
}
