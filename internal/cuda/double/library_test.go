//go:build gpu

package double

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
)

// write writes a file of dir.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

// A library is made once. Another source, another included file and other options make another
// library, so no test runs with an old one. A failed compilation leaves nothing behind.
func TestBuild(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	r := recipe{cc: []string{"cc", "-fPIC"}, cxx: []string{"c++", "-fPIC"},
		units:  []string{write(t, dir, "a.c", "#include \"a.h\"\nint a(void) { return A; }\n"), write(t, dir, "b.cc", "int b() { return 2; }\n")},
		others: []string{write(t, dir, "a.h", "#define A 1\n")}}
	build := func() string {
		t.Helper()
		return require.Value(r.build(folder))(t)
	}
	first := build()
	before := require.Value(os.Stat(first))(t)
	if after, err := os.Stat(build()); err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the library was made again: %v", err)
	}
	seen := map[string]bool{first: true}
	for what, change := range map[string]func(){
		"unit":          func() { write(t, dir, "b.cc", "int b() { return 3; }\n") },
		"included file": func() { write(t, dir, "a.h", "#define A 4\n") },
		"option":        func() { r.cxx = append(r.cxx, "-O1") },
	} {
		if change(); seen[build()] {
			t.Errorf("another %s does not make another library", what)
		}
		seen[build()] = true
	}
	write(t, dir, "a.c", "int a(void) { return 1 }\n")
	if _, err := r.build(folder); err == nil || !strings.Contains(err.Error(), "cc: exit status 1\n") || !strings.Contains(err.Error(), "a.c:1:") {
		t.Errorf("a wrong source: %v", err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != len(seen) {
		t.Errorf("%v, %v", files, err)
	}
}

// The recipe has every source of the stub and of the host's kernels.
func TestStub(t *testing.T) {
	cuda := ".."
	r := require.Value(stub(cuda))(t)
	listed := map[string]bool{}
	for _, file := range append(r.units, r.others...) {
		listed[file] = true
	}
	for _, folder := range []string{filepath.Join(cuda, "nvidia", "testdata", "stub"), filepath.Join(cuda, "kernels", "device")} {
		files := require.Value(os.ReadDir(folder))(t)
		for _, f := range files {
			if file := filepath.Join(folder, f.Name()); filepath.Ext(file) != ".go" && !listed[file] {
				t.Errorf("%s is not in the recipe", file)
			}
		}
	}
	if _, err := stub(t.TempDir()); err == nil {
		t.Error("a folder without sources")
	}
}
