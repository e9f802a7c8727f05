//go:build gpu

package main

import (
	"bytes"
	"os"
	"testing"
)

// The committed symbols.h lists the calls that the packages use.
func TestFresh(t *testing.T) {
	have, err := os.ReadFile("../symbols.h")
	if err != nil {
		t.Fatal(err)
	}
	want, err := symbols("gorgonia.org/cu", "ppal/internal/cuda/nvidia")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("symbols.h is not what `go generate -tags gpu ./internal/cuda/nvidia` writes")
	}
}
