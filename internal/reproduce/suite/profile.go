package suite

import (
	"fmt"
	"math"
	"slices"

	"ppal/internal/chart"
)

// tolerances returns the tolerances tau of the convergence test, the loosest first.
func tolerances() []float64 { return []float64{1e-1, 1e-3, 1e-5} }

// leastScale is the least scale of the convergence test, relative to 1 + |f*|.
const leastScale = 1e-3

// target is the goal of the convergence test on a problem:
//
//	f <= f* + tau max(|f_0 - f*|, 1e-3 (1 + |f*|))  at a feasible point,
//
// after More and Wild, Benchmarking Derivative-Free Optimization Algorithms (2009), (2.2), with
// f_0 at the start and
//
//	f* = min f(x) + ||nu||_1 violation(x)  over the feasible points of all runs.
//
// The multiplier nu belongs to the certificate with the least epsilon of all runs. The second term
// makes up for the decrease of f that a violation within the tolerance buys. Without it, a point
// with a violation of 1e-3 would be the goal, and a solver that converges to an exactly feasible
// solution would fail the test. The start may be infeasible with f_0 < f*, so that the scale is the
// absolute difference. The other scale holds where f_0 is close to f*.
type target struct{ best, scale float64 }

// newTarget returns the target of a problem from all its runs. known is the optimal value, or
// infinity; a smaller known value replaces f*. newTarget returns false if no run has a feasible
// point.
func newTarget(runs []*Run, known float64) (target, bool) {
	start, penalty, epsilon := math.NaN(), 0.0, math.Inf(1)
	for _, r := range runs {
		if math.IsNaN(start) {
			start = float64(r.Start)
		}
		if c, ok := r.certificate(); ok && float64(c.Epsilon) < epsilon {
			penalty, epsilon = float64(c.Multipliers), float64(c.Epsilon)
		}
	}
	t := target{best: math.Inf(1)}
	for _, r := range runs {
		for _, p := range r.Points {
			t.best = min(t.best, float64(p.F)+penalty*float64(p.Violation))
		}
	}
	if math.IsInf(t.best, 1) {
		return t, false
	}
	t.best = min(t.best, known)
	t.scale = leastScale * (1 + math.Abs(t.best))
	if d := math.Abs(start - t.best); d > t.scale {
		t.scale = d
	}
	return t, true
}

// cost is what a solution costs: evaluations or seconds.
type cost func(p Point) float64

func inEvaluations(p Point) float64 { return float64(p.Evaluations) }
func inSeconds(p Point) float64     { return float64(p.Seconds) }

// solved returns the cost after which a run meets the convergence test; infinity if it does not.
func (t target) solved(r *Run, tau float64, unit cost) float64 {
	for _, p := range r.Points {
		if float64(p.F) <= t.best+tau*t.scale {
			return unit(p)
		}
	}
	return math.Inf(1)
}

// ratios returns the performance ratios of each solver (Dolan and More, Benchmarking Optimization
// Software with Performance Profiles, 2002): costs[s][p] divided by the least cost of a solver on
// problem p. The ratios are in ascending order, without the problems that the solver does not
// solve. The profile of solver s at alpha is the number of ratios up to alpha, divided by the
// number of problems.
func ratios(costs [][]float64) [][]float64 {
	list := make([][]float64, len(costs))
	if len(costs) == 0 {
		return list
	}
	for p := range costs[0] {
		least := math.Inf(1)
		for s := range costs {
			least = min(least, costs[s][p])
		}
		for s := range costs {
			if c := costs[s][p]; !math.IsInf(c, 1) {
				ratio := 1.0 // also for a cost of 0
				if c > least {
					ratio = c / least
				}
				list[s] = append(list[s], ratio)
			}
		}
	}
	for s := range list {
		slices.Sort(list[s])
	}
	return list
}

// unsolvedFactor is the cost of an unsolved problem in a mean, in limits of evaluations.
const unsolvedFactor = 10

// score returns the mean of the logarithms of costs, where infinite costs count as penalty. A
// smaller score is better. The score of no cost is infinite.
func score(costs []float64, penalty float64) float64 {
	if len(costs) == 0 {
		return math.Inf(1)
	}
	sum := 0.0
	for _, c := range costs {
		sum += math.Log(min(max(c, 1), penalty))
	}
	return sum / float64(len(costs))
}

// Duel counts the problems on which a solver needs less, the same or more than another solver.
// Problems that neither solves count as level.
type Duel struct{ Ahead, Level, Behind int }

// add counts a problem.
func (d *Duel) add(own, other float64) {
	switch {
	case own < other:
		d.Ahead++
	case own > other:
		d.Behind++
	default:
		d.Level++
	}
}

// Count returns the number of problems.
func (d Duel) Count() int { return d.Ahead + d.Level + d.Behind }

// profileOf returns the picture of the performance profiles of the solvers on problems (Dolan and
// More, Benchmarking Optimization Software with Performance Profiles, 2002). A curve is the share
// of the problems that a solver solves at a cost of at most x times the fewest; the first solver is
// drawn in black.
func profileOf(targets map[string]target, u use, measure string, unit cost, tau float64, list []solver) *chart.Picture {
	costs := make([][]float64, len(list))
	for s := range list {
		for _, p := range u.problems {
			costs[s] = append(costs[s], list[s].cost(targets, p.Name, tau, unit))
		}
	}
	c := &chart.Chart{Title: "Share of problems solved, by " + measure + " divided by the fewest " + measure + " of a solver",
		PercentY: true, DoublingX: true}
	v := chart.View{Axis: measure + " / fewest " + measure}
	for s, r := range ratios(costs) {
		l := chart.Line{Name: list[s].name, Color: "k"}
		if s > 0 {
			l = chart.LineOf(list[s].name, s-1)
		}
		c.Lines, v.Curves = append(c.Lines, l), append(v.Curves, staircase(r, len(u.problems)))
	}
	c.Views = []chart.View{v}
	return &chart.Picture{Head: fmt.Sprintf("%d problems (%s), tau = %g", len(u.problems), u.name, tau), Charts: []*chart.Chart{c}}
}

// largestRatio is the right end of a profile. Larger ratios lie beyond the picture.
const largestRatio = 128

// staircase returns the corners of a profile. ratios are the performance ratios of the solved
// problems, at least 1, in ascending order.
func staircase(ratios []float64, problems int) chart.Curve {
	c := chart.Curve{X: []float64{1}, Y: []float64{0}}
	share := 0.0
	add := func(x float64) { c.X, c.Y = append(c.X, x), append(c.Y, share) }
	for i, r := range ratios {
		if r > largestRatio {
			break
		}
		add(r)
		share = float64(i+1) / float64(problems)
		add(r)
	}
	add(largestRatio)
	return c
}
