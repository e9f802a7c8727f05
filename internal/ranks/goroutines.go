package ranks

import (
	"fmt"
	"slices"
	"sync"
)

// Goroutines returns n ranks of one process. A goroutine for each rank calls the rank's methods.
func Goroutines(n int) []Collective {
	room := &meeting{inputs: make([][]float64, n)}
	room.changed = sync.NewCond(&room.lock)
	all := make([]Collective, n)
	for rank := range all {
		all[rank] = &goroutine{room, rank}
	}
	return all
}

// meeting is where the ranks of one process exchange numbers, one exchange after the other.
type meeting struct {
	lock    sync.Mutex
	changed *sync.Cond
	inputs  [][]float64 // of the current exchange, by rank
	came    int         // the ranks that have given their input
	round   int         // the number of complete exchanges
	result  []float64   // of the last complete exchange
	aborted error
}

// goroutine is a rank of a meeting.
type goroutine struct {
	room *meeting
	rank int
}

// Rank implements Collective.
func (g *goroutine) Rank() int { return g.rank }

// Size implements Collective.
func (g *goroutine) Size() int { return len(g.room.inputs) }

// Sum implements Collective.
func (g *goroutine) Sum(x []float64) error {
	return g.room.exchange(g.rank, x, func(inputs [][]float64) []float64 {
		sum := slices.Clone(inputs[0])
		for _, in := range inputs[1:] {
			for i, v := range in {
				sum[i] += v
			}
		}
		return sum
	})
}

// Broadcast implements Collective.
func (g *goroutine) Broadcast(x []float64) error {
	return g.room.exchange(g.rank, x, func(inputs [][]float64) []float64 { return slices.Clone(inputs[0]) })
}

// Barrier implements Collective.
func (g *goroutine) Barrier() error { return g.Sum(nil) }

// Abort implements Collective. Calls that wait, and later calls, return the reason.
func (g *goroutine) Abort(reason error) {
	g.room.lock.Lock()
	defer g.room.lock.Unlock()
	if g.room.aborted == nil {
		g.room.aborted = fmt.Errorf("ranks: process %d ended the run: %w", g.rank, reason)
	}
	g.room.changed.Broadcast()
}

// exchange replaces x by the result of combine, which the last rank to come computes.
func (m *meeting) exchange(rank int, x []float64, combine func(inputs [][]float64) []float64) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.aborted != nil {
		return m.aborted
	}
	m.inputs[rank] = x
	m.came++
	if round := m.round; m.came < len(m.inputs) {
		for m.round == round && m.aborted == nil {
			m.changed.Wait()
		}
	} else {
		m.finish(combine)
	}
	if m.aborted != nil {
		return m.aborted
	}
	copy(x, m.result)
	return nil
}

// finish computes the result and wakes the ranks. Inputs of different lengths end the run.
func (m *meeting) finish(combine func(inputs [][]float64) []float64) {
	for rank, in := range m.inputs {
		if len(in) != len(m.inputs[0]) {
			m.aborted = fmt.Errorf("ranks: process %d gives %d numbers, process 0 gives %d", rank, len(in), len(m.inputs[0]))
		}
	}
	if m.aborted == nil {
		m.result = combine(m.inputs)
	}
	m.came = 0
	m.round++
	m.changed.Broadcast()
}
