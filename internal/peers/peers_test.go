// Package peers compares ppal with PyTorch, JAX, NumPy and Cooper. The comparison is written in
// Python: see README.md.
package peers

import (
	"os"
	"os/exec"
	"testing"
)

// The comparison's own logic (selection, turns, tables, results), which needs nothing but Python.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	if exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 10))").Run() != nil {
		t.Skip("python3 is older than 3.10")
	}
	cmd := exec.Command(python, "-m", "unittest", "discover", "-s", "peers/tests", "-t", ".")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
