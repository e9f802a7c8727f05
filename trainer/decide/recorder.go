package decide

import (
	"slices"
	"strings"
	"time"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// recorder passes on the records of a round as records of one run.
type recorder struct {
	to       trainer.Recorder // nil: none
	seconds  float64          // of the rounds before
	repeated int              // the iteration whose record the round repeats
	warnings *warnings
}

// Record implements trainer.Recorder.
func (r *recorder) Record(x *trainer.Record) error {
	r.warnings.closing = true
	if r.to == nil || x.Iteration == r.repeated {
		return nil
	}
	own := *x
	own.Seconds += r.seconds
	return r.to.Record(&own)
}

// Tick implements trainer.Ticker.
func (r *recorder) Tick(at *problem.Point) {
	if t, ok := r.to.(trainer.Ticker); ok {
		t.Tick(at)
	}
}

// warnings passes on the warnings of the rounds: those about the start and the settings at once and
// once only, those about the end of a round only for the best round.
type warnings struct {
	tell    func(string) // nil: nobody
	told    []string
	closing bool // the round has begun: its warnings are about its end
}

// begin expects the warnings about the start of a round.
func (w *warnings) begin() { w.closing = false }

// warn receives a warning of the run.
func (w *warnings) warn(text string) {
	if !w.closing {
		w.pass(text)
	}
}

// pass tells a warning that has not been told. An infeasible start is no reason to warn: rounds
// start from any weights, and the shifts of a new round make the weights before infeasible.
func (w *warnings) pass(text string) {
	if slices.Contains(w.told, text) || strings.HasPrefix(text, trainer.InfeasibleStart) {
		return
	}
	w.told = append(w.told, text)
	if w.tell != nil {
		w.tell(text)
	}
}

// finish passes on the warnings of the best round, and returns all that have been told.
func (w *warnings) finish(best []string) []string {
	for _, text := range best {
		w.pass(text)
	}
	return w.told
}

// duration returns a time.Duration of seconds.
func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
