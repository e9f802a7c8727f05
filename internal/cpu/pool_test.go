package cpu

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ppal/internal/cpu/kernel"
	"ppal/internal/relay"
)

// marks counts the shares that each worker ran.
type marks struct{ done []int }

func (m *marks) work(worker int) { m.done[worker]++ }

func TestPoolRunsEveryShareOnce(t *testing.T) {
	p := newPool(4)
	defer p.close()
	for round := range 1000 {
		n := 1 + round%4
		m := &marks{make([]int, 4)}
		p.run(n, m)
		for worker, times := range m.done {
			if want := min(1, max(0, n-worker)); times != want {
				t.Fatalf("round %d: worker %d of %d ran %d times, want %d", round, worker, n, times, want)
			}
		}
		if round%250 == 249 {
			time.Sleep(4 * patience) // lets the helpers fall asleep
		}
	}
}

func TestPoolServesSeveralCallers(t *testing.T) {
	p := newPool(3)
	defer p.close()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			m := &marks{make([]int, 3)}
			for range 300 {
				p.run(3, m)
			}
			for worker, times := range m.done {
				if times != 300 {
					t.Errorf("worker %d ran %d times, want 300", worker, times)
				}
			}
		})
	}
	group.Wait()
}

// failing panics in the caller's share while the helpers still work.
type failing struct{ marks }

func (f *failing) work(worker int) {
	if worker == 0 {
		panic("share 0")
	}
	time.Sleep(time.Millisecond)
	f.marks.work(worker)
}

// After a panic on the caller's goroutine the pool is usable and no helper still works.
func TestPoolAfterAPanic(t *testing.T) {
	p := newPool(3)
	defer p.close()
	f := &failing{marks{make([]int, 3)}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was lost")
			}
		}()
		p.run(3, f)
	}()
	if f.done[1] != 1 || f.done[2] != 1 {
		t.Errorf("helpers ran %v times before the panic arrived", f.done[1:])
	}
	m := &marks{make([]int, 3)}
	if p.run(3, m); m.done[0] != 1 || m.done[1] != 1 || m.done[2] != 1 {
		t.Errorf("shares ran %v times after a panic", m.done)
	}
}

// crashing panics in the shares of the helpers.
type crashing struct{ marks }

func (c *crashing) work(worker int) {
	c.marks.work(worker)
	if worker > 0 {
		panic("a helper's share")
	}
}

// A panic on a helper's goroutine arrives at the caller, and the pool stays usable.
func TestPoolAfterAHelpersPanic(t *testing.T) {
	p := newPool(3)
	defer p.close()
	for round := range 3 {
		c := &crashing{marks{make([]int, 3)}}
		func() {
			defer func() {
				if worker, ok := recover().(*relay.Panic); !ok || worker.Value != "a helper's share" || !strings.Contains(worker.Place, "crashing") {
					t.Errorf("round %d: %+v", round, worker)
				}
			}()
			p.run(3, c)
		}()
		if c.done[0] != 1 || c.done[1] != 1 || c.done[2] != 1 {
			t.Errorf("round %d: shares ran %v times", round, c.done)
		}
		m := &marks{make([]int, 3)}
		if p.run(3, m); m.done[0] != 1 || m.done[1] != 1 || m.done[2] != 1 {
			t.Errorf("round %d: shares ran %v times after a panic", round, m.done)
		}
	}
}

// waitForGoroutines fails unless the number of goroutines falls to n within a minute, which is
// enough even on a stalled machine. It calls collect before each count.
func waitForGoroutines(t *testing.T, n int, collect func()) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Millisecond) {
		collect()
		if runtime.NumGoroutine() <= n {
			return
		}
	}
	t.Errorf("%d goroutines, want %d", runtime.NumGoroutine(), n)
}

func TestPoolLeavesNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	p := newPool(5)
	// Goroutines of earlier tests may end here.
	if p.run(1, &marks{make([]int, 1)}); runtime.NumGoroutine() > before {
		t.Error("one worker needs goroutines")
	}
	for range 2 {
		p.run(5, &marks{make([]int, 5)})
		p.close()
		p.close()
		waitForGoroutines(t, before, func() {})
	}
	p.run(5, &marks{make([]int, 5)}) // the test drops the pool here
	waitForGoroutines(t, before, runtime.GC)
}

func TestPoolAllocatesNothing(t *testing.T) {
	p := newPool(2)
	defer p.close()
	m := &marks{make([]int, 2)}
	if n := testing.AllocsPerRun(100, func() { p.run(2, m) }); n != 0 {
		t.Errorf("%v allocations a run, want 0", n)
	}
}

// BenchmarkPool measures the time to hand out a job and wait for its end, with helpers awake and
// asleep.
func BenchmarkPool(b *testing.B) {
	p := newPool(2)
	defer p.close()
	m := &marks{make([]int, 2)}
	b.Run("awake", func(b *testing.B) {
		for b.Loop() {
			p.run(2, m)
		}
	})
	b.Run("asleep", func(b *testing.B) {
		var total time.Duration
		for range b.N {
			time.Sleep(4 * patience)
			start := time.Now()
			p.run(2, m)
			total += time.Since(start)
		}
		b.ReportMetric(float64(total.Nanoseconds())/float64(b.N), "ns/op")
	})
}

// terms is a summing step that keeps the order of its additions as text.
type terms struct {
	least, size int
	slots       []string
}

func (s *terms) shareRows() int     { return s.least }
func (s *terms) elements() int      { return s.size }
func (s *terms) reserve(slots int)  { s.slots = make([]string, slots) }
func (s *terms) start(slot int)     { s.slots[slot] = "" }
func (s *terms) settle(int)         {}
func (s *terms) send(int, *message) {}
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
		own := b.forWork(c.rows, c.operations)
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
