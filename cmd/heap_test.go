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
	defer func() { ballast = nil }()
	ballast = make([]byte, ballastBytes)
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

// Large data leave less room for garbage and end the ballast, unless GOGC is set.
func TestLimitGarbage(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(gcPercent)
	defer debug.SetMemoryLimit(limit)
	defer debug.SetGCPercent(percent)
	t.Setenv("GOMEMLIMIT", "")
	var cfg config.Train
	cfg.Session.Device.Memory = 3 << 30
	if limitGarbage(cfg); debug.SetGCPercent(gcPercent) != gcPercent || debug.SetMemoryLimit(-1) != limit {
		t.Error("without a ballast, limitGarbage changes the collector")
	}
	ballast = make([]byte, ballastBytes) // these take no memory, because nothing writes them
	runtime.GC()                         // frees what earlier tests have left
	if limitGarbage(cfg); ballast == nil {
		t.Error("a small heap has lost its ballast")
	}
	large := make([]byte, 2*largeHeap)
	limitGarbage(cfg)
	if got, most := debug.SetGCPercent(gcPercent), 100*largeGarbage/(2*largeHeap); ballast != nil || got < 1 || got > most {
		t.Errorf("with large data the percentage is %d, want at most %d; %d bytes of ballast", got, most, len(ballast))
	}
	if got := debug.SetMemoryLimit(-1); got != 3<<30 {
		t.Errorf("the limit is %d without the ballast, want 3 GiB", got)
	}
	runtime.KeepAlive(large)
}
