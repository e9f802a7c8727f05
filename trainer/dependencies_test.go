package trainer_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The packages below trainer, except graph and session, do not depend on graphs, devices, data or
// terminals. They import the standard library, gonum, internal/radix and each other. Each package
// imports only packages of the layers below it.
func TestDependencies(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool: ", err)
	}
	const vec, setting, qp, estimate = "internal/vec", "internal/setting", "internal/qp", "internal/estimate"
	// decide keeps vectors over the rows in files (internal/paged).
	files := []string{"ppal/internal/paged", "ppal/internal/atomicfile", "ppal/internal/memory", "golang.org/x/sys/unix"}
	for room, below := range map[string][]string{
		"option":             {},
		"problem":            {vec},
		"step":               {"option", "problem", vec, setting, qp},
		"certify":            {"problem", vec, setting, qp},
		"certify/near":       {"problem", "certify", vec, setting, qp, estimate},
		"certify/infeasible": {"option", "problem", "step", vec, setting, qp},
		"":                   {"option", "problem", "step", "certify", "certify/near", "certify/infeasible", vec, setting, qp, estimate},
		"decide":             {"", "option", "problem", "step", "certify", "certify/near", "certify/infeasible", vec, setting, qp, estimate},
		"method":             {"", "option", "problem", "step", "certify", "certify/near", "certify/infeasible", vec, setting, qp, estimate},
	} {
		self := strings.TrimSuffix("ppal/trainer/"+room, "/")
		out, err := exec.Command(tool, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", self).Output()
		if err != nil {
			t.Fatal(err)
		}
		packages := strings.Fields(string(out))
		if !slices.Contains(packages, self) {
			t.Fatalf("go list gave %q", out)
		}
		for _, path := range packages {
			known := path == self || path == "ppal/internal/radix" || strings.HasPrefix(path, "gonum.org/v1/gonum/") ||
				room == "decide" && slices.Contains(files, path)
			for _, b := range below {
				known = known || path == strings.TrimSuffix("ppal/trainer/"+b, "/")
			}
			if !known {
				t.Errorf("%s depends on %s", self, path)
			}
		}
	}
}
