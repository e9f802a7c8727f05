package session_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// A session does not depend on the settings of the command line or on the program.
func TestDependencies(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool: ", err)
	}
	out := require.Value(exec.Command(tool, "list", "-deps", "ppal/trainer/session").Output())(t)
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

// The packages behind the session take what they need as arguments: none imports the session, and
// none imports another. The types of results are for all.
func TestRooms(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool: ", err)
	}
	out := require.Value(exec.Command(tool, "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "ppal/trainer/session/internal/...").Output())(t)
	rooms := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(rooms) < 4 {
		t.Fatalf("go list gave %q", out)
	}
	for _, room := range rooms {
		imports := strings.Fields(room)
		for _, path := range imports[1:] {
			if strings.HasPrefix(path, "ppal/trainer/session") && path != "ppal/trainer/session/results" {
				t.Errorf("%s imports %s", imports[0], path)
			}
		}
	}
}
