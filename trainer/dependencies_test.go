package trainer_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The package knows nothing of graphs, devices, data or terminals: the standard library and gonum only.
func TestDependencies(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool: ", err)
	}
	out, err := exec.Command(tool, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "ppal/trainer").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 2 {
		t.Fatalf("go list gave %q", out)
	}
	for _, path := range packages {
		if path != "ppal/trainer" && !strings.HasPrefix(path, "ppal/trainer/") && !strings.HasPrefix(path, "gonum.org/v1/gonum/") {
			t.Errorf("ppal/trainer depends on %s: the standard library and gonum only", path)
		}
	}
}
