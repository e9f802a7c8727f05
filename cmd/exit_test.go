package cmd

import (
	"strings"
	"testing"
)

// The help of every command that trains states the exit statuses. testdata/commands.txt has the
// status of every kind of wrong input.
func TestHelpStatesExitStatuses(t *testing.T) {
	if got := command(t.Context(), nil, "data", "check", "--help"); strings.Contains(got.stdout, "--problem") || strings.Contains(got.stdout, "--dataset") {
		t.Errorf("data check --help names flags that it does not have:\n%s", got.stdout)
	}
	for _, args := range [][]string{{"--help"}, {"train", "--help"}} {
		if got := command(t.Context(), nil, args...); !strings.Contains(got.stdout, exitText) {
			t.Errorf("%v does not state the exit statuses", args)
		}
	}
}
