package cpu

import (
	"errors"
	"testing"
	"time"
)

// A stream reads the memory of each window once, before the window runs. While a window runs,
// another goroutine reads the next one, but no rows after the last. Each window bounds the memory.
// After an error no window runs.
func TestStream(t *testing.T) {
	const lo, hi = 5, 30 // windows of 10, 10 and 5 rows
	reads := make(chan []byte, 10)
	memory := make([]byte, hi)
	bounds := 0
	s := &stream{rows: 10, width: 1, ahead: func(part []byte) { reads <- part }, bound: func() { bounds++ }}
	s.read = []memoryOf{func(lo, hi int) [][]byte { return [][]byte{memory[lo:hi]} }}
	expect := func(lo, hi int) {
		t.Helper()
		select {
		case part := <-reads:
			if len(part) != hi-lo || &part[0] != &memory[lo] {
				t.Errorf("other memory of %d bytes is read, want that of rows %d to %d", len(part), lo, hi)
			}
		case <-time.After(time.Minute):
			t.Fatalf("rows %d to %d are not read", lo, hi)
		}
	}
	ran := 0
	if err := s.each(lo, hi, func(from, to int) error {
		if bounds != ran {
			t.Errorf("window %d after %d bounds", ran, bounds)
		}
		if want := lo + 10*ran; from != want || to != min(want+10, hi) {
			t.Errorf("rows %d to %d run, want %d to %d", from, to, want, min(want+10, hi))
		}
		if ran++; ran == 1 {
			if len(reads) == 0 {
				t.Error("the first window runs before its memory is read")
			}
			expect(from, to)
		}
		if to < hi {
			expect(to, min(to+10, hi))
		}
		return nil
	}); err != nil || ran != 3 || len(reads) != 0 {
		t.Errorf("%d windows, want 3; %v; memory is read %d times more", ran, err, len(reads))
	}

	broken := errors.New("broken")
	ran = 0
	if err := s.each(lo, hi, func(int, int) error { ran++; return broken }); !errors.Is(err, broken) || ran != 1 {
		t.Errorf("%d windows, %v", ran, err)
	}
}
