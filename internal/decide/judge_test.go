package decide_test

import (
	"math"
	"testing"

	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
)

// judged counts the calls of Judge and returns its merits, by call. The last merit repeats.
type judged struct {
	merits  []float64
	calls   int
	offsets [][]float64
}

func (j *judged) judge(offsets []float64) (trainer.Merit, error) {
	m := j.merits[min(j.calls, len(j.merits)-1)]
	j.calls++
	j.offsets = append(j.offsets, append([]float64{}, offsets...))
	return trainer.Merit{Objective: m}, nil
}

// The weights of the run are the judged weights with the best merit of all rounds, also if rounds
// end later with better training rows, and Patience waits for a merit that exceeds the best merit
// of all rounds. A round after that of Start that Patience ended begins at the best weights.
func TestTheJudgedWeightsAreReturned(t *testing.T) {
	for name, c := range map[string]struct {
		merits        []float64 // by check, the start included; each round judges its first iterate
		patience      int
		output, after int // the iteration of the weights, and of the end; 0: any
		start         bool
	}{
		"the best of the first round":    {[]float64{9, 5, 3, 4, 4, 4, 4}, 3, 2, 5, false},
		"the best in the round of Start": {[]float64{9, 5, 3, 4, 4, 4, 6, 5, 5, 5, 5}, 3, 2, 7, true},
		"better after Start":             {[]float64{9, 5, 3, 4, 4, 4, 6, 2, 5, 5, 5}, 3, 6, 9, true},
		"without patience":               {append([]float64{9, 5, 3}, 4), 0, 2, 0, true},
	} {
		l, j := newLending(t, 300, 2, 0.02), &judged{merits: c.merits}
		if c.start {
			l.feedback.Start = []float64{0, 3}
		}
		l.feedback.Judge = j.judge
		s := trainer.Settings{Iterations: 300, CheckEvery: 1, Patience: c.patience, Output: trainer.OutputBestValidation}
		var at []float64
		s.Recorder = recording(func(r *trainer.Record) {
			if r.Iteration == c.output && at == nil {
				at = l.weights()
			}
		})
		r := require.Value(decide.Train(t.Context(), l.problem, &method.ALM{}, s, l.feedback))(t)
		if r.Output != c.output || c.after > 0 && r.Iterations != c.after {
			t.Errorf("%s: output %d after %d iterations, want %d after %d", name, r.Output, r.Iterations, c.output, c.after)
		}
		if got := l.weights(); !close(got, at) {
			t.Errorf("%s: the weights are %v, want %v of iteration %d", name, got, at, c.output)
		}
		if j.calls == 0 || len(j.offsets[0]) != 1 {
			t.Errorf("%s: %d calls of Judge with %v", name, j.calls, j.offsets)
		}
	}
}

// recording is a recorder that calls a function.
type recording func(*trainer.Record)

func (f recording) Record(r *trainer.Record) error { f(r); return nil }

func close(x, y []float64) bool {
	for i := range x {
		if len(x) != len(y) || math.Abs(x[i]-y[i]) > 1e-12 {
			return false
		}
	}
	return true
}
