package constraints

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// fairProblem is what the fairness problems have in common.
type fairProblem interface {
	Nodes(scores *gorgonia.Node, rows Rows) (objective, terms *gorgonia.Node, err error)
	NewEvaluator(rows Rows) (*FairnessEvaluator, error)
	ConstraintNames() []string
	Bounds() []float64
	Pieces() []Piece
	Smooth() bool
	Warnings() []string
}

var (
	_ fairProblem = (*Gaps)(nil)
	_ fairProblem = (*Intersectional)(nil)
)

// six are rows whose values are worked out by hand.
//
//	y      +1    -1    +1    -1    +1    -1
//	s       2    -1     0     1    -3     0.5
//	1 - ys  0     0     1     2     4     1.5     hinge losses, mean 8.5/6
//	1 + s   3     0     1     2     0     1.5     hinge rates
//	wrong   no    no    yes   yes   yes   yes
var (
	sixLabels = []int{1, -1, 1, -1, 1, -1}
	sixScores = []float64{2, -1, 0, 1, -3, 0.5}
)

func twoOfSix() Rows {
	return Rows{sixLabels, []Group{{Name: "a", Rows: []int{0, 1, 2}}, {Name: "b", Rows: []int{4, 3}}}}
}

func fourOfSix() Rows {
	return Rows{sixLabels, []Group{{Name: "a", Rows: []int{0, 1, 2}}, {Name: "b", Rows: []int{4, 3}}, {Name: "c", Rows: []int{5}},
		{Name: "all", Rows: []int{5, 4, 3, 2, 1, 0}}}}
}

// solved returns f and the terms' nodes' values for the scores.
func solved(t testing.TB, p fairProblem, dt tensor.Dtype, rows Rows, scores []float64, vector bool) []float64 {
	t.Helper()
	g := gorgonia.NewGraph()
	shape := tensor.Shape{len(scores), 1}
	if vector {
		shape = shape[:1]
	}
	s := gorgonia.NewTensor(g, dt, shape.Dims(), gorgonia.WithShape(shape...), gorgonia.WithName("s"))
	f, h, err := p.Nodes(s, rows)
	if err != nil {
		t.Fatal(err)
	}
	if !f.IsScalar() || !h.IsVec() {
		t.Errorf("f has shape %v, the terms %v", f.Shape(), h.Shape())
	}
	let(t, s, dense(dt, scores, shape...))
	runVM(t, compiled(t, gorgonia.Nodes{s}, gorgonia.Nodes{f, h}))
	return append(widened(t, f.Value()), widened(t, h.Value())...)
}

