package trainer

import (
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// Records before the last one have the values and measures of the sample, and are no candidates
// for the best iterate. The last record has the values of all rows with the sample's gradient. A
// setting whose records decide something does without the sample.
func TestSample(t *testing.T) {
	other := square(problem.Regularizer{})
	f := other.F
	other.F = func(x []float64) float64 { return f(x) + 10 }
	other.Gradient = func(dst, x []float64) { dst[0] = 3 * x[0] }
	measures := func(v float64) func() (map[string]float64, error) {
		return func() (map[string]float64, error) { return map[string]float64{"rows": v}, nil }
	}
	run := func(set func(*Settings)) (*Result, []Record) {
		l := &journal{}
		s := Settings{Iterations: 4, RecordWork: 1e-3, Measure: measures(9), OwnMultiplier: true, Recorder: l}
		s.Sample = &Sample{Problem: begin(t, other, 4), Rows: 5, Measure: measures(5)}
		set(&s)
		r := require.Value(Train(t.Context(), begin(t, square(problem.Regularizer{}), 4), &scripted{moves: []float64{-4, 1, 1, 0}, nu: []float64{0}}, s))(t)
		return r, l.records
	}
	r, records := run(func(*Settings) {})
	if len(records) != 5 {
		t.Fatalf("%d records", len(records))
	}
	for i, want := range []struct{ f, rows float64 }{{18, 5}, {10, 5}, {10.5, 5}, {12, 5}, {2, 9}} {
		if got := records[i]; got.Objective != want.f || got.Measures["rows"] != want.rows || got.Sample != 5 {
			t.Errorf("record %d has f = %v, measures %v and a sample of %d rows, want %+v", i, got.Objective, got.Measures, got.Sample, want)
		}
	}
	if r.BestFeasible != nil || r.Objective != 2 || r.Certificate.Stationarity != 6 || r.Point.Objective != 2 {
		t.Errorf("%+v", r)
	}
	if r, _ := run(func(s *Settings) { s.OwnMultiplier = false }); r.Certificate.Stationarity == 6 {
		t.Error("the certificate of the result has the sample's gradient")
	}
	for name, set := range map[string]func(*Settings){
		"record-every": func(s *Settings) { s.RecordEvery = 1 },
		"tolerance":    func(s *Settings) { s.Tolerance = 1e-9 },
		"best":         func(s *Settings) { s.Output = OutputBest },
		"random":       func(s *Settings) { s.Output = OutputRandom },
	} {
		_, records := run(set)
		for _, got := range records {
			if got.Sample != 0 || got.Objective >= 10 || got.Measures["rows"] != 9 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}
