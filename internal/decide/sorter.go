package decide

import (
	"ppal/internal/paged"
	"ppal/internal/radix"
)

// sorter sorts moves by radix. Sorting all training rows by comparisons would be the dearest part
// of the exact step.
type sorter struct {
	radix radix.Sorter
	moves []move
}

// free removes the memory in pages.
func (s *sorter) free() {
	paged.Drop(s.radix.Pages, s.moves)
	s.radix.Free()
}

// descending sorts moves by decreasing margin. Moves with equal margins keep their order.
func (s *sorter) descending(moves []move) {
	s.moves = append(paged.Room(s.radix.Pages, s.moves, len(moves)), moves...)
	for i, from := range s.radix.Order(len(moves), func(i int) float64 { return -s.moves[i].margin }) {
		moves[i] = s.moves[from]
	}
}
