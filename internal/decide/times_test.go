package decide

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// slow is a recorder that takes its time, and lists the steps of a run.
type slow struct {
	takes   time.Duration
	records int
	steps   []string
}

func (s *slow) Record(*trainer.Record) error { s.records++; time.Sleep(s.takes); return nil }
func (s *slow) Stage(name string)            { s.steps = append(s.steps, name) }

// TestTimes books slow counts under the rounds, slow records under the records, and names each long
// step. The clock of the test moves while somebody sleeps, and at no other time.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 20 * time.Millisecond
		f, began, counts := fourRows(t, 3), time.Now(), 0
		count := f.Scores
		f.Scores = func() ([]float64, error) { counts++; time.Sleep(takes); return count() }
		f.Rounds = 2
		r := &slow{takes: takes}
		result := require.Value(Train(t.Context(), f.Smooth, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{Iterations: 30, RecordEvery: 10, Recorder: r}, f))(t)
		rounds, records := takes.Seconds()*float64(counts), takes.Seconds()*float64(r.records)
		x := result.Times
		if counts < 2 || r.records < 2 || math.Abs(x.Rounds-rounds) > 1e-9 || math.Abs(x.Records-records) > 1e-9 || math.Abs(time.Since(began).Seconds()-rounds-records) > 1e-9 {
			t.Errorf("%+v, want %v s of rounds and %v s of records", x, rounds, records)
		}
		var want []string
		for k := range result.Rounds {
			want = append(want, "", fmt.Sprintf("ending round %d", k+1))
		}
		want = append(want, fmt.Sprintf("certifying round %d", result.Best+1))
		if len(result.Rounds) < 2 || !slices.Equal(r.steps, want) {
			t.Errorf("the steps %q, want %q", r.steps, want)
		}
	})
}
