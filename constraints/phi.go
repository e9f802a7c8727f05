package constraints

import (
	"fmt"
	"math"
	"slices"
)

// Phi is a surrogate: a decreasing function of the margin y that replaces the 0-1 loss.
//
//	Sigmoid   1/(1+e^y)      in (0, 1); phi(0) = 1/2
//	Logistic  log(1+e^-y)    convex, smooth; phi(0) = log 2
//	Hinge     max(0, 1-y)    convex, kink at y = 1; phi(0) = 1
type Phi string

// The surrogates.
const (
	Sigmoid  Phi = "sigmoid"  // 1/(1+e^y), the paper's choice for Neyman-Pearson
	Logistic Phi = "logistic" // log(1+e^-y)
	Hinge    Phi = "hinge"    // max(0, 1-y)
)

// Phis lists the surrogates.
func Phis() []Phi { return []Phi{Sigmoid, Logistic, Hinge} }

// String returns the surrogate's name.
func (p Phi) String() string { return string(p) }

func (p Phi) valid() error {
	if !slices.Contains(Phis(), p) {
		return fmt.Errorf("constraints: unknown surrogate phi %q (supported: sigmoid, logistic, hinge)", string(p))
	}
	return nil
}

// Smooth reports whether phi is differentiable everywhere; Hinge is not.
func (p Phi) Smooth() bool { return p != Hinge }

// Value returns phi(y). It is accurate to a few ulps over the whole range. At the infinities it
// returns the limits: 0 at +Inf; at -Inf 1 for Sigmoid and +Inf for the unbounded Logistic and
// Hinge. NaN gives NaN. The caller widens float32 margins to float64, so the result is exact up to
// the rounding to float32.
func (p Phi) Value(y float64) float64 {
	if p == Hinge {
		return math.Max(0, 1-y)
	}
	return p.valueWith(y, math.Exp(-math.Abs(y)))
}

// valueWith returns Value(y) for e = exp(-abs(y)), of a surrogate other than Hinge.
func (p Phi) valueWith(y, e float64) float64 {
	switch p {
	case Sigmoid:
		if y > 0 { // use e^-y/(1+e^-y), because e^y overflows for large y
			return e / (1 + e)
		}
		return 1 / (1 + e)
	case Logistic:
		return math.Max(0, -y) + math.Log1p(e)
	}
	panic("constraints: invalid surrogate")
}

// Deriv returns phi'(y), in [-1, 0]. At Hinge's kink y = 1, where the subdifferential is [-1, 0],
// it returns 0, the element of smallest norm. The limits at the infinities are 0, except -1 at -Inf
// for Logistic and Hinge. NaN gives NaN.
func (p Phi) Deriv(y float64) float64 {
	switch p {
	case Sigmoid: // -phi(y) phi(-y), symmetric in y
		e := math.Exp(-math.Abs(y))
		return -e / ((1 + e) * (1 + e))
	case Logistic:
		return -Sigmoid.Value(y)
	case Hinge:
		switch {
		case y < 1:
			return -1
		case y >= 1:
			return 0
		}
		return y // NaN
	}
	panic("constraints: invalid surrogate")
}