func TestFairnessByHand(t *testing.T) {
	ab, abcd := []string{"a", "b"}, []string{"a", "b", "c", "all"}
	type list = []float64
	dp := []Measure{{"dp_gap", 1. / 6}}
	eo := append(dp[:1:1], Measure{"tpr_gap", 0.5}, Measure{"fpr_gap", 1})
	groups := []Measure{{"group_error_gap_max", 1. / 3}, {"group_error_violation_mean", (1./3 - 0.1) / 2}, {"group_error_violation_max", 1./3 - 0.1},
		{"group_loss_violation_mean", (9.5/6 - 0.1) / 4}, {"group_loss_violation_max", 9.5/6 - 0.1}, {"groups_without_rows", 0}}
	each := list{-6.5/6 - 0.1, 9.5/6 - 0.1, 0.5/6 - 0.1, -0.1}
	for _, tc := range []struct {
		name  string
		p     fairProblem
		rows  Rows
		names []string
		nodes list // the terms', after f = 8.5/6
		want  FairnessMeasures
	}{
		{"parity", must(NewDemographicParity(ab, 0.25, Hinge, Hinge, Absolute)), twoOfSix(),
			[]string{"positive rate"}, list{1. / 3},
			FairnessMeasures{Terms: list{1. / 3}, Constraints: list{1./3 - 0.25}, Decisions: list{1. / 6}, Hard: dp}},
		{"parity split", must(NewDemographicParity(ab, 0.25, Hinge, Hinge, Split)), twoOfSix(),
			[]string{"positive rate +", "positive rate -"}, list{1./3 - 0.25, -1./3 - 0.25},
			FairnessMeasures{Terms: list{1. / 3}, Constraints: list{1./3 - 0.25, -1./3 - 0.25}, Decisions: list{-1. / 6, 1. / 6}, Hard: dp}},
		{"odds", must(NewEqualizedOdds(ab, list{0.5, 1}, Hinge, Hinge, Absolute)), twoOfSix(),
			[]string{"true positive rate", "false positive rate"}, list{2, -2},
			FairnessMeasures{Terms: list{2, -2}, Constraints: list{1.5, 1}, Decisions: list{0.5, 1}, Hard: eo}},
		{"odds max", must(NewEqualizedOdds(ab, list{0.5, 1}, Hinge, Hinge, Maximum)), twoOfSix(),
			[]string{"largest gap"}, list{2, -2},
			FairnessMeasures{Terms: list{2, -2}, Constraints: list{1.5}, Decisions: list{1}, Hard: eo}},
		{"odds split", must(NewEqualizedOdds(ab, list{0.5, 1}, Hinge, Hinge, Split)), twoOfSix(),
			[]string{"true positive rate +", "true positive rate -", "false positive rate +", "false positive rate -"}, list{1.5, -2.5, -3, 1},
			FairnessMeasures{Terms: list{2, -2}, Constraints: list{1.5, -2.5, -3, 1}, Decisions: list{0.5, -0.5, -1, 1}, Hard: eo}},
		{"groups", must(NewIntersectional(abcd, list{0.1}, Hinge, Hinge, Each)), fourOfSix(), abcd, each,
			FairnessMeasures{Terms: each, Constraints: each, Decisions: list{-1. / 3, 1. / 3, 1. / 3, 0}, Hard: groups}},
		{"groups' mean", must(NewIntersectional(abcd, list{0.1}, Hinge, Hinge, Expectation)), fourOfSix(),
			[]string{"mean over 4 groups"}, list{3.5/24 - 0.1},
			FairnessMeasures{Terms: list{3.5/24 - 0.1}, Constraints: list{3.5/24 - 0.1}, Decisions: list{1. / 12}, Hard: groups}},
	} {
		tc.want.Objective, tc.want.Error, tc.want.AUC = 8.5/6, 4./6, 4./9
		got := must(must(tc.p.NewEvaluator(tc.rows)).Measures(sixScores))
		if d := cmp.Diff(tc.want, got, near); d != "" {
			t.Errorf("%s: measures (-want +got)\n%s", tc.name, d)
		}
		if named := got.Named(); len(named) != 2+len(got.Hard) || named[0].Value != got.Error || named[1].Value != got.AUC {
			t.Errorf("%s: named %v", tc.name, named)
		}
		if d := cmp.Diff(tc.names, tc.p.ConstraintNames()); d != "" {
			t.Errorf("%s: names %s", tc.name, d)
		}
		if n := len(tc.p.Bounds()); n != len(tc.names) || len(tc.p.Warnings()) > 0 || tc.p.Smooth() {
			t.Errorf("%s: %d bounds, warnings %q, smooth %t", tc.name, n, tc.p.Warnings(), tc.p.Smooth())
		}
		for _, dt := range dtypes {
			tol := near
			if dt == tensor.Float32 {
				tol = cmpopts.EquateApprox(1e-6, 1e-6)
			}
			for _, vector := range []bool{false, true} {
				want := append(list{8.5 / 6}, tc.nodes...)
				if d := cmp.Diff(want, solved(t, tc.p, dt, tc.rows, sixScores, vector), tol); d != "" {
					t.Errorf("%s, %v: nodes (-want +got)\n%s", tc.name, dt, d)
				}
			}
		}
	}
}

// problems are all kinds and forms over random rows.
func problems(rng *rand.Rand, n int) (list []fairProblem, rows []Rows) {
	two, many := Rows{Labels: make([]int, n)}, Rows{}
	two.Groups = []Group{{Name: "a"}, {Name: "b"}}
	for i := range n {
		two.Labels[i] = 1 - 2*(i/2%2)
		if i < 4 || rng.IntN(5) > 0 { // some rows in neither
			two.Groups[i%2].Rows = append(two.Groups[i%2].Rows, i)
		}
	}
	many.Labels = two.Labels
	var names []string
	for k := range 7 {
		g := Group{Name: strconv.Itoa(k), Rows: []int{k % n}}
		for i := range n {
			if k > 1 && i != k%n && rng.IntN(k) == 0 { // groups 0 and 1 have one row
				g.Rows = append(g.Rows, i)
			}
		}
		many.Groups, names = append(many.Groups, g), append(names, g.Name)
	}
	ab := []string{"a", "b"}
	for _, phi := range Phis() {
		for _, psi := range Phis() {
			for _, form := range GapForms() {
				list = append(list, must(NewDemographicParity(ab, 0.05, phi, psi, form)))
				list = append(list, must(NewEqualizedOdds(ab, []float64{0.05, 0.1}, phi, psi, form)))
				rows = append(rows, two, two)
			}
			for _, form := range GroupForms() {
				list = append(list, must(NewIntersectional(names, []float64{0.02}, phi, psi, form)))
				rows = append(rows, many)
			}
		}
	}
	return list, rows
}

