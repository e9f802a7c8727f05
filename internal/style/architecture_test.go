package style

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// TestArchitecture checks that docs/architecture.md lists every Go package and nothing else.
func TestArchitecture(t *testing.T) {
	text := require.Value(os.ReadFile(filepath.Join(root, "docs/architecture.md")))(t)
	page := string(text)
	packages := map[string]bool{}
	for _, path := range goFiles(t) {
		name := require.Value(filepath.Rel(root, filepath.Dir(path)))(t)
		packages[filepath.ToSlash(name)] = true
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

// goFiles returns the Go files of the tree, except those in testdata.
func goFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || path == filepath.Join(root, "build")) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".go" {
			files = append(files, path)
		}
		return nil
	})
	require.NoError(t, err)
	return files
}

// TestNamedFiles checks that the files named in the guides exist.
func TestNamedFiles(t *testing.T) {
	for name, least := range map[string]int{"docs/architecture.md": 30, "CONTRIBUTING.md": 5} {
		text := require.Value(os.ReadFile(filepath.Join(root, name)))(t)
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

// TestNamedDeclarations checks the names of the same guides: `package.Name` is a declaration of a
// package of the tree, and another name occurs in a Go file that its paragraph names.
func TestNamedDeclarations(t *testing.T) {
	declared := map[string]bool{} // package.Name
	packages := map[string]bool{}
	for _, path := range goFiles(t) {
		file := require.Value(parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution))(t)
		packages[file.Name.Name] = true
		for _, d := range file.Decls {
			for _, name := range namesOf(d) {
				declared[file.Name.Name+"."+name] = true
			}
		}
	}
	qualified := regexp.MustCompile("`(\\w+)\\.([A-Z]\\w*)`")
	named := regexp.MustCompile("`([\\w/]+/[\\w/]+\\.go)`")
	single := regexp.MustCompile("`([A-Za-z]\\w*)`")
	checked := 0
	for _, page := range []string{"docs/architecture.md", "CONTRIBUTING.md"} {
		text := require.Value(os.ReadFile(filepath.Join(root, page)))(t)
		for _, paragraph := range regexp.MustCompile(`\n\n|\n(?:\d\.|-) `).Split(string(text), -1) {
			for _, m := range qualified.FindAllStringSubmatch(paragraph, -1) {
				checked++
				if name := m[1] + "." + m[2]; packages[m[1]] && !declared[name] {
					t.Errorf("%s: no package %s declares %s", page, m[1], m[2])
				}
			}
			var sources strings.Builder
			for _, m := range named.FindAllStringSubmatch(paragraph, -1) {
				source, err := os.ReadFile(filepath.Join(root, m[1]))
				if err == nil { // else TestNamedFiles fails
					sources.Write(source)
				}
			}
			for _, m := range single.FindAllStringSubmatch(paragraph, -1) {
				if sources.Len() == 0 || packages[m[1]] {
					continue
				}
				checked++
				if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(sources.String()) {
					t.Errorf("%s: no file of the paragraph has %s:\n%s", page, m[1], paragraph)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("the guides have %d names, want at least 20", checked)
	}
}

// namesOf returns the names that a declaration declares outside functions, without methods.
func namesOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// Users of the library link no pages and pictures of runs, and only those who read files of tables
// link the reader of Parquet.
func TestLibrariesLink(t *testing.T) {
	pages := []string{"html/template", "/internal/report"}
	for path, without := range map[string][]string{
		"./trainer":          append([]string{"/parquet-go", "/datasets"}, pages...),
		"./trainer/graph":    append([]string{"/parquet-go", "/datasets"}, pages...),
		"./constraints":      append([]string{"/parquet-go"}, pages...),
		"./models/predictor": append([]string{"/parquet-go"}, pages...),
		"./trainer/session":  pages,
	} {
		command := exec.Command("go", "list", "-deps", path)
		command.Dir = "../.."
		list := require.Value(command.Output())(t)
		for _, p := range strings.Fields(string(list)) {
			if slices.ContainsFunc(without, func(end string) bool { return strings.HasSuffix(p, end) }) {
				t.Errorf("%s links %s", path, p)
			}
		}
	}
}

// TestRenames checks that files are renamed only by the packages that sync the file before and the
// directory after. A rename without a sync can leave an empty file after a power failure.
func TestRenames(t *testing.T) {
	allowed, found := []string{"internal/disk/atomicfile.go", "internal/disk/system.go", "internal/rundir/checkpoint_file.go"}, []string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && (bytes.Contains(text, []byte("os.Rename")) || bytes.Contains(text, []byte("Local.Rename"))) {
			path, err = filepath.Rel(root, path)
			found = append(found, filepath.ToSlash(path))
		}
		return err
	})
	require.NoError(t, err)
	if !slices.Equal(found, allowed) {
		t.Errorf("os.Rename or Local.Rename in %q, want %q: use package disk", found, allowed)
	}
}
