package cmd

import (
	"path/filepath"
	"regexp"
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

// A missing file is named in plain words by every command that reads one.
func TestMissingFile(t *testing.T) {
	none := filepath.Join(t.TempDir(), "c9:")
	for _, args := range [][]string{
		{"diff", none, none}, {"verify", none}, {"watch", none}, {"predict", none}, {"report", none}, {"evaluate", none},
		{"evaluate", "--predictions", none, "--label", "y", "--decision", "d"}, {"train", "--config", none}, {"train", "--resume", none},
		{"predict", none, "--input", none},
	} {
		got := command(t.Context(), nil, args...)
		if calls := regexp.MustCompile(`\b(stat|lstat|open) `); got.status != exitUsage || calls.MatchString(got.stderr) || !strings.Contains(got.stderr, none) {
			t.Errorf("%q: %d %s", args, got.status, got.stderr)
		}
	}
}
