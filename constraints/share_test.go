package constraints_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/internal/require"
)

// TestSharesByHand compares the shares that inequalities bound with counts by hand.
func TestSharesByHand(t *testing.T) {
	none := constraints.Share{}
	for _, test := range []struct {
		data        func() (*constraints.Population, []int)
		minimize    constraints.Rate
		text        string
		want        constraints.Share // Rows 0: no share
		thresholded bool
	}{
		{people, constraints.Error(), "positive_rate <= 0.5", constraints.Share{Hits: 6, Rows: 10, Most: 0.5}, true},
		{people, constraints.Error(), "positive_rate[no] <= 0.4", constraints.Share{Hits: 4, Rows: 10, Most: 0.4}, true},
		{people, constraints.Error(), "positive_rate >= 0.3", constraints.Share{Hits: 4, Rows: 10, Most: 0.7}, true},
		{people, constraints.Error(), "fnr <= 0.1", constraints.Share{Hits: 1, Rows: 5, Most: 0.1}, true},
		{people, constraints.Error(), "tnr >= 0.9", constraints.Share{Hits: 2, Rows: 5, Most: 0.1}, true},
		{people, constraints.FPR(), "fpr <= 0.1", constraints.Share{Hits: 2, Rows: 5, Most: 0.1}, true}, // the cell 0
		{people, constraints.Error(), "error <= 0.3", constraints.Share{Hits: 3, Rows: 10, Most: 0.3}, false},
		{people, constraints.Error(), "error[no] <= 0.3", constraints.Share{Hits: 2, Rows: 5, Most: 0.3}, true},
		{people, constraints.Error(), "churn(old.csv) <= 0.2", constraints.Share{Hits: 3, Rows: 9, Most: 0.2}, false},
		{people, constraints.Error(), "precision >= 0.7", constraints.Share{Hits: 2, Rows: 6, Most: 0.3}, false},
		{people, constraints.Error(), "precision <= 0.9", constraints.Share{Hits: 4, Rows: 6, Most: 0.9}, false},
		{people, constraints.Error(), "precision <= 0", constraints.Share{Hits: 4, Rows: 10, Most: 0}, false},
		{people, constraints.Error(), "gap(tpr, sex) <= 0.01", none, false},
		{people, constraints.Error(), "balanced_error <= 0.3", none, false},
		{people, constraints.Error(), "loss <= 1", none, false},
		{people, constraints.Error(), "l1(weights) <= 3", none, false},
		{clothes, constraints.Error(), "recall[Coat] >= 0.75", constraints.Share{Hits: 1, Rows: 2, Most: 0.25}, false},
	} {
		p, decisions := test.data()
		c := require.Value(constraints.Parse(test.text))(t)
		s := require.Value(constraints.NewSystem(test.minimize, []constraints.Constraint{c}, p))(t)
		hits, rows := hitsAndRows(t, s, p, decisions)
		share, ok := s.Share(s.Bounds[0], hits, rows)
		if ok != (test.want.Rows > 0) || share.Hits != test.want.Hits || share.Rows != test.want.Rows || math.Abs(share.Most-test.want.Most) > 1e-15 {
			t.Errorf("%s: %+v, %t, want %+v", test.text, share, ok, test.want)
		}
		if got := s.Direction(s.Bounds[0]) != 0; got != test.thresholded {
			t.Errorf("%s: thresholded %t", test.text, got)
		}
	}
}

// hitsAndRows returns the counts of the decisions in each rate of the system.
func hitsAndRows(t *testing.T, s *constraints.System, p *constraints.Population, decisions []int) (hits, rows []int) {
	t.Helper()
	sample := require.Value(s.On(p))(t)
	for k := range s.Rates {
		cell, targets := sample.Targets(k)
		n := 0
		for i, row := range cell {
			if decisions[row] == targets[i] {
				n++
			}
		}
		hits, rows = append(hits, n), append(rows, len(cell))
	}
	return hits, rows
}

