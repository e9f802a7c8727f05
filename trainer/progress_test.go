package trainer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// newProgress returns a run on two variables before its first record.
func newProgress(t *testing.T, output Output) *run {
	t.Helper()
	p := require.Value(problem.Functions{N: 2, F: func([]float64) float64 { return 0 }, Gradient: func(dst, _ []float64) { clear(dst) }}.New([]float64{1, 2}))(t)
	r := &run{p: p, set: Settings{Output: output}, source: rand.NewPCG(1, 2), recorded: -1}
	r.selection = newSelection(p, &r.set)
	if output == OutputRandom {
		r.drawnAt = p.Space().New()
	}
	return r
}

// progress is what a run keeps beside the method's state.
type progress struct {
	Seconds, RecordedSeconds, RhoHat, Weight float64
	Recorded, From, Drawn                    int
	Warnings                                 Warnings
	Residuals                                residuals
	Best                                     *Best
	Conflict                                 conflict
	Trend                                    trend
	Selection                                selection
	SelectedAt, DrawnAt, DrawnNu             []float64
	Next                                     uint64 // of the random generator
}

func progressOf(r *run) progress {
	read := func(v problem.Vector) []float64 {
		x := make([]float64, 2)
		r.p.Space().Read(x, v)
		return x
	}
	source := *r.source
	return progress{Seconds: r.seconds, RecordedSeconds: r.last.Seconds, RhoHat: r.set.Near.RhoHat, Weight: r.weight, Recorded: r.recorded, From: r.from,
		Drawn: r.drawn, Warnings: r.warnings, Residuals: r.residuals, Best: r.best, Conflict: r.conflict, Trend: r.trend, Selection: *r.selection,
		SelectedAt: read(r.selection.at), DrawnAt: read(r.drawnAt), DrawnNu: r.drawnNu, Next: source.Uint64()}
}

// TestProgressIsRestored saves the progress of a run with another number in each part, and restores
// the progress in a new run.
func TestProgressIsRestored(t *testing.T) {
	for _, output := range []Output{OutputRandom, OutputBestValidation, OutputLast} {
		for _, best := range []*Best{nil, {Iteration: 6, Objective: 7}, {Iteration: 6, Objective: 7, X: []float64{8, 9}}} {
			r := newProgress(t, output)
			r.seconds, r.last.Seconds, r.set.Near.RhoHat, r.recorded, r.from = 1, 2, 3, 4, 5
			r.warnings, r.best = Warnings{{Code: WarnSettings, Text: "a"}, {Code: WarnOutput, Text: "b c"}}, best
			r.residuals = residuals{count: 10, sum: [3]float64{11, 12, 13}, squares: [3]float64{14, 15, 16},
				fits: [3]logFit{{17, 18, 19, 20, 21}, {22, 23, 24, 25, 26}, {27, 28, 29, 30, 31}}}
			r.conflict = conflict{recent: []float64{32, 33}, before: 34, started: true, spent: 35, attained: true, met: true}
			r.trend.old.iteration, r.trend.old.multipliers = 36, []float64{37}
			r.trend.recent.iteration, r.trend.recent.multipliers = 38, []float64{39}
			r.trend.before, r.trend.moved = []float64{40, 41}, 42
			c := r.selection
			c.nu, c.iteration, c.chosen, c.started, c.merit, c.validation, c.waited = []float64{43}, 44, true, true, Merit{45, 46}, Merit{47, 48}, 49
			if c.at != problem.Iterate {
				r.p.Space().Write(c.at, []float64{50, 51})
			}
			if output == OutputRandom {
				r.source.Uint64()
				r.drawn, r.weight, r.drawnNu = 52, 53, []float64{54}
				r.p.Space().Write(r.drawnAt, []float64{55, 56})
			}
			want := progressOf(r)
			s := newState("m")
			s.Numbers["own"], s.Vectors["iterate"], s.Texts["own"] = []float64{1}, []float64{1, 2}, []string{"x"}
			r.visitProgress(&saver{s: s, p: r.p, prefix: progressPrefix})
			own, parts := s.cutProgress()
			if diff := cmp.Diff(&State{Method: "m", Numbers: map[string][]float64{"own": {1}}, Vectors: map[string][]float64{"iterate": {1, 2}},
				Texts: map[string][]string{"own": {"x"}}}, own); diff != "" {
				t.Errorf("%s: the method's own state (-want +got):\n%s", output, diff)
			}
			if _, ok := parts.Vectors[progressPrefix+"selection.at"]; ok != (output == OutputBestValidation) {
				t.Errorf("%s: a selected iterate: %v", output, ok)
			}
			if _, ok := parts.Vectors[progressPrefix+"drawn.at"]; ok != (output == OutputRandom) {
				t.Errorf("%s: a drawn iterate: %v", output, ok)
			}
			next := newProgress(t, output)
			restored, err := next.restoreProgress(parts)
			if err != nil || !restored {
				t.Fatal(restored, err)
			}
			if diff := cmp.Diff(want, progressOf(next), cmp.AllowUnexported(residuals{}, logFit{}, conflict{}, trend{}, selection{},
				struct {
					iteration   int
					multipliers []float64
				}{})); diff != "" {
				t.Errorf("%s, best record %v (-saved +restored):\n%s", output, best, diff)
			}
			parts.Numbers[progressPrefix+"other"] = nil
			if _, err := newProgress(t, output).restoreProgress(parts); err == nil {
				t.Error("an unknown part of the progress gives no error")
			}
			r.warnings[0].Text = "changed"
			if next.warnings[0].Text != "a" {
				t.Error("the restored warnings share memory with the saved ones")
			}
		}
	}
	if restored, err := newProgress(t, OutputLast).restoreProgress(newState("m")); restored || err != nil {
		t.Errorf("a state without progress: %v, %v", restored, err)
	}
}

