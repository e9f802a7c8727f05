package decide

import (
	"cmp"
	"math"
	"slices"
)

const (
	dualSteps  = 300  // of the multipliers
	dualDecay  = 0.99 // of the size of a step from one to the next
	levels     = 32   // of equal rates
	mostStarts = 16   // the cuts from which a search begins
	// mostSteps is the number of evaluated bounds after which a sweep begins no other pair of axes.
	mostSteps = 2e7
)

// local searches the cuts of more than two axes, and returns a lower bound for the objective of all
// cuts that meet the bounds. Multipliers of the bounds make the axes independent of each other:
//
//	q(lambda) = min over the cuts of f + sum_j lambda_j g_j <= min of f under g <= 0.
//
// local maximises q by subgradient steps. From the best cuts of these steps, and of equal rates in
// all groups, it takes the best pairs of cuts until no pair of axes improves the result.
func (s *cuts) local() (bound float64) {
	list := s.equal()
	more, bound := s.dual(list)
	list = append(list, more...)
	slices.SortStableFunc(list, func(a, b start) int {
		return cmp.Or(cmp.Compare(a.violation, b.violation), cmp.Compare(a.worth, b.worth))
	})
	list = slices.CompactFunc(list, func(a, b start) bool { return slices.Equal(a.at, b.at) })
	best := start{scored: scored{math.Inf(1), math.Inf(1)}}
	for _, own := range list[:min(mostStarts, len(list))] {
		s.at, s.best = slices.Clone(own.at), own.scored
		s.sweep()
		if s.best.betterThan(best.scored) {
			best = start{s.at, s.best}
		}
	}
	s.at, s.best = best.at, best.scored
	return bound
}

// start are cuts with their result.
type start struct {
	at []int
	scored
}

// equal returns cuts with which a column has the same share of its range in all groups, such as the
// same true positive rate. Column 0 stands for the share of the rows.
func (s *cuts) equal() (list []start) {
	most := 0
	for _, x := range s.axes {
		most = max(most, len(x.columns))
	}
	for c := range most {
		for q := range levels + 1 {
			s.at = make([]int, len(s.axes))
			for i, x := range s.axes {
				s.at[i] = x.level(min(c, len(x.columns)-1), float64(q)/levels)
			}
			list = append(list, start{s.at, s.result()})
		}
	}
	return list
}

// level returns the cut with which a column is nearest to a share of its range.
func (a *axis) level(column int, share float64) (at int) {
	nearest := math.Inf(1)
	first, last := a.columns[column][0], a.columns[column][len(a.at)-1]
	for k := range a.at {
		d := math.Abs(a.columns[column][k] - first - share*(last-first))
		if column == 0 {
			d = math.Abs(a.above[k] - share*a.above[len(a.at)-1])
		}
		if d < nearest {
			nearest, at = d, k
		}
	}
	return at
}

// sweep improves the cuts by pairs of axes until no pair is better, or the steps are used up.
func (s *cuts) sweep() {
	n := len(s.axes)
	s.steps = 0
	for improved := true; improved; {
		improved = false
		for d := 1; d < n; d++ {
			for a := range n - d {
				if s.steps > mostSteps {
					return
				}
				improved = s.pair(a, a+d) || improved
			}
		}
	}
}

// dual returns cuts of the independent axes, and the largest q. The steps are those of Polyak, of
// the size (f - q)/|g|^2 for the least f of known cuts that meet the bounds.
func (s *cuts) dual(known []start) (list []start, bound float64) {
	lambda, g := make([]float64, len(s.g)), make([]float64, len(s.g))
	bound = math.Inf(-1)
	f := math.Inf(1)
	for _, own := range known {
		if own.violation <= 0 {
			f = min(f, own.worth)
		}
	}
	share := 1.0
	for range dualSteps {
		q := s.value
		copy(g, s.g)
		for j, l := range lambda {
			q += l * g[j]
		}
		s.at = make([]int, len(s.axes))
		for i, x := range s.axes {
			var least float64
			s.at[i], least = x.cheapest(lambda)
			q += least
			for _, p := range x.bounds {
				g[p.bound] += p.factor * x.columns[p.column][s.at[i]]
			}
		}
		own, size := start{s.at, s.result()}, 0.0
		list = append(list, own)
		if own.violation <= 0 {
			f = min(f, own.worth)
		}
		if share *= dualDecay; q > bound {
			bound = q
		}
		for j, v := range g {
			if lambda[j] > 0 || v > 0 {
				size += v * v
			}
		}
		if size == 0 { // the cuts are optimal
			break
		}
		step := share * min(1, f-q) / size
		for j := range lambda {
			lambda[j] = max(0, lambda[j]+step*g[j])
		}
	}
	return list, bound
}

// cheapest returns the cut of the least sum of the objective and the bounds with multipliers.
func (a *axis) cheapest(lambda []float64) (at int, least float64) {
	weights := make([]float64, len(a.columns))
	weights[0] = 1
	for _, p := range a.bounds {
		weights[p.column] += lambda[p.bound] * p.factor
	}
	least = math.Inf(1)
	for k := range a.at {
		v := 0.0
		for c, w := range weights {
			if w != 0 {
				v += w * a.columns[c][k]
			}
		}
		if v < least {
			at, least = k, v
		}
	}
	return at, least
}
