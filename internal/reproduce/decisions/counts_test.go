package decisions

import (
	"math"
	"testing"

	"ppal/constraints"
)

// cells returns the same counts for every split. The arguments are group 0 with labels 0 and 1,
// then group 1.
func cells(n00, n01, n10, n11 float64) Counts {
	var c Counts
	for s := range c {
		c[s] = [2][2]float64{{n00, n01}, {n10, n11}}
	}
	return c
}

// total returns 100 and 50 rows of group 0, and 40 and 20 rows of group 1.
func total() Counts { return cells(100, 50, 40, 20) }

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestMeasure(t *testing.T) {
	accepted := cells(10, 40, 8, 12)
	dp := measure(demographicParity, total(), accepted, 0)
	near(t, "error", dp.Error, (10+8+10+8)/210.)
	near(t, "gap of positive rates", dp.Rates[0], 50/150.-20/60.)
	eo := measure(equalizedOdds, total(), accepted, 2)
	near(t, "gap of true positive rates", eo.Rates[0], 0.8-0.6)
	near(t, "gap of false positive rates", eo.Rates[1], 0.2-0.1)
	near(t, "larger gap", eo.largest(), 0.2)
	np := measure(neymanPearson, total(), accepted, 1)
	near(t, "false positive rate", np.largest(), 18/140.)
	near(t, "false negative rate", np.Error, 1-52/70.)
}

// A bound is met with an excess of one row of its own cells. It is not met with an excess of two
// rows, and it is not judged if one row weighs too much.
func TestMetToOneRow(t *testing.T) {
	p := Problem{Kind: neymanPearson, Bound: 0.05} // 7 of 140 rows
	for accepted, want := range map[float64]bool{7: true, 8: true, 9: false} {
		if p.met(total(), cells(accepted, 50, 0, 20)) != want {
			t.Errorf("%v of 140 false positives for 5 %%: met is %v", accepted, !want)
		}
	}
	odds := Problem{Kind: equalizedOdds, Bound: 0.1} // the true positive rates count 50 and 20 rows, the false ones 100 and 40
	for _, c := range []struct {
		accepted Counts
		want     [2]constraints.State
	}{
		{cells(10, 25, 4, 10), [2]constraints.State{constraints.Met, constraints.Met}},
		{cells(10, 25, 9, 10), [2]constraints.State{constraints.Met, constraints.NotJudged}}, // 0.225 - 0.1 with one row of 40
		{cells(10, 25, 8.5, 10), [2]constraints.State{constraints.Met, constraints.NotJudged}},
		{cells(10, 35, 9.5, 10), [2]constraints.State{constraints.NotMet, constraints.NotMet}},
	} {
		list := odds.judged(total(), c.accepted)
		if got := [2]constraints.State{list[0].State, list[1].State}; got != c.want {
			t.Errorf("%v: %v, want %v", c.accepted[0], got, c.want)
		}
		if list[0].State == constraints.NotMet && list[0].Tolerance != 1/20. {
			t.Errorf("the tolerance of true positive rates is %v", list[0].Tolerance)
		}
	}
}