func TestFairnessEvaluatorEqualsTheNodesBitForBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 11))
	list, rows := problems(rng, 23)
	for i, p := range list {
		scores := randoms(rng, 23, 2)
		m := must(must(p.NewEvaluator(rows[i])).Measures(scores))
		want := append([]float64{m.Objective}, m.Terms...)
		if p.Pieces() == nil {
			want = append([]float64{m.Objective}, m.Constraints...)
		}
		if d := cmp.Diff(solved(t, p, tensor.Float64, rows[i], scores, false), want); d != "" {
			t.Errorf("%+v (-nodes +evaluator)\n%s", p, d)
		}
	}
}

// The pieces make the constraints of the terms.
func TestPiecesMakeTheConstraints(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 12))
	list, rows := problems(rng, 40)
	for i, p := range list {
		if p.Pieces() == nil {
			continue
		}
		m := must(must(p.NewEvaluator(rows[i])).Measures(randoms(rng, 40, 2)))
		g := make([]float64, len(p.Bounds()))
		for j := range g {
			g[j] = math.Inf(-1)
		}
		for _, b := range p.Pieces() {
			g[b.Constraint] = max(g[b.Constraint], b.Sign*m.Terms[b.Term]+b.Offset)
		}
		if d := cmp.Diff(g, m.Constraints); d != "" {
			t.Errorf("%+v: %s", p, d)
		}
	}
}

// Gradients of w0 f + w.h with respect to the scores equal central differences,
// away from Hinge's kink.
func TestFairnessGradientsEqualCentralDifferences(t *testing.T) {
	const n, h = 17, 1e-4
	rng := rand.New(rand.NewPCG(4, 2))
	list, rows := problems(rng, n)
	for k, p := range list {
		scores := randoms(rng, n, 2)
		for i, s := range scores {
			if d := math.Abs(math.Abs(s) - 1); d < 10*h {
				scores[i] = s + 20*h
			}
		}
		g := gorgonia.NewGraph()
		s := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(n, 1), gorgonia.WithName("s"))
		f, terms, err := p.Nodes(s, rows[k])
		if err != nil {
			t.Fatal(err)
		}
		m := terms.Shape()[0]
		w0 := gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("w0"))
		w := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(m), gorgonia.WithName("w"))
		grad := must(gorgonia.Backpropagate(gorgonia.Nodes{f, terms}, gorgonia.Nodes{w0, w}, gorgonia.Nodes{s}))[0]
		weights := append([]float64{0.8}, randoms(rng, m, 1)...)
		let(t, w0, weights[0])
		let(t, w, dense(tensor.Float64, weights[1:], m))
		let(t, s, dense(tensor.Float64, scores, n, 1))
		runVM(t, compiled(t, gorgonia.Nodes{s, w0, w}, gorgonia.Nodes{grad}))

		values := compiled(t, gorgonia.Nodes{s}, gorgonia.Nodes{f, terms})
		at := func(i int, d float64) float64 {
			moved := append([]float64(nil), scores...)
			moved[i] += d
			let(t, s, dense(tensor.Float64, moved, n, 1))
			runVM(t, values)
			return weighted(weights, append(widened(t, f.Value()), widened(t, terms.Value())...))
		}
		want := make([]float64, n)
		for i := range want {
			want[i] = (8*(at(i, h)-at(i, -h)) - (at(i, 2*h) - at(i, -2*h))) / (12 * h)
		}
		if d := distance(widened(t, grad.Value()), want); !(d <= 1e-9) {
			t.Errorf("%+v: the gradient is off by %g", p, d)
		}
	}
}

