package suite

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/internal/study"
)

// library writes a program that answers like the package peers.suite. It has a contender with two
// settings, a contender whose library is missing, a contender that fails, and a contender that ends
// the process, and a contender that hangs. A run appends a line to the file runs.
func library(t *testing.T) (p *study.Python, runs string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	runs = filepath.Join(dir, "runs")
	script := `#!/bin/sh
if [ "$3" = --list ]; then echo '{"absent": [{}], "broken": [{}], "ending": [{}], "hanging": [{}], "rival": [{"c": 1}, {"c": 10}]}'; exit; fi
while read -r line; do
	trace=$(echo "$line" | sed 's/.*--trace \([^"]*\)".*/\1/')
	echo '{"evaluations":1,"forwards":1,"backwards":1,"seconds":0,"f":0,"violation":0}' > "$trace"
	case "$line" in
	*'"absent"'*) echo '{"missing": "absent"}'; continue;;
	*'"broken"'*) echo '{"error": "no luck"}'; continue;;
	*'"ending"'*) exit 1;;
	*'"hanging"'*) exec sleep 60;;
	esac
	echo '{"evaluations":2,"forwards":2,"backwards":1,"seconds":0.1,"f":-44,"violation":0}' >> "$trace"
	echo '{"checkpoint":10,"seconds":1,"best":-44,"epsilon":1e-4,"multipliers":3}' >> "$trace"
	echo "$line" >> ` + runs + `
	echo '{}'
done
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "python"), []byte(script), 0o755))
	return &study.Python{Interpreter: filepath.Join(dir, "python"), Log: filepath.Join(dir, "log")}, runs
}

// The comparison runs ppal and the other contenders once. A second call runs nothing again.
func TestCompare(t *testing.T) {
	python, file := library(t)
	list := require.Value(Select("hs043"))(t)
	names := []string{Default, "nesterov", "absent", "broken", "ending", "rival"}
	o := Options{Problems: list, Contenders: names, Evaluations: 200, Workers: 2, DataDir: "/data", Out: t.TempDir(), Python: python, Program: "/a b/ppal"}
	for range 2 {
		outcome := require.Value(Compare(t.Context(), o))(t)
		if len(outcome.Runs) != 6 || len(outcome.Missing) != 1 || outcome.Missing[0] != "absent" {
			t.Errorf("%d runs, missing %v", len(outcome.Runs), outcome.Missing)
		}
		text := outcome.Markdown()
		for _, want := range []string{
			"absent was not measured", "## Where ppal ends worse than nesterov", "| rival | best single | 0.1 | 0, 0, 1 (0%) | - |", "| rival | 1 of 1 (100%) | - |",
			"| the best of the others | best per problem | 1e-05 | 0, 0, 1 (0%) |", " | -, - | 2, 0.0001 |",
			"- rival (2 settings): `{\"c\": 1}`", "- broken on hs043 {}: no luck", "- ending on hs043 {}: the process ended (see ",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		require.NoError(t, outcome.Write(o.Out))
	}
	ran := require.Value(os.ReadFile(file))(t)
	want := `["--oracle","'/a b/ppal' reproduce suite --oracle hs043 --threads 1 --data-dir /data --trace`
	if strings.Count(string(ran), "rival") != 2 || !strings.HasPrefix(string(ran), want) ||
		!strings.Contains(string(ran), `"--contender","rival","--setting","{\"c\": 10}","--evaluations","200"]`) {
		t.Errorf("the runs were\n%s", ran)
	}
	for _, name := range []string{"summary.md", "plots/profile-single-tuning-evaluations-0.001.svg", "plots/profile-each-all-seconds-1e-05.svg"} {
		if _, err := os.Stat(filepath.Join(o.Out, name)); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(o.Out, "trace*")); left != nil {
		t.Errorf("%v were left", left)
	}
	o.Contenders = []string{"other"}
	if _, err := Compare(t.Context(), o); !errors.Is(err, ErrContender) {
		t.Errorf("an unknown contender: %v", err)
	}
}

// A run that takes too long keeps its evaluations. The next run starts a new process.
func TestRunLimit(t *testing.T) {
	python, _ := library(t)
	list := require.Value(Select("hs043"))(t)
	o := Options{Problems: list, Contenders: []string{"hanging", "rival"}, RunLimit: time.Second, Out: t.TempDir(), Python: python, Program: "/a b/ppal"}
	outcome := require.Value(Compare(t.Context(), o))(t)
	if r := outcome.Runs[0]; r.Failure != "stopped after 1s" || r.Spent > 1 {
		t.Errorf("%+v", r)
	}
}
