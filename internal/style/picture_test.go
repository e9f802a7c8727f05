package style

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
)

// Sizes of the picture in pixels.
const (
	columnWidth, rowHeight = 236, 104
	boxHeight, margin, gap = 62, 16, 18
)

// box is a rectangle with a title and captions.
type box struct {
	x, y, width int
	texts       []string
}

// TestPicture checks that docs/architecture.svg is the drawing of docs/architecture.txt, and that
// the packages in it exist.
func TestPicture(t *testing.T) {
	text := require.Value(os.ReadFile(filepath.Join(root, "docs/architecture.txt")))(t)
	drawn, titles, err := draw(string(text))
	require.NoError(t, err)
	for _, title := range titles {
		for name := range strings.SplitSeq(title, ", ") {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("docs/architecture.txt: %v", err)
			}
		}
	}
	path := filepath.Join(root, "docs/architecture.svg")
	require.Golden(t, path, drawn) // the drawing of docs/architecture.txt
}

// draw returns the picture as SVG, and the titles of the boxes.
func draw(text string) (svg []byte, titles []string, err error) {
	boxes := map[string]box{}
	var shapes, arrows, labels strings.Builder
	width, height := 0, 0
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Split(line, " | ")
		var name, to string
		var column, row, span int
		if _, err := fmt.Sscanf(fields[0], "box %s %d %d %d", &name, &column, &row, &span); err == nil {
			b := box{margin + column*columnWidth, margin + row*rowHeight, span*columnWidth - gap, fields[1:]}
			boxes[name] = b
			titles = append(titles, fields[1])
			width, height = max(width, b.x+b.width+margin), max(height, b.y+boxHeight+margin)
			b.draw(&shapes)
			continue
		}
		if _, err := fmt.Sscanf(fields[0], "arrow %s %s", &name, &to); err == nil {
			from, okFrom := boxes[name]
			end, okTo := boxes[to]
			if !okFrom || !okTo || len(fields) > 2 {
				return nil, nil, fmt.Errorf("line %d: %q joins no two boxes", i+1, line)
			}
			drawArrow(&arrows, &labels, from, end, strings.Join(fields[1:], ""))
			continue
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			return nil, nil, fmt.Errorf("line %d: %q is neither a box nor an arrow", i+1, line)
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="Liberation Sans, Arial, sans-serif" text-anchor="middle">
<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#444"/></marker></defs>
<rect width="100%%" height="100%%" fill="white"/>
%s%s%s</svg>
`, width, height, width, height, arrows.String(), shapes.String(), labels.String())
	return out.Bytes(), titles, nil
}

func (b box) draw(out *strings.Builder) {
	fmt.Fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"#eef4fb\" stroke=\"#0072B2\"/>\n", b.x, b.y, b.width, boxHeight)
	const titleSize, captionSize, lineHeight = 14, 11, 15
	y := b.y + (boxHeight-lineHeight*len(b.texts))/2 + lineHeight - 3
	for i, text := range b.texts {
		style := fmt.Sprintf(`font-size="%d" font-weight="bold"`, titleSize)
		if i > 0 {
			style = fmt.Sprintf(`font-size="%d"`, captionSize)
		}
		fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\" %s>%s</text>\n", b.x+b.width/2, y+i*lineHeight, style, html.EscapeString(text))
	}
}

// drawArrow draws a vertical arrow between boxes in different rows, where both overlap, with the
// label beside it; or a horizontal arrow between neighbours in one row, which has no label.
func drawArrow(arrows, labels *strings.Builder, from, to box, label string) {
	x1 := (max(from.x, to.x) + min(from.x+from.width, to.x+to.width)) / 2
	x2, y1, y2 := x1, from.y+boxHeight, to.y
	if from.y == to.y {
		x1, x2 = from.x, to.x+to.width
		y1 = from.y + boxHeight/2
		y2 = y1
	}
	fmt.Fprintf(arrows, "<path d=\"M%d %d L%d %d\" stroke=\"#444\" stroke-width=\"1.5\" marker-end=\"url(#head)\"/>\n", x1, y1, x2, y2)
	fmt.Fprintf(labels, "<text x=\"%d\" y=\"%d\" font-size=\"11\" text-anchor=\"start\" fill=\"#333\">%s</text>\n",
		x1+8, (y1+y2)/2+2, html.EscapeString(label))
}