// Zero weights give zero scores: every bound is met, whatever the rows, and
// nothing is decided positive.
func TestZeroScoresMeetEveryBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 20 {
		n := 10 + rng.IntN(40)
		list, rows := problems(rng, n)
		for i, p := range list {
			m := must(must(p.NewEvaluator(rows[i])).Measures(make([]float64, n)))
			for j, g := range m.Constraints {
				if !(g <= 1e-15) {
					t.Errorf("%+v: constraint %d is %g at zero scores", p, j, g)
				}
			}
			if m.AUC != 0.5 {
				t.Errorf("AUC of equal scores is %g", m.AUC)
			}
		}
	}
}

// The order of the rows does not matter, and exchanged groups have the opposite gap.
func TestGapsFollowRowsAndGroups(t *testing.T) {
	const n = 60
	rng := rand.New(rand.NewPCG(2, 6))
	_, all := problems(rng, n)
	rows, scores := all[0], randoms(rng, n, 2)
	for _, psi := range Phis() {
		p := must(NewEqualizedOdds([]string{"a", "b"}, []float64{0}, Logistic, psi, Absolute))
		q := must(NewEqualizedOdds([]string{"b", "a"}, []float64{0}, Logistic, psi, Absolute))
		a := must(must(p.NewEvaluator(rows)).Measures(scores))

		order := rng.Perm(n)
		turned := Rows{make([]int, n), []Group{{Name: "b"}, {Name: "a"}}}
		moved := make([]float64, n)
		for i, j := range order {
			turned.Labels[j], moved[j] = rows.Labels[i], scores[i]
		}
		for k, g := range rows.Groups {
			for _, i := range g.Rows {
				turned.Groups[1-k].Rows = append(turned.Groups[1-k].Rows, order[i])
			}
		}
		b := must(must(q.NewEvaluator(turned)).Measures(moved))
		for k := range b.Terms {
			b.Terms[k] = -b.Terms[k]
		}
		if d := cmp.Diff(a, b, near); d != "" {
			t.Errorf("%v: %s", psi, d)
		}
	}
}

func TestRowsErrors(t *testing.T) {
	rows := func(change func(r *Rows)) Rows {
		r := twoOfSix()
		r.Labels = append([]int(nil), r.Labels...)
		change(&r)
		return r
	}
	ab := []string{"a", "b"}
	parity := must(NewDemographicParity(ab, 0.1, Logistic, Sigmoid, Absolute))
	odds := must(NewEqualizedOdds(ab, []float64{0.1}, Logistic, Sigmoid, Split))
	each := must(NewIntersectional(ab, []float64{0.1}, Hinge, Hinge, Each))
	for _, tc := range []struct {
		name string
		rows Rows
		of   []fairProblem
		is   error
		want string
	}{
		{"no rows", Rows{}, []fairProblem{parity, odds, each}, nil, "no rows"},
		{"label", rows(func(r *Rows) { r.Labels[2] = 0 }), []fairProblem{parity, each}, nil, "row 2 has label 0"},
		{"names", rows(func(r *Rows) { r.Groups[1].Name = "c" }), []fairProblem{odds, each},
			nil, `group 1 is "c", the problem's is "b"`},
		{"number", rows(func(r *Rows) { r.Groups = r.Groups[:1] }), []fairProblem{odds, each}, nil, "1 groups, the problem has 2"},
		{"weights", rows(func(r *Rows) { r.Groups[0].Weights = []float64{1, 2, 3} }), []fairProblem{parity, each},
			nil, `group "a" has weights`},
		{"empty group", rows(func(r *Rows) { r.Groups[1].Rows = nil }), []fairProblem{parity, odds},
			ErrEmptyGroup, `no rows: "b"`},
		{"no positive", rows(func(r *Rows) { r.Groups[1].Rows = []int{3, 5} }), []fairProblem{odds},
			ErrEmptyClass, `group "b" has no positive row`},
		{"no negative", rows(func(r *Rows) { r.Groups[0].Rows = []int{0} }), []fairProblem{odds},
			ErrEmptyClass, `group "a" has no negative row`},
		{"range", rows(func(r *Rows) { r.Groups[0].Rows = []int{6} }), []fairProblem{parity, odds, each}, nil, `row 6, want 0..5`},
		{"twice", rows(func(r *Rows) { r.Groups[0].Rows = []int{3, 0} }), []fairProblem{parity}, nil, "row 3 is given twice"},
	} {
		for _, p := range tc.of {
			g := gorgonia.NewGraph()
			s := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(6, 1), gorgonia.WithName("s"))
			_, _, nodes := p.Nodes(s, tc.rows)
			_, evaluator := p.NewEvaluator(tc.rows)
			for _, err := range []error{nodes, evaluator} {
				if err == nil || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
					t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
				}
			}
		}
	}
	if _, err := parity.NewEvaluator(rows(func(r *Rows) { r.Labels = []int{1, 1, 1, 1, 1, 1} })); !errors.Is(err, ErrEmptyClass) {
		t.Errorf("one class alone: %v", err)
	}
	e := must(parity.NewEvaluator(twoOfSix()))
	for _, bad := range [][]float64{{1, 2}, {0, 1, math.NaN(), 0, 0, 0}, {0, 1, math.Inf(1), 0, 0, 0}} {
		if _, err := e.Measures(bad); err == nil || len(bad) == 6 && !strings.Contains(err.Error(), "row 2") {
			t.Errorf("scores %v: %v", bad, err)
		}
	}
}

