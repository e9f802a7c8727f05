package step

import "math"

// Augmented is the augmented Lagrangian with fixed multipliers lambda and the penalty c,
//
//	phi(x) = f(x) + sum_j (max(0, lambda_j + c g_j(x))^2 - lambda_j^2)/(2c).
//
// Its gradient is grad f + J^T w with w = max(0, lambda + c g(x)). phi is the minimum of f +
// <lambda, g + u> + (c/2)||g + u||^2 over slacks u >= 0 (Rockafellar 1973).
type Augmented struct {
	Multipliers []float64 // lambda
	Penalty     float64   // c > 0
}

// Value returns phi for f and g.
func (a Augmented) Value(f float64, g []float64) float64 {
	for j, l := range a.Multipliers {
		w := math.Max(0, l+a.Penalty*g[j])
		f += (w - l) * (w + l) / (2 * a.Penalty)
	}
	return f
}

// Coefficients writes w.
func (a Augmented) Coefficients(w, g []float64) {
	for j, l := range a.Multipliers {
		w[j] = math.Max(0, l+a.Penalty*g[j])
	}
}

// Gain returns ||w - lambda||^2/(2c). A multiplier step lambda+ = w at a minimiser of phi raises
// the dual function by at least this number, because the step is a proximal point step.
func (a Augmented) Gain(g []float64) float64 {
	sum := 0.0
	for j, l := range a.Multipliers {
		d := math.Max(0, l+a.Penalty*g[j]) - l
		sum += d * d
	}
	return sum / (2 * a.Penalty)
}

// noise returns a bound of the rounding errors in phi, for f and g with the unit roundoff u.
func (a Augmented) noise(f float64, g []float64, u float64) float64 {
	sum := math.Abs(f)
	for j, l := range a.Multipliers {
		sum += math.Max(0, l+a.Penalty*g[j]) * (1 + math.Abs(g[j]))
	}
	return noiseRoundoffs * u * sum
}
