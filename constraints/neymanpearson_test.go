package constraints

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// scoresGraph returns the nodes of a problem whose scores are an input node.
func scoresGraph(t *testing.T, dt tensor.Dtype, p *NeymanPearson, labels []int) (s, f, g *gorgonia.Node) {
	t.Helper()
	graph := gorgonia.NewGraph()
	s = gorgonia.NewMatrix(graph, dt, gorgonia.WithShape(len(labels), len(p.Classes())), gorgonia.WithName("s"))
	f, g, err := p.Nodes(s, labels)
	if err != nil {
		t.Fatal(err)
	}
	return s, f, g
}

func TestNeymanPearsonByHand(t *testing.T) {
	// Hinge losses of the rows: 0 and 3 for class 0; 2.5 for class 1; 0 and 5 for class 2.
	labels := []int{0, 0, 1, 2, 2}
	scores := []float64{
		5, 1, 0, // margins 4, 5
		0, 0, 1, // margins 0, -1
		1, 0, 0.5, // margins -1, -0.5
		0, 1, 3, // margins 3, 2
		2, 3, 1, // margins -1, -2
	}
	p := must(NewNeymanPearson([]string{"bag", "boot", "coat"}, []float64{0.5, 2}, Hinge))
	want := Measures{
		Objective:   1.5,
		Constraints: []float64{3, 0.5},
		Losses:      []float64{1.5, 3.5, 2.5},
		Errors:      []float64{0.5, 1, 0.5},
		Rows:        []int{2, 1, 2},
	}
	e := p.NewEvaluator()
	if err := e.Add(scores[:6], labels[:2]); err != nil { // two blocks of rows
		t.Fatal(err)
	}
	if err := e.Add(scores[6:], labels[2:]); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, must(e.Measures()), near); d != "" {
		t.Errorf("measures (-want +got)\n%s", d)
	}
	for _, dt := range dtypes {
		s, f, g := scoresGraph(t, dt, p, labels)
		let(t, s, dense(dt, scores, 5, 3))
		runVM(t, compiled(t, gorgonia.Nodes{s}, gorgonia.Nodes{f, g}))
		got := append(widened(t, f.Value()), widened(t, g.Value())...)
		if d := cmp.Diff([]float64{1.5, 3, 0.5}, got, near); d != "" {
			t.Errorf("%v: nodes (-want +got)\n%s", dt, d)
		}
		if !f.IsScalar() || !g.Shape().Eq(tensor.Shape{2}) {
			t.Errorf("%v: shapes %v, %v", dt, f.Shape(), g.Shape())
		}
	}
	if d := cmp.Diff([]string{"boot", "coat"}, p.ConstraintNames()); d != "" {
		t.Error(d)
	}
}

func TestEvaluatorEqualsTheNodesBitForBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, tc := range cases {
		for _, phi := range Phis() {
			p := must(NewNeymanPearson(tc.classes, []float64{0.3}, phi))
			n, c := len(tc.labels), len(tc.classes)
			scores := randoms(rng, n*c, 3)
			s, f, g := scoresGraph(t, tensor.Float64, p, tc.labels)
			let(t, s, dense(tensor.Float64, scores, n, c))
			runVM(t, compiled(t, gorgonia.Nodes{s}, gorgonia.Nodes{f, g}))
			e := p.NewEvaluator()
			for i := range tc.labels {
				if err := e.Add(scores[i*c:][:c], tc.labels[i:][:1]); err != nil {
					t.Fatal(err)
				}
			}
			m := must(e.Measures())
			want := append(widened(t, f.Value()), widened(t, g.Value())...)
			if d := cmp.Diff(want, append([]float64{m.Objective}, m.Constraints...)); d != "" {
				t.Errorf("%s, %v (-nodes +evaluator)\n%s", tc.name, phi, d)
			}
		}
	}
}

func TestEvaluatorTiesAndErrors(t *testing.T) {
	p := must(NewNeymanPearson([]string{"a", "b"}, []float64{0.3}, Sigmoid))
	e := p.NewEvaluator()
	if _, err := e.Measures(); !errors.Is(err, ErrEmptyGroup) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("measures without rows: %v", err)
	}
	if err := e.Add([]float64{1, 1, 1, 1}, []int{0, 1}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		scores []float64
		labels []int
		want   string
	}{
		{[]float64{1, 2, 3}, []int{0, 1}, "3 scores for 2 rows"},
		{[]float64{1, 2}, []int{2}, "row 2 has label 2"},
		{[]float64{1, 2, 0, math.NaN()}, []int{0, 1}, `row 3: the score of class "b" is NaN`},
	} {
		if err := e.Add(bad.scores, bad.labels); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("got %v, want %q", err, bad.want)
		}
	}
	m := must(e.Measures())
	if d := cmp.Diff([]float64{0, 1}, m.Errors); d != "" { // on a tie, the decision is the first class
		t.Error(d)
	}
	if d := cmp.Diff([]int{1, 1}, m.Rows); d != "" {
		t.Error("refused rows were counted", d)
	}
}

