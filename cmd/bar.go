package cmd

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// bar shows progress on one line of a terminal: a text, percent, blocks, a count, the time that has
// passed and the time that is left. Several goroutines may call its methods.
type bar struct {
	out   io.Writer
	most  int64
	width func() int                    // the columns of the terminal; the blocks shrink to fit
	count func(done, most int64) string // the text in brackets, such as "3/10"; nil: none

	mu           sync.Mutex
	text         string
	done         int64
	start, shown time.Time
	drawn        int // the characters on the line
}

// newBar returns a bar at 0 of most steps. It shows nothing before the first call of a method.
func newBar(out io.Writer, most int64, width func() int, count func(done, most int64) string) *bar {
	return &bar{out: out, most: max(1, most), width: width, count: count, start: time.Now()}
}

// fraction is the count of whole steps.
func fraction(done, most int64) string { return fmt.Sprintf("%d/%d", done, most) }

// describe sets the text before the bar.
func (b *bar) describe(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = text
	b.draw()
}

// set moves the bar, which may go back.
func (b *bar) set(done int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = max(0, min(done, b.most))
	b.draw()
}

// draw writes the line, at most once in barRefresh before the end.
func (b *bar) draw() {
	now := time.Now()
	if b.done < b.most && now.Sub(b.shown) < barRefresh {
		return
	}
	b.shown = now
	passed, left := now.Sub(b.start), "?"
	share := float64(b.done) / float64(b.most)
	if b.done > 0 {
		left = time.Duration(float64(passed) * (1 - share) / share).Round(time.Second).String()
	}
	head, tail := fmt.Sprintf("%s %3.0f%% |", b.text, 100*share), fmt.Sprintf("| [%v:%s]", passed.Round(time.Second), left)
	if b.count != nil {
		tail = "| (" + b.count(b.done, b.most) + ")" + tail[1:]
	}
	length := utf8.RuneCountInString(head + tail)
	blocks := max(0, min(barWidth, b.width()-1-length))
	filled := int(share * float64(blocks))
	length += blocks
	fmt.Fprint(b.out, "\r", head, strings.Repeat("=", filled), strings.Repeat(" ", blocks-filled), tail, strings.Repeat(" ", max(0, b.drawn-length)))
	b.drawn = length
}

// clear removes the line.
func (b *bar) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.drawn > 0 {
		fmt.Fprint(b.out, "\r", strings.Repeat(" ", b.drawn), "\r")
		b.drawn = 0
	}
}
