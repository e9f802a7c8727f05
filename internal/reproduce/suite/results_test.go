package suite

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &Run{Limit: 10}
	if err := r.readTrace(path); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(float64(r.Start)) || r.best() != 3 || r.epsilon() != 0.25 || r.Checkpoints[0].Multipliers != 7 || r.Spent != 2 {
		t.Errorf("%+v", r)
	}
}

// The journal returns the runs of an earlier call, and drops half a line.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	one := run("p", "a", `{"x": 1}`, 1, 2)
	one.Start = number(math.NaN())
	if err := j.add(one); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(j.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"problem":"q"`); err != nil {
		t.Fatal(err)
	}
	file.Close()
	again, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r := again.find(run("p", "a", `{"x": 1}`)); r == nil || len(r.Points) != 1 || !math.IsNaN(float64(r.Start)) {
		t.Errorf("%+v", r)
	}
	if again.find(run("p", "a", "")) != nil || len(again.runs) != 1 {
		t.Errorf("%d runs", len(again.runs))
	}
	if err := os.WriteFile(j.path, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openJournal(dir); err == nil || !strings.Contains(err.Error(), "results.jsonl:1: ") {
		t.Errorf("a broken journal: %v", err)
	}
}
