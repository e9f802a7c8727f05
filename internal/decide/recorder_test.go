package decide

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ppal/trainer"
)

// failing is a recorder that keeps the records and returns an error.
type failing struct{ records []trainer.Record }

var errFull = errors.New("full")

func (f *failing) Record(r *trainer.Record) error {
	f.records = append(f.records, *r)
	return errFull
}

// TestRecorder passes on records with the seconds of the rounds before, but not the record that a
// round repeats, and marks the end of the start.
func TestRecorder(t *testing.T) {
	w, to := &warnings{}, &failing{}
	r := &recorder{to: to, seconds: 10, repeated: 5, warnings: w}
	if err := r.Record(&trainer.Record{Iteration: 5, Seconds: 1}); err != nil || len(to.records) != 0 || !w.closing {
		t.Errorf("the repeated record: %v, %v, closing %v", err, to.records, w.closing)
	}
	own := &trainer.Record{Iteration: 6, Seconds: 2}
	if err := r.Record(own); !errors.Is(err, errFull) || len(to.records) != 1 || to.records[0].Seconds != 12 || own.Seconds != 2 {
		t.Errorf("%v, %+v, %+v", err, to.records, own)
	}
	if err := (&recorder{repeated: -1, warnings: w}).Record(own); err != nil {
		t.Errorf("without a receiver: %v", err)
	}
}

// TestWarnings passes on warnings of a start once, those of an end only from the best round, and
// none about an infeasible start.
func TestWarnings(t *testing.T) {
	var told trainer.Warnings
	w := &warnings{tell: func(w trainer.Warning) { told = append(told, w) }}
	a, b, c := trainer.Warning{Text: "a"}, trainer.Warning{Text: "b"}, trainer.Warning{Text: "c"}
	w.warn(a)
	w.warn(a)
	w.warn(trainer.Warning{Code: trainer.WarnInfeasibleStart, Text: "x"})
	w.closing = true
	w.warn(trainer.Warning{Text: "end"})
	w.begin()
	w.warn(b)
	if got := w.finish(trainer.Warnings{c, a}); !slices.Equal(got, trainer.Warnings{a, b, c}) || !slices.Equal(told, got) {
		t.Errorf("told %v, returned %v", told, got)
	}
	quiet := &warnings{}
	if quiet.warn(a); !slices.Equal(quiet.told, trainer.Warnings{a}) {
		t.Errorf("without a receiver: %v", quiet.told)
	}
	if d := duration(1.5); d != 1500*time.Millisecond {
		t.Errorf("1.5 s are %v", d)
	}
}
