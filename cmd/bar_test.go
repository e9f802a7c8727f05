package cmd

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The bar draws at once at its end and seldom before, stays narrower than the terminal, and leaves
// an empty line.
func TestBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		b := newBar(&out, 10, func() int { return 40 }, fraction)
		b.describe("a text")
		b.set(3)
		time.Sleep(2 * time.Second)
		b.set(5)
		b.set(12)
		b.clear()
		b.clear()
		want := "\ra text   0% |          | (0/10) [0s:?]" +
			"\ra text  50% |=====     | (5/10) [2s:2s]" +
			"\ra text 100% |=========| (10/10) [2s:0s]" +
			"\r" + strings.Repeat(" ", 39) + "\r"
		if out.String() != want {
			t.Errorf("got\n%q, want\n%q", out.String(), want)
		}
	})
}
