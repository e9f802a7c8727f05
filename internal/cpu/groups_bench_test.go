package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// memberships draws groups that have each row with that probability; rows repeat after kinds of them.
func memberships(n, count, kinds int, share float64, weighted bool) plan.Groups {
	rng := rand.New(rand.NewPCG(1, 2))
	g := plan.Groups{Rows: n, Count: count, Starts: make([]int, count+1), RowStarts: []int{0}}
	sizes := make([]int, count)
	var lists [][]int32
	for i := range n {
		var list []int32
		if i >= kinds {
			list = lists[rng.IntN(kinds)]
		} else {
			for k := range count {
				if rng.Float64() < share || i == k {
					list = append(list, int32(k))
				}
			}
		}
		lists = append(lists, list)
		for _, k := range list {
			sizes[k]++
		}
		g.RowGroups = append(g.RowGroups, list...)
		g.RowStarts = append(g.RowStarts, len(g.RowGroups))
	}
	for k, s := range sizes {
		g.Starts[k+1] = g.Starts[k] + s
	}
	if weighted {
		g.RowWeights = make([]float64, len(g.RowGroups))
		for e := range g.RowWeights {
			g.RowWeights[e] = rng.NormFloat64()
		}
	}
	return g
}

func BenchmarkGroupForms(b *testing.B) {
	for _, c := range []struct {
		n, count, kinds int
		share           float64
	}{{1994, 800, 1994, 0.02}, {1994, 800, 1994, 0.16}, {1994, 800, 1994, 0.5}, {1994, 800, 558, 0.16}, {48842, 1, 2, 0.5}, {48842, 2, 4, 0.5}} {
		g := memberships(c.n, c.count, c.kinds, c.share, false)
		l, w, out, means := make([]float32, c.n), make([]float64, c.count), make([]float32, c.n), make([]float64, c.count)
		for name, f := range map[string]groupForm[float32]{"lists": newGroupLists[float32](g), "bits": newGroupBits[float32](g), "kinds": newGroupKinds[float32](rowKinds(g))} {
			what := fmt.Sprintf("%dx%d,kinds=%d,share=%g/%s/", c.count, c.n, c.kinds, c.share, name)
			sums := make([]float64, f.partials())
			b.Run(what+"means", func(b *testing.B) {
				for b.Loop() {
					clear(sums)
					for lo := 0; lo < c.n; lo += kernel.RowBlock {
						f.add(sums, l[lo:min(lo+kernel.RowBlock, c.n)], lo)
					}
					f.means(means, sums)
				}
			})
			b.Run(what+"spread", func(b *testing.B) {
				for b.Loop() {
					f.weigh(w)
					for lo := 0; lo < c.n; lo += kernel.RowBlock {
						f.spread(out[lo:min(lo+kernel.RowBlock, c.n)], lo, false)
					}
				}
			})
		}
	}
}
