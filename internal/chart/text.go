package chart

import "strings"

// widths are the widths of the characters from the space to the tilde in Helvetica, in thousandths
// of the font's size.
var widths = [...]int{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
}

const (
	otherWidth = 650  // of other letters, in thousandths
	wideWidth  = 1000 // of Chinese, Japanese and Korean characters
	firstWide  = 0x2E80
	// widerFont is the largest ratio of the width of a viewer's font to that of Helvetica.
	widerFont = 1.2
)

// textWidth returns the width that a text may need in a viewer's font.
func textWidth(text string, size float64) float64 {
	sum := 0
	for _, r := range text {
		switch {
		case r >= ' ' && r <= '~':
			sum += widths[r-' ']
		case r >= firstWide:
			sum += wideWidth
		default:
			sum += otherWidth
		}
	}
	return widerFont * size * float64(sum) / 1000
}

// wrap breaks a text into lines of at most the given width. A longer word has a line of its own.
func wrap(text string, size, width float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && textWidth(longer, size) > width {
			lines = append(lines, line)
			longer = word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// shorten cuts a text to at most the given width.
func shorten(text string, size, width float64) string {
	if textWidth(text, size) <= width {
		return text
	}
	letters := []rune(text)
	for len(letters) > 0 && textWidth(string(letters)+"…", size) > width {
		letters = letters[:len(letters)-1]
	}
	return string(letters) + "…"
}
