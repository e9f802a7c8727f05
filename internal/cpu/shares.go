package cpu

import (
	"math/bits"
	"sync/atomic"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// summing is a step with sums over rows. Each share of a region's rows has its own sums, in a slot.
type summing interface {
	// shareRows returns the least number of rows of a share for which clearing and adding the share's
	// sums costs little. The number depends only on shapes.
	shareRows() int
	// elements returns the number of sums in a slot.
	elements() int
	// reserve makes room for the given number of slots, and drops the sums of earlier slots. It is
	// called before all other methods, and again when a program rests. A slot gets its memory when
	// the slot is started for the first time.
	reserve(slots int)
	// start sets the sums of a slot to zero.
	start(slot int)
	// merge adds the sums of slot right to the sums of slot left. The sums of slot right lose their
	// values.
	merge(left, right int)
	// send adds the sums of a slot to a message. Processes add their messages, and call settle with
	// the totals in place.
	send(slot int, m *message)
	settle(slot int)
}

// The number of a region's shares depends only on shapes, so that the bits of all sums are the same
// for any number of threads. More shares occupy more threads; each share costs an addition of its
// sums. mostShares is at most 64, the bits of shares.free.
const (
	fewShares  = 4 // the least number of shares of a region with as many units
	mostShares = 64
)

// mostRoots is the number of sums that finish adds. All threads take part in this addition, while
// one thread adds the sums of two shares.
const mostRoots = 4

// countShares returns the number of shares of a region.
func countShares(rows int, b blocking, sums []summing) int {
	least := b.block
	for _, s := range sums {
		if _, filters := s.(interface{ ofPictures() }); filters || !b.pictures {
			least = max(least, s.shareRows())
		}
	}
	units := b.units(rows)
	return max(1, min(units, mostShares, max(rows/least, fewShares)))
}

// largeSums is the number of sums in a slot from which the memory of the slots counts for more than
// rows that stay in a worker's cache.
const largeSums = 1 << 18

// isLarge reports whether the workers should keep few slots.
func isLarge(sums []summing) bool {
	total := 0
	for _, s := range sums {
		total += s.elements()
	}
	return total >= largeSums
}

// shares is the division of a region's units of rows, and the tree in which the sums of the shares
// are added. Each worker has a range of shares, so that its rows stay in its cache. A worker
// without shares left takes shares from the others' ranges. If the sums are large, all workers
// share one range: they complete the nodes of the tree in order and occupy few slots.
//
// The nodes on level l of the tree are the runs of 2^l consecutive shares. The worker that finishes
// the second child of a node adds the right child's sums to the left child's. So the order of the
// additions depends only on the number of shares.
type shares struct {
	units, count int
	cursors      []cursor         // by range
	nodes        [][]atomic.Int32 // by level-1 and place: 1 + the slot of the child that finished first
	free         atomic.Uint64    // bits of the slots without sums
	roots        []int            // slots of the nodes on the top level, after the last share
}

// cursor is the place in a range of shares. It fills two cache lines.
type cursor struct {
	next atomic.Int32
	end  int32
	_    [120]byte
}

// newShares returns shares with the given number of ranges: the number of workers, or 1.
func newShares(units, count, ranges int) *shares {
	s := &shares{units: units, count: count, cursors: make([]cursor, ranges), roots: make([]int, count)}
	for len(s.roots) > mostRoots {
		n := (len(s.roots) + 1) / 2
		s.roots = s.roots[:n]
		s.nodes = append(s.nodes, make([]atomic.Int32, n))
	}
	return s
}

// restart makes all shares available.
func (s *shares) restart() {
	for i := range s.cursors {
		from, to := share(s.count, i, len(s.cursors))
		s.cursors[i].next.Store(int32(from))
		s.cursors[i].end = int32(to)
	}
	for _, level := range s.nodes {
		for i := range level {
			level[i].Store(0)
		}
	}
	s.free.Store(^uint64(0) >> (64 - s.count))
}

// take returns the next share for a worker: of the worker's range, else of another range. It
// returns -1 if no share is left.
func (s *shares) take(worker int) int {
	for i := range s.cursors {
		c := &s.cursors[(worker+i)%len(s.cursors)]
		if c.next.Load() < c.end {
			if at := c.next.Add(1) - 1; at < c.end {
				return int(at)
			}
		}
	}
	return -1
}

// unitsOf returns the units of a share.
func (s *shares) unitsOf(i int) (from, to int) { return share(s.units, i, s.count) }

// slot reserves a free slot. There is one: each slot in use has sums of other shares. Workers look
// for slots from the beginning of their range, so that a slot's memory stays in one worker's cache.
func (s *shares) slot(worker int) int {
	first := s.count * (worker % len(s.cursors)) / len(s.cursors)
	for {
		free := s.free.Load()
		i := (bits.TrailingZeros64(bits.RotateLeft64(free, -first)) + first) % 64
		if s.free.CompareAndSwap(free, free&^(1<<i)) {
			return i
		}
	}
}

// finished takes the sums of share i up the tree as far as the neighbours have finished.
func (s *shares) finished(i, slot int, sums []summing) {
	width := s.count // of the level below
	for _, level := range s.nodes {
		if i^1 < width {
			other := int(level[i/2].Swap(int32(slot+1))) - 1
			if other < 0 {
				return
			}
			left, right := slot, other
			if i%2 == 1 {
				left, right = other, slot
			}
			for _, sum := range sums {
				sum.merge(left, right)
			}
			s.free.Or(1 << right)
			slot = left
		}
		i, width = i/2, len(level)
	}
	s.roots[i] = slot
}

// slotSums holds sums of numbers of type S, by slot.
type slotSums[S plan.Float] struct {
	length int
	slots  [][]S
	axpy   func(y []S, s S, x []S)
}

func newSlotSums[S plan.Float](length int, axpy func(y []S, s S, x []S)) *slotSums[S] {
	return &slotSums[S]{length: length, axpy: axpy}
}

// newFloat64Sums returns sums in float64 with few elements.
func newFloat64Sums(length int) *slotSums[float64] { return newSlotSums(length, addTo) }

// addTo adds s x to y.
func addTo(y []float64, s float64, x []float64) {
	for i, v := range x[:len(y)] {
		y[i] += s * v
	}
}

func (s *slotSums[S]) elements() int { return s.length }

func (s *slotSums[S]) reserve(slots int) { s.slots = make([][]S, slots) }

func (s *slotSums[S]) start(slot int) {
	if s.slots[slot] == nil {
		s.slots[slot] = kernel.Alloc[S](s.length)
		return
	}
	clear(s.slots[slot])
}

func (s *slotSums[S]) merge(left, right int) { s.axpy(s.slots[left], 1, s.slots[right]) }

func (s *slotSums[S]) send(slot int, m *message) {
	if double, ok := any(s.slots[slot]).([]float64); ok {
		m.doubles.add(double)
	} else {
		m.singles.add(any(s.slots[slot]).([]float32))
	}
}

func (s *slotSums[S]) settle(int) {}

// total adds the sums of the roots, in order, in the first root's slot.
func (s *slotSums[S]) total(roots []int) []S {
	for _, r := range roots[1:] {
		s.merge(roots[0], r)
	}
	return s.slots[roots[0]]
}

// rowsForSums returns the least number of rows of a share for sums with the given number of
// elements, if a row costs about as much as one element.
func rowsForSums(length int) int { return sumsShare * length }

// sumsShare is the number of rows for which the additions of one element cost little.
const sumsShare = 16
