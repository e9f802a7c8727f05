package decide

import (
	"slices"
	"time"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// recorder passes on the records of a round as records of one run.
type recorder struct {
	to       trainer.Recorder // receives the records; nil: no receiver
	seconds  float64          // seconds of the rounds before
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

// Stage implements trainer.Stager. A round that ends has its own names for the steps of its end.
func (r *recorder) Stage(string) {}

// warnings passes on the warnings of the rounds. It passes on each warning about the start and the
// settings immediately and only once. It passes on warnings about the end of a round only for the
// best round.
type warnings struct {
	tell    func(trainer.Warning) // receives each warning; nil: no receiver
	told    trainer.Warnings      // the warnings that were passed on
	closing bool                  // the round has begun: new warnings describe its end
}

// begin announces the start of a round: the next warnings describe this start.
func (w *warnings) begin() { w.closing = false }

// warn receives a warning of the current round. It ignores warnings about the end of the round.
func (w *warnings) warn(warning trainer.Warning) {
	if !w.closing {
		w.pass(warning)
	}
}

// pass passes on a warning that has not been passed on before. It ignores the warning about an
// infeasible start: rounds start from any weights, and the shifts of a new round make the last
// weights infeasible.
func (w *warnings) pass(warning trainer.Warning) {
	if slices.Contains(w.told, warning) || warning.Code == trainer.WarnInfeasibleStart {
		return
	}
	w.told = append(w.told, warning)
	if w.tell != nil {
		w.tell(warning)
	}
}

// finish passes on the warnings of the best round, and returns all warnings that were passed on.
func (w *warnings) finish(best trainer.Warnings) trainer.Warnings {
	for _, warning := range best {
		w.pass(warning)
	}
	return w.told
}

// duration converts seconds to a time.Duration.
func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
