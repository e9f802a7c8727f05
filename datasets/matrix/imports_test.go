package matrix_test

import (
	"os/exec"
	"strings"
	"testing"

	"ppal/internal/require"
)

// Devices and data sets share this package, so it imports the standard library only.
func TestImportsStandardLibraryOnly(t *testing.T) {
	list := require.Value(exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output())(t)
	if got := strings.Fields(string(list)); len(got) != 1 {
		t.Errorf("the package depends on %v", got)
	}
}
