package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ppal/internal/racing"
	"ppal/trainer/session"
)

// README.md shows what its commands print: whole tables, and the lines behind them.
func TestReadmeOutput(t *testing.T) {
	racing.Skip(t, "TestTableInfeasible and TestNamesOfFiles run the same goroutines")
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
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
	readme := read("README.md")
	blocks := regexp.MustCompile(`(?m)^    constraint .*\n((    .*)?\n)*`).FindAllString(readme, -1)
	if len(blocks) != 2 {
		t.Fatalf("README.md has %d outputs, want 2", len(blocks))
	}
	adult := command(`bin/ppal train --dataset adult .*`, readme)
	for i, args := range [][]string{command(`\./bin/ppal train .*`, read("Makefile")), adult} {
		data := os.Getenv("PPAL_DATA")
		if i == 1 {
			if _, err := os.Stat(filepath.Join(data, "adult")); data == "" || err != nil {
				t.Skip("PPAL_DATA has no Adult")
			}
			args = append(args, "--data-dir", data)
		}
		o := commandOn(t.Context(), func(a *app) { a.open = session.New }, append(args, "--quiet", "--out", filepath.Join(t.TempDir(), "run"))...)
		if o.status != exitDone {
			t.Fatalf("%q: status %d, %s", args, o.status, o.stderr)
		}
		var want strings.Builder
		for line := range strings.Lines(strings.TrimRight(blocks[i], "\n")) {
			want.WriteString(strings.TrimPrefix(line, "    "))
		}
		if _, from, found := strings.Cut("\n"+o.stdout, "\n"+want.String()+"\n"); !found {
			t.Errorf("%q: README.md shows\n%s\nand the program prints\n%s", args, want.String(), o.stdout)
		} else if first, _, _ := strings.Cut(from, "\n"); !strings.Contains(want.String(), "\n\n") && first != "" {
			t.Errorf("README.md leaves out a line of the table of %q: %s", args, first)
		}
	}
}