func TestFairnessSettingsErrors(t *testing.T) {
	ab := []string{"a", "b"}
	for _, tc := range []struct {
		want string
		err  error
	}{
		{"compares 2 groups, got 3", second(NewDemographicParity([]string{"a", "b", "c"}, 0.1, Logistic, Sigmoid, Absolute))},
		{`"a" is given twice`, second(NewEqualizedOdds([]string{"a", "a"}, []float64{0.1}, Logistic, Sigmoid, Absolute))},
		{"3 bounds eps for 2", second(NewEqualizedOdds(ab, []float64{1, 2, 3}, Logistic, Sigmoid, Absolute))},
		{`eps of "positive rate" is -1`, second(NewDemographicParity(ab, -1, Logistic, Sigmoid, Absolute))},
		{`eps of "false positive rate" is NaN`, second(NewEqualizedOdds(ab, []float64{0, math.NaN()}, Logistic, Sigmoid, Absolute))},
		{"GapForm(3)", second(NewDemographicParity(ab, 0.1, Logistic, Sigmoid, GapForm(3)))},
		{"Phi(9)", second(NewDemographicParity(ab, 0.1, Phi(9), Sigmoid, Absolute))},
		{"Phi(9)", second(NewIntersectional(ab, []float64{0.1}, Hinge, Phi(9), Each))},
		{"no groups", second(NewIntersectional(nil, []float64{0.1}, Hinge, Hinge, Each))},
		{"2 bounds eps for 1", second(NewIntersectional(ab, []float64{0.1, 0.2}, Hinge, Hinge, Expectation))},
		{"GroupForm(2)", second(NewIntersectional(ab, []float64{0.1}, Hinge, Hinge, GroupForm(2)))},
		{"no form of a gap \"square\": take one of absolute, split, max", second(ParseGapForm("square"))},
		{"take one of each, expectation", second(ParseGroupForm("some"))},
	} {
		if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("got %v, want %q", tc.err, tc.want)
		}
	}
	for _, f := range GapForms() {
		if must(ParseGapForm(f.String())) != f {
			t.Errorf("%v does not parse", f)
		}
	}
	for _, f := range GroupForms() {
		if must(ParseGroupForm(f.String())) != f {
			t.Errorf("%v does not parse", f)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestFairnessWarnings(t *testing.T) {
	ab := []string{"a", "b"}
	for _, tc := range []struct {
		p    fairProblem
		want []string
	}{
		{must(NewDemographicParity(ab, 1, Logistic, Sigmoid, Absolute)), []string{"positive rate (eps 1): the bound constrains nothing"}},
		{must(NewDemographicParity(ab, 1, Logistic, Hinge, Absolute)), nil},
		{must(NewEqualizedOdds(ab, []float64{0, 2}, Logistic, Sigmoid, Split)), []string{
			"false positive rate (eps 2): the bound constrains", "true positive rate (eps 0): the bound leaves no interior"}},
		{must(NewIntersectional([]string{"a", "b", "c", "d", "e"}, []float64{1}, Hinge, Sigmoid, Each)), []string{
			"group a, b, c and 2 others: the bound constrains nothing"}},
		{must(NewIntersectional(ab, []float64{0, 0.1}, Hinge, Hinge, Each)), []string{"group a: eps 0"}},
		{must(NewIntersectional(ab, []float64{2}, Hinge, Hinge, Expectation)), nil},
	} {
		got := tc.p.Warnings()
		if len(got) != len(tc.want) {
			t.Errorf("%+v: %q", tc.p, got)
			continue
		}
		for i, w := range tc.want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%q, want %q", got[i], w)
			}
		}
	}
}
