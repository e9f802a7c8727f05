package problem

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ppal/internal/option"
	"ppal/internal/vec"
)

// RegularizerKind names the convex term r.
type RegularizerKind int

// The regularizers, with their proximal maps prox_{step r}(x) = argmin_y r(y) + ||y - x||^2 / (2
// step).
const (
	NoRegularizer RegularizerKind = iota // r = 0
	Ball                                 // r = 0 where ||x|| <= Radius, infinity elsewhere: projection
	Box                                  // r = 0 where Lower <= x_i <= Upper, infinity elsewhere: projection
	L1                                   // r = Weight ||x||_1: soft threshold
	SquaredL2                            // r = Weight/2 ||x||^2: shrinkage
	GroupL1                              // r = Weight sum_G ||x_G||: block soft threshold
)

var regularizerNames = [...]string{"none", "ball", "box", "l1", "l2", "group-l1"}

// String returns the kind's name on the command line.
func (k RegularizerKind) String() string {
	if k < 0 || int(k) >= len(regularizerNames) {
		return fmt.Sprintf("RegularizerKind(%d)", int(k))
	}
	return regularizerNames[k]
}

// Weighted reports whether the kind has a weight.
func (k RegularizerKind) Weighted() bool { return k == L1 || k == SquaredL2 || k == GroupL1 }

// RegularizerNames returns the names of all kinds in their order.
func RegularizerNames() []string { return slices.Clone(regularizerNames[:]) }

// Regularizer is the convex term r of the objective, over the whole stacked vector x. The zero
// value is r = 0.
type Regularizer struct {
	Kind   RegularizerKind
	Radius float64 // Ball: theta > 0
	Lower  float64 // Box: the bounds of every coordinate, Lower <= Upper; may be infinite
	Upper  float64
	Weight float64 // L1, SquaredL2, GroupL1: > 0
	// Groups are the ends of consecutive groups of coordinates (GroupL1): group k is
	// x[Groups[k-1]:Groups[k]]. The first group begins at 0, the last ends at n.
	Groups []int
	// L1Ball bounds the l1 norm of weights, if Kind.AllowsL1Ball; nil: no bound.
	L1Ball *L1Ball
}

func init() { option.Describe((*Regularizer).options) }

// options returns the settings of r, bound to its fields: the flags of ppal train.
func (r *Regularizer) options() []*option.Option {
	kind := func(kinds ...RegularizerKind) option.Condition {
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = k.String()
		}
		return option.If("regularizer", names...)
	}
	return []*option.Option{
		option.Enum("regularizer", &r.Kind, "choose the convex term r on the weights", RegularizerNames()...),
		option.Number("theta", &r.Radius, option.Positive, "set the radius of the ball").With(kind(Ball)),
		option.NumberOr("regularizer-weight", &r.Weight, option.Positive, "auto",
			"set the factor of the regularizer; auto: the validation rows choose the factor (ppal train only)").Needed().With(kind(L1, SquaredL2, GroupL1)),
		option.Range("box", &r.Lower, &r.Upper, "set the bounds of every weight").With(kind(Box)),
	}
}

