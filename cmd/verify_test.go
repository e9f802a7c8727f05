package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer/session"
	"ppal/trainer/session/verify"
)

// A run of the command line is verified from its directory. Changed data, a changed file and a run
// without its end are found, with a line for each.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	file, run := filepath.Join(dir, "members.csv"), filepath.Join(dir, "run")
	require.NoError(t, os.WriteFile(file, []byte(members(600)), 0o644))
	gap := constraints.Gap(constraints.PositiveRate, "job").AtMost(0.9)
	o := session.Options{Data: session.CSV(file, "member"), Task: session.Decisions{SubjectTo: []constraints.Constraint{gap}}}
	o.Settings.Iterations = 20
	run = trained(t, o, run)
	got := with("", "verify", run)
	if got.status != exitDone || !strings.Contains(got.stdout, "certificate.stationarity") || !strings.Contains(got.stdout, "verified: ") || got.stderr != "" {
		t.Errorf("%+v", got)
	}
	var report verify.Report
	got = with("", "verify", run, "--json")
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || !report.Verified || len(report.Comparisons) < 40 || got.status != exitDone {
		t.Errorf("%v, %+v", err, report)
	}
	refused := func(what, says string, lines int, args ...string) {
		t.Helper()
		got := with("", append([]string{"verify"}, args...)...)
		if got.status != exitFailed || !strings.Contains(got.stderr, says) || strings.Count(got.stderr, "\n") != lines {
			t.Errorf("%s: %+v, want %q in %d lines", what, got, says, lines)
		}
	}
	changed := strings.Replace(members(600), ",no\n", ",yes\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o644))
	got = with("", "verify", run, "--json")
	if got.status != exitFailed || !strings.Contains(got.stderr, "members.csv has changed since the run") || !strings.Contains(got.stdout, `"verified": false`) {
		t.Errorf("changed data: %+v", got)
	}
	require.NoError(t, os.Remove(file))
	refused("missing data", "the data or config.yaml cannot be used", 2, run)
	require.NoError(t, os.WriteFile(file, []byte(members(600)), 0o644))
	config := rundir.Dir(run).Config()
	text := require.Value(os.ReadFile(config))(t)
	require.NoError(t, os.WriteFile(config, []byte(strings.Replace(string(text), "<= 0.9", "<= 0.8", 1)), 0o644))
	refused("changed settings", "config.yaml has been changed", verifyProblems+2, run)
	require.NoError(t, os.Remove(rundir.Dir(run).Summary()))
	refused("unfinished", "the run is not finished", 1, run)
	if got := with("", "verify", dir); got.status != exitUsage || !strings.Contains(got.stderr, "not a complete run directory") {
		t.Errorf("no run: %+v", got)
	}
	if got := with("", "verify", filepath.Join(dir, "missing")); got.status != exitUsage || !strings.Contains(got.stderr, "no such file or directory") {
		t.Errorf("no folder: %+v", got)
	}
}
