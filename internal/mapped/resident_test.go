//go:build linux

package mapped

import (
	"testing"
	"time"

	"ppal/internal/require"
)

// The pages stay while they take at most half of what the process's own memory leaves of the limit,
// 100 MiB, and while they are hardly more than after the last release.
func TestPagesStay(t *testing.T) {
	d := newDir(t, 0)
	for _, tc := range []struct {
		all, own, least uint64 // MiB
		given           int
	}{{50, 0, 0, 0}, {51, 0, 0, 1}, {75, 50, 0, 0}, {76, 50, 0, 1}, {100, 100, 0, 0}, {107, 100, 0, 1}, {300, 200, 0, 1}, {200, 200, 0, 0},
		{80, 0, 60, 1}, {66, 0, 60, 0}, {67, 0, 60, 1}} {
		d.usage = func() (all, own uint64) { return tc.all << 20, tc.own << 20 }
		d.given, d.least = 0, tc.least<<20
		if d.Bound(); d.given != tc.given || d.least > (tc.all-tc.own)<<20 {
			t.Errorf("%+v: the pages are given back %d times, least %d bytes", tc, d.given, d.least)
		}
	}
}

// Watch checks until Close.
func TestWatch(t *testing.T) {
	d := require.Value(New(t.TempDir(), 100<<20))(t)
	checks := make(chan bool)
	d.usage = func() (all, own uint64) {
		checks <- true
		return 0, 0
	}
	d.Watch()
	for range 2 {
		select {
		case <-checks:
		case <-time.After(10 * time.Second):
			t.Fatal("no check")
		}
	}
	closed := make(chan error)
	go func() { closed <- d.Close() }()
	for {
		select {
		case <-checks:
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
}
