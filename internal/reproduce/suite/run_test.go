package suite

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/internal/study"
	"ppal/trainer/problem"
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

// A run keeps the feasible points that no earlier point dominates, up to its limit.
func TestRunEvaluate(t *testing.T) {
	r := &Run{Limit: 7}
	for i, e := range []struct{ f, violation float64 }{
		{5, 0.1}, {4, 0}, {4.5, 0}, {3.9, 1e-3}, {math.NaN(), 0}, {3.95, 1e-4}, {3.8, 1e-9}, {1, 0},
	} {
		r.evaluate(Evaluation{Evaluations: i + 1, Forwards: i + 1, F: number(e.f), Violation: number(e.violation)})
	}
	if len(r.Points) != 4 || r.Points[0].F != 4 || r.Points[1].F != 3.9 || r.Points[2].F != 3.95 || r.Points[3].F != 3.8 || r.Points[3].Violation != 0 {
		t.Errorf("%+v", r.Points)
	}
	if r.Start != 5 || r.Spent != 7 || r.best() != 3.8 || r.bestAfter(6) != 3.9 || !math.IsNaN(r.bestAfter(1)) {
		t.Errorf("start %v, %d evaluations, best %v, after 6 %v", r.Start, r.Spent, r.best(), r.bestAfter(6))
	}
}

func TestReadTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	lines := `{"evaluations":1,"forwards":1,"backwards":0,"seconds":0.5,"f":null,"violation":2}
{"evaluations":2,"forwards":2,"backwards":2,"seconds":1,"f":3,"violation":0}
{"checkpoint":10,"seconds":2,"best":3,"epsilon":0.25,"multipliers":7}
{"evaluations":3,"forwa`
	require.NoError(t, os.WriteFile(path, []byte(lines), 0o644))
	r := &Run{Limit: 10}
	require.NoError(t, r.readTrace(path))
	if !math.IsNaN(float64(r.Start)) || r.best() != 3 || r.epsilon() != 0.25 || r.Checkpoints[0].Multipliers != 7 || r.Spent != 2 {
		t.Errorf("%+v", r)
	}
}

// Every contender of ppal spends its evaluations and reports the checkpoints up to its limit.
func TestOwn(t *testing.T) {
	list := require.Value(Select("hs043", "hs113"))(t)
	for _, p := range list {
		for _, own := range owns() {
			b := require.Value(Build(t.Context(), p, "", 0, 1))(t)
			r := &Run{Problem: p.Name, Contender: own.Name, Limit: 300}
			require.NoError(t, own.train(t.Context(), b, r))
			// Quasi-Newton steps end where x rounds to itself.
			spent := r.Spent == 300 || own.Name != "nesterov" && r.Spent < 300
			if math.IsNaN(r.best()) || len(r.Checkpoints) != 9 || !spent {
				t.Errorf("%s on %s: best %v, %d checkpoints, %d evaluations", own.Name, p.Name, r.best(), len(r.Checkpoints), r.Spent)
			}
			// The last forward pass on hs113 is of a rejected trial.
			if c, _ := r.certificate(); own.Name != "nesterov" && !(c.Epsilon <= 1e-6) {
				t.Errorf("%s on %s: epsilon %v of the returned point", own.Name, p.Name, c.Epsilon)
			}
		}
	}
}

// The training stops at the limit. The meter counts all passes of the method, and no pass of a
// record.
func TestOwnCounts(t *testing.T) {
	list, _ := Select("hs043")
	b := require.Value(Build(t.Context(), list[0], "", 0, 1))(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	m := newMeter(b, func(e Evaluation) error {
		if e.Evaluations >= 50 {
			stop()
		}
		return nil
	}, nil)
	r := require.Value(owns()[1].optimise(ctx, m, "", 1000))(t)
	if got := r.Point.GradientEvaluations; got != m.last.Backwards || m.last.Evaluations != 50 {
		t.Errorf("the method counts %d gradients, the meter %+v", got, m.last)
	}
}

// A contender is the method of its name.
func TestOwnMethod(t *testing.T) {
	if m, err := (Own{"mine", "gda"}).method(""); err != nil || m.Name() != "gda" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := (Own{"mine", "none"}).method(""); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("an unknown method: %v", err)
	}
}

// A cancelled comparison is not a result.
func TestOwnCancelled(t *testing.T) {
	list, _ := Select("hs043")
	b := require.Value(Build(t.Context(), list[0], "", 0, 1))(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := owns()[0].train(ctx, b, &Run{Limit: 50}); err != context.Canceled {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
