package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ppal/internal/racing"
	"ppal/trainer/session"
)

// README.md and the guide for the start show what their commands print: whole tables, and lines
// that follow them.
func TestReadmeOutput(t *testing.T) {
	racing.Skip(t, "TestTableInfeasible and TestNamesOfFiles run the same goroutines")
	read := func(name ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{".."}, name...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	command := func(of, text string) []string {
		t.Helper()
		line := regexp.MustCompile(of).FindString(text)
		var args []string
		for _, arg := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1)[1:] {
			args = append(args, strings.Trim(arg, `"`))
		}
		return args
	}
	readme, start := read("README.md"), read("docs", "guides", "start.md")
	for _, c := range []struct {
		name, page string
		block      int
		args       []string
		data       string
	}{
		{"README.md", readme, 0, command(`\./bin/ppal train .*`, read("Makefile")), ""},
		{"README.md", readme, 1, command(`bin/ppal train --dataset adult .*`, readme), "adult"},
		{"start.md", start, 0, command(`bin/ppal train --dataset synthetic-adult .*sex\) <= 0.05"`, start), ""},
		{"start.md", start, 1, command(`bin/ppal train .* --confidence 0.95`, start), ""},
	} {
		blocks := regexp.MustCompile(`(?m)^    constraint .*\n((    .*)?\n)*`).FindAllString(c.page, -1)
		if len(blocks) != 2 {
			t.Fatalf("%s has %d outputs, want 2", c.name, len(blocks))
		}
		data := os.Getenv("PPAL_DATA")
		if c.data != "" {
			if _, err := os.Stat(filepath.Join(data, c.data)); data == "" || err != nil {
				t.Logf("PPAL_DATA has no %s", c.data)
				continue
			}
			c.args = append(c.args, "--data-dir", data)
		}
		o := commandOn(t.Context(), func(a *app) { a.open = session.New }, append(c.args, "--quiet", "--out", filepath.Join(t.TempDir(), "run"))...)
		if o.status != exitDone {
			t.Fatalf("%q: status %d, %s", c.args, o.status, o.stderr)
		}
		rest := "\n" + o.stdout
		for paragraph := range strings.SplitSeq(strings.TrimRight(blocks[c.block], "\n"), "\n\n") {
			want := strings.ReplaceAll("\n"+paragraph, "\n    ", "\n") + "\n"
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("%q: %s shows\n%s\nand the program prints\n%s", c.args, c.name, want, o.stdout)
			} else if first, _, _ := strings.Cut(after, "\n"); strings.HasPrefix(want, "\nconstraint ") && first != "" {
				t.Errorf("%s leaves out a line of the table of %q: %s", c.name, c.args, first)
			}
			rest = "\n" + after
		}
	}
}
