package kernel

import "fmt"

// A Level names a set of CPU features that kernels are written for. The settings and reports of a
// run use the name. Beyond the set, a level's kernels may use further features that the CPU has:
// see [NewByteKernels].
type Level int

// The levels. The numbers have no meaning: two levels need not include each other.
const (
	Go     Level = iota // portable Go, the reference
	AVX2                // amd64 with AVX2 and FMA
	AVX512              // amd64 with AVX-512 F, BW, DQ and VL
)

// preference returns all levels, the preferred ones first.
func preference() []Level { return []Level{AVX512, AVX2, Go} }

// features is a set of features of a CPU.
type features uint

// The features that kernels ask for, by the names that the Linux kernel lists in /proc/cpuinfo.
const (
	hasAVX2 features = 1 << iota
	hasFMA
	hasAVX512F
	hasAVX512BW
	hasAVX512DQ
	hasAVX512VL
	hasAVX512VNNI
	hasAVXVNNI
)

// needs returns the features that a level stands for. ok is false for a number that is no level.
func (l Level) needs() (f features, ok bool) {
	switch l {
	case Go:
		return 0, true
	case AVX2:
		return hasAVX2 | hasFMA, true
	case AVX512:
		return hasAVX2 | hasFMA | hasAVX512F | hasAVX512BW | hasAVX512DQ | hasAVX512VL, true
	}
	return 0, false
}

// include reports whether the set has all features of another.
func (f features) include(other features) bool { return f&other == other }

// Supported reports whether this machine has the level's features.
func (l Level) Supported() bool {
	needs, ok := l.needs()
	return ok && cpuFeatures().include(needs)
}

// Best returns the preferred level of those that this machine supports.
func Best() Level {
	levels := Levels()
	return levels[len(levels)-1]
}

// Levels lists the levels that this machine supports, the preferred one last.
func Levels() []Level {
	var list []Level
	for _, l := range preference() {
		if l.Supported() {
			list = append([]Level{l}, list...)
		}
	}
	return list
}

// String returns the level's name in settings and reports: go, avx2 or avx512.
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

// ParseLevel returns the level of a name as String writes it.
func ParseLevel(name string) (Level, error) {
	for _, l := range preference() {
		if l.String() == name {
			return l, nil
		}
	}
	return Go, fmt.Errorf("kernel: unknown level %q (supported: go, avx2, avx512)", name)
}

// An UnsupportedError reports that this machine lacks some of a level's features.
type UnsupportedError struct {
	Level Level
	Best  Level // the preferred level of those that the machine supports
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("kernel: this machine does not support the %v kernels (supported: %v)", e.Level, Levels())
}

// check returns an *UnsupportedError if this machine does not support the level.
func (l Level) check() error {
	if !l.Supported() {
		return &UnsupportedError{Level: l, Best: Best()}
	}
	return nil
}
