package rates

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// The test counts twelve rows by hand: 2 of 7 negatives and 4 of 5 positives are accepted.
func TestCountByHand(t *testing.T) {
	labels := []int{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}
	decisions := []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0}
	table := require.Value(NewTable(Rows{Labels: labels, Decisions: decisions}, []string{"no", "yes"}, []results.Group{{Name: "a", Rows: []int{0, 5, 7}}, {Name: "b", Rows: []int{1, 2}}}, false))(t)
	for name, want := range map[string][2]int{
		results.PositiveRate: {6, 12}, results.TruePositiveRate: {4, 5}, results.FalsePositiveRate: {2, 7}, results.Precision: {4, 6}, results.ErrorRate: {3, 12},
	} {
		got := table.Overall[name]
		if got.Rows != want[1] || got.Value != float64(want[0])/float64(want[1]) || got.Interval[0] >= got.Value || got.Interval[1] <= got.Value {
			t.Errorf("%s: %+v, want %d of %d", name, got, want[0], want[1])
		}
	}
	if diff := cmp.Diff([][]float64{{5, 2}, {1, 4}}, table.Confusion); diff != "" {
		t.Error(diff)
	}
	a, b := table.ByGroup[0], table.ByGroup[1]
	if a.Group != "a" || a.Rows != 3 || a.Rates[results.PositiveRate].Value != 2.0/3 || a.Rates[results.TruePositiveRate].Value != 1 || a.Rates[results.FalsePositiveRate].Value != 0.5 {
		t.Errorf("%+v", a)
	}
	if _, has := b.Rates[results.TruePositiveRate]; has || b.Rates[results.ErrorRate].Value != 0 {
		t.Errorf("a group without positive rows has a true positive rate: %+v", b)
	}
}

// The rates of a table, which the confusion matrix gives, are those that the language counts for
// constraints: of all rows and of groups, with and without weights, of two classes and more.
func TestTableCountsAsTheLanguage(t *testing.T) {
	rng, compared := rand.New(rand.NewPCG(4, 2)), 0
	for trial := range 40 {
		p := &constraints.Population{Classes: []string{"no", "yes", "perhaps", "late"}[:2+trial%3], Attributes: []constraints.Attribute{{Name: "g", Values: []string{"a", "b"}}}}
		groups, decisions := []results.Group{{Name: "a"}, {Name: "b"}}, []int(nil)
		for i := range 10 + rng.IntN(30) {
			g := rng.IntN(2)
			groups[g].Rows = append(groups[g].Rows, i)
			p.Attributes[0].Of = append(p.Attributes[0].Of, g)
			p.Labels, decisions = append(p.Labels, rng.IntN(len(p.Classes))), append(decisions, rng.IntN(len(p.Classes)))
			if trial%2 == 1 {
				p.Weights = append(p.Weights, 0.5+rng.Float64())
			}
		}
		table := require.Value(NewTable(Rows{Labels: p.Labels, Decisions: decisions, Weights: p.Weights}, p.Classes, groups, false))(t)
		compare := func(name, text string, got results.Rate) {
			c := require.Value(constraints.Parse(text + " <= 1"))(t)
			s := require.Value(constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p))(t)
			counted := require.Value(require.Value(s.On(p))(t).Count(decisions))(t)
			if v := counted.Values[0]; !v.Defined || math.Abs(v.Value-got.Value) > 1e-12 || v.Rates[0].Rows != got.Rows {
				t.Errorf("trial %d: %s is %+v in the table, and %s counts %+v", trial, name, got, text, v)
			}
			compared++
		}
		for name, rate := range table.Overall {
			compare(name, name, rate)
		}
		for _, g := range table.ByGroup {
			for name, rate := range g.Rates {
				head, class, of := strings.Cut(strings.TrimSuffix(name, "]"), "[")
				if of {
					class += ", "
				}
				compare(g.Group+" "+name, fmt.Sprintf("%s[%sg=%s]", head, class, g.Group), rate)
			}
		}
	}
	if compared < 500 {
		t.Errorf("%d rates were compared", compared)
	}
}

func TestCountClasses(t *testing.T) {
	table := require.Value(NewTable(Rows{Labels: []int{0, 0, 1, 2, 2, 2}, Decisions: []int{0, 1, 1, 2, 2, 0}}, []string{"coat", "shirt", "bag"}, nil, true))(t)
	for name, want := range map[string]float64{
		"recall[coat]": 0.5, "recall[shirt]": 1, "recall[bag]": 2.0 / 3, "precision[shirt]": 0.5, "error": 2.0 / 6,
	} {
		if table.Overall[name].Value != want {
			t.Errorf("%s: %v, want %v", name, table.Overall[name], want)
		}
	}
	if table.Overall[results.ErrorRate].Interval != nil {
		t.Error("an interval of rows that the model was trained on")
	}
	if diff := cmp.Diff([]string{"error", "recall[coat]", "recall[shirt]", "recall[bag]", "precision[coat]", "precision[shirt]", "precision[bag]"},
		table.Order()); diff != "" {
		t.Error(diff)
	}
}

