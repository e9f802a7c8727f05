package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// memberships draws groups. Each row is in a group with probability share, and also in one fixed
// group. The rows from index patterns on repeat earlier rows.
func memberships(n, count, patterns int, share float64, weighted bool) describe.Groups {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(count)))
	g := describe.Groups{Rows: n, Count: count, Starts: make([]int, count+1), RowStarts: []int{0}}
	sizes := make([]int, count)
	var lists [][]int32
	var weights [][]float64
	for i := range n {
		if i >= patterns {
			j := rng.IntN(patterns)
			lists, weights = append(lists, lists[j]), append(weights, weights[j])
		} else {
			var list []int32
			var w []float64
			for k := range count {
				if i == k%patterns || rng.Float64() < share {
					list, w = append(list, int32(k)), append(w, float64(rng.IntN(3))-1)
				}
			}
			lists, weights = append(lists, list), append(weights, w)
		}
		for _, k := range lists[i] {
			sizes[k]++
		}
		g.RowGroups = append(g.RowGroups, lists[i]...)
		if weighted {
			g.RowWeights = append(g.RowWeights, weights[i]...)
		}
		g.RowStarts = append(g.RowStarts, len(g.RowGroups))
	}
	for k, s := range sizes {
		g.Starts[k+1] = g.Starts[k] + s
	}
	return g
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// forms returns every form that represents the groups' matrix M.
func forms[T plan.Float](g describe.Groups) map[string]groupForm[T] {
	best := must(kernel.New[T](kernel.Best()))
	short := withPatterns(g)
	pattern, patterns := rowPatterns(g)
	list := map[string]groupForm[T]{"lists": newGroupLists[T](g), "patterns": newGroupPatterns[T](pattern, patterns),
		"chosen": newGroupForm(best, g), "chosen of patterns": newGroupForm(best, short), "lists of patterns": newGroupLists[T](short),
		"short patterns": newGroupPatterns[T](short.Patterns, patternsOf(short))}
	if patterns.Rows <= 16 {
		for _, level := range kernel.Levels() {
			list["masks "+level.String()] = newGroupMasks(must(kernel.New[T](level)), pattern, patterns)
		}
	}
	if g.RowWeights == nil {
		list["bits"], list["bits of patterns"] = newGroupBits[T](g), newGroupBits[T](short)
	}
	return list
}

// withPatterns returns g, which has a list for each row, with patterns.
func withPatterns(g describe.Groups) describe.Groups {
	pattern, patterns := rowPatterns(g)
	g.RowStarts, g.RowGroups, g.RowWeights = patterns.RowStarts, patterns.RowGroups, patterns.RowWeights
	for _, p := range pattern {
		g.Patterns = append(g.Patterns, uint16(p))
	}
	return g
}

// Groups with patterns have the form, and the bits, of the same groups with a list for each row.
func TestPatternsHaveTheSameBits(t *testing.T) {
	best := must(kernel.New[float32](kernel.Best()))
	for _, c := range formChoices {
		g := memberships(c.n, c.count, c.patterns, c.share, c.weighted)
		rng := rand.New(rand.NewPCG(5, 5))
		l, w := make([]float32, c.n), make([]float64, c.count)
		for i := range l {
			l[i] = float32(rng.NormFloat64())
		}
		for k := range w {
			w[k] = rng.NormFloat64()
		}
		var want []float64
		var form string
		for _, g := range []describe.Groups{g, withPatterns(g)} {
			f := newGroupForm(best, g)
			sums, got, out := make([]float64, f.partials()), make([]float64, c.count), make([]float32, c.n)
			eachBlock(c.n, func(lo, hi int) { f.add(sums, l[lo:hi], lo) })
			f.means(got, sums)
			f.setWeights(w)
			eachBlock(c.n, func(lo, hi int) { f.mulTrans(out[lo:hi], lo, false) })
			for _, x := range out {
				got = append(got, float64(x))
			}
			name := strings.Replace(fmt.Sprintf("%T", f), "uint16", "int32", 1)
			if want == nil {
				want, form = got, name
			}
			if name != form || !slices.Equal(got, want) {
				t.Errorf("%+v: %s with other bits than %s", c, name, form)
			}
		}
	}
}

// Every form's products equal the products with M, for blocks whose rows two workers share.
func TestGroupForms(t *testing.T) {
	require.NoRace(t, "the products run on one goroutine; TestFairnessAgreesWithGorgonia runs them on several")
	for _, n := range []int{1, 7, 8, 240, 241, 500, 1000} {
		for _, count := range []int{1, 2, 8, 9, 33} {
			for _, share := range []float64{0, 0.03, 0.4, 1} {
				for _, patterns := range []int{1, 5, n} {
					for _, weighted := range []bool{false, true} {
						g := memberships(n, count, min(patterns, n), share, weighted)
						name := fmt.Sprintf("%dx%d, share %g, patterns %d, weighted %t", count, n, share, patterns, weighted)
						t.Run(name, func(t *testing.T) {
							checkForms[float64](t, g)
							checkForms[float32](t, g)
						})
					}
				}
			}
		}
	}
}

