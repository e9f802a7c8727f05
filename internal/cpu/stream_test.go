package cpu

import (
	"errors"
	"slices"
	"sync"
	"testing"
)

// A stream runs the windows of each share in order. It asks for the memory of each window once,
// before the window runs; the window after a share is asked for only once if the worker takes it
// next. After an error no window runs.
func TestStream(t *testing.T) {
	type window struct{ lo, hi int }
	var asked, ran []window
	s := &stream{rows: 10, width: 1, hi: 60, next: make([]*ahead, 2)}
	s.read = []memoryOf{func(lo, hi int) [][]byte {
		asked = append(asked, window{lo, hi})
		return [][]byte{make([]byte, hi-lo)}
	}}
	failure := error(nil)
	run := func(lo, hi int) error {
		ran = append(ran, window{lo, hi})
		return failure
	}
	for _, tc := range []struct {
		worker, lo, hi int
		asked, ran     []window
	}{
		{0, 0, 25, []window{{0, 10}, {10, 20}, {20, 25}, {25, 35}}, []window{{0, 10}, {10, 20}, {20, 25}}},
		{0, 25, 30, []window{{30, 40}}, []window{{25, 30}}},
		{1, 50, 60, []window{{50, 60}}, []window{{50, 60}}},
		{0, 45, 60, []window{{45, 55}, {55, 60}}, []window{{45, 55}, {55, 60}}},
		{0, 0, 10, []window{{0, 10}, {10, 20}}, []window{{0, 10}}},
	} {
		asked, ran = nil, nil
		if err := s.each(tc.worker, tc.lo, tc.hi, run); err != nil || !slices.Equal(asked, tc.asked) || !slices.Equal(ran, tc.ran) {
			t.Errorf("rows %d to %d: asked for %v, ran %v, %v; want %v and %v", tc.lo, tc.hi, asked, ran, err, tc.asked, tc.ran)
		}
	}
	ran, failure = nil, errors.New("broken")
	if err := s.each(1, 0, 30, run); !errors.Is(err, failure) || len(ran) != 1 {
		t.Errorf("%d windows, %v", len(ran), err)
	}
}

// The memory of a window is read once: by the goroutine that reads ahead or by the worker.
func TestAheadOnce(t *testing.T) {
	a := &ahead{read: [][]byte{make([]byte, 100), nil}}
	var group sync.WaitGroup
	for range 4 {
		group.Go(a.bring)
	}
	group.Wait()
	done := false
	a.once.Do(func() { done = true })
	if done {
		t.Error("nobody has read the memory")
	}
}
