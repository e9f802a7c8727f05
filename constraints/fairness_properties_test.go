package constraints

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// problems returns all kinds and forms of problems over random rows.
func problems(rng *rand.Rand, n int) (list []fairProblem, rows []Rows) {
	two, many := Rows{Labels: make([]int, n)}, Rows{}
	two.Groups = []Group{{Name: "a"}, {Name: "b"}}
	for i := range n {
		two.Labels[i] = 1 - 2*(i/2%2)
		if i < 4 || rng.IntN(5) > 0 { // some rows are in neither group
			two.Groups[i%2].Rows = append(two.Groups[i%2].Rows, i)
		}
	}
	many.Labels = two.Labels
	var names []string
	for k := range 7 {
		g := Group{Name: strconv.Itoa(k), Rows: []int{k % n}}
		for i := range n {
			if k > 1 && i != k%n && rng.IntN(k) == 0 { // each of the groups 0 and 1 has at least one row
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

// The evaluator's constraints equal the nodes' to the bit, and so does its objective, unless the
// objective is a meanLogistic.
func TestFairnessEvaluatorEqualsTheNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 11))
	list, rows := problems(rng, 23)
	for i, p := range list {
		scores := randoms(rng, 23, 2)
		m := must(must(p.NewEvaluator(rows[i])).Measures(scores))
		want := append([]float64{m.Objective}, m.Terms...)
		if p.Pieces() == nil {
			want = append([]float64{m.Objective}, m.Constraints...)
		}
		got := solved(t, p, tensor.Float64, rows[i], scores, false)
		if math.Abs(got[0]-want[0]) <= 1e-15*math.Abs(want[0]) {
			got[0] = want[0]
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("%+v (-nodes +evaluator)\n%s", p, d)
		}
	}
}

// The pieces, applied to the terms, equal the constraints.
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

// The gradients of w0 f + w.h with respect to the scores equal central differences away from
// Hinge's kink.
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

// Zero weights give zero scores. At zero scores every bound is met for all rows, and no decision is
// positive.
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

// The order of the rows does not matter, and exchanging the groups changes the sign of the gap.
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
		turned := Rows{Labels: make([]int, n), Groups: []Group{{Name: "b"}, {Name: "a"}}}
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
