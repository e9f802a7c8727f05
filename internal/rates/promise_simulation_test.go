package rates

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
)

var samples = flag.Int("samples", 400, "samples of each row of TestSimulation; docs/evidence/promises.md has those of 4000")

// groupsOf returns a population of groups g=0, g=1, ... with the given shares of n rows.
func groupsOf(n int, shares []float64) *constraints.Population {
	p := &constraints.Population{Classes: []string{"no", "yes"}, Attributes: []constraints.Attribute{{Name: "g"}}}
	for g, share := range shares {
		p.Attributes[0].Values = append(p.Attributes[0].Values, strconv.Itoa(g))
		for i := range max(2, int(share*float64(n))) {
			p.Labels, p.Attributes[0].Of = append(p.Labels, i%2), append(p.Attributes[0].Of, g)
		}
	}
	return p
}

// draw draws n rows of groups with the shares, which are accepted with the rates, and returns the
// counts of the system's rates.
func draw(rng *rand.Rand, s *constraints.System, n int, shares, accepted []float64) (hits, rows []int) {
	own := make([][2]int, len(shares)+1) // the last one counts all rows
	for range n {
		at, g := rng.Float64(), 0
		for g < len(shares)-1 && at >= shares[g] {
			at -= shares[g]
			g++
		}
		yes := 0
		if rng.Float64() < accepted[g] {
			yes = 1
		}
		for _, k := range []int{g, len(shares)} {
			own[k][0], own[k][1] = own[k][0]+yes, own[k][1]+1
		}
	}
	for _, r := range s.Rates {
		g := len(shares)
		if _, name, ok := strings.Cut(r.Name, "decided yes of g="); ok {
			g, _ = strconv.Atoi(name)
		} else if !strings.HasPrefix(r.Name, "share decided yes") {
			g = -1 // of the objective
		}
		if g < 0 {
			hits, rows = append(hits, 0), append(rows, 0)
			continue
		}
		hits, rows = append(hits, own[g][0]), append(rows, own[g][1])
	}
	return hits, rows
}

// TestSimulation draws validation rows of populations whose true value is at the bound, and counts
// the samples in which the bound is promised: a wrong promise for every bound a hair tighter. With
// the flags -v -samples 4000 it prints the shares of docs/evidence/promises.md.
func TestSimulation(t *testing.T) {
	require.NoRace(t, "it starts no goroutines")
	rng := rand.New(rand.NewPCG(11, 12))
	most := map[string]float64{}
	for _, groups := range []int{2, 3, 4, 8} {
		for _, apart := range slices.Compact([]int{1, groups / 2}) { // the groups with the larger rate
			for _, rate := range []float64{0.06, 0.4} {
				shares, accepted, all := make([]float64, groups), make([]float64, groups), 0.0
				for g := range groups { // from twice to half the mean
					shares[g] = (2 - 1.5*float64(g)/float64(groups-1)) / (1.25 * float64(groups))
					accepted[g] = rate
					if g >= groups-apart {
						accepted[g] += 0.1
					}
					all += shares[g] * accepted[g]
				}
				excess := rate + 0.1 - all
				for _, c := range []struct {
					measure string
					bound   float64
				}{
					{"gap(positive_rate, g) <=", 0.1},
					{"ratio(positive_rate, g) >=", rate / (rate + 0.1)},
					{"excess(positive_rate, g) <=", excess},
					{"distance(positive_rate, g) <=", max(excess, 0.1-excess)},
				} {
					text := fmt.Sprintf("%s %v", c.measure, c.bound)
					_, s, _ := plan(t, groupsOf(300, shares), 0.95, text)
					wrong := 0
					for range *samples {
						hits, rows := draw(rng, s, 600*groups, shares, accepted)
						p := require.Value(NewPromises(s, rows, 0.95))(t)
						if p.All(hits) {
							wrong++
						}
					}
					share := float64(wrong) / float64(*samples)
					name, _, _ := strings.Cut(c.measure, "(")
					most[name] = max(most[name], share)
					t.Logf("%d groups, %d apart, rate %.2f, %s %.4f: %.2f%%", groups, apart, rate, c.measure, c.bound, 100*share)
					if limit := 0.05 + 2*math.Sqrt(0.05*0.95/float64(*samples)); share > limit {
						t.Errorf("%s: promised wrongly in %.2f%% of the samples, want at most %.2f%%", text, 100*share, 100*limit)
					}
				}
			}
		}
	}
	for name, share := range most { // a level that is far too small loses promises
		if share < 0.03 {
			t.Errorf("%s: at most %.2f%% of the samples are promised wrongly: the promises are too cautious", name, 100*share)
		}
	}
}
