package kernel

import (
	"errors"
	"fmt"
)

// Float is an element type.
type Float interface{ float32 | float64 }

// Kernels holds the kernels of one level for one element type. It holds no data and does not
// change, so any number of goroutines may use it.
type Kernels[F Float] struct {
	level    Level
	products products[F]
	narrow   narrows[F]
	passes   passes[F]
	sweeps   sweeps[F]
	sparse   sparse[F]
	losses   losses[F]
	tails    tails[F]
	sets     rowSets[F]
	pairs    pairs[F]
	pictures pictures[F]
}

// New returns the kernels of a level. The error is an *UnsupportedError if this machine does not
// support the level.
func New[F Float](level Level) (*Kernels[F], error) {
	if err := level.check(); err != nil {
		return nil, err
	}
	if level == Go {
		return reference[F](), nil
	}
	k := &Kernels[F]{level: level}
	switch k := any(k).(type) {
	case *Kernels[float32]:
		assemble32(k, level)
	case *Kernels[float64]:
		assemble64(k, level)
	}
	return k, nil
}

// reference returns the kernels in Go, which define what the assembly computes.
func reference[F Float]() *Kernels[F] {
	return &Kernels[F]{
		level:    Go,
		products: productsGo[F](),
		narrow:   narrowGo[F](),
		passes:   passesGo[F](),
		sweeps:   sweepsGo[F](),
		sparse:   sparseGo[F](),
		losses:   lossesGo[F](),
		tails:    tailsGo[F](),
		sets:     rowSetsGo[F](),
		pairs:    pairsGo[F](),
		pictures: picturesGo[F](),
	}
}

// Level returns the level of the kernels.
func (k *Kernels[F]) Level() Level { return k.level }

// Level names a set of CPU features for which kernels are written. The settings and reports of a
// run use the name. A level's kernels may use additional features of the CPU: see [NewByteKernels].
type Level int

// The levels. The order of the numbers has no meaning: a level need not include another level.
const (
	Go     Level = iota // portable Go, the reference
	AVX2                // amd64 with AVX2 and FMA
	AVX512              // amd64 with AVX-512 F, BW, DQ and VL
	AMX                 // amd64 with AVX-512 and 8-bit tiles, on Linux; only products with 8-bit data differ from AVX512
)

// preference returns all levels, in decreasing order of preference.
func preference() []Level { return []Level{AMX, AVX512, AVX2, Go} }

// features is a set of features of a CPU.
type features uint

// The features that kernels require, with the names that the Linux kernel lists in /proc/cpuinfo.
const (
	hasAVX2 features = 1 << iota
	hasFMA
	hasAVX512F
	hasAVX512BW
	hasAVX512DQ
	hasAVX512VL
	hasAVX512VNNI
	hasAVXVNNI
	hasAMXTile // with the operating system's permission to use tiles
	hasAMXInt8
	hasAMXBF16
)

// needs returns the features that a level requires. ok is false for a number that is not a level.
func (l Level) needs() (f features, ok bool) {
	switch l {
	case Go:
		return 0, true
	case AVX2:
		return hasAVX2 | hasFMA, true
	case AVX512:
		return hasAVX2 | hasFMA | hasAVX512F | hasAVX512BW | hasAVX512DQ | hasAVX512VL, true
	case AMX:
		needs, _ := AVX512.needs()
		return needs | hasAMXTile | hasAMXInt8, true
	}
	return 0, false
}

// include reports whether the set contains all features of another set.
func (f features) include(other features) bool { return f&other == other }

// Supported reports whether this machine has the level's features.
func (l Level) Supported() bool {
	needs, ok := l.needs()
	return ok && cpuFeatures().include(needs)
}

// Best returns the preferred level of the levels that this machine supports.
func Best() Level {
	levels := Levels()
	return levels[len(levels)-1]
}

// Levels lists the levels that this machine supports, in increasing order of preference.
func Levels() []Level {
	var list []Level
	for _, l := range preference() {
		if l.Supported() {
			list = append([]Level{l}, list...)
		}
	}
	return list
}

// String returns the level's name in settings and reports: go, avx2, avx512 or amx.
func (l Level) String() string {
	switch l {
	case Go:
		return "go"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	case AMX:
		return "amx"
	}
	return fmt.Sprintf("Level(%d)", int(l))
}

// ParseLevel returns the level with the given name. It is the inverse of String.
func ParseLevel(name string) (Level, error) {
	for _, l := range preference() {
		if l.String() == name {
			return l, nil
		}
	}
	return Go, fmt.Errorf("kernel: unknown level %q (supported: go, avx2, avx512, amx)", name)
}

// UnsupportedError reports that this machine lacks some features of a level.
type UnsupportedError struct {
	Level Level
	Best  Level // the preferred level of the supported levels
}

func (e *UnsupportedError) Error() string {
	reason := ""
	if lack := e.Level.Lack(); lack != nil {
		reason = fmt.Sprintf(": %v", lack)
	}
	return fmt.Sprintf("kernel: this machine does not support the %v kernels%s (supported: %v)", e.Level, reason, Levels())
}

// Lack returns the reason why this machine does not support a level that consists of more than
// instructions: level AMX, which also needs the operating system's permission. It returns nil for
// the other levels, and if the machine supports AMX.
func (l Level) Lack() error {
	if l != AMX || l.Supported() {
		return nil
	}
	if !AVX512.Supported() {
		return errors.New("the CPU lacks AVX-512")
	}
	return tiles()
}

// check returns an *UnsupportedError if this machine does not support the level.
func (l Level) check() error {
	if !l.Supported() {
		return &UnsupportedError{Level: l, Best: Best()}
	}
	return nil
}
