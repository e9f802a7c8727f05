package style

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
