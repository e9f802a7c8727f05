package cpu

import (
	"math"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// surrogate is a function phi of margins y that the kernels know. It works on many at a time, given as m = -y: how far a row is on the
// wrong side.
type surrogate[T plan.Float] struct {
	// value replaces each m by phi(-m), with room of m's length.
	value func(k *kernel.Kernels[T], m, room []T)
	// slope replaces each m by phi'(-m).
	slope func(k *kernel.Kernels[T], m []T)
}

// newSurrogate returns the function of that name, false where there is none.
//
//	sigmoid    phi(-m) = s(m)            phi'(-m) = -t (1 - t), t = s(-|m|), s the sigmoid
//	logistic   log(1 + e^m)              -s(m)
//	hinge      max(0, 1 + m)             -1 where m > -1, else 0
func newSurrogate[T plan.Float](name string) (s surrogate[T], known bool) {
	switch name {
	case "sigmoid":
		return surrogate[T]{sigmoidValue[T], sigmoidSlope[T]}, true
	case "logistic":
		return surrogate[T]{logisticValue[T], logisticSlope[T]}, true
	case "hinge":
		return surrogate[T]{hingeValue[T], hingeSlope[T]}, true
	}
	return s, false
}

func sigmoidValue[T plan.Float](k *kernel.Kernels[T], m, _ []T) { k.Sigmoid(m, m) }

// sigmoidSlope takes the smaller of s(m) and s(-m), which has no rounding of 1 in it.
func sigmoidSlope[T plan.Float](k *kernel.Kernels[T], m []T) {
	for i, x := range m {
		m[i] = -abs(x)
	}
	k.Sigmoid(m, m)
	for i, t := range m {
		m[i] = -t * (1 - t)
	}
}

// logisticValue is max(0, m) + log(1 + e^-|m|), which does not overflow.
func logisticValue[T plan.Float](k *kernel.Kernels[T], m, room []T) {
	tail := room[:len(m)]
	for i, x := range m {
		tail[i] = -abs(x)
	}
	k.Exp(tail, tail)
	k.Log1p(tail, tail)
	for i, x := range m {
		m[i] = max(0, x) + tail[i]
	}
}

func logisticSlope[T plan.Float](k *kernel.Kernels[T], m []T) {
	k.Sigmoid(m, m)
	for i, s := range m {
		m[i] = -s
	}
}

func hingeValue[T plan.Float](_ *kernel.Kernels[T], m, _ []T) {
	for i, x := range m {
		m[i] = max(0, 1+x)
	}
}

func hingeSlope[T plan.Float](_ *kernel.Kernels[T], m []T) {
	for i, x := range m {
		switch {
		case x > -1:
			m[i] = -1
		case x <= -1:
			m[i] = 0
		} // NaN stays
	}
}

func abs[T plan.Float](x T) T { return T(math.Abs(float64(x))) }
