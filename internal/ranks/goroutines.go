package ranks

import (
	"fmt"
	"slices"
	"sync"
)

// Goroutines returns n ranks of one process. A goroutine for each rank calls the rank's methods.
func Goroutines(n int) []Collective {
	meeting := &meeting{inputs: make([]any, n)}
	meeting.changed = sync.NewCond(&meeting.lock)
	all := make([]Collective, n)
	for rank := range all {
		all[rank] = &goroutine{meeting, rank}
	}
	return all
}

// meeting is where the ranks of one process exchange numbers, one exchange after the other.
type meeting struct {
	lock    sync.Mutex
	changed *sync.Cond
	inputs  []any // of the current exchange, by rank: []float64, []float32 or []byte
	came    int   // the ranks that have given their input
	round   int   // the number of complete exchanges
	result  any   // of the last complete exchange
	aborted error
}

// goroutine is a rank of a meeting.
type goroutine struct {
	meeting *meeting
	rank    int
}

// Rank implements Collective.
func (g *goroutine) Rank() int { return g.rank }

// Size implements Collective.
func (g *goroutine) Size() int { return len(g.meeting.inputs) }

// Sum implements Collective.
func (g *goroutine) Sum(x []float64) error { return exchange(g, x, sumOf[float64]) }

// SumFloat32 implements Collective.
func (g *goroutine) SumFloat32(x []float32) error { return exchange(g, x, sumOf[float32]) }

func sumOf[S number](inputs [][]S) []S {
	sums := make([]S, len(inputs[0]))
	addUp(sums, slices.Concat(inputs...))
	return sums
}

// Broadcast implements Collective.
func (g *goroutine) Broadcast(message []byte) error {
	return exchange(g, message, func(inputs [][]byte) []byte { return inputs[0] })
}

// Barrier implements Collective.
func (g *goroutine) Barrier() error { return g.Sum(nil) }

// Abort implements Collective. Calls that wait, and later calls, return the reason.
func (g *goroutine) Abort(reason error) {
	g.meeting.lock.Lock()
	defer g.meeting.lock.Unlock()
	if g.meeting.aborted == nil {
		g.meeting.aborted = fmt.Errorf("ranks: process %d ended the run: %w", g.rank, reason)
	}
	g.meeting.changed.Broadcast()
}

// exchange replaces x by the result of combine, which the last rank to come computes on copies of
// the inputs.
func exchange[S number | byte](g *goroutine, x []S, combine func(inputs [][]S) []S) error {
	m := g.meeting
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.aborted != nil {
		return m.aborted
	}
	m.inputs[g.rank] = slices.Clone(x)
	m.came++
	round := m.round
	if m.came == len(m.inputs) {
		finish(m, combine)
	}
	for m.round == round && m.aborted == nil {
		m.changed.Wait()
	}
	if m.round == round {
		return m.aborted
	}
	copy(x, m.result.([]S)) // also if a rank has aborted since
	return nil
}

// finish computes the result and wakes the ranks. Inputs of different lengths or types end the run.
func finish[S number | byte](m *meeting, combine func(inputs [][]S) []S) {
	inputs := make([][]S, len(m.inputs))
	for rank, in := range m.inputs {
		own, same := in.([]S)
		if inputs[rank] = own; !same || len(own) != len(inputs[0]) {
			m.aborted = fmt.Errorf("ranks: process %d gives %d elements, process 0 gives %d, or elements of another type", rank, len(own), len(inputs[0]))
		}
	}
	if m.aborted == nil {
		m.result = combine(inputs)
		m.came = 0
		m.round++
	}
	m.changed.Broadcast()
}
