package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/trainer/session"
)

// The exit status is 2 if the command or its input is wrong, for every kind of wrong input. It is 1
// if the run fails. The help of every command that trains states this rule.
func TestExitStatuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rows := "x,g,y\n" + strings.Repeat("1,a,0\n2,b,1\n3,a,1\n4,b,0\n", 20)
	for name, c := range map[string]struct {
		content, flags string
		status         int
	}{
		"missing value":  {rows + ",a,1\n", "--label y", exitUsage},
		"bad column":     {rows, "--label z", exitUsage},
		"ragged line":    {rows + "1,2\n", "--label y", exitUsage},
		"empty file":     {"", "--label y", exitUsage},
		"one class":      {"x,g,y\n1,a,1\n2,b,1\n", "--label y", exitUsage},
		"bad constraint": {rows, "--label y --subject-to gap(tprr,g)<=0.1", exitUsage},
		"bad attribute":  {rows, "--label y --subject-to gap(tpr,h)<=0.1", exitUsage},
		"given twice":    {rows, "--label y --subject-to fpr<=0.1;fpr<=0.1", exitUsage},
		"no such rows":   {rows + "5,c,1\n6,c,1\n", "--label y --subject-to fpr[g=c]<=0.1", exitUsage},
		"bad flag":       {rows, "--label y --iterations many", exitUsage},
		"no data file":   {rows, "--label y --file " + filepath.Join(dir, "none.csv"), exitUsage},
		"no test file":   {rows, "--label y --test-file " + filepath.Join(dir, "none.csv"), exitUsage},
		"no config":      {rows, "--label y --config " + filepath.Join(dir, "none.yaml"), exitUsage},
		"no weights":     {rows, "--label y --init " + filepath.Join(dir, "none.safetensors"), exitUsage},
		"no decisions":   {rows, "--label y --subject-to churn(none.csv)<=0.1", exitUsage},
		"cannot write":   {rows, "--label y --subject-to gap(tpr,g)<=0.9 --iterations 1 --out /dev/null/run", exitFailed},
	} {
		args := append([]string{"train", "--quiet", "--dataset", "csv", "--file", file("rows.csv", c.content)}, strings.Fields(c.flags)...)
		if !strings.Contains(c.flags, "subject-to") {
			args = append(args, "--subject-to", "gap(tpr, g) <= 0.9")
		}
		if !strings.Contains(c.flags, "--out") {
			args = append(args, "--out", filepath.Join(dir, "run"))
		}
		got := commandOn(t.Context(), func(a *app) { a.open = session.New }, args...)
		if got.status != c.status || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: status %d, want %d: %s", name, got.status, c.status, got.stderr)
		}
	}
	for _, args := range [][]string{{"train", "--dataset", "fashion-mnist"}, {"data", "check", "csv", "--file", "none.csv", "--label", "y"},
		{"evaluate", "none", "--input", "none.csv"}, {"sweep", "--over", "fpr", "--values", "0.1", "--config", "none.yaml"}} {
		if args[0] != "evaluate" && args[0] != "sweep" {
			args = append(args, "--data-dir", dir)
		}
		got := commandOn(t.Context(), func(a *app) { a.open = session.New }, args...)
		if got.status != exitUsage || strings.Count(got.stderr, "ppal: ") != 1 {
			t.Errorf("%v: status %d: %s", args, got.status, got.stderr)
		}
	}
	if got := command(t.Context(), nil, "data", "check", "--help"); strings.Contains(got.stdout, "--problem") || strings.Contains(got.stdout, "--dataset") {
		t.Errorf("data check --help names flags that it does not have:\n%s", got.stdout)
	}
	for _, args := range [][]string{{"--help"}, {"train", "--help"}} {
		if got := command(t.Context(), nil, args...); !strings.Contains(got.stdout, exitText) {
			t.Errorf("%v does not state the exit statuses", args)
		}
	}
}
