package style

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// TestLinks checks that every relative link in a tracked Markdown file names a file or a folder of
// the tree, and that its anchor is a heading there. It also checks the pages of docs that comments,
// help texts and messages name.
func TestLinks(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)\s#:]*)(?:#([^)\s]+))?\)`)
	for name, text := range tracked(t, "*.md") {
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			target := filepath.Join(root, name)
			if link[1] != "" {
				target = filepath.Join(filepath.Dir(target), filepath.FromSlash(link[1]))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", name, link[0], err)
				continue
			}
			if link[2] == "" {
				continue
			}
			page, err := os.ReadFile(target)
			if err != nil || !anchors(string(page))[link[2]] {
				t.Errorf("%s links to %s: there is no such heading", name, link[0])
			}
		}
	}
	pages := regexp.MustCompile(`\bdocs/[\w/-]+\.(?:md|svg|txt)\b`)
	for name, text := range tracked(t, "*.go", "*.py", "*.md", "*.cu", "*.cuh", "*.sh", "Makefile", ".ci/run") {
		for _, page := range pages.FindAllString(text, -1) {
			if _, err := os.Stat(filepath.Join(root, page)); err != nil {
				t.Errorf("%s names %s: %v", name, page, err)
			}
		}
	}
}

// TestCommands checks that the tests and benchmarks that a page runs with go test exist.
func TestCommands(t *testing.T) {
	command := regexp.MustCompile(`go test \./(\S+)[^\n` + "`" + `]*? -(run|bench) '?(\w+)`)
	kinds := map[string]string{"run": "Test", "bench": "Benchmark"}
	for name, text := range tracked(t, "*.md") {
		for _, c := range command.FindAllStringSubmatch(text, -1) {
			function := regexp.MustCompile(`func ` + kinds[c[2]] + `\w*` + c[3])
			files := require.Value(filepath.Glob(filepath.Join(root, c[1], "*_test.go")))(t)
			if !slices.ContainsFunc(files, func(file string) bool { return function.Match(require.Value(os.ReadFile(file))(t)) }) {
				t.Errorf("%s runs %q: no such function in %s", name, c[0], c[1])
			}
		}
	}
}

// TestPagesBegin checks that every page of docs begins with a heading and a paragraph of text, and
// that evidence is dated.
func TestPagesBegin(t *testing.T) {
	begins := regexp.MustCompile(`^# [^\n]+\n\n[A-Z*` + "`" + `][^\n]+`)
	for name, text := range tracked(t, "docs/*.md") {
		if !begins.MatchString(text) {
			t.Errorf("%s does not begin with a heading and a sentence that says what the page answers", name)
		}
		if strings.HasPrefix(name, "docs/evidence/") && !regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`).MatchString(text) {
			t.Errorf("%s says nowhere when the measurements were made", name)
		}
	}
}

// tracked returns the text of the files that git tracks, by name.
func tracked(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	list := exec.Command("git", append([]string{"ls-files", "-z", "--"}, patterns...)...)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("git does not list the files: %v", err)
	}
	files := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		files[name] = string(text)
	}
	if len(files) < 10 {
		t.Fatalf("git lists %d files of %v", len(files), patterns)
	}
	return files
}

// anchors returns the anchors of a page's headings, as GitHub forms them.
func anchors(page string) map[string]bool {
	dropped := regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)
	found := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		text := dropped.ReplaceAllString(strings.ToLower(heading[1]), "")
		found[strings.ReplaceAll(text, " ", "-")] = true
	}
	return found
}

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
