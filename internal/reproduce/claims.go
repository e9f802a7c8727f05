package reproduce

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"ppal/internal/study"
)

// claim is a sentence of the paper and its test on the outcome of a comparison.
type claim struct {
	text string
	test test
}

// test judges a claim. ok is false if the comparison contains no evidence about the claim.
type test func(o *study.Compared) (v study.Verdict, ok bool)

// ruled rules on a claim from the amounts by which it fails, one for each seed: the claim holds
// with a seed if the amount is at most 0. The interval of the paired bootstrap decides, as in
// compare.
func ruled(amounts []float64) study.Ruling {
	p := study.NewPaired(amounts)
	switch {
	case p.Interval == nil:
		return study.CannotTell
	case p.Interval[1] <= 0:
		return study.Confirmed
	case p.Interval[0] > 0:
		return study.NotConfirmed
	}
	return study.CannotTell
}

// amount returns 0 if a claim holds with a seed, and 1 if it fails.
func amount(holds bool) float64 {
	if holds {
		return 0
	}
	return 1
}

// within is the largest relative difference at which two numbers count as equal; the same is 0 to
// equalNumbers.
const (
	within       = 1e-3
	equalNumbers = 1e-9
)

// ahead tests whether a contender has a smaller number than every other contender, by more than the
// tolerance.
func ahead(contender string, others []string, n number) test {
	return func(o *study.Compared) (study.Verdict, bool) {
		if len(o.Of(contender)) == 0 {
			return study.Verdict{}, false
		}
		ruling, texts := study.Confirmed, []string{n.name + " of " + n.told(o, contender)}
		for _, other := range others {
			if len(o.Of(other)) == 0 {
				continue
			}
			difference := o.Paired(contender, other, func(r *study.ComparedRun) (float64, bool) { return n.of(o, r) })
			texts = append(texts, n.told(o, other))
			if difference.N > 0 {
				texts[len(texts)-1] += fmt.Sprintf(" (difference %v)", difference)
			}
			ruling = study.Both(ruling, n.rule(o, contender, other))
		}
		return study.Verdict{Ruling: ruling, Numbers: strings.Join(texts, "; ")}, len(texts) > 1
	}
}

// rule rules whether a contender has a smaller number than another one. If a missing number is
// worse than any number and some run has none, the claim holds with a seed or fails, whatever the
// amount.
func (n number) rule(o *study.Compared, contender, other string) study.Ruling {
	own, others, missing := n.all(o, contender), n.all(o, other), false
	for _, numbers := range []map[uint64]float64{own, others} {
		for _, v := range numbers {
			if math.IsNaN(v) {
				return study.CannotTell
			}
			missing = missing || math.IsInf(v, 1)
		}
	}
	var amounts []float64
	for _, seed := range slices.Sorted(maps.Keys(own)) {
		v := own[seed]
		w, both := others[seed]
		switch margin := v - w + max(within*math.Abs(w), equalNumbers); {
		case !both:
		case !missing:
			amounts = append(amounts, margin)
		case v < w && !(margin > 0):
			amounts = append(amounts, -1)
		default:
			amounts = append(amounts, 1)
		}
	}
	return ruled(amounts)
}

// all returns the number of each of the contender's runs: infinity for a run without a number that
// is worse than any, such as a failed run, and NaN for another run without a number.
func (n number) all(o *study.Compared, contender string) map[uint64]float64 {
	numbers := map[uint64]float64{}
	for _, r := range o.Of(contender) {
		v, known := n.of(o, &r)
		switch {
		case r.Failure != "" || !known && n.worst:
			v = math.Inf(1)
		case !known:
			v = math.NaN()
		}
		numbers[r.Seed] = v
	}
	return numbers
}

// told describes a contender's number in words.
func (n number) told(o *study.Compared, contender string) string {
	runs := o.Of(contender)
	switch s := o.Statistic(contender, func(r *study.ComparedRun) (float64, bool) { return n.of(o, r) }); s.N {
	case 0:
		return fmt.Sprintf("%s none (%s)", contender, n.without(&runs[0]))
	case len(runs):
		return fmt.Sprintf("%s %v", contender, s)
	default:
		return fmt.Sprintf("%s %v (in %d of %d runs)", contender, s, s.N, len(runs))
	}
}

// lossTolerance is the largest relative distance from the best loss of all contenders at which a
// loss counts as equally good.
const lossTolerance = 0.01

// serves tests whether the settings of a contender are feasible at the end of every run, with a
// loss close to the smallest feasible loss of all contenders with the same seed.
func serves(contender string) test {
	return func(o *study.Compared) (study.Verdict, bool) {
		runs := o.Of(contender)
		if len(runs) == 0 {
			return study.Verdict{}, false
		}
		var beyond, excess, least []float64
		for _, r := range runs {
			best := math.Inf(1)
			for _, other := range o.Runs {
				if v, known := other.Best(); known && other.Seed == r.Seed {
					best = min(best, v)
				}
			}
			if !math.IsInf(best, 1) {
				least = append(least, best)
			}
			beyond = append(beyond, amount(r.MetThroughout()))
			if loss, known := r.Tail(study.Objective); known {
				excess = append(excess, loss-best*(1+lossTolerance))
			}
		}
		numbers := fmt.Sprintf("%s is infeasible in the last tenth of %d of %d runs, %s, %s; the best feasible loss of all is %v", contender, infeasible(runs), len(runs),
			"violation "+tailViolation().told(o, contender), "loss "+tailOf("loss", study.Objective).told(o, contender), study.NewStatistic(least))
		return study.Verdict{Ruling: study.Both(ruled(beyond), ruled(excess)), Numbers: numbers}, true
	}
}

// infeasible counts the runs that diverged, or were not feasible throughout their last tenth.
func infeasible(runs []study.ComparedRun) (n int) {
	for _, r := range runs {
		if !r.MetThroughout() {
			n++
		}
	}
	return n
}

// fails tests whether a contender diverges or ends infeasible where the reference does not.
func fails(contender, reference string) test {
	return func(o *study.Compared) (study.Verdict, bool) {
		own, others := o.Of(contender), o.Of(reference)
		if len(own) == 0 || len(others) == 0 {
			return study.Verdict{}, false
		}
		var amounts []float64 // below 0: only the contender fails
		for i, r := range own {
			amounts = append(amounts, amount(!r.MetThroughout())+amount(others[i].MetThroughout())-0.5)
		}
		return study.Verdict{Ruling: ruled(amounts), Numbers: fmt.Sprintf("%s diverged or was infeasible in the last tenth of %d of %d runs, %s in %d; stationarity %s and %s", contender,
			infeasible(own), len(own), reference, infeasible(others), tailStationarity().told(o, contender), tailStationarity().told(o, reference))}, true
	}
}
