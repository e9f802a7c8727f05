// Package style checks the form of the repository's text, in tests only: comments and Markdown
// have a largest width.
package style

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ppal/internal/require"
)

// The largest widths in characters. A tab counts as one.
const (
	commentWidth  = 100
	markdownWidth = 160
)

// root is the repository's folder.
const root = "../.."

// TestWidth checks every comment line of Go files and every line of Markdown.
func TestWidth(t *testing.T) {
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || filepath.Dir(path) == filepath.Clean(root) && slices.Contains([]string{"bin", "build", "shared"}, name)) {
				return filepath.SkipDir
			}
			return nil
		}
		check := map[string]func([]byte) ([]string, error){".go": wideComments, ".md": wideMarkdown}[filepath.Ext(name)]
		if check == nil {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		list, err := check(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		path, err = filepath.Rel(root, path)
		for _, complaint := range list {
			found = append(found, path+":"+complaint)
		}
		return err
	})
	require.NoError(t, err)
	for _, complaint := range found {
		t.Error(complaint)
	}
}

// wideComments finds comments with lines above commentWidth. A comment behind code is measured
// without the code. Directives and lines of a single word, such as an address, cannot be broken.
func wideComments(text []byte) (complaints []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(text, []byte("\n"))
	for _, group := range file.Comments {
		for _, comment := range group.List {
			at := files.PositionFor(comment.Pos(), false)
			for i, line := range strings.Split(comment.Text, "\n") {
				if before := lines[at.Line-1][:at.Column-1]; i == 0 && len(bytes.TrimSpace(before)) == 0 {
					line = string(before) + line
				}
				if strings.HasPrefix(comment.Text, "//go:") || single(strings.TrimLeft(line, "/\t ")) {
					continue
				}
				if n := utf8.RuneCountInString(line); n > commentWidth {
					complaints = append(complaints, fmt.Sprintf("%d: a comment of %d characters, at most %d", at.Line+i, n, commentWidth))
				}
			}
		}
	}
	return complaints, nil
}

// wideMarkdown finds lines above markdownWidth. Lines of a single word, such as an address, cannot
// be broken.
func wideMarkdown(text []byte) (complaints []string, err error) {
	for i, line := range strings.Split(string(text), "\n") {
		if n := utf8.RuneCountInString(line); n > markdownWidth && !single(strings.TrimLeft(line, "->* ")) {
			complaints = append(complaints, fmt.Sprintf("%d: a line of %d characters, at most %d", i+1, n, markdownWidth))
		}
	}
	return complaints, nil
}

// single reports whether a line has no place to break it.
func single(line string) bool { return len(strings.Fields(line)) <= 1 }

// TestWideComments checks what counts as a comment's line.
func TestWideComments(t *testing.T) {
	long := strings.Repeat("word ", 21)
	for source, want := range map[string]int{
		"package p // " + long:                                1,
		"package p\n\n// " + long + "\n// short\n":            1,
		"package p\n\n/*\nshort\n" + long + "\n*/\n":          1,
		"package p\n\nvar a = \"" + long + "\" // short\n":    0,
		"package p\n\n// https://" + strings.Repeat("a", 110): 0,
		"package p\n\n//go:generate " + long + "\n":           0,
		"package p\n\n// " + strings.Repeat("ü ", 47) + "end": 0,
		"package p\n\nfunc f() {\n\t// " + long[:95] + "a\n}": 0,
	} {
		got, err := wideComments([]byte(source))
		if err != nil || len(got) != want {
			t.Errorf("%q: %v, %v, want %d complaints", source, got, err, want)
		}
	}
}

// TestWideMarkdown checks what counts as too wide a line.
func TestWideMarkdown(t *testing.T) {
	text := strings.Repeat("word ", 33) + "\n- https://" + strings.Repeat("a", 200) + "\n| " + strings.Repeat("cell | ", 30) + "\nshort\n"
	got, err := wideMarkdown([]byte(text))
	if err != nil || len(got) != 2 {
		t.Errorf("%v, %v, want two complaints", got, err)
	}
}