// TestMeansAndDecay adds the records k = 0, 1, 2, 4 with residuals 2/k, 3 and 0 and compares the
// means and the slopes of the logarithms with hand-computed numbers.
func TestMeansAndDecay(t *testing.T) {
	var s residuals
	for i, k := range []int{0, 1, 2, 4} {
		r := &Record{Iteration: k, Stationarity: 2, Infeasibility: 3}
		if k > 0 {
			r.Stationarity /= float64(k)
		}
		s.add(r)
		if k == 0 {
			if r.MeanStationarity != nil || r.MeanInfeasibility != nil || r.MeanComplementarity != nil {
				t.Error("the start has means")
			}
			continue
		}
		if d := s.decay(); math.IsNaN(d.Stationarity) != (i < 3) {
			t.Errorf("after %d records the decay is %+v", i, d)
		}
		if want := []float64{2, 1.5, 3.5 / 3}[i-1]; math.Abs(*r.MeanStationarity-want) > 1e-15 || *r.MeanInfeasibility != 3 || *r.MeanComplementarity != 0 {
			t.Errorf("k = %d: means %v, %v, %v", k, *r.MeanStationarity, *r.MeanInfeasibility, *r.MeanComplementarity)
		}
	}
	// The means of the squares are 4, 2.5 and 1.75 at log k = 0, L and 2L.
	d, want := s.decay(), (math.Log(1.75)-math.Log(4))/(2*math.Ln2)
	if math.Abs(d.Stationarity-want) > 1e-12 || math.Abs(d.Infeasibility) > 1e-12 || !math.IsNaN(d.Complementarity) {
		t.Errorf("decay %+v, want %v, 0 and NaN", d, want)
	}
}