func TestNeymanPearsonErrors(t *testing.T) {
	abc := []string{"a", "b", "c"}
	for _, tc := range []struct {
		classes []string
		kappa   []float64
		want    string
	}{
		{[]string{"a"}, []float64{1}, "at least 2 classes"},
		{[]string{"a", "b", "a"}, []float64{1}, `"a" is given twice`},
		{abc, nil, "kappa has 0 values; give one, or 2"},
		{abc, []float64{1, 2, 3}, "kappa has 3 values; give one, or 2"},
		{abc, []float64{1, math.NaN()}, `"c" is NaN`},
		{abc, []float64{-0.5}, `"b" is -0.5`},
		{abc, []float64{math.Inf(1)}, "+Inf"},
	} {
		if _, err := NewNeymanPearson(tc.classes, tc.kappa, Sigmoid); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, %v: %v, want %q", tc.classes, tc.kappa, err, tc.want)
		}
	}
	p := must(NewNeymanPearson(abc, []float64{1}, Sigmoid))
	s := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float64, gorgonia.WithShape(2, 3), gorgonia.WithName("s"))
	if _, _, err := p.Nodes(s, []int{0, 2}); !errors.Is(err, ErrEmptyGroup) || !strings.Contains(err.Error(), `class "b"`) {
		t.Errorf("absent class: %v", err)
	}
	if _, _, err := p.Nodes(s, []int{0, 1, 2}); err == nil || !strings.Contains(err.Error(), "shape") {
		t.Errorf("another number of rows: %v", err)
	}
}

// The closed forms of the bounds hold for the trivial classifiers named in the comments of the
// code.
func TestBoundsOfTrivialClassifiers(t *testing.T) {
	classes := []string{"a", "b", "c", "d"}
	evaluate := func(phi Phi, first float64) (*NeymanPearson, Measures) {
		p := must(NewNeymanPearson(classes, []float64{0.2}, phi))
		e := p.NewEvaluator()
		for k := range classes {
			if err := e.Add([]float64{first, 0, 0, 0}, []int{k}); err != nil {
				t.Fatal(err)
			}
		}
		return p, must(e.Measures())
	}
	zero := map[Phi]float64{Sigmoid: 1.5, Logistic: 3 * math.Ln2, Hinge: 3}
	for _, phi := range Phis() {
		p, m := evaluate(phi, 0)
		if d := cmp.Diff(zero[phi], p.ZeroMarginLoss(), near); d != "" {
			t.Errorf("%v: %s", phi, d)
		}
		for k, l := range m.Losses {
			if math.Abs(l-p.ZeroMarginLoss()) > 1e-15 {
				t.Errorf("%v: class %d costs %g at zero margins, want %g", phi, k, l, p.ZeroMarginLoss())
			}
		}
		_, m = evaluate(phi, 100)
		limit, ok := p.VacuousBound()
		threshold, has := p.CollapseThreshold()
		if ok != (phi == Sigmoid) || has != ok {
			t.Errorf("%v: the bounds exist: %t, %t", phi, ok, has)
		}
		if ok && (limit != 2 || threshold != 1.5 || m.Objective > 1e-40 || m.Losses[1] > limit) {
			t.Errorf("%v: bound %g, threshold %g, measures %+v", phi, limit, threshold, m)
		}
		if !ok && m.Losses[1] < 100 {
			t.Errorf("%v: always the first class costs %g", phi, m.Losses[1])
		}
	}
}

func TestWarnings(t *testing.T) {
	classes := []string{"t-shirt", "trouser", "pullover", "dress"}
	for _, tc := range []struct {
		phi   Phi
		kappa []float64
		want  []string
	}{
		{Sigmoid, []float64{0.2}, nil},
		{Sigmoid, []float64{2}, []string{"trouser (kappa 2), pullover (kappa 2), dress (kappa 2): the bound constrains nothing"}},
		{Sigmoid, []float64{1.5, 0, 2.5}, []string{
			"dress (kappa 2.5): the bound constrains nothing: always predicting class t-shirt costs another class at most C/2 = 2",
			"trouser (kappa 1.5): the bound is met by zero weights, which cost every class (C-1) phi(0) = 1.5",
			"pullover (kappa 0): the bound cannot be met"}},
		{Logistic, []float64{2}, nil},
		{Logistic, []float64{2.1}, []string{"(C-1) phi(0) = 2.079"}},
		{Hinge, []float64{0, 2.9, 3}, []string{"dress (kappa 3): the bound is met by zero weights"}},
	} {
		got := must(NewNeymanPearson(classes, tc.kappa, tc.phi)).Warnings()
		if len(got) != len(tc.want) {
			t.Errorf("%v %v: %q", tc.phi, tc.kappa, got)
			continue
		}
		for i, w := range tc.want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%v %v: %q, want %q", tc.phi, tc.kappa, got[i], w)
			}
		}
	}
}
