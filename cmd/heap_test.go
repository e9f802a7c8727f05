package cmd

import (
	"runtime"
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

// Large data leave less room for garbage, unless GOGC is set.
func TestLimitGarbage(t *testing.T) {
	before := debug.SetGCPercent(gcPercent)
	defer debug.SetGCPercent(before)
	percent := func() int {
		limitGarbage()
		return debug.SetGCPercent(gcPercent)
	}
	t.Setenv("GOGC", "")
	if got := percent(); got != gcPercent {
		t.Errorf("with a small heap the percentage is %d, want %d", got, gcPercent)
	}
	large := make([]byte, ballastBytes+largeHeap) // takes no memory, because nothing writes it
	if got := percent(); got != largeGarbage {
		t.Errorf("with large data the percentage is %d, want %d", got, largeGarbage)
	}
	t.Setenv("GOGC", "50")
	if got := percent(); got != gcPercent {
		t.Errorf("with GOGC the percentage is %d, want the one before", got)
	}
	runtime.KeepAlive(large)
}
