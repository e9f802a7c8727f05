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
// behind where that is worse than any, and leaves the claim open where it is not. To be level is not to be ahead.
func ahead(contender string, others []string, n number) test {
	return func(o *compare.Outcome) (verdict, bool) {
		if len(o.Of(contender)) == 0 {
			return verdict{}, false
		}
		own := n.of(o, contender)
		texts := []string{n.name + " of " + n.told(o, contender, own)}
		stands := map[standing]int{}
		if own.N == 0 && !n.worst {
			stands[unknown]++
		}
		for _, other := range others {
			if len(o.Of(other)) == 0 {
				continue
			}
			s := n.of(o, other)
			at, note := n.compare(own, s)
			stands[at]++
			texts = append(texts, n.told(o, other, s)+note)
		}
		compared := stands[smaller]+stands[level]+stands[larger]+stands[unknown] > 0
		ruling := ruled(own.N > 0 && stands[larger] == 0 && stands[level] == 0)
		if ruling == confirmed && stands[unknown] > 0 || own.N == 0 && !n.worst {
			ruling = notJudged
		}
		return verdict{ruling, strings.Join(texts, "; ")}, compared
	}
}

// standing is how one number compares with another.
type standing int

const (
	unknown standing = iota
	smaller
	level
	larger
)

// compare compares a contender's number with another's; note says what the means alone do not.
func (n number) compare(own, s compare.Statistic) (at standing, note string) {
	switch {
	case n.worst && own.N < s.N:
		return larger, ""
	case n.worst && own.N > s.N:
		return smaller, ""
	case s.N == 0 || own.N == 0:
		return unknown, ""
	case math.Abs(own.Mean-s.Mean) <= within*math.Abs(s.Mean):
		return level, " (level)"
	case own.Mean > s.Mean:
		at = larger
	default:
		at = smaller
	}
	if own.N > 1 && s.N > 1 && math.Abs(own.Mean-s.Mean) < own.Deviation+s.Deviation {
		note = " (the spreads overlap)"
	}
	return at, note
}

// told is a contender's number in words.
func (n number) told(o *compare.Outcome, contender string, s compare.Statistic) string {
	runs := len(o.Of(contender))
	switch s.N {
	case 0:
		return fmt.Sprintf("%s none (%s)", contender, n.without(o, contender))
	case runs:
		return fmt.Sprintf("%s %v", contender, s)
	}
	return fmt.Sprintf("%s %v (in %d of %d runs)", contender, s, s.N, runs)
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
