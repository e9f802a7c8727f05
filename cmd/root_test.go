package cmd

import (
	"slices"
	"testing"
)

// A command's name as the first argument gives a command line with this command only. Other
// arguments give all commands.
func TestRootCommand(t *testing.T) {
	a := &app{getenv: func(string) string { return "" }}
	names := func(args ...string) (list []string) {
		for _, c := range a.rootCommand(args).Commands() {
			list = append(list, c.Name())
		}
		return list
	}
	own := []string{"completion", "help"}
	for name := range a.commands() {
		want := slices.Sorted(slices.Values(append([]string{name}, own...)))
		if got := names(name, "--help"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, args := range [][]string{nil, {"help"}, {"help", "train"}, {"--version"}, {"trian"}, {"__complete", "train", "--"}} {
		if got, want := len(names(args...)), len(a.commands())+len(own); got != want {
			t.Errorf("%q: %d commands, want %d", args, got, want)
		}
	}
}