func TestCountRefuses(t *testing.T) {
	for _, bad := range []func() error{
		func() error {
			_, err := NewTable(Rows{Labels: []int{0}, Decisions: []int{0, 1}}, []string{"a", "b"}, nil, false)
			return err
		},
		func() error {
			_, err := NewTable(Rows{Labels: []int{0}, Decisions: []int{2}}, []string{"a", "b"}, nil, false)
			return err
		},
		func() error {
			_, err := NewTable(Rows{Labels: []int{-1}, Decisions: []int{0}}, []string{"a", "b"}, nil, false)
			return err
		},
		func() error {
			_, err := NewTable(Rows{Labels: []int{0}, Decisions: []int{0}}, []string{"a", "b"}, []results.Group{{Name: "g", Rows: []int{1}}}, false)
			return err
		},
	} {
		if bad() == nil {
			t.Error("accepted")
		}
	}
}

func TestROC(t *testing.T) {
	// tied scores are one step of the curve; the first pair separates the classes perfectly
	got := ROC([]float64{3, 2, 2, 1}, []bool{true, true, false, false}, nil, 100)
	want := []results.ROCPoint{{FPR: 0, TPR: 0}, {FPR: 0, TPR: 0.5}, {FPR: 0.5, TPR: 1}, {FPR: 1, TPR: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if ROC([]float64{1, 2}, []bool{true, true}, nil, 10) != nil {
		t.Error("a curve without negative rows")
	}
	r := rand.New(rand.NewPCG(1, 2))
	scores, positive := make([]float64, 5000), make([]bool, 5000)
	for i := range scores {
		positive[i] = r.Float64() < 0.02
		scores[i] = r.NormFloat64()
		if positive[i] {
			scores[i]++
		}
	}
	full, thinned := ROC(scores, positive, nil, 1<<30), ROC(scores, positive, nil, 200)
	if len(full) != 5001 || len(thinned) > 210 || thinned[0] != full[0] || thinned[len(thinned)-1] != full[5000] {
		t.Errorf("%d and %d points", len(full), len(thinned))
	}
	if d := math.Abs(area(full) - area(thinned)); d > 2e-3 {
		t.Errorf("thinning changes the area by %v", d)
	}
}

// area returns the area under a curve.
func area(c []results.ROCPoint) (sum float64) {
	for k := 1; k < len(c); k++ {
		sum += (c[k].FPR - c[k-1].FPR) * (c[k].TPR + c[k-1].TPR) / 2
	}
	return sum
}

// The area counts all pairs of a positive and a negative row. It depends only on the order of the
// scores.
func TestAUC(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	var areas Areas
	for range 200 {
		n := 2 + rng.IntN(30)
		scores, turned, labels := make([]float64, n), make([]float64, n), make([]int, n)
		for i := range scores {
			scores[i] = float64(rng.IntN(8)) // with ties
			turned[i] = -math.Exp(scores[i])
			labels[i] = 1 - 2*rng.IntN(2)
		}
		labels[0], labels[1] = 1, -1
		var won, pairs float64
		for i, y := range labels {
			for j, z := range labels {
				if y != 1 || z != -1 {
					continue
				}
				pairs++
				switch {
				case scores[i] > scores[j]:
					won++
				case scores[i] == scores[j]:
					won += 0.5
				}
			}
		}
		if got, ok := areas.AUC(scores, labels, nil); !ok || got != won/pairs {
			t.Errorf("%v %v: %g, want %g", scores, labels, got, won/pairs)
		}
		if got, ok := areas.AUC(turned, labels, nil); !ok || math.Abs(got-(1-won/pairs)) > 1e-15 {
			t.Errorf("falling scores: %g, want %g", got, 1-won/pairs)
		}
	}
}

// TestNDCG checks values by hand: the order of equal scores, a query without a relevant document,
// and a query with fewer documents than k.
func TestNDCG(t *testing.T) {
	q := &tabular.Queries{Names: []string{"a", "b", "c"}, Of: []int32{0, 1, 0, 0, 1, 2}, Grades: []uint8{0, 0, 2, 1, 0, 1}}
	scores := []float64{5, 1, 3, 5, 2, -1}
	// query a in the order of scores: grades 0, 1, 2; query c: grade 1 alone
	a := (1/math.Log2(3) + 3./2) / (3 + 1/math.Log2(3))
	if got, want := Gains(q, scores)[10], (a+1)/2; math.Abs(got-want) > 1e-15 {
		t.Errorf("NDCG@10 is %v, want %v", got, want)
	}
	// in the order of scores, the relevant documents are at the places 2, 6 and, with equal scores, 7
	long := &tabular.Queries{Names: []string{"a"}, Of: make([]int32, 12), Grades: []uint8{0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 3}}
	scores = []float64{9, 3, 8, 7, 6, 4, 5, 2, 2, 1, 1, 4}
	first, best := 1/math.Log2(3), 7+3/math.Log2(3)+1./2
	for k, want := range map[int]float64{5: first / best, 10: (first + 3/math.Log2(7) + 7/math.Log2(8)) / best} {
		if got := Gains(long, scores)[k]; math.Abs(got-want) > 1e-15 {
			t.Errorf("NDCG@%d is %v, want %v", k, got, want)
		}
	}
	if v := Gains(&tabular.Queries{Names: []string{"a"}, Of: []int32{0}, Grades: []uint8{0}}, []float64{1}); v != nil {
		t.Errorf("without relevant documents the NDCG is %v", v)
	}
}

// TestNDCGOfMQ2008 checks the NDCG of column 39 as the score.
func TestNDCGOfMQ2008(t *testing.T) {
	dir := os.Getenv("PPAL_DATA")
	if dir == "" {
		t.Skip("PPAL_DATA is not set")
	}
	q := &tabular.Queries{}
	var scores []float64
	for fold := 1; fold <= 5; fold++ {
		file, err := os.Open(filepath.Join(dir, "mq2008", fmt.Sprintf("S%d.txt", fold)))
		if err != nil {
			t.Skip(err)
		}
		defer file.Close()
		for in := bufio.NewScanner(file); in.Scan(); {
			fields := strings.Fields(in.Text())
			grade, _ := strconv.Atoi(fields[0])
			if len(q.Names) == 0 || q.Names[len(q.Names)-1] != fields[1] {
				q.Names = append(q.Names, fields[1])
			}
			at := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "39:") })
			score, _ := strconv.ParseFloat(strings.TrimPrefix(fields[at], "39:"), 64)
			q.Of, q.Grades, scores = append(q.Of, int32(len(q.Names)-1)), append(q.Grades, uint8(grade)), append(scores, score)
		}
	}
	if got := Gains(q, scores)[10]; math.Abs(got-0.688783) > 5e-7 {
		t.Errorf("NDCG@10 is %.6f", got)
	}
}