// TestTrend compares the change of the multipliers over a tenth of the iterations and the last move
// with hand-computed numbers.
func TestTrend(t *testing.T) {
	p := newProgress(t, OutputLast).p
	var w trend
	var x []float64
	add := func(k int, l1, l2 float64, at ...float64) *Record {
		r := &Record{Iteration: k, Multipliers: []float64{l1, l2}}
		if x = w.add(r, at); len(x) != 2 {
			t.Fatalf("the buffer is %v", x)
		}
		return r
	}
	if end := w.end(add(0, 1, 1, 0, 0), p); !math.IsNaN(end.Multipliers) || end.AtRounding || !math.IsInf(w.moved, 1) {
		t.Errorf("after the first record: %+v, moved %v", end, w.moved)
	}
	if end := w.end(add(80, -4, 3, 3, 4), p); !math.IsNaN(end.Multipliers) || !(math.Abs(w.moved-5./6) < 1e-15) {
		t.Errorf("after the second: %+v, moved %v", end, w.moved)
	}
	// 95 - 80 is more than a tenth, 99 - 95 is less: the change is that since 80.
	if end := w.end(add(95, -5, 3.5, 3, 4), p); end.Multipliers != 1./5 || !end.AtRounding || w.moved != 0 {
		t.Errorf("after the third: %+v, moved %v", end, w.moved)
	}
	if end := w.end(add(99, -8, 2, 3, 5), p); end.Multipliers != 4./8 || end.AtRounding || !(math.Abs(w.moved-1/(1+math.Sqrt(34))) < 1e-15) {
		t.Errorf("after the fourth: %+v", end)
	}
	if w.old.iteration != 80 || w.recent.iteration != 95 || !slices.Equal(w.recent.multipliers, []float64{-5, 3.5}) {
		t.Errorf("%+v", w)
	}
	if end := w.end(&Record{Iteration: 200, Multipliers: []float64{-10, 2}}, p); end.Multipliers != 5./10 {
		t.Errorf("a late record: %+v, want the change since the recent record", end)
	}
	if end := w.end(&Record{Iteration: 99, Multipliers: []float64{0, 0}}, p); !math.IsNaN(end.Multipliers) {
		t.Errorf("multipliers of 0: %+v", end)
	}
	w.moved = 4 * 0x1p-53
	if end := w.end(&Record{Iteration: 99}, p); !end.AtRounding || !math.IsNaN(end.Multipliers) {
		t.Errorf("a move of 4 unit roundoffs: %+v", end)
	}
	// 10 - 9 is a tenth of 10. A record without multipliers has no change.
	w = trend{}
	if end := w.end(&Record{Iteration: 5, Multipliers: []float64{1}}, p); !math.IsNaN(end.Multipliers) {
		t.Errorf("without earlier multipliers: %+v", end)
	}
	w.add(&Record{Iteration: 9}, []float64{0, 0})
	if end := w.end(&Record{Iteration: 10, Multipliers: []float64{1}}, p); !math.IsNaN(end.Multipliers) {
		t.Errorf("a record without multipliers: %+v", end)
	}
	w.recent.multipliers = []float64{3}
	w.old.iteration, w.old.multipliers = 4, []float64{4}
	if end := w.end(&Record{Iteration: 10, Multipliers: []float64{2}}, p); end.Multipliers != 1./2 {
		t.Errorf("after a tenth of the iterations: %+v, want 1/2", end)
	}
	if w.add(&Record{Iteration: 10}, []float64{0, 0}); w.recent.iteration != 10 || w.old.iteration != 9 {
		t.Errorf("after a tenth of the iterations: %+v", w)
	}
}

// The line of log y over log x leaves out a point with y = 0.
func TestLogFitByHand(t *testing.T) {
	var f logFit
	for _, at := range [][2]float64{{1, 4}, {2, 2}, {3, 0}, {4, math.NaN()}, {4, 1}} {
		f.add(at[0], at[1])
	}
	if got := f.slope(); !(math.Abs(got+1) < 1e-12) {
		t.Errorf("slope %v, want -1", got)
	}
}

// TestStalls adds records whose infeasibility falls, and then does not. The infeasibility stalls if
// the least of ten records is at least 0.9 times the least before.
func TestStalls(t *testing.T) {
	var c conflict
	for i, v := range []float64{8, 4, 2} {
		if c.add(v) || c.started {
			t.Fatalf("stalls at record %d", i)
		}
	}
	for i := range 9 {
		if c.add(1.8) {
			t.Fatalf("stalls after %d equal records", i+1)
		}
	}
	if !c.add(1.9) || c.before != 2 || len(c.recent) != 10 { // the least of ten is 0.9 times 2
		t.Errorf("%+v does not stall", c)
	}
	for i := range 10 { // the least of ten is less than 0.9 times 1.8
		if c.add(1.5) || c.before != 1.8 {
			t.Errorf("record %d: %+v", i, c)
		}
	}
	if c.add(1.5); c.before != 1.5 {
		t.Errorf("%+v, want the least before, 1.5", c)
	}
}

// TestMeasured returns near stationarity and other measures by name.
func TestMeasured(t *testing.T) {
	r := newNearRecord(3, "")
	r.Measures = map[string]float64{"error": 0.5}
	for name, want := range map[string]float64{"near_stationarity": 3, "error": 0.5} {
		if v, ok := r.Measured(name); v != want || !ok {
			t.Errorf("%s: %v, %v", name, v, ok)
		}
	}
	for _, r := range []*Record{{}, newNearRecord(3, "not solved")} {
		for _, name := range []string{"near_stationarity", "error"} {
			if v, ok := r.Measured(name); v != 0 || ok {
				t.Errorf("%s: %v, %v, want none", name, v, ok)
			}
		}
	}
}

func newNearRecord(distance float64, reason string) *Record {
	return &Record{NearStationarity: &certify.Stationarity{Distance: distance}, NearReason: reason}
}
