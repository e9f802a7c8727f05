package reproduce

import (
	"fmt"
	"math"
	"strings"

	"ppal/internal/compare"
	"ppal/trainer"
)

// claim is a sentence of the paper with its test on a comparison's outcome.
type claim struct {
	text string
	test test
}

// test judges a claim; ok is false where the comparison has nothing to say about it.
type test func(o *compare.Outcome) (v verdict, ok bool)

// ruling is how a claim stands.
type ruling string

// The rulings.
const (
	confirmed    ruling = "confirmed"
	notConfirmed ruling = "not confirmed"
	notJudged    ruling = "not judged" // a number is missing that could decide it
)

// ruled is confirmed or not.
func ruled(yes bool) ruling {
	if yes {
		return confirmed
	}
	return notConfirmed
}

// verdict is a claim's, with its numbers.
type verdict struct {
	Ruling  ruling
	Numbers string
}

// within is the relative difference that counts as equal.
const within = 1e-3

// ahead says that a contender has a smaller number than each of the others. One of them without a number, or with one in fewer runs, is
// behind where that is worse than any, and leaves the claim open where it is not.
func ahead(contender string, others []string, n number) test {
	return func(o *compare.Outcome) (verdict, bool) {
		if len(o.Of(contender)) == 0 {
			return verdict{}, false
		}
		told := func(name string, s compare.Statistic) string {
			runs := len(o.Of(name))
			switch s.N {
			case 0:
				return fmt.Sprintf("%s none (%s)", name, n.without(o, name))
			case runs:
				return fmt.Sprintf("%s %v", name, s)
			}
			return fmt.Sprintf("%s %v (in %d of %d runs)", name, s, s.N, runs)
		}
		own := n.of(o, contender)
		texts, behind, open, compared := []string{n.name + " of " + told(contender, own)}, own.N == 0 && n.worst, own.N == 0, 0
		for _, other := range others {
			if len(o.Of(other)) == 0 {
				continue
			}
			compared++
			s := n.of(o, other)
			texts = append(texts, told(other, s))
			switch {
			case s.N == 0:
				open = open || !n.worst
			case n.worst && own.N != s.N: // runs without a number decide
				behind = behind || own.N < s.N
			case own.N > 0 && own.Mean > s.Mean+within*math.Abs(s.Mean):
				behind = true
			}
		}
		ruling := ruled(!behind)
		if open && !behind {
			ruling = notJudged
		}
		return verdict{ruling, strings.Join(texts, "; ")}, compared > 0
	}
}

// lossSpread is how far above the best loss of all, relative to it, a method's counts as as good.
const lossSpread = 0.01

// serves says that a contender's settings end feasible in every run, with a loss about as small as the smallest feasible one of all contenders.
func serves(contender string) test {
	return func(o *compare.Outcome) (verdict, bool) {
		runs := o.Of(contender)
		if len(runs) == 0 {
			return verdict{}, false
		}
		best, bad := math.Inf(1), infeasible(runs)
		for _, c := range o.Study.Contenders {
			if s := o.Best(c.Name); s.N > 0 {
				best = min(best, s.Mean)
			}
		}
		loss := lastOf("loss", func(r *trainer.Record) (float64, bool) { return r.Objective, true }).of(o, contender)
		numbers := fmt.Sprintf("%s ends infeasible in %d of %d runs, violation %v, loss %v; the best feasible loss of all is %.4g",
			contender, bad, len(runs), lastViolation().of(o, contender), loss, best)
		return verdict{ruled(bad == 0 && loss.N > 0 && loss.Mean <= best*(1+lossSpread)), numbers}, true
	}
}

// infeasible counts the runs that diverged or ended infeasible.
func infeasible(runs []compare.Run) (n int) {
	for _, r := range runs {
		if r.Failure != "" || r.Last().MaxViolation > r.Config.FeasibilityTolerance {
			n++
		}
	}
	return n
}

// fails says that a contender diverged or ended infeasible where the reference did not.
func fails(contender, reference string) test {
	return func(o *compare.Outcome) (verdict, bool) {
		if len(o.Of(contender)) == 0 || len(o.Of(reference)) == 0 {
			return verdict{}, false
		}
		a, b := infeasible(o.Of(contender)), infeasible(o.Of(reference))
		return verdict{ruled(a > b), fmt.Sprintf("%s diverged or ended infeasible in %d of %d runs, %s in %d; stationarity %v and %v", contender, a,
			len(o.Of(contender)), reference, b, lastStationarity().of(o, contender), lastStationarity().of(o, reference))}, true
	}
}
