package bench

import (
	"context"
	"math"
	"slices"
	"time"
)

// activity runs once and returns its duration.
type activity func() (time.Duration, error)

const (
	warmUps = 3 // runs of an activity before the timed runs
	// approximate length of an activity's turn in a round, long enough for the activity to fill the
	// caches
	turn        = 10 * time.Millisecond
	mostPerTurn = 1000
	leastRounds = 5
)

// alternate runs the activities in turns, in rounds until the time limit, and returns the times of
// each activity. Neighbouring turns run under the same conditions: what slows one activity slows
// the others.
func alternate(ctx context.Context, limit time.Duration, activities []activity) ([][]time.Duration, error) {
	repeats := make([]int, len(activities))
	for i, run := range activities {
		shortest := time.Duration(math.MaxInt64)
		for range warmUps {
			took, err := run()
			if err != nil {
				return nil, err
			}
			shortest = min(shortest, took)
		}
		repeats[i] = int(min(max(turn/max(shortest, 1), 1), mostPerTurn))
	}
	times := make([][]time.Duration, len(activities))
	began := time.Now()
	for round := 0; round < leastRounds || time.Since(began) < limit; round++ {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for i, run := range activities {
			for range repeats[i] {
				took, err := run()
				if err != nil {
					return nil, err
				}
				times[i] = append(times[i], took)
			}
		}
	}
	return times, nil
}

// timing summarises the distribution of an activity's times, in milliseconds.
type timing struct {
	Median    float64
	Quartiles [2]float64 // the first and the third quartile
	Runs      int
}

// newTiming sorts times and returns their summary.
func newTiming(times []time.Duration) timing {
	slices.Sort(times)
	return timing{Median: quantile(times, 0.5), Quartiles: [2]float64{quantile(times, 0.25), quantile(times, 0.75)}, Runs: len(times)}
}

// quantile interpolates linearly between the sorted times.
func quantile(sorted []time.Duration, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	x := milliseconds(sorted[i])
	if i+1 < len(sorted) {
		x += (at - float64(i)) * (milliseconds(sorted[i+1]) - x)
	}
	return x
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
