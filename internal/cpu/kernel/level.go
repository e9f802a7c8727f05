package kernel

import "fmt"

// A Level is a set of instructions that kernels are written for. Levels are
// ordered: a machine that supports one supports those below it.
type Level int

// The levels.
const (
	Go     Level = iota // portable Go, the reference
	AVX2                // amd64 with AVX2 and FMA
	AVX512              // amd64 with AVX-512 F, BW, DQ and VL
)

// Best is the highest level that this machine supports.
func Best() Level { return best() }

// Levels lists the levels that this machine supports, lowest first.
func Levels() []Level {
	all := []Level{Go, AVX2, AVX512}
	return all[:Best()+1]
}

// String is the level's name in settings and reports: go, avx2 or avx512.
func (l Level) String() string {
	switch l {
	case Go:
		return "go"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	}
	return fmt.Sprintf("Level(%d)", int(l))
}

// ParseLevel is the level of a name as String writes it.
func ParseLevel(name string) (Level, error) {
	for l := Go; l <= AVX512; l++ {
		if l.String() == name {
			return l, nil
		}
	}
	return Go, fmt.Errorf("kernel: no level %q: want go, avx2 or avx512", name)
}

// An UnsupportedError tells that this machine lacks a level's instructions.
type UnsupportedError struct{ Level, Best Level }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("kernel: this machine has no %v kernels: choose %v or lower", e.Level, e.Best)
}