// Validate returns an error that wraps ErrSettings if r is not valid for vectors of length n.
func (r Regularizer) Validate(n int) error {
	positive := func(name string, v float64) error {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("problem: %w: the %s's %s is %v, want a positive number", ErrSettings, r.Kind, name, v)
		}
		return nil
	}
	if b := r.L1Ball; b != nil && (!r.Kind.AllowsL1Ball() || b.Count < 1 || b.Count > n || !(b.Bound >= 0) || math.IsInf(b.Bound, 0)) {
		return fmt.Errorf("problem: %w: the regularizer %s with the bound %v on the l1 norm of %d of %d variables", ErrSettings, r.Kind, b.Bound, b.Count, n)
	}
	switch r.Kind {
	case NoRegularizer:
		return nil
	case Ball:
		return positive("radius", r.Radius)
	case Box:
		if !(r.Lower <= r.Upper) || math.IsInf(r.Lower, 1) || math.IsInf(r.Upper, -1) {
			return fmt.Errorf("problem: %w: the box's bounds %v, %v, want lower <= upper", ErrSettings, r.Lower, r.Upper)
		}
		return nil
	case L1, SquaredL2:
		return positive("weight", r.Weight)
	case GroupL1:
		last := 0
		for _, end := range r.Groups {
			if end <= last {
				return fmt.Errorf("problem: %w: group-l1's ends %v, want an increasing list", ErrSettings, r.Groups)
			}
			last = end
		}
		if last != n {
			return fmt.Errorf("problem: %w: group-l1's groups end at %d, want the number of variables %d", ErrSettings, last, n)
		}
		return positive("weight", r.Weight)
	}
	return fmt.Errorf("problem: %w: %v", ErrSettings, r.Kind)
}

// Value returns r(x). For Ball and Box it returns 0 for every x, because rounding may put x
// slightly outside. Infeasibility measures the distance of x from the domain.
func (r Regularizer) Value(x []float64) float64 {
	sum := 0.0
	switch r.Kind {
	case L1:
		for _, v := range x {
			sum += math.Abs(v)
		}
		return r.Weight * sum
	case SquaredL2:
		n := vec.Norm(x)
		return r.Weight / 2 * n * n
	case GroupL1:
		r.eachGroup(func(lo, hi int) { sum += vec.Norm(x[lo:hi]) })
		return r.Weight * sum
	}
	return 0
}

// eachGroup calls do with the first index and the end of each group.
func (r Regularizer) eachGroup(do func(lo, hi int)) {
	lo := 0
	for _, hi := range r.Groups {
		do(lo, hi)
		lo = hi
	}
}

// Map returns the proximal map prox_{length r}.
func (r Regularizer) Map(length float64) Map {
	m := Map{}.Elementwise()
	switch r.Kind {
	case Ball:
		return Map{Kind: BallMap, Radius: r.Radius}
	case GroupL1:
		return Map{Kind: GroupMap, Threshold: length * r.Weight, Ends: r.Groups}
	case Box:
		m.Lower, m.Upper = r.Lower, r.Upper
	case L1:
		m.Threshold = length * r.Weight
	case SquaredL2:
		m.Scale = 1 / (1 + length*r.Weight)
	default:
		m = Map{}
	}
	if r.L1Ball != nil {
		m = m.Elementwise()
		m.Kind, m.L1Ball = L1BallMap, r.L1Ball
	}
	return m
}

// Residual writes p, the element of smallest norm of the set v + subdifferential of r at x. ||p||
// is the distance of 0 from the set. x counts as on the boundary of the ball or box if x is within
// the relative distance tolerance of the boundary.
func (r Regularizer) Residual(p, x, v []float64, tolerance float64) {
	copy(p, v)
	switch r.Kind {
	case Ball:
		n := vec.Norm(x)
		if n < r.Radius*(1-tolerance) || n == 0 {
			return
		}
		// The normal cone on the sphere is {t x, t >= 0}: t = max(0, -v.x/||x||^2).
		if t := -vec.Dot(v, x) / (n * n); t > 0 {
			for i, xi := range x {
				p[i] += t * xi
			}
		}
	case Box:
		// At the lower bound r's subdifferential is (-inf, 0], at the upper bound [0, inf), and if
		// the bounds are equal the whole line.
		lower, upper := r.near(tolerance)
		for i, xi := range x {
			if xi <= lower {
				p[i] = min(p[i], 0)
			}
			if xi >= upper {
				p[i] = max(p[i], 0)
			}
		}
	case L1:
		for i, xi := range x {
			switch {
			case xi > 0:
				p[i] += r.Weight
			case xi < 0:
				p[i] -= r.Weight
			default:
				p[i] = shrink(p[i], r.Weight)
			}
		}
	case SquaredL2:
		for i, xi := range x {
			p[i] += r.Weight * xi
		}
	case GroupL1:
		r.eachGroup(func(lo, hi int) {
			if n := vec.Norm(x[lo:hi]); n > 0 {
				for i := lo; i < hi; i++ {
					p[i] += r.Weight * x[i] / n
				}
			} else if n := vec.Norm(p[lo:hi]); n > r.Weight {
				vec.Scale(p[lo:hi], 1-r.Weight/n)
			} else {
				clear(p[lo:hi])
			}
		})
	}
	for i, xi := range x {
		if r.free(i, xi) {
			p[i] = shrink(p[i], r.L1Ball.multiplier)
		}
	}
}