// TestDirections checks in which direction a threshold moves shares, and which cells have rows of
// others.
func TestDirections(t *testing.T) {
	p, _ := people()
	for text, want := range map[string]int{"fpr <= 0.1": -1, "fpr >= 0.1": 1, "tnr >= 0.1": -1, "fnr <= 0.1": 1, "tpr >= 0.1": 1, "tpr <= 0.1": -1,
		"positive_rate[no] <= 0.1": 1, "error[no] <= 0.1": -1, "recall[yes] >= 0.1": 1} {
		s := systemOf(t, p, text)
		if got := s.Direction(s.Bounds[0]); got != want {
			t.Errorf("%s: direction %d, want %d", text, got, want)
		}
	}
	s := systemOf(t, p, "excess(tpr, sex) <= 0.1", "excess(fpr, sex) <= 0.1")
	within := 0
	for k, a := range s.Rates {
		for l, b := range s.Rates {
			want := strings.HasPrefix(a.Name, b.Name+", sex=")
			if s.Within(k, l) {
				within++
			}
			if s.Within(k, l) != want {
				t.Errorf("%q within %q: %t", a.Name, b.Name, !want)
			}
		}
	}
	if within != 4 {
		t.Errorf("%d rates are within others, want those of 2 groups of 2 rates", within)
	}
}

// TestSharesOfOtherInequalities checks that combinations of rates are not shares.
func TestSharesOfOtherInequalities(t *testing.T) {
	p, decisions := people()
	s := systemOf(t, p, "precision >= 0.7", "positive_rate <= 0.5", "l1(weights) <= 3")
	hits, rows := hitsAndRows(t, s, p, decisions)
	at := func(end string) int {
		return slices.IndexFunc(s.Rates, func(c constraints.Cell) bool { return strings.HasSuffix(c.Name, end) })
	}
	right, wrong, positive, norm := at(", rightly"), at(", wrongly"), at("share decided yes"), len(s.Rates)
	if s.Direction(s.Bounds[1]) == 0 { // other coefficients are 0, before and after
		t.Errorf("%s has no threshold", s.Bounds[1].Name)
	}
	for _, used := range [][]int{{}, {right, norm}, {right, positive}, {0, wrong}, {0, right, wrong}, {0, positive}, {0, positive, norm}, {positive, norm}} {
		b := constraints.Inequality{Coefficients: make([]float64, s.Terms()), Bound: 0.5}
		for _, k := range used {
			b.Coefficients[k] = 0.25
		}
		if share, ok := s.Share(b, hits, rows); ok || s.Direction(b) != 0 {
			t.Errorf("the rates %v: %+v, %t, direction %d", used, share, ok, s.Direction(b))
		}
	}
}

// TestInequalitiesOfAnotherBound compares the inequalities of another bound with those of a system
// that has this bound, and checks that the system keeps its own.
func TestInequalitiesOfAnotherBound(t *testing.T) {
	p, _ := people()
	texts := []string{"fnr <= 0.4", "precision >= 0.4", "gap(tpr, sex) <= 0.4", "ratio(tpr, sex) >= 0.4", "excess(fnr, sex) <= 0.4", "l1(weights) <= 0.4"}
	var changed []string
	for _, text := range texts {
		changed = append(changed, strings.Replace(text, "0.4", "0.7", 1))
	}
	s, want := systemOf(t, p, texts...), systemOf(t, p, changed...)
	before := slices.Clone(s.Bounds)
	var got []constraints.Inequality
	for j := range texts {
		got = append(got, s.Inequalities(j, 0.7)...)
	}
	if diff := cmp.Diff(want.Bounds, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, s.Bounds); diff != "" || s.Subject[0].Bound() != 0.4 {
		t.Errorf("the system has changed: bound %v\n%s", s.Subject[0].Bound(), diff)
	}
}