// TestWeights compares rates, ROC curves and areas of rows with whole weights with those of rows
// that stand as often as their weights say. The intervals are wider: heavy rows tell less.
func TestWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for classes := 2; classes <= 3; classes++ {
		a, b := Rows{}, Rows{}
		var scores, again []float64
		group, other := results.Group{Name: "odd"}, results.Group{Name: "odd"}
		for i := range 80 {
			w, y, d, s := 1+rng.IntN(4), rng.IntN(classes), rng.IntN(classes), float64(rng.IntN(9))
			a.Labels, a.Decisions, a.Weights, scores = append(a.Labels, y), append(a.Decisions, d), append(a.Weights, float64(w)), append(scores, s)
			if i%2 == 1 {
				group.Rows = append(group.Rows, i)
			}
			for range w {
				if i%2 == 1 {
					other.Rows = append(other.Rows, len(b.Labels))
				}
				b.Labels, b.Decisions, again = append(b.Labels, y), append(b.Decisions, d), append(again, s)
			}
		}
		names := []string{"a", "b", "c"}[:classes]
		x := require.Value(NewTable(a, names, []results.Group{group}, false))(t)
		y := require.Value(NewTable(b, names, []results.Group{other}, false))(t)
		if x.Rows != 80 || x.Weight != float64(y.Rows) || y.Weight != 0 || !slices.EqualFunc(x.Confusion, y.Confusion, slices.Equal[[]float64]) {
			t.Errorf("%d rows of the weight %v with %v, want %v with %v", x.Rows, x.Weight, x.Confusion, y.Rows, y.Confusion)
		}
		for k, rates := range []results.Rates{x.Overall, x.ByGroup[0].Rates} {
			want := []results.Rates{y.Overall, y.ByGroup[0].Rates}[k]
			for name, r := range want {
				if got := rates[name]; got.Value != r.Value || got.Rows >= r.Rows || got.Interval[0] > r.Interval[0] || got.Interval[1] < r.Interval[1] {
					t.Errorf("%s is %+v, want %+v with a wider interval", name, got, r)
				}
			}
		}
		if classes > 2 {
			continue
		}
		positive := func(labels []int) (list []bool) {
			for _, y := range labels {
				list = append(list, y == 1)
			}
			return list
		}
		if got, want := ROC(scores, positive(a.Labels), a.Weights, 100), ROC(again, positive(b.Labels), nil, 100); !slices.Equal(got, want) {
			t.Errorf("the ROC curve is %v, want %v", got, want)
		}
		var areas Areas
		got, _ := areas.AUC(scores, a.Labels, a.Weights)
		if want, _ := areas.AUC(again, b.Labels, nil); math.Abs(got-want) > 1e-15 {
			t.Errorf("the area is %v, want %v", got, want)
		}
	}
	if _, err := NewTable(Rows{Labels: []int{0, 1}, Decisions: []int{0, 1}, Weights: []float64{1}}, []string{"a", "b"}, nil, false); err == nil {
		t.Error("too few weights: no error")
	}
}
