package save

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ppal/trainer"
)

// EventRecorder writes a run's records as scalars. The step is the iteration.
type EventRecorder struct {
	w     *EventWriter
	names []string // of the constraints, each name once
	now   func() time.Time
}

var _ trainer.Recorder = (*EventRecorder)(nil)

// NewEventRecorder makes an event file in the directory of a run and writes the run's settings, the
// contents of config.yaml, as a text. constraints are the names of g_1..g_m. start is the first
// iteration of the records: 0, or the iteration after which the run continues, plus 1. now returns
// the time of an event.
func NewEventRecorder(dir string, constraints []string, settings []byte, start int, now func() time.Time) (*EventRecorder, error) {
	w, err := CreateEvents(dir, now(), int64(start))
	if err != nil {
		return nil, err
	}
	text := "```yaml\n" + strings.ToValidUTF8(string(settings), "\ufffd") + "```\n"
	if err := w.Text(now(), int64(start), "settings", text); err != nil {
		return nil, fmt.Errorf("%w (and %v)", err, w.Remove())
	}
	return &EventRecorder{w, distinct(constraints), now}, nil
}

// distinct adds a number to each name that another name repeats.
func distinct(names []string) []string {
	own, seen := slices.Clone(names), map[string]int{}
	for i, name := range names {
		if seen[name]++; seen[name] > 1 {
			own[i] = fmt.Sprintf("%s (%d)", name, seen[name])
		}
	}
	return own
}

// Record implements trainer.Recorder.
func (r *EventRecorder) Record(x *trainer.Record) error {
	return r.w.scalars(r.now(), int64(x.Iteration), r.scalars(x))
}

// Close closes the file.
func (r *EventRecorder) Close() error { return r.w.Close() }

// Remove closes and deletes the file.
func (r *EventRecorder) Remove() error { return r.w.Remove() }

// scalars returns the numbers of a record. The sections are named as in metrics.jsonl.
func (r *EventRecorder) scalars(x *trainer.Record) []scalar {
	list := []scalar{
		{"objective", x.Objective}, {"max_violation", x.MaxViolation},
		{"residuals/epsilon", x.Certificate.Epsilon}, {"residuals/stationarity", x.Stationarity},
		{"residuals/feasibility", x.Infeasibility}, {"residuals/complementarity", x.Complementarity},
		{"run/seconds", x.Seconds}, {"run/epoch", x.Epoch}, {"run/gradient_evaluations", float64(x.GradientEvaluations)},
	}
	for _, p := range []struct {
		tag   string
		value *float64
	}{{"step/step_size", x.StepSize}, {"step/delta", x.Delta}} {
		if p.value != nil {
			list = append(list, scalar{p.tag, *p.value})
		}
	}
	for _, s := range []struct {
		section string
		values  []float64
	}{{"constraints", x.Constraints}, {"multipliers", x.Multipliers}, {"auxiliary_multipliers", x.Auxiliary}, {"slack", x.Slack}} {
		for j, v := range s.values {
			name := fmt.Sprint(j + 1)
			if len(r.names) == len(s.values) {
				name = r.names[j]
			}
			list = append(list, scalar{s.section + "/" + name, v})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(x.Measures)) {
		split, measure, _ := strings.Cut(key, "_")
		list = append(list, scalar{split + "/" + measure, x.Measures[key]})
	}
	return list
}
