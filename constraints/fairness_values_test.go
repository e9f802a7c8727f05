package constraints

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSurrogatesOfObjectiveAndConstraints computes f with phi and the constraints with psi for the
// four combinations of two surrogates, from the definitions.
func TestSurrogatesOfObjectiveAndConstraints(t *testing.T) {
	value := map[Phi]func(z float64) float64{
		Logistic: func(z float64) float64 { return math.Log1p(math.Exp(-z)) },
		Sigmoid:  func(z float64) float64 { return 1 / (1 + math.Exp(z)) },
	}
	mean := func(phi Phi, rows []int, signed bool) float64 {
		sum := 0.0
		for _, i := range rows {
			z := -sixScores[i] // a rate of positive decisions
			if signed {
				z = float64(sixLabels[i]) * sixScores[i]
			}
			sum += value[phi](z)
		}
		return sum / float64(len(rows))
	}
	rows := twoOfSix()
	a, b, all := rows.Groups[0].Rows, rows.Groups[1].Rows, []int{0, 1, 2, 3, 4, 5}
	for phi := range value {
		for psi := range value {
			m := must(must(must(NewIntersectional([]string{"a", "b"}, []float64{0.1, 0.2}, phi, psi, Each)).NewEvaluator(rows)).Measures(sixScores))
			of := mean(psi, all, true)
			want := []float64{mean(phi, all, true), mean(psi, a, true) - of - 0.1, mean(psi, b, true) - of - 0.2}
			if d := cmp.Diff(want, append([]float64{m.Objective}, m.Terms...), near); d != "" {
				t.Errorf("groups, phi %v, psi %v: %s", phi, psi, d)
			}
			m = must(must(must(NewDemographicParity([]string{"a", "b"}, 0.1, phi, psi, Absolute)).NewEvaluator(rows)).Measures(sixScores))
			want = []float64{mean(phi, all, true), mean(psi, a, false) - mean(psi, b, false)}
			if d := cmp.Diff(want, append([]float64{m.Objective}, m.Terms...), near); d != "" {
				t.Errorf("parity, phi %v, psi %v: %s", phi, psi, d)
			}
		}
	}
}

// TestSmoothNeedsBothSurrogates checks that one hinge makes a problem nonsmooth.
func TestSmoothNeedsBothSurrogates(t *testing.T) {
	ab := []string{"a", "b"}
	for _, test := range []struct {
		phi, psi Phi
		smooth   bool
	}{{Logistic, Sigmoid, true}, {Hinge, Sigmoid, false}, {Sigmoid, Hinge, false}, {Hinge, Hinge, false}} {
		gaps := must(NewDemographicParity(ab, 0.1, test.phi, test.psi, Absolute))
		groups := must(NewIntersectional(ab, []float64{0.1}, test.phi, test.psi, Each))
		if gaps.Smooth() != test.smooth || groups.Smooth() != test.smooth {
			t.Errorf("%v and %v: %t, %t", test.phi, test.psi, gaps.Smooth(), groups.Smooth())
		}
	}
}

// TestLargestBound checks that the constraint on the largest gap has the largest bound.
func TestLargestBound(t *testing.T) {
	for _, eps := range [][]float64{{0.1, 0.3}, {0.3, 0.1}} {
		p := must(NewEqualizedOdds([]string{"a", "b"}, eps, Sigmoid, Sigmoid, Maximum))
		if d := cmp.Diff([]float64{0.3}, p.Bounds()); d != "" {
			t.Errorf("%v: %s", eps, d)
		}
	}
}

// TestNoDifferenceExceedsItsBound checks the largest of negative numbers.
func TestNoDifferenceExceedsItsBound(t *testing.T) {
	if got := maxAbove([]float64{-0.5, -0.25, -1}, []float64{0.5, 1, 0}); got != -1 {
		t.Errorf("largest %v, want -1", got)
	}
}

// TestBoundsWithoutEffect checks the limits of the warnings, and the list of three and of four
// groups.
func TestBoundsWithoutEffect(t *testing.T) {
	for _, test := range []struct {
		eps  []float64
		psi  Phi
		want []string
	}{
		{[]float64{0.9, 0.9, 0.9, 0.9}, Sigmoid, nil},
		{[]float64{1, 2, 1, 0.9}, Sigmoid, []string{"group a, b, c: the bound constrains nothing"}},
		{[]float64{1, 2, 1, 1}, Sigmoid, []string{"group a, b, c and 1 others: the bound constrains nothing"}},
		{[]float64{1, 2, 1, 1}, Logistic, nil},
		{[]float64{0, 1, 0.5, 0.5}, Sigmoid, []string{"group b: the bound", "group a: eps 0"}},
	} {
		got := must(NewIntersectional([]string{"a", "b", "c", "d"}, test.eps, Sigmoid, test.psi, Each)).Warnings()
		ok := len(got) == len(test.want)
		for i := 0; ok && i < len(got); i++ {
			ok = strings.HasPrefix(got[i], test.want[i])
		}
		if !ok {
			t.Errorf("%v: %q, want %q", test.eps, got, test.want)
		}
	}
}

// TestMeansRefuse checks the offsets and the number of groups of a scalar mean.
func TestMeansRefuse(t *testing.T) {
	m := must(NewMembership(2, []Group{{Name: "a", Rows: []int{0}}, {Name: "b", Rows: []int{1}}}))
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := NewGroupMeans(m, []float64{0, v}); err == nil || !strings.Contains(err.Error(), `offset of group "b"`) {
			t.Errorf("offset %v: %v", v, err)
		}
	}
	if _, err := NewGroupMean(m, 0); err == nil || !strings.Contains(err.Error(), "has 1 group, got 2") {
		t.Errorf("%v", err)
	}
	if _, err := must(NewGroupMeans(m, nil)).SymDiff(nil, nil, nil); err == nil || !strings.Contains(err.Error(), "takes 1 input, got 0") {
		t.Errorf("%v", err)
	}
}