// TestBoundsByHand checks names, coefficients and bounds of inequalities, and the row of the
// objective.
func TestBoundsByHand(t *testing.T) {
	p, _ := clothes()
	c := require.Value(constraints.Parse("recall[*] >= 0.9"))(t)
	norm := require.Value(constraints.Parse("l1(weights) <= 3"))(t)
	s := require.Value(constraints.NewSystem(constraints.FNR("Coat"), []constraints.Constraint{c, norm}, p))(t)
	want := []constraints.Inequality{ // the rate 0 is the recall of coats
		{Constraint: 0, Name: "recall[Shirt] >= 0.9", Coefficients: []float64{0, -1, 0, 0}, Bound: -0.9},
		{Constraint: 0, Name: "recall[Coat] >= 0.9", Coefficients: []float64{-1, 0, 0, 0}, Bound: -0.9},
		{Constraint: 0, Name: `recall[Ankle boot] >= 0.9`, Coefficients: []float64{0, 0, -1, 0}, Bound: -0.9},
		{Constraint: 1, Name: "l1(weights) <= 3", Coefficients: []float64{0, 0, 0, 1}, Bound: 3},
	}
	want[2].Name = s.Bounds[2].Name // with or without quotes
	if diff := cmp.Diff(want, s.Bounds); diff != "" {
		t.Error(diff)
	}
	row, constant := s.ObjectiveRow()
	if diff := cmp.Diff([]float64{-1, 0, 0, 0}, row); diff != "" || constant != 1 {
		t.Errorf("objective: constant %v\n%s", constant, diff)
	}
	if !s.NeedsSmooth() || s.SmallestCell(1) != 0 || s.SmallestCell(0) != 2 || len(s.Notes) > 0 {
		t.Errorf("smooth %t, smallest cells %d and %d, notes %q", s.NeedsSmooth(), s.SmallestCell(0), s.SmallestCell(1), s.Notes)
	}
	people, _ := people()
	one := systemOf(t, people, "fpr[Male] <= 0.05")
	if one.Bounds[0].Name != "fpr[Male] <= 0.05" || one.NeedsSmooth() {
		t.Errorf("%q, smooth %t", one.Bounds[0].Name, one.NeedsSmooth())
	}
}

// TestSmoothByHand compares the smooth rates with probabilities by hand: e^s is 1, 2 and 3.
func TestSmoothByHand(t *testing.T) {
	p, _ := clothes()
	s := systemOf(t, p, "loss <= 2", "positive_rate[Coat] <= 0.5")
	sample := require.Value(s.On(p))(t)
	var scores []float64
	for range p.Labels {
		scores = append(scores, 0, math.Log(2), math.Log(3))
	}
	f, rates, err := sample.Smooth(scores)
	require.NoError(t, err)
	accuracy := (3*1 + 2*2 + 3*3) / 6. / 8
	loss := (3*math.Log(6) + 2*math.Log(3) + 3*math.Log(2)) / 8
	for k, want := range []float64{accuracy, loss, 1. / 3} {
		if !(math.Abs(rates[k]-want) <= 1e-15) {
			t.Errorf("%s: %v, want %v", s.Rates[k].Name, rates[k], want)
		}
	}
	if !(math.Abs(f-(1-accuracy)) <= 1e-15) {
		t.Errorf("objective %v, want %v", f, 1-accuracy)
	}
	for _, n := range []int{8, 16, 23} {
		if _, _, err := sample.Smooth(make([]float64, n)); err == nil || !strings.Contains(err.Error(), "scores for 8 rows of 3 classes") {
			t.Errorf("%d scores: %v", n, err)
		}
	}
}

// TestEntriesHaveClasses checks that every entry names a class.
func TestEntriesHaveClasses(t *testing.T) {
	p, _ := people()
	sample := require.Value(systemOf(t, p, "precision >= 0.7", "loss <= 1").On(p))(t)
	entries, n := sample.Entries(), 0
	for i := range p.Labels {
		for _, e := range entries(i) {
			if n++; e.Class < 0 || e.Class > 1 || e.Weight != 0.1 {
				t.Errorf("row %d: %+v", i, e)
			}
		}
	}
	if n != 10+10 { // the accuracy, and either of the cells of the precision
		t.Errorf("%d entries", n)
	}
}
