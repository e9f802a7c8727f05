package style

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// `make race` tests every package that starts goroutines, in its code or in its tests. A package
// with goroutines is one with a go statement, or with a call of a method Go, AfterFunc or Parallel.
func TestPackages(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile := require.Value(os.ReadFile(filepath.Join(root, "Makefile")))(t)
	value := regexp.MustCompile(`(?m)^RACE_PACKAGES =((?:.*\\\n)*.*)`).FindSubmatch(makefile)
	if value == nil {
		t.Fatal("the Makefile does not set RACE_PACKAGES")
	}
	listed := strings.Fields(strings.ReplaceAll(string(value[1]), "\\\n", " "))
	for _, p := range listed {
		if info, err := os.Stat(filepath.Join(root, p)); err != nil || !info.IsDir() {
			t.Errorf("RACE_PACKAGES names %s, which is not a package", p)
		}
	}
	missing := map[string]string{}
	eachSource(t, root, func(path string) error {
		of, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil || slices.Contains(listed, "./"+filepath.ToSlash(of)) {
			return err
		}
		starts, err := startsGoroutine(path)
		if starts {
			missing["./"+filepath.ToSlash(of)] = filepath.Base(path)
		}
		return err
	})
	for p, file := range missing {
		t.Errorf("%s is not in RACE_PACKAGES of the Makefile, and %s starts a goroutine", p, file)
	}
}

// eachSource calls do with the path of every Go file of the module.
func eachSource(t *testing.T, root string, do func(path string) error) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if !d.IsDir() {
			if strings.HasSuffix(name, ".go") {
				return do(path)
			}
			return nil
		}
		if name == "testdata" || strings.HasPrefix(name, ".") && name != ".." {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root {
			return filepath.SkipDir // another module
		}
		return nil
	})
	require.NoError(t, err)
}

// startsGoroutine reports whether a file starts a goroutine in builds without support for GPUs: the
// race detector runs on such builds.
func startsGoroutine(path string) (starts bool, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return false, err
	}
	for _, g := range f.Comments {
		if g.Pos() > f.Package {
			break
		}
		for _, c := range g.List {
			if c.Text == "//go:build gpu" {
				return false, nil
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Go", "AfterFunc", "Parallel"}, s.Sel.Name) {
				starts = true
			}
		}
		return !starts
	})
	return starts, nil
}

// A test that the race detector leaves out because another test starts the same goroutines names a
// test of its package that the detector runs.
func TestReasons(t *testing.T) {
	skip := regexp.MustCompile(`^\s*require\.NoRace\(t, (?:"([^"]*)"|\w+)\)`)
	test, named := regexp.MustCompile(`^func (Test\w+)\(t \*testing\.T\)`), regexp.MustCompile(`\bTest\w+`)
	type place struct{ dir, test string }
	runs, reasons := map[place]bool{}, map[place]string{}
	eachSource(t, filepath.Join("..", ".."), func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var at place
		first := false // the line is the first of the test
		for line := range strings.Lines(string(text)) {
			if m := test.FindStringSubmatch(line); m != nil {
				at, first = place{filepath.Dir(path), m[1]}, true
				runs[at] = true
				continue
			}
			if m := skip.FindStringSubmatch(line); m != nil {
				reasons[at] += " " + m[1]
				runs[at] = runs[at] && !first
			}
			first = false
		}
		return nil
	})
	if len(reasons) < 20 {
		t.Fatalf("only %d tests call require.NoRace", len(reasons))
	}
	for at, reason := range reasons {
		for _, name := range named.FindAllString(reason, -1) {
			if !runs[place{at.dir, name}] {
				t.Errorf("%s in %s is left out because %s runs the same goroutines, but the detector does not run that test", at.test, at.dir, name)
			}
		}
	}
}