// ResidualDerivative sets u to (dp/dv) u for the p and v of Residual. dp/dv is an element of the
// generalised derivative of a projection: a symmetric positive semidefinite matrix.
func (r Regularizer) ResidualDerivative(u, p, x, v []float64, tolerance float64) {
	switch r.Kind {
	case Ball:
		n := vec.Norm(x)
		if n < r.Radius*(1-tolerance) || n == 0 || vec.Dot(v, x) >= 0 {
			return
		}
		along := vec.Dot(u, x) / (n * n)
		for i, xi := range x {
			u[i] -= along * xi
		}
	case Box:
		lower, upper := r.near(tolerance)
		for i, xi := range x {
			if p[i] == 0 && (xi <= lower || xi >= upper) {
				u[i] = 0
			}
		}
	case L1:
		for i, xi := range x {
			if p[i] == 0 && xi == 0 {
				u[i] = 0
			}
		}
	case GroupL1:
		r.eachGroup(func(lo, hi int) {
			if vec.Norm(x[lo:hi]) > 0 {
				return
			}
			n := vec.Norm(v[lo:hi])
			if n <= r.Weight {
				clear(u[lo:hi])
				return
			}
			along := r.Weight * vec.Dot(v[lo:hi], u[lo:hi]) / (n * n * n)
			for i := lo; i < hi; i++ {
				u[i] = (1-r.Weight/n)*u[i] + along*v[i]
			}
		})
	}
	for i, xi := range x {
		if p[i] == 0 && r.free(i, xi) {
			u[i] = 0
		}
	}
}

// near returns the bounds of the box, moved inwards by the relative tolerance. A coordinate at or
// beyond a moved bound counts as at the bound. Infinite bounds stay infinite.
func (r Regularizer) near(tolerance float64) (lower, upper float64) {
	lower, upper = r.Lower, r.Upper
	if !math.IsInf(lower, 0) {
		lower += tolerance * (1 + math.Abs(lower))
	}
	if !math.IsInf(upper, 0) {
		upper -= tolerance * (1 + math.Abs(upper))
	}
	return lower, upper
}

// Infeasibility returns the distance of x from r's domain, relative to the domain's size; 0 inside.
// For a box, the distance is the largest of the coordinates' distances.
func (r Regularizer) Infeasibility(x []float64) float64 {
	if b := r.L1Ball; b != nil {
		return max(0, vec.Norm1(x[:b.Count])-b.Bound) / cmp.Or(b.Bound, 1)
	}
	switch r.Kind {
	case Ball:
		return max(0, vec.Norm(x)/r.Radius-1)
	case Box:
		worst := 0.0
		for _, v := range x {
			if v < r.Lower {
				worst = max(worst, (r.Lower-v)/(1+math.Abs(r.Lower)))
			} else if v > r.Upper {
				worst = max(worst, (v-r.Upper)/(1+math.Abs(r.Upper)))
			}
		}
		return worst
	}
	return 0
}

// shrink is the soft threshold of one number.
func shrink(v, t float64) float64 { return max(v-t, 0) + min(v+t, 0) }
