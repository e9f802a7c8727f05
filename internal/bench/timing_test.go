package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
)

func TestTiming(t *testing.T) {
	ms := func(list ...int) []time.Duration {
		var times []time.Duration
		for _, x := range list {
			times = append(times, time.Duration(x)*time.Millisecond)
		}
		return times
	}
	for _, tc := range []struct {
		times []time.Duration
		want  timing
	}{
		{ms(7), timing{Median: 7, Quartiles: [2]float64{7, 7}, Runs: 1}},
		{ms(5, 1, 3, 2, 4), timing{Median: 3, Quartiles: [2]float64{2, 4}, Runs: 5}},
		{ms(4, 1, 2, 3), timing{Median: 2.5, Quartiles: [2]float64{1.75, 3.25}, Runs: 4}},
	} {
		if diff := cmp.Diff(tc.want, newTiming(tc.times)); diff != "" {
			t.Error(diff)
		}
	}
}

// Activities take turns. A short activity runs as often as a turn allows, a long activity runs
// once.
func TestAlternate(t *testing.T) {
	order := ""
	mark := func(name string, took time.Duration) activity {
		return func() (time.Duration, error) {
			order += name
			return took, nil
		}
	}
	times := require.Value(alternate(t.Context(), 0, []activity{mark("a", turn/2), mark("b", 3*turn), mark("c", turn)}))(t)
	want := "aaabbbccc" // warm-up
	for range leastRounds {
		want += "aabc"
	}
	if order != want {
		t.Errorf("%s, want %s", order, want)
	}
	if len(times[0]) != 2*leastRounds || len(times[1]) != leastRounds || len(times[2]) != leastRounds {
		t.Errorf("%d, %d, %d times", len(times[0]), len(times[1]), len(times[2]))
	}
}

func TestAlternateEnds(t *testing.T) {
	failure := errors.New("failure")
	runs := 0
	fails := func() (time.Duration, error) {
		if runs++; runs > 4 {
			return 0, failure
		}
		return turn, nil
	}
	if _, err := alternate(t.Context(), 0, []activity{fails}); !errors.Is(err, failure) {
		t.Error(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	stops := func() (time.Duration, error) {
		stop(interrupted)
		return turn, nil
	}
	if _, err := alternate(ctx, time.Hour, []activity{stops}); !errors.Is(err, interrupted) {
		t.Error(err)
	}
}
