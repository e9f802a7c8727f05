package constraints

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The mean of the constraints of all groups equals the constraint of the form Expectation. The
// draws give the constraint of each group.
func TestExpectationIsTheMeanOfTheGroups(t *testing.T) {
	const n = 31
	rng := rand.New(rand.NewPCG(5, 1))
	list, all := problems(rng, n)
	for i, p := range list {
		p, ok := p.(*Intersectional)
		if !ok || p.form != Expectation {
			continue
		}
		rows, scores := all[i], randoms(rng, n, 2)
		want := solved(t, p, tensor.Float64, rows, scores, false)
		each := solved(t, must(NewIntersectional(p.groups, p.eps, p.phi, p.psi, Each)), tensor.Float64, rows, scores, false)
		if d := cmp.Diff(want[1:], []float64{mean(each[1:])}, near); d != "" {
			t.Errorf("%v, %v: the groups' mean %s", p.phi, p.psi, d)
		}
		for _, dt := range dtypes {
			drawn := sampled(t, p, dt, rows, scores)
			tol := near
			if dt == tensor.Float32 {
				tol = cmpopts.EquateApprox(1e-5, 1e-5)
			}
			if d := cmp.Diff(append(want[:1:1], each[1:]...), drawn, tol); d != "" {
				t.Errorf("%v, %v, %v: the draws (-want +got) %s", p.phi, p.psi, dt, d)
			}
		}
	}
}

// sampled returns f and the sampled constraint of each group in turn.
func sampled(t *testing.T, p *Intersectional, dt tensor.Dtype, rows Rows, scores []float64) []float64 {
	t.Helper()
	n := len(scores)
	g := gorgonia.NewGraph()
	s := gorgonia.NewMatrix(g, dt, gorgonia.WithShape(n, 1), gorgonia.WithName("s"))
	f, c, w, err := p.SampledNodes(s, rows)
	if err != nil {
		t.Fatal(err)
	}
	machine := compiled(t, gorgonia.Nodes{s, w}, gorgonia.Nodes{f, c})
	draws := must(p.NewDraws(rows, dt, 3))
	values := make([]float64, 1+len(p.groups))
	let(t, s, dense(dt, scores, n, 1))
	for k, missing := 0, len(p.groups); missing > 0; k++ {
		let(t, w, draws.Weights(k))
		runVM(t, machine)
		at := &values[1+draws.Group(k)]
		if *at == 0 {
			missing--
		}
		values[0], *at = widened(t, f.Value())[0], widened(t, c.Value())[0]
	}
	return values
}

func mean(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func TestDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	list, rows := problems(rng, 20)
	p, r := list[len(list)-1].(*Intersectional), rows[len(rows)-1]
	d, again, other := must(p.NewDraws(r, tensor.Float64, 1)), must(p.NewDraws(r, tensor.Float64, 1)), must(p.NewDraws(r, tensor.Float64, 2))
	const draws = 7000
	counts, same := make([]float64, len(p.groups)), 0
	for k := range draws {
		counts[d.Group(k)]++
		if d.Group(draws-1-k) != again.Group(draws-1-k) {
			t.Fatal("a draw depends on more than the seed and the step")
		}
		if d.Group(k) == other.Group(k) {
			same++
		}
	}
	chi := 0.0
	for _, c := range counts {
		chi += (c - draws/7) * (c - draws/7) / (draws / 7)
	}
	if chi > 30 || same > draws/4 { // 6 degrees of freedom: larger than 30 with probability 4e-5
		t.Errorf("counts %v, %d draws of two seeds agree", counts, same)
	}
	if _, err := p.NewDraws(r, tensor.Int, 1); err == nil {
		t.Error("weights of integers are accepted")
	}
	r.Groups = append([]Group(nil), r.Groups...)
	r.Groups[3].Rows = nil
	if _, err := p.NewDraws(r, tensor.Float64, 1); !errors.Is(err, ErrEmptyGroup) {
		t.Errorf("an empty group: %v", err)
	}
	each := must(NewIntersectional(p.groups, p.eps, Hinge, Hinge, Each))
	s := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float64, gorgonia.WithShape(20, 1), gorgonia.WithName("s"))
	if _, _, _, err := each.SampledNodes(s, rows[len(rows)-1]); err == nil {
		t.Error("a group is sampled in place of each")
	}
}

// A group that has training rows may be empty in other rows.
func TestGroupsWithoutRows(t *testing.T) {
	rows := fourOfSix()
	rows.Groups[1].Rows = nil
	names := []string{"a", "b", "c", "all"}
	p := must(NewIntersectional(names, []float64{0.1, 0.2, 0.3, 0.4}, Hinge, Hinge, Each))
	got := must(must(p.NewEvaluator(rows)).Measures(sixScores))
	g := []float64{-6.5/6 - 0.1, -0.2, 0.5/6 - 0.3, -0.4}
	want := FairnessMeasures{Objective: 8.5 / 6, Terms: g, Constraints: g, Error: 4. / 6, AUC: 4. / 9, Decisions: []float64{-1. / 3, 0, 1. / 3, 0},
		Hard: []NamedMeasure{{"group_error_gap_max", 1. / 3},
			{"group_error_violation_mean", (1./3 - 0.3) / 3}, {"group_error_violation_max", 1./3 - 0.3},
			{"group_loss_violation_mean", 0}, {"group_loss_violation_max", 0}, {"groups_without_rows", 1}}}
	if d := cmp.Diff(want, got, near); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	q := must(NewIntersectional(names, []float64{0.1}, Hinge, Hinge, Expectation))
	m := must(must(q.NewEvaluator(rows)).Measures(sixScores))
	if d := cmp.Diff([]float64{-6./6/3 - 0.1}, m.Constraints, near); d != "" { // (-6.5 + 0.5 + 0)/6, over 3 groups
		t.Error(d)
	}
	first := fourOfSix()
	first.Groups[0].Rows = nil
	m = must(must(q.NewEvaluator(first)).Measures(sixScores))
	if d := cmp.Diff([]float64{10./6/3 - 0.1}, m.Constraints, near); d != "" { // (9.5 + 0.5 + 0)/6, over 3 groups
		t.Error(d)
	}
	s := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float64, gorgonia.WithShape(6, 1), gorgonia.WithName("s"))
	for _, p := range []*Intersectional{p, q} {
		if _, _, err := p.Nodes(s, rows); !errors.Is(err, ErrEmptyGroup) {
			t.Errorf("training without rows of b: %v", err)
		}
	}
	for k := range rows.Groups {
		rows.Groups[k].Rows = nil
	}
	if _, err := p.NewEvaluator(rows); !errors.Is(err, ErrEmptyGroup) {
		t.Errorf("no group has rows: %v", err)
	}
}
