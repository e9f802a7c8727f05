package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// Orders are rates of the orders of pairs of documents, such as the share of the pairs whose more
// relevant document has the lower score.
type Orders struct {
	// Rates is the number of rates, and Count returns the rates of scores. smooth has the values of
	// the rates that the orders do not determine.
	Rates int
	Count func(scores, smooth []float64) ([]float64, error)
	// Direction has a number for each document. The exact step adds a multiple of it to the scores,
	// which a weight of the model can do. nil: there is no exact step.
	Direction []float64
}

var _ Decisions = (*Orders)(nil)

// Len implements Decisions.
func (o *Orders) Len() int { return o.Rates }

// CountScores implements Decisions.
func (o *Orders) CountScores(d, scores, smooth []float64) error {
	counted, err := o.Count(scores, smooth)
	copy(d, counted)
	return err
}

// The search for the multiple of the direction counts the scores at firstShifts multiples of each
// sign, each twice as large as the one before, until the violation has risen mostRises times in
// succession, and then at most mostHalvings times between two of them.
const (
	firstShifts  = 24
	mostRises    = 5
	mostHalvings = 40
)

// Step implements Decisions. If the orders do not meet the bounds, Step searches the multiple t of
// the direction nearest to 0 with which they meet the bounds, or exceed the bounds least.
// Exact.Offsets is then t alone.
//
// If the direction is 1 in one group and 0 in another one, the error of the pairs between the
// groups falls with t for one order of the groups, rises for the other one, and stays for the pairs
// within a group. The t that meet a bound on the difference of the two errors therefore form an
// interval, which may be empty only if many scores are equal. Step finds an end of the interval by
// halving. The orders at t must also meet the bounds if the scores change by the resolution, so
// that they survive the rounding of the weights.
func (o *Orders) Step(target *Target, scores, smooth []float64, resolution float64) (*Exact, error) {
	if i := vec.FirstNonFinite(scores); i >= 0 {
		return nil, &problem.NonFiniteError{Term: fmt.Sprintf("score of row %d", i+1), Value: scores[i]}
	}
	if err := target.index(o.Rates); err != nil {
		return nil, err
	}
	s := &shifts{o: o, target: target, scores: scores, smooth: smooth, moved: make([]float64, len(scores))}
	before, err := s.at(0)
	if err != nil {
		return nil, err
	}
	e := &Exact{Offsets: []float64{0}, Before: before.value, After: before.value, Violation: before.violation, Unjudged: before.unjudged}
	if before.violation <= 0 || o.Direction == nil {
		return e, nil
	}
	best, err := s.search(before, resolution)
	if err != nil {
		return nil, err
	}
	if best.t != 0 {
		e.Offsets[0], e.Moved = best.t, true
		e.After, e.Violation, e.Unjudged = best.value, best.violation, best.unjudged
	}
	return e, nil
}

// shifts counts the orders of scores that are shifted along a direction.
type shifts struct {
	o              *Orders
	target         *Target
	scores, smooth []float64
	moved          []float64 // scores + t direction
	slip           float64   // the change of t that the orders must survive
}

// shifted describes the orders at a multiple t of the direction.
type shifted struct {
	t, value, violation float64
	unjudged            bool
}

// at counts the orders at t.
func (s *shifts) at(t float64) (shifted, error) {
	for i, score := range s.scores {
		if s.moved[i] = score; t != 0 {
			s.moved[i] += t * s.o.Direction[i]
		}
	}
	d, err := s.o.Count(s.moved, s.smooth)
	if err != nil {
		return shifted{}, err
	}
	g := make([]float64, len(s.target.Bounds))
	s.target.Excess(g, d)
	out := shifted{t: t, value: s.target.Value(d), violation: s.target.Violation(g)}
	for j, b := range s.target.Bounds {
		out.unjudged = out.unjudged || g[j] > rounding && b.Coarse != nil && b.Coarse(d)
	}
	return out, nil
}

