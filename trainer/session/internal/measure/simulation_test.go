package measure

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/constraints"
	"ppal/internal/decide"
	"ppal/internal/require"
)

var samples = flag.Int("samples", 40, "samples of each row of TestPromisesOfSearch; docs/evidence/promises.md has 2000")

// scored is a distribution of rows with a score: normal scores whose means depend on the class and
// the group.
type scored struct {
	shares, positive []float64    // of the groups: share of the rows, and share of the positive class
	means            [][2]float64 // of the scores, by group and class
}

// draw draws n rows.
func (d *scored) draw(rng *rand.Rand, n int) (*constraints.Population, Scores) {
	p := &constraints.Population{Classes: []string{"no", "yes"}, Attributes: []constraints.Attribute{{Name: "g"}}}
	for g := range d.shares {
		p.Attributes[0].Values = append(p.Attributes[0].Values, fmt.Sprint(g))
	}
	var s Scores
	for range n {
		at, g, y := rng.Float64(), 0, 0
		for g < len(d.shares)-1 && at >= d.shares[g] {
			at -= d.shares[g]
			g++
		}
		if rng.Float64() < d.positive[g] {
			y = 1
		}
		p.Labels, p.Attributes[0].Of = append(p.Labels, y), append(p.Attributes[0].Of, g)
		s.Scores, s.Groups = append(s.Scores, d.means[g][y]+rng.NormFloat64()), append(s.Groups, int32(g))
	}
	return p, s
}

// truth returns the positive rate, the true positive rate, the false positive rate, the precision
// and the error of thresholds of the groups: of each group, and then of all rows.
func (d *scored) truth(thresholds []float64) (list [][5]float64) {
	var all [4]float64 // accepted and all rows of each class
	rates := func(c [4]float64) [5]float64 {
		return [5]float64{(c[0] + c[2]) / (c[1] + c[3]), c[2] / c[3], c[0] / c[1], c[2] / (c[0] + c[2]), (c[0] + c[3] - c[2]) / (c[1] + c[3])}
	}
	for g, share := range d.shares {
		var own [4]float64
		for y, weight := range []float64{1 - d.positive[g], d.positive[g]} {
			own[2*y+1] = share * weight
			own[2*y] = share * weight * 0.5 * math.Erfc((thresholds[g]-d.means[g][y])/math.Sqrt2)
		}
		for k, v := range own {
			all[k] += v
		}
		list = append(list, rates(own))
	}
	return append(list, rates(all))
}

// TestPromisesOfSearch runs the choice of thresholds with a confidence on samples of a known
// distribution, and counts the samples in which a bound is promised and the chosen thresholds break
// it. With the flags -v -samples 2000 it prints the table of docs/evidence/promises.md.
func TestPromisesOfSearch(t *testing.T) {
	require.NoRace(t, "it starts no goroutines")
	two := &scored{[]float64{0.6, 0.4}, []float64{0.3, 0.45}, [][2]float64{{-0.6, 0.6}, {-0.1, 0.9}}}
	four := &scored{[]float64{0.4, 0.3, 0.2, 0.1}, []float64{0.3, 0.3, 0.4, 0.5}, [][2]float64{{-0.7, 0.7}, {-0.6, 0.8}, {-0.3, 0.9}, {0, 1}}}
	gap := func(kind int) func(list [][5]float64) float64 {
		return func(list [][5]float64) float64 {
			low, high := math.Inf(1), math.Inf(-1)
			for _, r := range list[:len(list)-1] {
				low, high = min(low, r[kind]), max(high, r[kind])
			}
			return high - low
		}
	}
	of := func(kind int) func(list [][5]float64) float64 {
		return func(list [][5]float64) float64 { return list[len(list)-1][kind] }
	}
	for _, c := range []struct {
		bound   string
		d       *scored
		rows    int // training rows; half as many validation rows
		byGroup bool
		value   func(list [][5]float64) float64
		limit   float64
	}{
		{"gap(positive_rate, g) <= 0.1", two, 1200, true, gap(0), 0.1},
		{"gap(positive_rate, g) <= 0.2", two, 1200, false, gap(0), 0.2},
		{"gap(tpr, g) <= 0.15", two, 2000, false, gap(1), 0.15},
		{"gap(tpr, g) <= 0.15", two, 1200, true, gap(1), 0.15},
		{"gap(positive_rate, g) <= 0.2", four, 2400, true, gap(0), 0.2},
		{"precision >= 0.7", two, 1200, false, func(list [][5]float64) float64 { return -list[2][3] }, -0.7},
		{"error <= 0.29", two, 2000, false, of(4), 0.29},
		{"fpr <= 0.2", two, 800, false, of(2), 0.2},
		{"fpr <= 0.2", two, 800, true, of(2), 0.2},
		{"error[*] <= 0.36", two, 2000, false, func(list [][5]float64) float64 { return max(list[2][2], 1-list[2][1]) }, 0.36},
	} {
		if *samples < 100 && c.d == four { // takes long
			continue
		}
		bound := require.Value(constraints.Parse(c.bound))(t)
		rng := rand.New(rand.NewPCG(21, 22))
		promised, wrong, loss := 0, 0, 0.0
		for range *samples {
			p, train := c.d.draw(rng, c.rows)
			q, held := c.d.draw(rng, c.rows/2)
			s := require.Value(constraints.NewSystem(constraints.Error(), []constraints.Constraint{bound}, p))(t)
			f, conf := solutionOf(t, s, p, q, len(c.d.shares), c.byGroup)
			if !c.byGroup {
				train.Groups, held.Groups = nil, nil
			}
			require.NoError(t, f.Thresholds(train, 0, conf, func() (Scores, error) { return held, nil }))
			thresholds := make([]float64, len(c.d.shares))
			for g := range thresholds {
				thresholds[g] = -f.OnScores.Offsets[g%len(f.OnScores.Offsets)]
			}
			list := c.d.truth(thresholds)
			loss += of(4)(list) / float64(*samples)
			if conf.promises[0].Holds {
				promised++
				if c.value(list) > c.limit {
					wrong++
				}
			}
		}
		share := float64(wrong) / float64(*samples)
		t.Logf("%s of %d groups, %d rows, by group %t: promised %.1f%%, wrong %.2f%%, error %.2f%%", c.bound, len(c.d.shares), c.rows, c.byGroup,
			100*float64(promised)/float64(*samples), 100*share, 100*loss)
		if most := 0.05 + 2*math.Sqrt(0.05*0.95/float64(*samples)); share > most {
			t.Errorf("%s: promised wrongly in %.2f%% of the samples, want at most %.2f%%", c.bound, 100*share, 100*most)
		}
		if promised < *samples/10 {
			t.Errorf("%s: promised in %d of %d samples", c.bound, promised, *samples)
		}
	}
}

