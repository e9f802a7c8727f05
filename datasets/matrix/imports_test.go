package matrix_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Devices and data sets share this package, so it imports the standard library only.
func TestImportsStandardLibraryOnly(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(list)); len(got) != 1 {
		t.Errorf("the package depends on %v", got)
	}
}
