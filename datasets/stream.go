package datasets

import (
	"math/bits"
	"math/rand/v2"
)

// stream draws random integers from a PCG by multiply and shift. The integers are the same on every
// machine and in every version of Go.
type stream struct{ pcg *rand.PCG }

// below returns a uniform integer in [0, n).
func (s stream) below(n int) int {
	hi, _ := bits.Mul64(s.pcg.Uint64(), uint64(n))
	return int(hi)
}

// within returns a uniform integer in [-n, n].
func (s stream) within(n int) int { return s.below(2*n+1) - n }

// bell returns a binomial variable with mean 0 and standard deviation 4.
func (s stream) bell() int { return bits.OnesCount64(s.pcg.Uint64()) - 32 }

// shuffle shuffles the numbers (Fisher and Yates).
func (s stream) shuffle(numbers []int) {
	for i := len(numbers) - 1; i > 0; i-- {
		j := s.below(i + 1)
		numbers[i], numbers[j] = numbers[j], numbers[i]
	}
}
