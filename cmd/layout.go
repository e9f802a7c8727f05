package cmd

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// tableWidth is the largest width of printed tables, in columns.
const tableWidth = 100

// grid is a table of text. The first row is the head.
type grid [][]string

// print prints the rows with aligned columns. If the rows are wider than tableWidth, the first cell
// of each row gets a line of its own, above the other cells, unless it is empty.
func (g grid) print(out io.Writer) {
	widths := g.widths()
	total := -columnGap
	for _, w := range widths {
		total += w + columnGap
	}
	tall := total > tableWidth && len(widths) > 1
	for _, row := range g {
		var line strings.Builder
		for k, cell := range row {
			if tall && k == 0 {
				if cell != "" {
					fmt.Fprintln(out, cell)
				}
				line.WriteString("  ")
				continue
			}
			line.WriteString(cell)
			if k < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[k]-utf8.RuneCountInString(cell)+columnGap))
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
}

// columnGap is the number of spaces between columns.
const columnGap = 2

// widths returns the widths of the columns.
func (g grid) widths() []int {
	var widths []int
	for _, row := range g {
		for k, cell := range row {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// without returns the grid without the columns whose cells below the head are all empty.
func (g grid) without() grid {
	used := make([]bool, len(g[0]))
	for i, row := range g {
		for k, cell := range row {
			used[k] = used[k] || i > 0 && cell != ""
		}
	}
	small := make(grid, len(g))
	for i, row := range g {
		for k, cell := range row {
			if used[k] {
				small[i] = append(small[i], cell)
			}
		}
	}
	return small
}

// paragraph prints a name and a text of words, which continues under its beginning.
func paragraph(out io.Writer, name, text string) {
	const indent = 13
	indented(out, fmt.Sprintf("%-*s", indent, name), indent, text)
}

// indented prints text after the head of its first line, in lines of at most tableWidth columns.
// The further lines are indented.
func indented(out io.Writer, line string, indent int, text string) {
	for i, word := range strings.Fields(text) {
		if i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > tableWidth {
			fmt.Fprintln(out, strings.TrimRight(line, " "))
			line = strings.Repeat(" ", indent)
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(out, strings.TrimRight(line, " "))
}
