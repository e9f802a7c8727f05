package suite

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"ppal/internal/require"
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
	require.NoError(t, os.WriteFile(path, []byte(lines), 0o644))
	r := &Run{Limit: 10}
	require.NoError(t, r.readTrace(path))
	if !math.IsNaN(float64(r.Start)) || r.best() != 3 || r.epsilon() != 0.25 || r.Checkpoints[0].Multipliers != 7 || r.Spent != 2 {
		t.Errorf("%+v", r)
	}
}