// firm counts the orders at t, with the largest violation at t, t - slip and t + slip. It counts no
// further if the violation exceeds limit.
func (s *shifts) firm(t, limit float64) (shifted, error) {
	out, err := s.at(t)
	for _, near := range []float64{t - s.slip, t + s.slip} {
		if err != nil || out.violation > limit+rounding {
			break
		}
		var own shifted
		own, err = s.at(near)
		out.violation = math.Max(out.violation, own.violation)
	}
	return out, err
}

// search returns the best multiple of the direction.
func (s *shifts) search(zero shifted, resolution float64) (shifted, error) {
	least, most, scale := math.Inf(1), math.Inf(-1), 0.0
	largest := 0.0
	for i, score := range s.scores {
		least, most, largest = math.Min(least, score), math.Max(most, score), math.Max(largest, math.Abs(score))
		scale = math.Max(scale, math.Abs(s.o.Direction[i]))
	}
	if scale == 0 || most == least {
		return zero, nil
	}
	s.slip = resolution * largest / scale
	list, limit := []shifted{zero}, zero.violation
	for _, sign := range []float64{1, -1} {
		before, rises := zero.violation, 0
		for k := firstShifts - 1; k >= 0 && rises < mostRises; k-- {
			t := sign * 2 * (most - least) / scale * math.Pow(2, -float64(k))
			if math.Abs(t) <= 2*s.slip {
				continue
			}
			own, err := s.firm(t, limit)
			if err != nil {
				return zero, err
			}
			if list = append(list, own); own.violation <= 0 {
				break // a larger multiple is farther from 0
			}
			if rises++; own.violation <= before+rounding {
				rises = 0
			}
			before, limit = own.violation, math.Min(limit, own.violation)
		}
	}
	slices.SortFunc(list, func(a, b shifted) int { return cmp.Compare(a.t, b.t) })
	at := 0
	for k, own := range list {
		if own.betterThan(list[at]) {
			at = k
		}
	}
	low, best, high, err := s.narrow(list[max(0, at-1)], list[at], list[min(at+1, len(list)-1)])
	if err != nil || best.t == 0 {
		return best, err
	}
	if best.t > 0 {
		return s.halve(best, low)
	}
	return s.halve(best, high)
}

// betterThan reports whether a is better than b.
func (a *shifted) betterThan(b shifted) bool {
	return better(a.violation, priced(a.value, a.unjudged), b.violation, priced(b.value, b.unjudged))
}

// narrow looks between low and high for a multiple with which the orders meet the bounds, from the
// best known multiple between them. The violation falls and then rises between low and high.
func (s *shifts) narrow(low, best, high shifted) (_, _, _ shifted, err error) {
	for range mostHalvings {
		if best.violation <= 0 || high.t-low.t <= 4*s.slip {
			break
		}
		left, err := s.firm(low.t+(best.t-low.t)/2, best.violation)
		if err != nil {
			return low, best, high, err
		}
		right, err := s.firm(best.t+(high.t-best.t)/2, best.violation)
		if err != nil {
			return low, best, high, err
		}
		switch {
		case left.violation < best.violation-rounding:
			best, high = left, best
		case right.violation < best.violation-rounding:
			low, best = best, right
		default:
			low, high = left, right
		}
	}
	return low, best, high, nil
}

// halve moves best towards inner, as long as it does not get worse. inner is worse than best.
func (s *shifts) halve(best, inner shifted) (shifted, error) {
	for range mostHalvings {
		t := best.t + (inner.t-best.t)/2
		if math.Abs(best.t-inner.t) <= 2*s.slip || t == best.t || t == inner.t {
			break
		}
		own, err := s.firm(t, best.violation)
		if err != nil {
			return best, err
		}
		if own.violation <= best.violation+rounding {
			best = own
		} else {
			inner = own
		}
	}
	return best, nil
}
