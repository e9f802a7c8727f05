package cmd

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// A program without GPU support does not link the device, its kernels, the package that checks them
// or Gorgonia's binding of the driver.
func TestProgramWithoutGPUSupport(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool: ", err)
	}
	deps := func(tags string) []string {
		cmd := exec.Command(tool, "list", "-e", "-tags", tags, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "ppal/cmd/ppal")
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1") // packages with the build tag gpu need cgo
		out := require.Value(cmd.Output())(t)
		return strings.Fields(string(out))
	}
	without, with := deps(""), deps("gpu")
	for _, path := range []string{"ppal/cuda", "ppal/internal/cuda/kernels", "gorgonia.org/cu", "ppal/internal/gpucheck", "ppal/internal/graphcases"} {
		if slices.Contains(without, path) {
			t.Errorf("without the tag gpu the program links %s", path)
		}
		if !slices.Contains(with, path) {
			t.Errorf("with the tag gpu the program does not link %s", path)
		}
	}
}
