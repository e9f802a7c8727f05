package qp

import (
	"math"

	"ppal/internal/vec"
)

// Shares is a set of vectors y. The coordinates of a group are the shares of the group's sum,
//
//	y_i >= 0,   sum_{i: Group[i] = j} y_i = Sums[j].
//
// A coordinate with Group[i] < 0 has only the bound y_i >= 0. If Sums[j] is negative, a single
// coordinate of group j holds the whole sum (Quadratic.hold), and the other coordinates are 0.
type Shares struct {
	Group     []int     // group of each coordinate
	Sums      []float64 // sum of each group
	Sweeps    int       // largest number of sweeps of MinimiseShares
	Tolerance float64   // largest change of a coordinate in the last sweep, relative to 1 + ||y||_1
}

// WithSums returns the minimiser over the set of Shares with the given groups and sums.
func (q *Quadratic) WithSums(group []int, sums []float64) []float64 {
	y := make([]float64, len(group))
	first := map[int]bool{}
	for i, j := range group {
		if j >= 0 && !first[j] {
			first[j], y[i] = true, sums[j]
		}
	}
	q.MinimiseShares(y, &Shares{Group: group, Sums: sums, Sweeps: 1000, Tolerance: 1e-15})
	return y
}

// MinimiseShares minimises over the set by exchanging mass between pairs of a group (coordinate
// descent on each edge of the group's simplex). It starts from y, which must be in the set.
func (q *Quadratic) MinimiseShares(y []float64, set *Shares) {
	for range set.Sweeps {
		change := 0.0
		for i, group := range set.Group {
			switch {
			case group < 0:
				change = math.Max(change, q.descendAlone(y, i))
			case set.Sums[group] < 0:
				if i == 0 || set.Group[i-1] != group {
					change = math.Max(change, q.hold(y, set, i))
				}
			default:
				for j := range i {
					if set.Group[j] == group {
						change = math.Max(change, q.exchange(y, i, j))
					}
				}
			}
		}
		if change <= set.Tolerance*(1+vec.Norm1(y)) {
			break
		}
	}
}

// descendAlone moves y_i >= 0 to its minimum and returns the change.
func (q *Quadratic) descendAlone(y []float64, i int) float64 {
	h := q.Hessian.At(i, i)
	if !(h > 0) {
		return 0
	}
	old := y[i]
	y[i] = math.Max(0, old-q.slope(i, y)/h)
	return math.Abs(y[i] - old)
}

// hold puts the negative sum s of the consecutive group that begins at lo on one coordinate, and
// returns the change of the coordinate. hold chooses the coordinate i with the largest value of
//
//	-(b_i + sum_{k not in the group} H_ik y_k) - s H_ii/2.
//
// The result is a stationary point of the quadratic with the shares of the other groups fixed.
func (q *Quadratic) hold(y []float64, set *Shares, lo int) float64 {
	hi := lo
	for hi < len(y) && set.Group[hi] == set.Group[lo] {
		hi++
	}
	sum := set.Sums[set.Group[lo]]
	best, largest := lo, math.Inf(-1)
	for i := lo; i < hi; i++ {
		rest := -q.slope(i, y)
		for k := lo; k < hi; k++ {
			rest += q.Hessian.At(i, k) * y[k]
		}
		if v := rest - sum*q.Hessian.At(i, i)/2; v > largest {
			best, largest = i, v
		}
	}
	moved := math.Abs(sum - y[best])
	clear(y[lo:hi])
	y[best] = sum
	return moved
}

// exchange moves mass from j to i, or back, to the minimum along e_i - e_j, and returns the change.
func (q *Quadratic) exchange(y []float64, i, j int) float64 {
	curvature := q.Hessian.At(i, i) + q.Hessian.At(j, j) - 2*q.Hessian.At(i, j)
	slope := q.slope(i, y) - q.slope(j, y)
	t := 0.0
	switch {
	case curvature > 0:
		t = -slope / curvature
	case slope > 0:
		t = -y[i]
	case slope < 0:
		t = y[j]
	}
	t = math.Max(-y[i], math.Min(y[j], t))
	y[i] += t
	y[j] -= t
	return math.Abs(t)
}
