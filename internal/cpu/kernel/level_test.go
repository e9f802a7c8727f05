package kernel

import (
	"errors"
	"testing"
)

func TestLevels(t *testing.T) {
	for _, level := range Levels() {
		parsed, err := ParseLevel(level.String())
		if err != nil || parsed != level {
			t.Errorf("ParseLevel(%q) = %v, %v", level, parsed, err)
		}
		k, err := New[float32](level)
		if err != nil || k.Level() != level {
			t.Errorf("New(%v): %v", level, err)
		}
	}
	if _, err := ParseLevel("sse"); err == nil {
		t.Error("ParseLevel accepts sse")
	}
	for _, level := range []Level{Go - 1, AVX512 + 1, AVX512, AVX2} {
		if level.Supported() {
			continue
		}
		_, err := New[float64](level)
		if unsupported := new(UnsupportedError); !errors.As(err, &unsupported) || unsupported.Best != Best() {
			t.Errorf("New(%v): %v", level, err)
		}
	}
}

// TestPreference checks the order in which levels are chosen.
func TestPreference(t *testing.T) {
	levels := Levels()
	if levels[0] != Go || levels[len(levels)-1] != Best() {
		t.Errorf("Levels() = %v, Best() = %v", levels, Best())
	}
	best := Go
	for _, l := range []Level{AVX2, AVX512, AMX} {
		if l.Supported() {
			best = l
		}
	}
	if Best() != best {
		t.Errorf("Best() = %v of %v", Best(), levels)
	}
	for _, l := range preference() {
		needs, ok := l.needs()
		if !ok || l.Supported() != cpuFeatures().include(needs) {
			t.Errorf("%v: Supported() = %t", l, l.Supported())
		}
	}
}
