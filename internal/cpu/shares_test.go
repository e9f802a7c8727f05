package cpu

import (
	"fmt"
	"slices"
	"testing"

	"ppal/internal/cpu/kernel"
)

// terms is a summing step that keeps the order of its additions as text.
type terms struct {
	least, size int
	slots       []string
}

func (s *terms) shareRows() int                     { return s.least }
func (s *terms) elements() int                      { return s.size }
func (s *terms) reserve(slots int)                  { s.slots = make([]string, slots) }
func (s *terms) start(slot int)                     { s.slots[slot] = "" }
func (s *terms) settle(int)                         {}
func (s *terms) numbers(int) ([]float64, []float32) { return nil, nil }
func (s *terms) merge(left, right int) {
	s.slots[left] = "(" + s.slots[left] + "+" + s.slots[right] + ")"
	s.slots[right] = "lost"
}

// orderOf returns the sum over a number of shares in which the workers take turns: each worker
// finishes a share after the others have started theirs. skip is the number of turns that worker 0
// misses in its first share. used is the number of slots that ever had sums.
func orderOf(t *testing.T, count, ranges, workers, skip int) (roots []string, used int) {
	t.Helper()
	s, sum := newShares(count, count, ranges), &terms{}
	sum.reserve(count)
	s.restart()
	type place struct{ share, slot int }
	at := make([]place, workers)
	for w := range at {
		at[w].share = -1
	}
	done := 0
	for turn := 0; done < count; turn++ {
		for w := range at {
			if w == 0 && at[0].share >= 0 && turn < skip {
				continue
			}
			if i := at[w].share; i >= 0 {
				s.finished(i, at[w].slot, []summing{sum})
				done++
			}
			if at[w].share = s.take(w); at[w].share >= 0 {
				at[w].slot = s.slot(w)
				sum.start(at[w].slot)
				sum.slots[at[w].slot] = fmt.Sprint(at[w].share)
			}
		}
	}
	for _, r := range s.roots {
		roots = append(roots, sum.slots[r])
	}
	for _, terms := range sum.slots {
		if terms != "" {
			used++
		}
	}
	return roots, used
}

// The order of additions depends only on the number of shares.
func TestOrderOfShares(t *testing.T) {
	for _, c := range []struct {
		count int
		want  []string
	}{
		{1, []string{"0"}},
		{4, []string{"0", "1", "2", "3"}},
		{5, []string{"(0+1)", "(2+3)", "4"}},
		{11, []string{"((0+1)+(2+3))", "((4+5)+(6+7))", "((8+9)+10)"}},
	} {
		for workers := 1; workers <= min(c.count, 7); workers++ {
			for _, skip := range []int{0, 3, 100} {
				for _, ranges := range []int{1, workers} {
					if got, _ := orderOf(t, c.count, ranges, workers, min(skip, skip*(workers-1))); !slices.Equal(got, c.want) {
						t.Errorf("%d shares, %d ranges, %d workers, %d turns missed: %q, want %q", c.count, ranges, workers, skip, got, c.want)
					}
				}
			}
		}
	}
	want, _ := orderOf(t, mostShares, 1, 1, 0)
	for workers := 2; workers <= mostShares; workers += 3 {
		if got, _ := orderOf(t, mostShares, workers, workers, 5); !slices.Equal(got, want) {
			t.Errorf("%d workers: %q, want %q", workers, got, want)
		}
	}
}

// Workers that share one range keep at most the roots, a node on each level and a share for each
// worker. With a range for each worker they keep more.
func TestSlotsInUse(t *testing.T) {
	for _, c := range []struct{ count, workers, one, each int }{
		{20, 2, 6, 9},
		{64, 2, 8, 12},
		{64, 8, 14, 32},
	} {
		if _, used := orderOf(t, c.count, 1, c.workers, 0); used > c.one {
			t.Errorf("%d shares, %d workers, one range: %d slots, want at most %d", c.count, c.workers, used, c.one)
		}
		if _, used := orderOf(t, c.count, c.workers, c.workers, 0); used != c.each {
			t.Errorf("%d shares, %d workers and ranges: %d slots, want %d", c.count, c.workers, used, c.each)
		}
	}
}

// Sums of the size of large weights are large, together or alone.
func TestIsLarge(t *testing.T) {
	half := &terms{size: largeSums / 2}
	if isLarge([]summing{half}) || !isLarge([]summing{half, half}) || isLarge(nil) {
		t.Error("the sums' size is not the sum of the sizes")
	}
}

// The number of shares grows with the rows, is small where a share's sums are large, and never
// exceeds the units.
func TestCountShares(t *testing.T) {
	for _, c := range []struct {
		rows int
		b    blocking
		sums []summing
		want int
	}{
		{1, usualBlocking(), nil, 1},
		{2 * kernel.RowBlock, usualBlocking(), nil, 2},
		{24_000, usualBlocking(), nil, 64},
		{24_000, usualBlocking(), []summing{&terms{least: productRows}, &terms{least: 1}}, 25},
		{24_000, usualBlocking(), []summing{&terms{least: 1 << 30}}, fewShares},
		{10_000_000, columnBlocking(), []summing{&terms{least: 1}}, mostShares},
	} {
		if got := countShares(c.rows, c.b, c.sums); got != c.want {
			t.Errorf("%d rows, %v: %d shares, want %d", c.rows, c.b, got, c.want)
		}
	}
}

// Rows of one or two units have a single share if they need few operations.
func TestTogether(t *testing.T) {
	b := columnBlocking()
	for _, c := range []struct {
		rows       int
		operations int64
		want       int
	}{
		{columnUnit, leastWork - 1, 1},
		{columnUnit + 1, leastWork - 1, 1},
		{2 * columnUnit, leastWork - 1, 1},
		{2 * columnUnit, leastWork, 2},
		{2*columnUnit + 1, 1, 3},
	} {
		own := b.together(c.rows, c.operations)
		if got := countShares(c.rows, own, []summing{&terms{least: 1}}); got != c.want || own.block != b.block {
			t.Errorf("%d rows, %d operations: %d shares in blocks of %d, want %d in blocks of %d", c.rows, c.operations, got, own.block, c.want, b.block)
		}
	}
	for rows, want := range map[int]int{2 * columnUnit: 1, 2*columnUnit + 1: 3} {
		e := must(newExecutor[float64](must(New(kernel.Best(), 2)), newRates(rows, true).Plan))
		if got := e.forward[0].shares.count; got != want {
			t.Errorf("the rates of %d rows have %d shares, want %d", rows, got, want)
		}
	}
}