// checkForms compares the products of the forms with sums over M's entries, on numbers whose sums
// are exact.
func checkForms[T plan.Float](t *testing.T, g describe.Groups) {
	rng := rand.New(rand.NewPCG(3, 3))
	l, base, w := make([]T, g.Rows), make([]T, g.Rows), make([]float64, g.Count)
	for i := range l {
		l[i], base[i] = T(rng.IntN(9)-4), T(rng.IntN(9)-4)
	}
	sums, spread := make([]float64, g.Count), make([]float64, g.Rows)
	for k := range w {
		w[k] = float64(rng.IntN(9) - 4)
		if g.RowWeights == nil {
			w[k] *= float64(g.Starts[k+1] - g.Starts[k]) // makes the group's share an integer
		}
	}
	for i := range g.Rows {
		for e := g.RowStarts[i]; e < g.RowStarts[i+1]; e++ {
			k, m := g.RowGroups[e], 1.0
			if g.RowWeights != nil {
				m = g.RowWeights[e]
			} else {
				spread[i] += w[k] / float64(g.Starts[k+1]-g.Starts[k])
			}
			sums[k] += m * float64(l[i])
			if g.RowWeights != nil {
				spread[i] += m * w[k]
			}
		}
	}
	for name, f := range forms[T](g) {
		shares := newFloat64Sums(f.partials())
		shares.reserve(2)
		shares.start(0)
		shares.start(1)
		eachBlock(g.Rows, func(lo, hi int) { f.add(shares.slots[lo/kernel.RowBlock%2], l[lo:hi], lo) })
		means := make([]float64, g.Count)
		f.means(means, shares.total([]int{0, 1}))
		f.setWeights(w)
		written, added := make([]T, g.Rows), append([]T(nil), base...)
		for i := range written {
			written[i] = T(math.NaN())
		}
		eachBlock(g.Rows, func(lo, hi int) {
			f.mulTrans(written[lo:hi], lo, false)
			f.mulTrans(added[lo:hi], lo, true)
		})
		for k, s := range sums {
			if g.RowWeights == nil {
				s /= float64(g.Starts[k+1] - g.Starts[k])
			}
			if means[k] != s {
				t.Errorf("%s, %T: the mean of group %d is %g, want %g", name, l[0], k, means[k], s)
			}
		}
		for i, s := range spread {
			if written[i] != T(s) || added[i] != T(s)+base[i] {
				t.Errorf("%s, %T: row %d gets %g and %g, want %g and %g", name, l[0], i, written[i], added[i], s, T(s)+base[i])
			}
		}
	}
}

// A row with a NaN affects only its own groups.
func TestNaNStaysInItsGroups(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		g := memberships(100, 20, 100, 0.3, weighted)
		l := make([]float64, 100)
		l[37] = math.NaN()
		var in [20]bool
		for _, k := range g.RowGroups[g.RowStarts[37]:g.RowStarts[38]] {
			in[k] = true
		}
		for name, f := range forms[float64](g) {
			sums, means := make([]float64, f.partials()), make([]float64, 20)
			f.add(sums, l, 0)
			f.means(means, sums)
			for k, x := range means {
				if math.IsNaN(x) != in[k] {
					t.Errorf("%s: the mean of group %d is %g, has the row: %t", name, k, x, in[k])
				}
			}
		}
	}
}

// The number of entries and the number of patterns determine the form.
func TestChoiceOfForm(t *testing.T) {
	best := must(kernel.New[float32](kernel.Best()))
	var few groupForm[float32] = &groupMasks[float32]{}
	if best.Level() == kernel.Go {
		few = &groupPatterns[float32, int32]{}
	}
	for _, c := range formChoices {
		if c.want == nil {
			c.want = few
		}
		got := newGroupForm(best, memberships(c.n, c.count, c.patterns, c.share, c.weighted))
		if fmt.Sprintf("%T", got) != fmt.Sprintf("%T", c.want) {
			t.Errorf("%+v: %T", c, got)
		}
	}
}

// formChoices are groups and the form that newGroupForm chooses; nil: for very few patterns.
var formChoices = []struct {
	n, count, patterns int
	share              float64
	weighted           bool
	want               groupForm[float32]
}{
	{1994, 800, 1994, 0.02, false, &groupLists[float32]{}},
	{1994, 800, 1994, 0.16, false, &groupBits[float32]{}},
	{1994, 800, 1994, 0.16, true, &groupLists[float32]{}},
	{5000, 2, 4, 0.5, false, nil},
	{5000, 2, 4, 0.5, true, nil},
	{5000, 3, 8, 0.5, true, &groupPatterns[float32, int32]{}},
	{1994, 800, 60, 0.16, false, &groupPatterns[float32, int32]{}},
}

// BenchmarkGroupForms measures both products of M, with 800 groups of the rows of Communities and
// Crime, and with the two groups of Adult.
func BenchmarkGroupForms(b *testing.B) {
	for _, c := range []struct {
		n, count, patterns int
		share              float64
	}{{1994, 800, 1994, 0.02}, {1994, 800, 1994, 0.16}, {1994, 800, 1994, 0.5}, {1994, 800, 558, 0.16}, {48842, 2, 4, 0.5}} {
		g := memberships(c.n, c.count, c.patterns, c.share, false)
		l, w, out, means := make([]float32, c.n), make([]float64, c.count), make([]float32, c.n), make([]float64, c.count)
		for name, f := range forms[float32](g) {
			sums := make([]float64, f.partials())
			b.Run(fmt.Sprintf("%dx%d,patterns=%d,share=%g/%s", c.count, c.n, c.patterns, c.share, name), func(b *testing.B) {
				for b.Loop() {
					clear(sums)
					eachBlock(c.n, func(lo, hi int) { f.add(sums, l[lo:hi], lo) })
					f.means(means, sums)
					f.setWeights(w)
					eachBlock(c.n, func(lo, hi int) { f.mulTrans(out[lo:hi], lo, false) })
				}
			})
		}
	}
}
