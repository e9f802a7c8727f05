package report_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
)

// trainedPage is a page that the program wrote.
type trainedPage struct {
	name, path string
	sections   []string
}

// hostile is a text that a page must show as a text.
const hostile = `<script>document.title="hostile"</script>"'&` + "\x1b[31m"

// trainedPages runs the program, which make check-report has built, and returns the pages.
func trainedPages(t *testing.T) []trainedPage {
	t.Helper()
	program := require.Value(filepath.Abs("../../bin/ppal"))(t)
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 3 { // a bound is not met
			return
		}
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "age,job,income,member\n")
	for i := range 600 {
		job := []string{"clerk", `"` + strings.ReplaceAll(hostile, `"`, `""`) + `"`, "pilot"}[i%7%3]
		fmt.Fprintf(&table, "%d,%s,%d,%s\n", 20+i%50, job, i*i%977, []string{"no", "yes"}[(i%50/20+i%3)%2])
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "people.csv"), []byte(table.String()), 0o644))
	run("train", "--dataset", "synthetic-adult", "--minimize", "error", "--subject-to", "gap(positive_rate, sex) <= 0.05", "--subject-to", "error <= 0.3", "--out", "table")
	run("train", "--iterations", "60", "--rows-per-class", "60", "--out", "pictures")
	run("train", "--dataset", "csv", "--file", "people.csv", "--label", "member", "--subject-to", "gap(positive_rate, job) <= 0.0001", "--iterations", "30",
		"--group", "job", "--out", "hostile")
	run("train", "--problem", "if", "--dataset", "synthetic-communities", "--iterations", "20", "--out", "many")
	run("train", "--dataset", "synthetic-adult", "--subject-to", "gap(positive_rate, sex) <= 0.05", "--iterations", "40", "--out", "open")
	for _, name := range []string{"summary.json", "report.html"} {
		require.NoError(t, os.Remove(filepath.Join(dir, "open", name)))
	}
	run("report", "open")
	run("compare", "--methods", "ppala,gdpa,penalty", "--seeds", "3", "--iterations", "60", "--problem", "dp", "--dataset", "synthetic-compas", "--out", "compare")
	run("sweep", "--dataset", "synthetic-compas", "--over", "gap(positive_rate, race)", "--values", "0.2:0.02:5", "--iterations", "60", "--out", "sweep")
	table.Reset()
	fmt.Fprintf(&table, "query,grade,site,x\n")
	for i := range 600 {
		fmt.Fprintf(&table, "q%d,%d,%s,%d\n", i/12, []int{0, 0, 1, 2}[i*i%29%4], []string{"a", "b"}[i%7%2], i*i%29%4+i%5)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "documents.csv"), []byte(table.String()), 0o644))
	run("train", "--file", "documents.csv", "--query", "query", "--label", "grade", "--subject-to", "gap(cross_pair_error, site) <= 0.05", "--out", "ranking")
	page := func(name string, sections ...string) trainedPage {
		return trainedPage{name, filepath.Join(dir, name, "report.html"), sections}
	}
	all := []string{"outcome", "rates", "decisions", "examples", "specialist", "training", "settings", "data", "reproduce"}
	return []trainedPage{
		page("table", all...), page("pictures", all...), page("hostile", append(all, "warnings")...), page("many", "outcome", "training", "settings", "reproduce"),
		page("open", "training", "settings", "data", "reproduce"),
		page("ranking", "outcome", "specialist", "training", "settings", "data", "reproduce"), page("compare", "outcome", "training", "methods", "reproduce"), page("sweep", "tradeoff", "points", "reproduce"),
	}
}
