package style

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ppal/internal/require"
)

// TestReadmeExample checks that the Go code in README.md is the body of trainer's Example, which
// the compiler and the tests check.
func TestReadmeExample(t *testing.T) {
	read := func(name string) string {
		text := require.Value(os.ReadFile(filepath.Join(root, name)))(t)
		return string(text)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read("README.md"), -1)
	if len(blocks) != 1 {
		t.Fatalf("README.md has %d blocks of Go code, want 1", len(blocks))
	}
	source := read("trainer/example_test.go")
	_, body, found := strings.Cut(source, "\nfunc Example() {\n")
	if !found {
		t.Fatal("trainer/example_test.go has no Example")
	}
	body, _, _ = strings.Cut(body, "\n}\n")
	body = strings.TrimPrefix(strings.ReplaceAll("\n"+body, "\n\t", "\n"), "\n") + "\n"
	if blocks[0][1] != body {
		t.Errorf("README.md has\n%s\ntrainer/example_test.go has\n%s", blocks[0][1], body)
	}
}
