package style

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestArchitecture checks that docs/architecture.md lists every Go package and nothing else.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	packages := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || path == filepath.Join(root, "build")) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".go" {
			name, err := filepath.Rel(root, filepath.Dir(path))
			packages[filepath.ToSlash(name)] = true
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range packages {
		if !strings.Contains(page, "\n| `"+name+"` | ") {
			t.Errorf("docs/architecture.md does not list the package %s", name)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ").FindAllStringSubmatch(page, -1) {
		if !packages[row[1]] {
			t.Errorf("docs/architecture.md lists %s, which is not a package", row[1])
		}
	}
}

// TestNamedFiles checks that the files named in the guides exist.
func TestNamedFiles(t *testing.T) {
	for name, least := range map[string]int{"docs/architecture.md": 30, "CONTRIBUTING.md": 5} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		files := regexp.MustCompile("`([\\w/]+/[\\w/]+\\.(?:go|s|cu|cuh|py|sh))`").FindAllStringSubmatch(string(text), -1)
		if len(files) < least {
			t.Errorf("%s names %d files, want at least %d", name, len(files), least)
		}
		for _, file := range files {
			if strings.Contains(file[1], "NAME") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, file[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
