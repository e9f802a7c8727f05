package cmd

import (
	"runtime/debug"
	"testing"

	"ppal/internal/config"
)

// --memory bounds the heap and the ballast. Without --memory, and with GOMEMLIMIT, ppal sets no
// bound.
func TestHeapLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	var cfg config.Train
	setHeap(cfg)
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("without --memory the limit is %d, want %d", got, before)
	}
	cfg.Session.Device.Memory = 3 << 30
	t.Setenv("GOMEMLIMIT", "5GiB")
	setHeap(cfg)
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("with GOMEMLIMIT the limit is %d, want %d", got, before)
	}
	t.Setenv("GOMEMLIMIT", "")
	setHeap(cfg)
	if got, want := debug.SetMemoryLimit(-1), int64(3<<30+640<<20); got != want {
		t.Errorf("the limit is %d, want %d: 3 GiB and the ballast of 640 MiB", got, want)
	}
}
