package cmd

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// TestTheLogNeverRests follows the log of a run by a clock that the test moves: a line every few
// seconds, whether the run reads, iterates, ends a round or certifies.
func TestTheLogNeverRests(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out strings.Builder
		clock := time.Unix(1000, 0)
		l := newLogReporter(&out, format, 100, func() time.Time { return clock })
		lines := func() (list []string) {
			for line := range strings.Lines(out.String()) {
				if format == "json" {
					var entry map[string]any
					if err := json.Unmarshal([]byte(line), &entry); err != nil {
						t.Fatalf("%q: %v", line, err)
					}
					delete(entry, "time")
					text := require.Value(json.Marshal(entry))(t)
					line = string(text)
				}
				list = append(list, line)
			}
			out.Reset()
			return list
		}
		expect := func(what string, parts ...string) {
			t.Helper()
			got := lines()
			if len(got) != min(1, len(parts)) {
				t.Fatalf("%s, %s: %q, want one line with %q", format, what, got, parts)
			}
			for _, part := range parts {
				if key, value, ok := strings.Cut(part, "="); ok && format == "json" {
					part = `"` + key + `":` + value
				}
				if !strings.Contains(got[0], part) {
					t.Errorf("%s, %s: %q, want %q", format, what, got, part)
				}
			}
		}
		after := func(d time.Duration) {
			clock = clock.Add(d)
			l.beat()
		}
		l.Stage("reading rows")
		after(logInterval - 1)
		expect("too early")
		after(1)
		expect("reading", "reading rows", "seconds=5")
		l.Stage("")
		after(logInterval)
		expect("compiling", "before the first iteration", "seconds=5")
		require.NoError(t, l.Record(&trainer.Record{Objective: 0.5, MaxViolation: 0.25, Seconds: 3, Certificate: certify.Certificate{Epsilon: 0.125}}))
		expect("the first record", "training", "iteration=0", "objective=0.5")
		after(logInterval)
		expect("a long iteration", "training", "iteration=0", "max_violation=0.25")
		clock = clock.Add(logInterval)
		l.Tick(&problem.Point{Iteration: 7, Objective: 0.75, Constraints: []float64{-1, 0.125}})
		expect("an iteration", "training", "iteration=7", "objective=0.75", "max_violation=0.125", "epsilon=0.125", "seconds=3")
		l.beat()
		expect("right after an iteration")
		l.Stage("certifying round 3")
		after(2 * logInterval)
		expect("certifying", "certifying round 3", "seconds=10")
		after(logInterval)
		expect("certifying longer", "certifying round 3", "seconds=15")
		l.close()
		l.close() // a second call does nothing
	}
}

// The bar shows the name of a step that is not over soon, if the terminal has room for it. The
// clock of the test moves while all goroutines sleep.
func TestTheBarShowsSteps(t *testing.T) {
	for _, width := range []int{80, 45} {
		synctest.Test(t, func(t *testing.T) {
			var out strings.Builder // the bar writes under its lock
			b := &barReporter{out: &out, most: 1000, width: func() int { return width }}
			b.Stage("reading") // there is no bar yet
			if out.Len() > 0 {
				t.Errorf("before the first record: %q", out.String())
			}
			require.NoError(t, b.Record(&trainer.Record{Objective: 0.5}))
			b.Stage("ending round 3") // over at once
			b.Stage("certifying round 3")
			time.Sleep(4 * barRefresh)
			b.mu.Lock()
			if strings.Contains(out.String(), "ending round 3") {
				t.Errorf("a short step is shown: %q", out.String())
			}
			if shown := strings.Contains(out.String(), "certifying round 3"); shown != (width == 80) {
				t.Errorf("%d columns: shown %t: %q", width, shown, out.String())
			}
			b.mu.Unlock()
			b.finish()
			b.close()
		})
	}
}
