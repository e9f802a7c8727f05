package decide

import (
	"ppal/internal/vec"
)

// sorter sorts moves by radix. Sorting all training rows by comparisons would be the dearest part
// of the exact step.
type sorter struct {
	radix vec.Sorter
	moves []move
}

// descending sorts moves by decreasing margin. Moves with equal margins keep their order.
func (s *sorter) descending(moves []move) {
	s.moves = append(s.moves[:0], moves...)
	for i, from := range s.radix.Order(len(moves), func(i int) float64 { return -s.moves[i].margin }) {
		moves[i] = s.moves[from]
	}
}
