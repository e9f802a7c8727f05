package trainer_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// The packages below trainer, except graph and session, and internal/decide do not depend on
// graphs, devices, data or terminals. They import the standard library, gonum, internal/vec and
// each other. Each package imports only packages of the layers below it.
func TestDependencies(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool: ", err)
	}
	const (
		vec, option   = "internal/vec", "internal/option"
		problem, step = "trainer/problem", "trainer/step"
		certify, loop = "trainer/certify", "trainer"
		qp, estimate  = "trainer/internal/qp", "trainer/internal/estimate"
	)
	all := []string{option, problem, step, certify, vec, qp, estimate, loop}
	for room, below := range map[string][]string{
		option:            {},
		problem:           {option, vec},
		step:              {option, problem, vec, qp},
		certify:           {option, problem, step, vec, qp, estimate},
		loop:              all,
		"internal/decide": all,
		"trainer/method":  all,
	} {
		self := "ppal/" + room
		out := require.Value(exec.Command(tool, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", self).Output())(t)
		packages := strings.Fields(string(out))
		if !slices.Contains(packages, self) {
			t.Fatalf("go list gave %q", out)
		}
		for _, path := range packages {
			known := path == self || strings.HasPrefix(path, "gonum.org/v1/gonum/") ||
				slices.Contains(below, strings.TrimPrefix(path, "ppal/"))
			if !known {
				t.Errorf("%s depends on %s", self, path)
			}
		}
	}
}
