package session_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A session does not depend on the settings of the command line or on the program.
func TestDependencies(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool: ", err)
	}
	out, err := exec.Command(tool, "list", "-deps", "ppal/trainer/session").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "ppal/trainer") {
		t.Fatalf("go list gave %q", packages)
	}
	for _, path := range packages {
		if path == "ppal/internal/config" || strings.HasPrefix(path, "ppal/cmd/") || path == "github.com/spf13/cobra" {
			t.Errorf("ppal/trainer/session depends on %s", path)
		}
	}
}
