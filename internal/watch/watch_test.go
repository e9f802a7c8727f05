package watch_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ppal/constraints"
	"ppal/internal/dirlock"
	"ppal/internal/rundir"
	"ppal/internal/watch"
)

const config = `method: ppala
dataset: adult
iterations: 200
time-limit: none
bounds-on: decisions
feasibility-tolerance: 0.001
provenance:
    bounds: [0.05, 0.05, -0.7, 0.2]
    constraints:
        - 'gap(tpr, sex) <= 0.05: tpr[sex=Female] - tpr[sex=Male]'
        - 'gap(tpr, sex) <= 0.05: tpr[sex=Male] - tpr[sex=Female]'
        - recall >= 0.7
        - trouser <= 0.2
`

// put writes a file.
func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// take locks a directory.
func take(t *testing.T, dir string) *dirlock.Lock {
	t.Helper()
	l, err := dirlock.Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Release() })
	return l
}

// open opens a watcher.
func open(t *testing.T, dir string) watch.Watcher {
	t.Helper()
	w, err := watch.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// look looks once.
func look(t *testing.T, w watch.Watcher) *watch.View {
	t.Helper()
	v, err := w.Look()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// record is a line of metrics.jsonl.
func record(iteration int) string {
	return fmt.Sprintf(`{"iteration":%d,"seconds":%g,"objective":%g,"constraints":[-0.2,0.1,0.005,0.0001],"max_violation":0.1,"stationarity":0.25,`+
		`"feasibility":0.1,"complementarity":0.01,"train_error":0.25,"test_error":0.3,"train_gap(tpr, sex)":0.08,"train_recall":0.75}`+"\n",
		iteration, float64(iteration)/10, 1/float64(iteration+1))
}

func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a run")
	d := rundir.Dir(dir)
	put(t, d.Config(), config)
	put(t, d.Metrics(), "")
	lock := take(t, dir)
	w := open(t, dir)
	if v := look(t, w); v.Ended || v.Line != "" || !slices.Contains(v.Screen(80, 24), "no record yet") {
		t.Errorf("%+v, %q", v, v.Screen(80, 24))
	}
	put(t, d.Metrics(), record(0)+record(20)+record(50)+record(80)+record(100)+record(150)[:30])
	v := look(t, w)
	const line = "iteration 100 of 200 (50%), 10.0 s of training, at most about 10.0 s left: objective 0.009901, worst violation 0.1, epsilon 0.25, " +
		"1 of 3 constraints exceed their bounds, the worst is gap(tpr, sex) <= 0.05 (now 0.08)"
	if v.Ended || v.Line != line {
		t.Errorf("%+v,\nwant %s", v, line)
	}
	want := []string{
		"ppala on adult: " + dir,
		strings.Repeat("█", 15) + strings.Repeat("░", 15) + " 50%, 100 of 200 iterations",
		"10.0 s of training, at most about 10.0 s left",
		"",
		"objective        0.009901   █▃▂▁▁",
		"worst violation  0.1        ▁▁▁▁▁",
		"KKT epsilon      0.25       ▁▁▁▁▁",
		"error            train 0.2500, test 0.3000",
		"",
		"constraint             now, counted on the training rows",
		"gap(tpr, sex) <= 0.05  0.08       exceeded by 0.03",
		"recall >= 0.7          0.75       within the bound",
		"trouser <= 0.2         0.2001     within the bound",
	}
	if got := v.Screen(400, 40); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, line := range v.Screen(20, 40) {
		if utf8.RuneCountInString(line) > 20 {
			t.Errorf("%q is too wide", line)
		}
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if v := look(t, w); v.Ended {
		t.Error("ended at the first look at the free lock")
	}
	v = look(t, w)
	if !v.Ended || v.Failure != "the process of the run is gone, without a result after 100 of 200 iterations" || v.Resume != dir {
		t.Errorf("%+v", v)
	}
	// The run resumes: the process holds the lock again.
	lock = take(t, dir)
	if v := look(t, w); v.Ended {
		t.Errorf("%+v", v)
	}
	interrupted := rundir.Summary{Status: "interrupted"}
	if err := interrupted.Write(d.Summary()); err != nil {
		t.Fatal(err)
	}
	if v := look(t, w); v.Ended {
		t.Error("a run that resumes has ended, because of its former summary")
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if v := look(t, w); !v.Ended || v.Failure != "the run was interrupted after 100 of 200 iterations" || v.Resume != dir {
		t.Errorf("%+v", v)
	}
	failed := rundir.Summary{Status: "failed", Error: "NaN"}
	if err := failed.Write(d.Summary()); err != nil {
		t.Fatal(err)
	}
	if v := look(t, w); !v.Ended || v.Failure != "the run failed after 100 of 200 iterations: NaN" {
		t.Errorf("%+v", v)
	}
	take(t, dir) // the result counts although the process has not ended
	x := 0.04
	finished := rundir.Summary{Status: "iteration limit", Iterations: 200, SecondsTotal: 130, Verdict: "It has not converged.", Outcome: &rundir.Outcome{
		Constraints: []rundir.ConstraintOutcome{
			{Constraint: "gap(tpr, sex) <= 0.05", Bound: 0.05, Met: true, SplitValues: rundir.SplitValues{Train: &x}},
			{Constraint: "fpr <= 0.03", Bound: 0.03, State: constraints.Met, SplitValues: rundir.SplitValues{Train: &x, Test: &x}}, {Constraint: "recall >= 0.7"}},
		Objective: rundir.ObjectiveOutcome{Name: "error"},
	}}
	if err := finished.Write(d.Summary()); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(look(t, w).Outcome, "\n")
	for _, want := range []string{"It has not converged.", "finished after 200 iterations (iteration limit), 2m10s in all", "gap(tpr, sex) <= 0.05: met; train 0.0400",
		"fpr <= 0.03: met on the training rows only; train 0.0400, test 0.0400", "recall >= 0.7: not met", d.Summary()} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if v := look(t, w); !v.Ended || !strings.Contains(v.Failure, "is gone") {
		t.Errorf("%+v", v)
	}
}

// A run of a library has constraints without words, and may have no names and limits.
func TestRunOfALibrary(t *testing.T) {
	dir := t.TempDir()
	put(t, rundir.Dir(dir).Config(), "only-in-program: [the rows]\niterations: 200\ntime-limit: 20s\nprovenance: {bounds: [0.1, 0.1, 0.1, 0.1]}\n")
	put(t, rundir.Dir(dir).Metrics(), record(0)+record(100))
	take(t, dir)
	v := look(t, open(t, dir))
	if !strings.HasPrefix(v.Line, "iteration 100 of 200 (50%), 10.0 s of training, at most about 10.0 s left") ||
		!strings.HasSuffix(v.Line, "3 of 4 constraints exceed their bounds, the worst is constraint 2 (now 0.2)") {
		t.Errorf("%q", v.Line)
	}
	// A low screen shows the constraints that exceed their bounds most.
	low := v.Screen(400, 10)
	want := []string{"constraint    now, smooth", "constraint 2  0.2        exceeded by 0.1", "constraint 3  0.105      exceeded by 0.005",
		"and 2 more, 1 of 2 constraints exceed their bounds, the worst is constraint 4 (now 0.1001)"}
	if got := low[len(low)-len(want):]; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestComparison(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "study.yaml"), "title: dp on adult\nseeds: [1, 2]\ncontenders:\n    - name: ppala\n    - name: gdpa\n")
	lock := take(t, dir)
	w := open(t, dir)
	if v := look(t, w); v.Ended || v.Line != "0 of 4 runs finished" {
		t.Errorf("%+v", v)
	}
	put(t, filepath.Join(dir, "runs", "ppala-1.done"), "{}")
	put(t, filepath.Join(dir, "runs", "ppala-1.jsonl"), record(0))
	put(t, filepath.Join(dir, "runs", "gdpa-1.jsonl.part"), record(0)+record(9))
	v := look(t, w)
	if v.Ended || v.Line != "1 of 4 runs finished; gdpa-1 iteration 9, objective 0.1, worst violation 0.1" {
		t.Errorf("%+v", v)
	}
	want := []string{"comparison: dp on adult: " + dir, "1 of 4 runs finished", "ppala-1  finished", "gdpa-1   running   iteration 9, objective 0.1, worst violation 0.1"}
	if got := v.Screen(400, 40); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	look(t, w)
	if v := look(t, w); !v.Ended || v.Failure != "the process is gone, with 1 of 4 runs finished: repeat its command with --out "+dir+" to continue" {
		t.Errorf("%+v", v)
	}
	put(t, filepath.Join(dir, "summary.md"), "")
	if v := look(t, w); !v.Ended || v.Failure != "" || !strings.Contains(strings.Join(v.Outcome, "\n"), "the results are in "+dir) {
		t.Errorf("%+v", v)
	}
}

func TestSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a [sweep]*")
	put(t, filepath.Join(dir, "sweep.yaml"), "over: \"gap(tpr, sex)\"\nvalues: [0.2 0.1]\n---\nmethod: ppala\n")
	lock := take(t, dir)
	w := open(t, dir)
	put(t, filepath.Join(dir, "01-bound-0.2", "config.yaml"), config)
	put(t, filepath.Join(dir, "01-bound-0.2", "metrics.jsonl"), record(0)+record(100))
	v := look(t, w)
	if v.Ended || !strings.HasPrefix(v.Line, "0 of 2 runs finished; 01-bound-0.2 iteration 100 of 200") {
		t.Errorf("%+v", v)
	}
	point := `{"bound":0.2,"decisions":[{"constraint":"gap(tpr, sex) <= 0.2","bound":0.2,"met":%v}],"objective_on_decisions":{"name":"error","train":0.25},"run":"01-bound-0.2"}` + "\n"
	put(t, filepath.Join(dir, "sweep.jsonl"), fmt.Sprintf(point, true))
	v = look(t, w)
	if v.Ended || v.Line != "1 of 2 runs finished" || !slices.Contains(v.Screen(400, 40), "01-bound-0.2  finished  all bounds met; error: train 0.2500") {
		t.Errorf("%+v, %q", v, v.Screen(400, 40))
	}
	put(t, filepath.Join(dir, "sweep.jsonl"), fmt.Sprintf(point, true)+fmt.Sprintf(strings.ReplaceAll(point, "01", "02"), false))
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	look(t, w)
	v = look(t, w)
	if text := strings.Join(v.Outcome, "\n"); !v.Ended || v.Failure != "" || !strings.Contains(text, "2 of 2 runs finished") || !strings.Contains(text, "1 bounds not met") {
		t.Errorf("%+v", v)
	}
}

// Directories and files that cannot be watched give one clear line.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	put(t, file, "")
	for _, path := range []string{dir, file} {
		if _, err := watch.Open(path); !errors.Is(err, watch.ErrDirectory) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := watch.Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for _, name := range []string{"config.yaml", "study.yaml", "sweep.yaml"} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, name), "iterations: [\n  {")
		if _, err := watch.Open(dir); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad := t.TempDir()
	put(t, rundir.Dir(bad).Config(), config)
	put(t, rundir.Dir(bad).Metrics(), "{}}\n")
	if _, err := open(t, bad).Look(); err == nil || !strings.Contains(err.Error(), "metrics.jsonl") {
		t.Error(err)
	}
}
