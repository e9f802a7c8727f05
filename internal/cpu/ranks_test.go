package cpu_test

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/ranks"
	"ppal/internal/require"
)

// Processes that share the rows get the results of one process up to rounding, all the same bits,
// and the same bits again. Sixteen processes are more than the units of rows: some have no rows.
func TestRanksShareRows(t *testing.T) {
	alone := must(cpu.New(kernel.Best(), 2))
	t.Cleanup(alone.Close)
	for name, problem := range onThreads(t) {
		p := problem(alone)
		if p == nil {
			continue
		}
		want := numbers(t, p)
		sizes := []int{3, 16}
		if require.Racing || !strings.Contains(name, "float64") { // the precision does not change who has which rows
			sizes = sizes[:1]
		}
		for _, size := range sizes {
			// the graphs are built one after the other, before the processes run
			got := make([][][]float64, size)
			var all sync.WaitGroup
			for _, c := range ranks.Goroutines(size) {
				d := must(cpu.New(kernel.Best(), 1+c.Rank()%2))
				defer d.Close()
				p := problem(d.Among(c))
				all.Go(func() {
					first := numbers(t, p)
					if again := numbers(t, p); !slices.EqualFunc(first, again, slices.Equal) {
						t.Errorf("%s, %d processes: a second evaluation has other bits", name, size)
					}
					got[c.Rank()] = first
				})
			}
			all.Wait()
			for rank := range got {
				if !slices.EqualFunc(got[rank], got[0], slices.Equal) {
					t.Errorf("%s: process %d of %d has other bits than process 0", name, rank, size)
				}
			}
			tolerance := 2e-6
			if strings.Contains(name, "float64") {
				tolerance = 1e-13
			}
			if d := largestDifference(want, got[0]); !(d <= tolerance) {
				t.Errorf("%s: %d processes differ from one by %.1g", name, size, d)
			}
		}
	}
}

// largestDifference returns the largest difference of two lists of vectors, in units of the largest
// number of the vector.
func largestDifference(a, b [][]float64) (worst float64) {
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return math.Inf(1)
		}
		scale := 0.0
		for _, v := range a[i] {
			scale = max(scale, math.Abs(v))
		}
		for k, v := range a[i] {
			worst = max(worst, math.Abs(v-b[i][k])/max(scale, 1e-300))
		}
	}
	return worst
}
