package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"ppal/internal/disk"
)

// errInterrupted is the error of a command that a signal stopped before its output was complete.
var errInterrupted = errors.New("interrupted; no output file was written")

// outputs begin and go on until a signal ends the process. The command may still work then, and no
// deferred function of it runs.
type outputs struct {
	mutex sync.Mutex
	ended bool
}

// endsWithin is the longest time that end waits for a write that has begun: its reader may never
// read.
const endsWithin = time.Second

// end lets no output begin or go on, and removes the incomplete files. A write that has begun comes
// to its end first, so that a stream ends with a whole row.
func (o *outputs) end() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.mutex.Lock()
		defer o.mutex.Unlock()
		o.ended = true
	}()
	select {
	case <-done:
	case <-time.After(endsWithin):
	}
	disk.DiscardAll()
}

// do calls f unless the process ends.
func (o *outputs) do(f func() error) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.ended {
		return errInterrupted
	}
	return f()
}

// destination is where a command writes its result: a file that appears when it is complete, or a
// stream. Each write has whole rows.
type destination struct {
	outputs *outputs
	out     io.Writer
	commit  func() error
	// discard removes the incomplete file, if any.
	discard func()
}

// Write implements io.Writer.
func (d *destination) Write(p []byte) (n int, err error) {
	err = d.outputs.do(func() error {
		n, err = d.out.Write(p)
		return err
	})
	return n, err
}

// create returns the destination with the given name. If the name is not a regular file, such as
// /dev/null, the command writes to it without replacing it.
func (a *app) create(name string) (*destination, error) {
	o := &a.outputs
	nothing := func() error { return nil }
	if name == standard {
		return &destination{o, a.stdout, nothing, func() {}}, nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &destination{o, f, f.Close, func() {}}, nil
	}
	var f *disk.File
	if err := o.do(func() (err error) {
		f, err = disk.Create(name, 0o644)
		return err
	}); err != nil {
		return nil, err
	}
	return &destination{o, f, func() error { return o.do(f.Commit) }, func() { _ = f.Discard() }}, nil
}

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

// printable replaces the control characters of a text other than line ends and tabs by U+FFFD: a
// name in a data file may hold an escape sequence, which would command the user's terminal. It
// writes the marks that change the direction of the text around them as escapes: \u202e.
func printable(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			out.WriteRune(unicode.ReplacementChar)
		case unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// printing is a writer that makes texts printable. Each write holds whole characters.
type printing struct{ out io.Writer }

// Write implements io.Writer.
func (p printing) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.out, printable(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// longest is the largest number of bytes of an error. An error may quote a text of many megabytes
// from a file.
const longest = 4000

// shortened replaces the middle of a text that is longer than longest.
func shortened(text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest/2], "") + " ... " + strings.ToValidUTF8(text[len(text)-longest/2:], "")
}

// printJSON prints a value as JSON.
func printJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
