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
	for _, level := range []Level{Go - 1, Best() + 1} {
		_, err := New[float64](level)
		if unsupported := new(UnsupportedError); !errors.As(err, &unsupported) || unsupported.Best != Best() {
			t.Errorf("New(%v): %v", level, err)
		}
	}
}
