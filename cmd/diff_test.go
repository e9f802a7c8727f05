package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/models/predictor"
	"ppal/trainer/session"
)

// Diff compares two files or two runs, gives the status 3 for a bound that the new decisions break,
// and refuses what does not fit in one line.
func TestDiff(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	old := file("old.csv", "id,late,said\na,yes,yes\nb,no,no\nc,no,yes\nd,yes,yes\n")
	now := file("new.csv", "id,late,said\nb,no,no\na,yes,no\nd,yes,yes\nc,no,no\n")
	list := filepath.Join(dir, "changed.csv")
	base := []string{"diff", old, now, "--label", "late=yes", "--decision", "said"}
	run := func(more ...string) outcome { return with("", append(base, more...)...) }
	got := run("--key", "id", "--json", "--changed", list, "--subject-to", "churn(old) <= 60%")
	var d predictor.Difference
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil || got.status != exitDone {
		t.Fatal(err, got)
	}
	if d.Rows != 4 || d.Changed[0].Count != 2 || d.Changed[0].Corrected != 1 || d.Changed[0].Spoiled != 1 || *d.Constraints[0].Value != 0.5 {
		t.Errorf("%s", got.stdout)
	}
	if text, err := os.ReadFile(list); err != nil || string(text) != "row,label,before,after,key\n2,late=yes,late=yes,late=no,a\n4,late=no,late=yes,late=no,c\n" {
		t.Errorf("%s %v", text, err)
	}
	broken := run("--key", "id", "--subject-to", "tpr >= 0.95")
	if broken.status != exitUnmet || !strings.Contains(broken.stdout, "now wrong") || !strings.Contains(broken.stderr, "tpr >= 0.95") {
		t.Errorf("%+v", broken)
	}
	if allowed := run("--key", "id", "--subject-to", "tpr >= 0.95", "--allow-violation"); allowed.status != exitDone {
		t.Errorf("%+v", allowed)
	}
	table := file("members.csv", members(600))
	var runs []string
	for _, bound := range []float64{1, 0.2} {
		o := session.Options{Data: session.CSV(table, "member"), Task: session.Decisions{SubjectTo: []constraints.Constraint{constraints.PositiveRate().AtMost(bound)}}}
		o.Settings.Iterations = 5
		runs = append(runs, trained(t, o, filepath.Join(dir, "run"+string(rune('a'+len(runs))))))
	}
	tests := with("", "diff", runs[0], runs[1], "--by", "job", "--json")
	var ofRuns, ofInput predictor.Difference
	if err := json.Unmarshal([]byte(tests.stdout), &ofRuns); err != nil || ofRuns.Rows != 90 {
		t.Errorf("%v %d rows %s", err, ofRuns.Rows, tests.stderr)
	}
	all := with("", "diff", runs[0], runs[1], "--input", table, "--json")
	if err := json.Unmarshal([]byte(all.stdout), &ofInput); err != nil || ofInput.Rows != 600 || ofInput.Changed[0].Count < ofRuns.Changed[0].Count {
		t.Errorf("%v %d rows %s", err, ofInput.Rows, all.stderr)
	}
	for want, args := range map[string][]string{
		"--key":                     base,
		"no such file":              {"diff", old, filepath.Join(dir, "none")},
		"two runs, or two files":    {"diff", runs[0], now},
		"applies to files":          {"diff", runs[0], runs[1], "--score", "p"},
		"--weights applies to runs": append(base, "--weights", "best"),
		"give two runs":             {"diff", old},
		"so give a file":            {"diff", runs[0], runs[1], "--input", "-"},
	} {
		if got := with("", args...); got.status != exitUsage || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%q: %d %s", args, got.status, got.stderr)
		}
	}
}
