package constraints

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// fairProblem is the common interface of all fairness problems.
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

// six holds rows whose values are computed by hand.
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
	return Rows{Labels: sixLabels, Groups: []Group{{Name: "a", Rows: []int{0, 1, 2}}, {Name: "b", Rows: []int{4, 3}}}}
}

func fourOfSix() Rows {
	return Rows{Labels: sixLabels, Groups: []Group{{Name: "a", Rows: []int{0, 1, 2}}, {Name: "b", Rows: []int{4, 3}}, {Name: "c", Rows: []int{5}},
		{Name: "all", Rows: []int{5, 4, 3, 2, 1, 0}}}}
}

// solved returns the values of f and of the terms' nodes for the given scores.
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
	dp := []NamedMeasure{{"dp_gap", 1. / 6}}
	eo := append(dp[:1:1], NamedMeasure{"tpr_gap", 0.5}, NamedMeasure{"fpr_gap", 1})
	groups := []NamedMeasure{{"group_error_gap_max", 1. / 3}, {"group_error_violation_mean", (1./3 - 0.1) / 2}, {"group_error_violation_max", 1./3 - 0.1},
		{"group_loss_violation_mean", (9.5/6 - 0.1) / 4}, {"group_loss_violation_max", 9.5/6 - 0.1}, {"groups_without_rows", 0}}
	each := list{-6.5/6 - 0.1, 9.5/6 - 0.1, 0.5/6 - 0.1, -0.1}
	for _, tc := range []struct {
		name  string
		p     fairProblem
		rows  Rows
		names []string
		nodes list // the terms' nodes, which follow f = 8.5/6
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
