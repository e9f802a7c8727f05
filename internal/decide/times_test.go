package decide

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// slow is a recorder that takes its time, and lists the steps of a run.
type slow struct {
	takes time.Duration
	steps []string
}

func (s *slow) Record(*trainer.Record) error { time.Sleep(s.takes); return nil }
func (s *slow) Stage(name string)            { s.steps = append(s.steps, name) }

// TestTimes books slow counts under the rounds, slow records under the records, and names each long
// step.
func TestTimes(t *testing.T) {
	const takes = 20 * time.Millisecond
	f, began := fourRows(t, 3), time.Now()
	count := f.Scores
	f.Scores = func() ([]float64, error) { time.Sleep(takes); return count() }
	f.Rounds = 2
	r := &slow{takes: takes}
	result, err := Train(t.Context(), f.Smooth, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{Iterations: 30, RecordEvery: 10, Recorder: r}, f)
	if err != nil {
		t.Fatal(err)
	}
	all, least := time.Since(began).Seconds(), takes.Seconds()*float64(len(result.Rounds))
	x := result.Times
	if x.Rounds < least || x.Records < least || x.Certificates <= 0 || x.Certificates > all-2*least || x.Rounds+x.Records+x.Certificates+result.Seconds > all {
		t.Errorf("%d rounds: %+v of %v s, want at least %v s in rounds and records", len(result.Rounds), x, all, least)
	}
	var want []string
	for k := range result.Rounds {
		want = append(want, "", fmt.Sprintf("ending round %d", k+1))
	}
	want = append(want, fmt.Sprintf("certifying round %d", result.Best+1))
	if len(result.Rounds) < 2 || !slices.Equal(r.steps, want) {
		t.Errorf("the steps %q, want %q", r.steps, want)
	}
}