// TestWalk checks that walk takes the last candidate before the first one without all promises,
// whatever follows, and the first one if its own promises fail.
func TestWalk(t *testing.T) {
	p, train := (&scored{[]float64{0.6, 0.4}, []float64{0.3, 0.45}, [][2]float64{{-0.6, 0.6}, {-0.6, 0.6}}}).draw(rand.New(rand.NewPCG(1, 2)), 4000)
	bound := require.Value(constraints.Parse("gap(positive_rate, g) <= 0.3"))(t)
	s := require.Value(constraints.NewSystem(constraints.Error(), []constraints.Constraint{bound}, p))(t)
	for want, fails := range map[int][]int{0: {1, 2}, 3: {4}, 4: {5, 7}, 8: {}} {
		f, c := solutionOf(t, s, p, p, 2, false)
		found := 0
		find := func(*decide.Target) (int, []float64, error) { found++; return found - 1, train.Scores, nil }
		hits := func(k int, by float64) ([]int, error) {
			counts := make([]int, len(c.sample.Rows()))
			if slices.Contains(fails, k) { // one group is accepted
				counts[1] = c.sample.Rows()[1]
			}
			return counts, nil
		}
		got, by, err := walk(c, f, train.Scores, find, hits)
		if err != nil || got != want || by != 0 || !c.promises[0].Holds {
			t.Errorf("failures at %v: candidate %d, shift %v, %v, %+v, want candidate %d", fails, got, by, err, c.promises, want)
		}
		hits = func(int, float64) ([]int, error) {
			counts := make([]int, len(c.sample.Rows()))
			counts[1] = c.sample.Rows()[1]
			return counts, nil
		}
		found = 0
		got, _, err = walk(c, f, train.Scores, find, hits)
		if err != nil || got != 0 || found != 1 || c.promises[0].Holds {
			t.Errorf("candidate %d of %d, %v, %+v, want the first one without a promise", got, found, err, c.promises)
		}
	}
}

// solutionOf returns the solution and the confidence of 95% of thresholds for training rows p and
// validation rows q.
func solutionOf(t *testing.T, s *constraints.System, p, q *constraints.Population, groups int, byGroup bool) (*Solution, *Confidence) {
	t.Helper()
	sample := require.Value(s.On(p))(t)
	others := require.Value(s.On(q))(t)
	f, _, err := NewSolution(s, sample, len(p.Classes), p.Len(), 0)
	require.NoError(t, err)
	f.OnScores = &ScoreThresholds{Outputs: 1}
	if byGroup {
		f.OnScores.Names = make([]string, groups)
	}
	c := require.Value(NewConfidence(s, others, q.Len(), 0.95))(t)
	return f, c
}
