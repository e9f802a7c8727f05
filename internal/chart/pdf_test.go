package chart

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
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
		`<line x1="1" x2="3" y1="2" y2="4.5" stroke="#fff"/>`:                                 "q\n1 1 1 RG\n[] 0 d\n1 2 m\n3 4.5 l\nS\nQ\n",
		`<rect width="7" height="8" fill="#0033ff" fill-opacity="0.6"/>`:                      "q\n0 0.2 1 rg\n/O0.6 gs\n0 0 7 8 re\nf\nQ\n",
		`<path d="M1 2H9M-3.5 4v6L0 0Z" fill="none" stroke="#000" stroke-dasharray="5 4"/>`:   "q\n0 0 0 RG\n[5 4] 0 d\n1 2 m\n9 2 l\n-3.5 4 m\n-3.5 10 l\n0 0 l\nh\nS\nQ\n",
		`<circle cx="5" cy="6" r="0" fill="#000" stroke="#fff"/>`:                             "q\n0 0 0 rg\n1 1 1 RG\n[] 0 d\n5 6 m\n" + strings.Repeat("5 6 5 6 5 6 c\n", 4) + "B\nQ\n",
		`<g transform="translate(2 3)"><path d="M0 0h5" stroke-width="2" stroke="#000"/></g>`: "q\n1 0 0 1 2 3 cm\nq\n0 0 0 RG\n2 w\n[] 0 d\n0 0 m\n5 0 l\nS\nQ\nQ\n",
		// Helvetica's widths are 667, 667, 278 and 584; the other characters count 650, 650 and 1000.
		`<text x="50" y="9" text-anchor="end" font-size="10" font-weight="bold" fill="#000">AB é&lt;…猫</text>`: "BT\n0 0 0 rg\n/Bold 10 Tf\n1 0 0 -1 5.04 9 Tm\n<414220e93c853f> Tj\nET\n",
		`<text font-size="9" fill="#000">≤ 1</text>`:                                                           "BT\n0 0 0 rg\n/Regular 9 Tf\n1 0 0 -1 0 0 Tm\n<3c3d2031> Tj\nET\n",
	} {
		svg := `<svg width="100" height="60"><title>a</title>` + element + `</svg>`
		pdf := require.Value(toPDF([]byte(svg)))(t)
		got := contents(t, pdf)
		if strings.Contains(element, "opacity") != bytes.Contains(pdf, []byte("/ExtGState<</O0.6<</ca 0.6>>>>")) {
			t.Errorf("%s: the page's states are not those of its opacities", element)
		}
		if start := "1 0 0 -1 0 60 cm\n1 j\n"; got != start+want {
			t.Errorf("%s:\n%s", element, got)
		}
	}
	for _, element := range []string{`<ellipse/>`, `<path d="M0 0C1 1 2 2 3 3"/>`, `<path d="Ma 0"/>`, `<g transform="scale(2)"/>`, `<line`} {
		if _, err := toPDF([]byte(`<svg width="100" height="60">` + element + `</svg>`)); err == nil {
			t.Errorf("%s was converted", element)
		}
	}
}

// A PDF file stands beside each picture, and the error names a picture that has no form in PDF.
func TestWritePDFs(t *testing.T) {
	dir := t.TempDir()
	picture := filepath.Join(dir, "overview.svg")
	require.NoError(t, (&Picture{Head: "run", Charts: []*Chart{curves("a", "b")}}).Write(picture))
	require.NoError(t, WritePDFs(dir))
	if text := contents(t, require.Value(os.ReadFile(filepath.Join(dir, "overview.pdf")))(t)); !strings.Contains(text, fmt.Sprintf("<%x> Tj", "Losses")) {
		t.Errorf("no title in\n%s", text)
	}
	require.NoError(t, os.WriteFile(picture, []byte("<svg><ellipse/></svg>"), 0o644))
	if err := WritePDFs(dir); err == nil || !strings.Contains(err.Error(), "overview.svg") || !strings.Contains(err.Error(), "<ellipse>") {
		t.Errorf("%v", err)
	}
}
