package cuda_test

import (
	"os/exec"
	"strings"
	"testing"

	"ppal/internal/require"
)

// Package cuda and the packages below internal/cuda import only each other, the plan, the data
// matrices and the leaf packages of problems. They import no constraint, model, data set or method.
func TestImports(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool: ", err)
	}
	allowed := []string{"ppal/internal/plan", "ppal/trainer/graph/describe", "ppal/internal/option", "ppal/datasets/matrix", "ppal/trainer/problem", "ppal/internal/vec"}
	for _, tags := range []string{"", "gpu"} {
		cmd := exec.Command(tool, "list", "-e", "-tags", tags, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "ppal/cuda", "ppal/internal/cuda/driver", "ppal/internal/cuda/kernels/...", "ppal/internal/cuda/nvidia")
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1") // the packages with the build tag gpu need cgo
		out := require.Value(cmd.Output())(t)
		packages := strings.Fields(string(out))
		if len(packages) < 2 {
			t.Fatalf("go list gave %q", out)
		}
		for _, path := range packages {
			inside := path == "ppal/cuda" || strings.HasPrefix(path, "ppal/internal/cuda/")
			for _, a := range allowed {
				inside = inside || path == a
			}
			if strings.HasPrefix(path, "ppal/") && !inside {
				t.Errorf("tags %q: a package of the GPU imports %s, want only %v", tags, path, allowed)
			}
		}
	}
}
