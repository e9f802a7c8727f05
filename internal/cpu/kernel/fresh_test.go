package kernel

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestFresh runs the generator and compares its output with the files here. It fetches the
// generator's dependencies if they are not in the module cache. With -short the test is skipped.
func TestFresh(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the generator, which is a module of its own")
	}
	dir := t.TempDir()
	run := exec.Command("go", "run", "-C", filepath.Join("..", "gen"), ".", "-out", dir)
	run.Env = append(os.Environ(), "GOOS=", "GOARCH=", "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("generator: %v\n%s", err, out)
	}
	fresh := assembly(t, dir)
	committed := assembly(t, ".")
	for name, text := range fresh {
		if !bytes.Equal(text, committed[name]) {
			t.Errorf("%s is not what the generator writes: run go generate", name)
		}
	}
	for name := range committed {
		if fresh[name] == nil {
			t.Errorf("%s is generated, but not by this generator: remove it", name)
		}
	}
}

// assembly reads the generated files of a folder.
func assembly(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, pattern := range []string{"*_amd64.s", "*_amd64.go"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.HasPrefix(text, []byte("// Code generated ")) {
				files[filepath.Base(name)] = text
			}
		}
	}
	if len(files) == 0 {
		t.Fatalf("no generated files in %s", dir)
	}
	return files
}
