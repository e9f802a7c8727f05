package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/models/predictor"
)

// Evaluate counts the decisions in a file, writes a page, and names the flag that is wrong.
func TestEvaluatePredictions(t *testing.T) {
	dir := t.TempDir()
	file, page := filepath.Join(dir, "scored.csv"), filepath.Join(dir, "page.html")
	require.NoError(t, os.WriteFile(file, []byte("job,late,p,said\nnurse,yes,0.9,yes\nnurse,no,0.2,no\nclerk,yes,0.1,no\nclerk,no,0.8,yes\n"), 0o644))
	base := []string{"evaluate", "--predictions", file, "--label", "late=yes"}
	run := func(more ...string) outcome { return with("", append(base, more...)...) }
	got := run("--score", "p", "--threshold", "0.5", "--by", "job", "--subject-to", "gap(tpr, job) <= 0.5", "--json", "--page", page)
	var e predictor.Evaluation
	if err := json.Unmarshal([]byte(got.stdout), &e); err != nil || got.status != exitDone {
		t.Fatal(err, got)
	}
	if e.Rows != 4 || e.Rates.Overall["error"].Value != 0.5 || len(e.Comparisons) != 5 || *e.Constraints[0].Value != 1 || *e.Constraints[0].Met {
		t.Errorf("%s", got.stdout)
	}
	html := require.Value(os.ReadFile(page))(t)
	for _, want := range []string{"scored.csv", "The bound cannot be judged", "gap(tpr, job) &lt;= 0.5", "job=nurse", "missed", "Between groups", "difference"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if text := run("--decision", "said", "--by", "job").stdout; !strings.Contains(text, "between groups of") || !strings.Contains(text, "job=clerk") {
		t.Errorf("%s", text)
	}
	for want, flags := range map[string][]string{
		"--threshold: missing":          {"--score", "p"},
		"--threshold: needs one column": {"--decision", "said", "--threshold", "1"},
		"--input applies to a RUN":      {"--decision", "said", "--input", file},
		"--label: missing":              {"--decision", "said", "--label", ""},
		`--subject-to "tpr"`:            {"--decision", "said", "--subject-to", "tpr"},
		"line 1: invalid column":        {"--decision", "none"},
		"unexpected argument":           {"--decision", "said", "RUN"},
	} {
		if got := run(flags...); got.status != exitUsage || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%q: %d %s", flags, got.status, got.stderr)
		}
	}
	if got := with("", "evaluate", dir, "--score", "p"); got.status != exitUsage || !strings.Contains(got.stderr, "--score applies to --predictions") {
		t.Errorf("%+v", got)
	}
}
