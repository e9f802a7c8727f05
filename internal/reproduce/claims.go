package reproduce

import (
	"fmt"
	"math"
	"strings"

	"ppal/internal/compare"
	"ppal/internal/study"
	"ppal/trainer"
)

// claim is a sentence of the paper and its test on the outcome of a comparison.
type claim struct {
	text string
	test test
}

// test judges a claim. ok is false if the comparison contains no evidence about the claim.
type test func(o *compare.Outcome) (v study.Verdict, ok bool)

// within is the largest relative difference at which two numbers count as equal.
const within = 1e-3

// ahead tests whether a contender has a smaller number than every other contender. A number within
// the tolerance is level, not ahead. A contender may have no number in some or all runs. The
// contender is then behind if a missing number is worse than any number; otherwise the claim is
// not judged.
func ahead(contender string, others []string, n number) test {
	return func(o *compare.Outcome) (study.Verdict, bool) {
		if len(o.Of(contender)) == 0 {
			return study.Verdict{}, false
		}
		own := n.value(o, contender)
		texts := []string{n.name + " of " + n.told(o, contender, own)}
		stands := map[standing]int{}
		if own.N == 0 && !n.worst {
			stands[unknown]++
		}
		for _, other := range others {
			if len(o.Of(other)) == 0 {
				continue
			}
			s := n.value(o, other)
			at, note := n.compare(own, s)
			stands[at]++
			texts = append(texts, n.told(o, other, s)+note)
		}
		compared := stands[smaller]+stands[level]+stands[larger]+stands[unknown] > 0
		ruling := study.Ruled(own.N > 0 && stands[larger] == 0 && stands[level] == 0)
		if ruling == study.Confirmed && stands[unknown] > 0 || own.N == 0 && !n.worst {
			ruling = study.NotJudged
		}
		return study.Verdict{Ruling: ruling, Numbers: strings.Join(texts, "; ")}, compared
	}
}

// standing is the result of the comparison of two numbers.
type standing int

const (
	unknown standing = iota
	smaller
	level
	larger
)

// compare compares the numbers of two contenders. note adds a remark if the means alone mislead.
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
		note = " (the ranges of the seeds overlap)"
	}
	return at, note
}

// told describes a contender's number in words.
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

// lossTolerance is the largest relative distance from the best loss of all contenders at which a
// loss counts as equally good.
const lossTolerance = 0.01

// serves tests whether the settings of a contender end feasible in every run, with a loss close to
// the smallest feasible loss of all contenders.
func serves(contender string) test {
	return func(o *compare.Outcome) (study.Verdict, bool) {
		runs := o.Of(contender)
		if len(runs) == 0 {
			return study.Verdict{}, false
		}
		best, bad := math.Inf(1), infeasible(runs)
		for _, c := range o.Study.Contenders {
			if s := o.Best(c.Name); s.N > 0 {
				best = min(best, s.Mean)
			}
		}
		loss := lastOf("loss", func(r *trainer.Record) (float64, bool) { return r.Objective, true }).value(o, contender)
		numbers := fmt.Sprintf("%s ends infeasible in %d of %d runs, violation %v, loss %v; the best feasible loss of all is %.4g",
			contender, bad, len(runs), lastViolation().value(o, contender), loss, best)
		return study.Verdict{Ruling: study.Ruled(bad == 0 && loss.N > 0 && loss.Mean <= best*(1+lossTolerance)), Numbers: numbers}, true
	}
}

// infeasible counts the runs that diverged or ended infeasible.
func infeasible(runs []compare.Run) (n int) {
	for _, r := range runs {
		if !r.Met() {
			n++
		}
	}
	return n
}

// fails tests whether a contender diverged or ended infeasible in more runs than the reference.
func fails(contender, reference string) test {
	return func(o *compare.Outcome) (study.Verdict, bool) {
		if len(o.Of(contender)) == 0 || len(o.Of(reference)) == 0 {
			return study.Verdict{}, false
		}
		a, b := infeasible(o.Of(contender)), infeasible(o.Of(reference))
		return study.Verdict{Ruling: study.Ruled(a > b), Numbers: fmt.Sprintf("%s diverged or ended infeasible in %d of %d runs, %s in %d; stationarity %v and %v", contender, a,
			len(o.Of(contender)), reference, b, lastStationarity().value(o, contender), lastStationarity().value(o, reference))}, true
	}
}
