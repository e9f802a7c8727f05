package columnar

import (
	"context"
	"encoding/json"
	"errors"

	"ppal/datasets/tabular"
)

// Vote returns ErrAlone if a process has an error. A process that is interrupted fails instead.
func Vote(s tabular.Share, own error) error {
	if errors.Is(own, context.Canceled) || errors.Is(own, context.DeadlineExceeded) {
		return own
	}
	failed, err := s.Vote(own != nil)
	if err == nil && failed {
		err = ErrAlone
	}
	return err
}

// Gather returns the numbers of all processes, in the order of the ranks. counts[r] is how many
// numbers process r contributes; number(i) returns the i-th number of this process. Gather sums
// vectors with zeros for the other processes, which keeps finite numbers except the sign of zero.
func Gather(s tabular.Share, counts []int, number func(i int) float64) ([]float64, error) {
	before, total := 0, 0
	for rank, n := range counts {
		if rank < s.Rank() {
			before += n
		}
		total += n
	}
	all := make([]float64, total)
	for i := range counts[s.Rank()] {
		all[before+i] = number(i)
	}
	return all, s.Sum(all)
}

// gatherCounts returns a number of each process.
func gatherCounts(s tabular.Share, own int) ([]int, error) {
	x := make([]float64, s.Size())
	x[s.Rank()] = float64(own)
	err := s.Sum(x)
	counts := make([]int, len(x))
	for rank, n := range x {
		counts[rank] = int(n)
	}
	return counts, err
}

// wordBytes is the number of bytes that GatherValues sends in a float64, without rounding.
const wordBytes = 6

// GatherValues returns a value of each process, which JSON keeps.
func GatherValues[T any](s tabular.Share, own T) ([]T, error) {
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	lengths, err := gatherCounts(s, len(text))
	if err != nil {
		return nil, err
	}
	words := make([]int, len(lengths))
	for rank, n := range lengths {
		words[rank] = (n + wordBytes - 1) / wordBytes
	}
	numbers, err := Gather(s, words, func(i int) float64 {
		word := uint64(0)
		for k, b := range text[i*wordBytes : min((i+1)*wordBytes, len(text))] {
			word |= uint64(b) << (8 * k)
		}
		return float64(word)
	})
	if err != nil {
		return nil, err
	}
	all := make([]T, len(lengths))
	for rank, n := range lengths {
		bytes := make([]byte, 0, n+wordBytes)
		for _, x := range numbers[:words[rank]] {
			for k := range wordBytes {
				bytes = append(bytes, byte(uint64(x)>>(8*k)))
			}
		}
		if err := json.Unmarshal(bytes[:n], &all[rank]); err != nil {
			return nil, err
		}
		numbers = numbers[words[rank]:]
	}
	return all, nil
}
