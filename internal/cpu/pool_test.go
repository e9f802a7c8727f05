package cpu

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

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
