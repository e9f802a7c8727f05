//go:build gpu

package main

import (
	"bytes"
	"os"
	"testing"

	"ppal/internal/require"
)

// The committed symbols.h lists the calls that the packages use.
func TestFresh(t *testing.T) {
	have := require.Value(os.ReadFile("../symbols.h"))(t)
	want := require.Value(symbols("gorgonia.org/cu", "ppal/internal/cuda/nvidia"))(t)
	if !bytes.Equal(have, want) {
		t.Error("symbols.h is not what `go generate -tags gpu ./internal/cuda/nvidia` writes")
	}
}
