package vec

import (
	"math/bits"
	"math/rand/v2"
)

// Stream draws random integers from a PCG by multiply and shift. They are the same on every machine
// and in every version of Go.
type Stream struct{ pcg *rand.PCG }

// NewStream returns the stream of a seed. Streams of one seed with different numbers are
// independent.
func NewStream(seed, number uint64) Stream { return Stream{rand.NewPCG(seed, number)} }

// Below returns a uniform integer in [0, n).
func (s Stream) Below(n int) int {
	hi, _ := bits.Mul64(s.pcg.Uint64(), uint64(n))
	return int(hi)
}

// Within returns a uniform integer in [-n, n].
func (s Stream) Within(n int) int { return s.Below(2*n+1) - n }

// Bell returns a binomial variable with mean 0 and standard deviation 4.
func (s Stream) Bell() int { return bits.OnesCount64(s.pcg.Uint64()) - 32 }

// Shuffle shuffles the numbers (Fisher and Yates).
func (s Stream) Shuffle(numbers []int) {
	for i := len(numbers) - 1; i > 0; i-- {
		j := s.Below(i + 1)
		numbers[i], numbers[j] = numbers[j], numbers[i]
	}
}
