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

	"ppal/internal/require"
)

// neymanPearson bounds the losses of the classes after the first.
func neymanPearson(p *Population, kappa float64, phi Phi) (*System, error) {
	var subject []Constraint
	for _, name := range p.Classes[1:] {
		subject = append(subject, Error(quoted(name)).AtMost(kappa))
	}
	return NewMarginSystem(Error(quoted(p.Classes[0])), subject, p, Margins{Objective: phi, Constraints: phi})
}

// margined is a system of margins on rows.
type margined struct {
	name string
	*Sample
}

// marginSystems returns the published problems in all forms on random rows of two classes.
func marginSystems(rng *rand.Rand, n int) (list []margined) {
	p := &Population{Labels: make([]int, n), Classes: []string{"no", "yes"}, Attributes: []Attribute{{Name: "sex", Values: []string{"a", "b"}, Of: make([]int, n)}}}
	for i := range n {
		if p.Labels[i], p.Attributes[0].Of[i] = 1-i/2%2, i%2; i > 4 && rng.IntN(5) == 0 { // some rows are in neither group
			p.Attributes[0].Of[i] = -1
		}
	}
	for k := range 7 {
		g := Group{Name: strconv.Itoa(k), Rows: []int{k % n}}
		for i := range n {
			if k > 1 && i != k%n && rng.IntN(k) == 0 { // each of the groups 0 and 1 has one row
				g.Rows = append(g.Rows, i)
			}
		}
		p.Groups = append(p.Groups, g)
	}
	add := func(name string, m Margins, subject ...Constraint) {
		s := must(NewMarginSystem(Error(), subject, p, m))
		list = append(list, margined{name + " " + m.Objective.String() + " " + m.Constraints.String() + " " + string(s.Margins.Form), must(s.On(p))})
	}
	for _, phi := range Phis() {
		for _, psi := range Phis() {
			for _, form := range Forms() {
				m := Margins{phi, psi, form}
				add("parity", m, Gap(PositiveRate, "sex").AtMost(0.05))
				add("odds", m, Gap(TPR, "sex").AtMost(0.05), Gap(FPR, "sex").AtMost(0.1))
			}
			add("groups", Margins{phi, psi, Each}, Excess(Error, GroupsName).AtMost(0.02))
			add("own bounds", Margins{phi, psi, Each}, ExcessOf(Error, GroupsName, "3").AtMost(0.02), ExcessOf(Error, GroupsName, "5").AtMost(0.03))
			add("mean", Margins{phi, psi, Each}, MeanExcess(Error, GroupsName).AtMost(0.02))
			add("distance", Margins{phi, psi, Each}, Distance(Error, GroupsName).AtMost(0.02))
		}
	}
	return list
}

// ofNodes returns f and the constraints of the nodes at the scores, each minus its bound.
func ofNodes(t testing.TB, s *Sample, dt tensor.Dtype, scores []float64, shape ...int) []float64 {
	t.Helper()
	g := gorgonia.NewGraph()
	node := gorgonia.NewTensor(g, dt, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName("s"))
	f, terms, err := s.Nodes(node)
	require.NoError(t, err)
	let(t, node, dense(dt, scores, shape...))
	runVM(t, compiled(t, gorgonia.Nodes{node}, gorgonia.Nodes{f, terms}))
	return append(widened(t, f.Value()), merged(s.system, widened(t, terms.Value()))...)
}

// merged returns the constraints of the terms.
func merged(s *System, terms []float64) []float64 {
	if s.Pieces() == nil {
		return terms
	}
	g := make([]float64, len(s.Stated()))
	for j := range g {
		g[j] = math.Inf(-1)
	}
	for _, b := range s.Pieces() {
		g[b.Constraint] = max(g[b.Constraint], b.Sign*terms[b.Term]+b.Offset)
	}
	return g
}

// onHost returns what ofNodes returns, by the functions of the host.
func onHost(s *Sample, scores []float64) []float64 {
	f, h, err := s.Smooth(scores)
	if err != nil {
		panic(err)
	}
	list := []float64{f}
	for j, v := range s.system.Values(h, s.Rows()) {
		list = append(list, v-s.system.Stated()[j].Bound)
	}
	return list
}

// TestMarginsByHand compares hinge losses that were computed by hand.
//
//	y      +1    -1    +1    -1    +1    -1
//	s       2    -1     0     1    -3     0.5
//	1 - ys  0     0     1     2     4     1.5     hinge losses, mean 8.5/6
//	1 + s   3     0     1     2     0     1.5     hinge rates
func TestMarginsByHand(t *testing.T) {
	scores := []float64{2, -1, 0, 1, -3, 0.5}
	p := &Population{Labels: []int{1, 0, 1, 0, 1, 0}, Classes: []string{"no", "yes"},
		Groups: []Group{{Name: "a", Rows: []int{0, 1, 2}}, {Name: "b", Rows: []int{4, 3}}, {Name: "c", Rows: []int{5}}}}
	ab := &Population{Labels: p.Labels, Classes: p.Classes, Groups: p.Groups[:2]}
	parity, tpr, fpr := Gap(PositiveRate, GroupsName).AtMost(0.25), Gap(TPR, GroupsName).AtMost(0.5), Gap(FPR, GroupsName).AtMost(0.25)
	excess, mean := Excess(Error, GroupsName).AtMost(0.1), MeanExcess(Error, GroupsName).AtMost(0.1)
	for _, tc := range []struct {
		p       *Population
		form    Form
		subject []Constraint
		want    []float64 // g; f is 8.5/6
		counted []float64
	}{
		{ab, Absolute, []Constraint{parity}, []float64{1./3 - 0.25}, []float64{1. / 6}},
		{ab, Each, []Constraint{parity}, []float64{1./3 - 0.25, -1./3 - 0.25}, []float64{1. / 6}},
		{ab, Absolute, []Constraint{tpr, fpr}, []float64{2 - 0.5, 2 - 0.25}, []float64{0.5, 1}},
		{ab, Each, []Constraint{tpr, fpr}, []float64{2 - 0.5, -2 - 0.5, -2 - 0.25, 2 - 0.25}, []float64{0.5, 1}},
		{ab, Maximum, []Constraint{tpr, fpr}, []float64{2 - 0.25}, []float64{0.5, 1}},
		{p, Each, []Constraint{excess}, []float64{-6.5/6 - 0.1, 9.5/6 - 0.1, 0.5/6 - 0.1}, []float64{1. / 3}},
		{p, Each, []Constraint{ExcessOf(Error, GroupsName, "b").AtMost(0.3)}, []float64{9.5/6 - 0.3}, []float64{1. / 3}},
		{p, Each, []Constraint{mean}, []float64{3.5/18 - 0.1}, []float64{1. / 9}},
	} {
		s := must(NewMarginSystem(Error(), tc.subject, tc.p, Margins{Hinge, Hinge, tc.form}))
		sample := must(s.On(tc.p))
		want := append([]float64{8.5 / 6}, tc.want...)
		for _, shape := range [][]int{{6, 1}, {6}} {
			if d := cmp.Diff(want, ofNodes(t, sample, tensor.Float64, scores, shape...), near); d != "" {
				t.Errorf("%v %v: nodes %s", tc.subject, tc.form, d)
			}
		}
		if d := cmp.Diff(want, onHost(sample, scores), near); d != "" {
			t.Errorf("%v %v: host %s", tc.subject, tc.form, d)
		}
		c := must(sample.Count(must(sample.Decide(scores))))
		var got []float64
		for _, v := range c.Values {
			got = append(got, v.Value)
		}
		if d := cmp.Diff(tc.counted, got, near); d != "" || c.Objective.Value != 4./6 {
			t.Errorf("%v %v: counted %s, error %v", tc.subject, tc.form, d, c.Objective.Value)
		}
	}
}

// TestNeymanPearsonByHand has the hinge losses 0 and 3 of class 0, 2.5 of class 1, 0 and 5 of class
// 2.
func TestNeymanPearsonByHand(t *testing.T) {
	p := &Population{Labels: []int{0, 0, 1, 2, 2}, Classes: []string{"bag", "boot", "coat"}}
	scores := []float64{
		5, 1, 0, // margins 4, 5
		0, 0, 1, // margins 0, -1
		1, 0, 0.5, // margins -1, -0.5
		0, 1, 3, // margins 3, 2
		2, 3, 1, // margins -1, -2
	}
	s := must(must(neymanPearson(p, 0.5, Hinge)).On(p))
	want := []float64{1.5, 3, 2}
	for _, dt := range dtypes {
		if d := cmp.Diff(want, ofNodes(t, s, dt, scores, 5, 3), near); d != "" {
			t.Errorf("%v: %s", dt, d)
		}
	}
	if d := cmp.Diff(want, onHost(s, scores), near); d != "" {
		t.Error(d)
	}
	c := must(s.Count(must(s.Decide(scores))))
	if d := cmp.Diff([]int{1, 1, 1}, c.Hits); d != "" { // wrong decisions of each class
		t.Error(d)
	}
}

// TestMarginNodesEqualTheHost compares the nodes of the published problems with Smooth and Values.
// Each is a plain form: its gradients equal central differences away from the kink of Hinge.
func TestMarginNodesEqualTheHost(t *testing.T) {
	const n, h = 23, 1e-4
	rng := rand.New(rand.NewPCG(9, 11))
	for _, s := range marginSystems(rng, n) {
		scores := randoms(rng, n, 2)
		for i, x := range scores {
			if d := math.Abs(math.Abs(x) - 1); d < 10*h {
				scores[i] = x + 20*h
			}
		}
		if d := cmp.Diff(onHost(s.Sample, scores), ofNodes(t, s.Sample, tensor.Float64, scores, n, 1), near); d != "" {
			t.Errorf("%s (-host +nodes)\n%s", s.name, d)
		}
		g := gorgonia.NewGraph()
		node := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(n, 1), gorgonia.WithName("s"))
		f, terms, err := s.Nodes(node)
		require.NoError(t, err)
		m := terms.Shape()[0]
		w0 := gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("w0"))
		w := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(m), gorgonia.WithName("w"))
		grad := must(gorgonia.Backpropagate(gorgonia.Nodes{f, terms}, gorgonia.Nodes{w0, w}, gorgonia.Nodes{node}))[0]
		weights := append([]float64{0.8}, randoms(rng, m, 1)...)
		let(t, w0, weights[0])
		let(t, w, dense(tensor.Float64, weights[1:], m))
		let(t, node, dense(tensor.Float64, scores, n, 1))
		runVM(t, compiled(t, gorgonia.Nodes{node, w0, w}, gorgonia.Nodes{grad}))
		values := compiled(t, gorgonia.Nodes{node}, gorgonia.Nodes{f, terms})
		at := func(i int, d float64) float64 {
			moved := append([]float64(nil), scores...)
			moved[i] += d
			let(t, node, dense(tensor.Float64, moved, n, 1))
			runVM(t, values)
			return weighted(weights, append(widened(t, f.Value()), widened(t, terms.Value())...))
		}
		want := make([]float64, n)
		for i := range want {
			want[i] = (8*(at(i, h)-at(i, -h)) - (at(i, 2*h) - at(i, -2*h))) / (12 * h)
		}
		if d := distance(widened(t, grad.Value()), want); !(d <= 1e-9) {
			t.Errorf("%s: the gradient is off by %g", s.name, d)
		}
	}
}

// TestMarginsCountDecisions checks that the counted value, the linear form of the counted cells and
// the nodes agree where the surrogate is the indicator: the sigmoid at saturated scores.
func TestMarginsCountDecisions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 11))
	compared := 0
	check := func(name string, s *Sample, scores []float64, shape ...int) {
		y := s.system
		c := must(s.Count(must(s.Decide(scores))))
		g := ofNodes(t, s, tensor.Float64, scores, shape...)
		if math.Abs(g[0]-c.Objective.Value) > 1e-12 {
			t.Errorf("%s: the objective counts %v, and its node is %v", name, c.Objective.Value, g[0])
		}
		worst := make([]float64, len(y.Stated()))
		for j := range worst {
			worst[j] = math.Inf(-1)
		}
		for j, v := range c.Values {
			if linear := y.SmoothValue(j, c.Terms); math.Abs(v.Value-linear) > 1e-12 {
				t.Errorf("%s: %s counts %v, and its linear form is %v", name, y.Subject[j], v.Value, linear)
			}
			if over := y.Excess(j, c.Terms); math.Abs(over-(v.Value-y.Subject[j].Bound())) > 1e-12 {
				t.Errorf("%s: %s counts %v, and its inequalities exceed it by %v", name, y.Subject[j], v.Value, over)
			}
			place := y.Places(j)[0]
			for _, k := range y.Places(j) {
				worst[place] = max(worst[place], g[1+k])
			}
			if y.Margins.Form != Maximum && math.Abs(worst[place]-(v.Value-y.Subject[j].Bound())) > 1e-12 {
				t.Errorf("%s: %s counts %v, and its nodes are %v", name, y.Subject[j], v.Value, worst[place])
			}
			compared++
		}
		for j, v := range y.Values(c.Terms, c.Rows) {
			if math.Abs(v-y.Stated()[j].Bound-g[1+j]) > 1e-12 {
				t.Errorf("%s: constraint %d counts %v, and its node is %v", name, j, v, g[1+j])
			}
		}
	}
	for range 5 {
		for _, s := range marginSystems(rng, 29) {
			if m := *s.system.Margins; m.Objective == Sigmoid && m.Constraints == Sigmoid {
				scores := make([]float64, 29)
				for i := range scores {
					scores[i] = float64(2*rng.IntN(2)-1) * 1e3
				}
				check(s.name, s.Sample, scores, 29, 1)
			}
		}
		p := &Population{Classes: []string{"a", "b", "c"}}
		var scores []float64
		for i := range 30 { // the label 0 is behind a wrong decision, and ahead of the other classes
			p.Labels = append(p.Labels, i%3)
			row := []float64{-1e3, -1e3, -1e3}
			row[i%3] = 0
			row[rng.IntN(3)] = 1e3
			scores = append(scores, row...)
		}
		check("classes", must(must(neymanPearson(p, 0.2, Sigmoid)).On(p)), scores, 30, 3)
	}
	if compared < 50 {
		t.Errorf("%d values were compared", compared)
	}
}

// TestGroupsWithoutRows checks a group that has training rows and no other rows: it counts as an
// average group, and does not count in a mean.
func TestGroupsWithoutRows(t *testing.T) {
	p := &Population{Labels: []int{1, 0, 1, 0, 1, 0}, Classes: []string{"no", "yes"},
		Groups: []Group{{Name: "a", Rows: []int{0, 1, 2}}, {Name: "b", Rows: []int{4, 3}}, {Name: "c", Rows: []int{5}}}}
	other := *p
	other.Groups = []Group{p.Groups[0], {Name: "b"}, p.Groups[2]}
	scores := []float64{2, -1, 0, 1, -3, 0.5}
	for m, want := range map[Measure][]float64{
		Excess(Error, GroupsName):     {8.5 / 6, -6.5/6 - 0.1, -0.1, 0.5/6 - 0.1},
		MeanExcess(Error, GroupsName): {8.5 / 6, -3./6 - 0.1},
	} {
		s := must(NewMarginSystem(Error(), []Constraint{m.AtMost(0.1)}, p, Margins{Hinge, Hinge, Each}))
		held := must(s.On(&other))
		if d := cmp.Diff(want, onHost(held, scores), near); d != "" {
			t.Errorf("%v: %s", m, d)
		}
		node := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float64, gorgonia.WithShape(6, 1), gorgonia.WithName("s"))
		if _, _, err := held.Nodes(node); !errors.Is(err, ErrEmptyGroup) {
			t.Errorf("%v: nodes without rows of b: %v", m, err)
		}
		if _, err := NewMarginSystem(Error(), []Constraint{m.AtMost(0.1)}, &other, Margins{Hinge, Hinge, Each}); !errors.Is(err, ErrEmptyGroup) {
			t.Errorf("%v: training without rows of b: %v", m, err)
		}
		defined := 0
		for _, v := range s.Excesses(must(held.Count(make([]int, 6))).Terms, held.Rows()) {
			if v.Defined {
				defined++
			}
		}
		if defined != 2 {
			t.Errorf("%v: %d groups have an excess, want 2", m, defined)
		}
	}
}

// TestMarginRefusals checks the rates without surrogates of margins, and unknown surrogates.
func TestMarginRefusals(t *testing.T) {
	two := &Population{Labels: []int{0, 1, 0, 1}, Classes: []string{"no", "yes"}, Earlier: map[string][]int{"f": {0, 0, 0, 0}},
		Groups: []Group{{Name: "a", Rows: []int{0, 1}}, {Name: "b", Rows: []int{2, 3}}}}
	three := &Population{Labels: []int{0, 1, 2}, Classes: []string{"a", "b", "c"}}
	fine := Margins{Objective: Sigmoid, Constraints: Sigmoid}
	for _, tc := range []struct {
		p        *Population
		minimize Rate
		subject  Constraint
		m        Margins
		want     string
	}{
		{two, Error(), Precision().AtLeast(0.5), fine, "precision has no surrogate of margins"},
		{two, Loss(), FPR().AtMost(0.5), fine, "loss has no surrogate of margins"},
		{two, Error(), L1().AtMost(1), fine, "l1(weights) has no surrogate of margins"},
		{two, Error(), Churn("f").AtMost(1), fine, "churn(f) has no surrogate of margins"},
		{three, Error(), PositiveRate("a").AtMost(0.5), fine, "positive_rate has no surrogate of margins"},
		{two, Error(), FPR().AtMost(0.5), Margins{Objective: "ramp", Constraints: Sigmoid}, `unknown surrogate phi "ramp"`},
		{two, Error(), FPR().AtMost(0.5), Margins{Objective: Sigmoid}, `unknown surrogate phi ""`},
		{two, Error(), FPR().AtMost(0.5), Margins{Sigmoid, Sigmoid, "two"}, `unknown form "two"`},
	} {
		if _, err := NewMarginSystem(tc.minimize, []Constraint{tc.subject}, tc.p, tc.m); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want %q", tc.subject, err, tc.want)
		}
	}
	s := must(must(NewMarginSystem(Error(), []Constraint{FPR().AtMost(2)}, two, fine)).On(two)) // a hinge may be above 1
	node := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float64, gorgonia.WithShape(4, 2), gorgonia.WithName("s"))
	if _, _, err := s.Nodes(node); err == nil || !strings.Contains(err.Error(), "use one score") {
		t.Errorf("a score for each class: %v", err)
	}
	if _, _, err := s.Smooth(make([]float64, 8)); err == nil || !strings.Contains(err.Error(), "use one score") {
		t.Errorf("a score for each class: %v", err)
	}
	if _, _, err := s.Smooth(make([]float64, 5)); err == nil || !strings.Contains(err.Error(), "5 scores for 4 rows") {
		t.Errorf("%v", err)
	}
}

// TestDrawsByHand checks the weights of groups that cover all rows in order, that each drawn
// constraint is the constraint of its group, and that the draws depend on the seed and the step.
func TestDrawsByHand(t *testing.T) {
	p := &Population{Labels: []int{1, 0, 1}, Classes: []string{"no", "yes"}, Groups: []Group{{Name: "a", Rows: []int{0, 1}}, {Name: "b", Rows: []int{2}}}}
	of := func(m Measure) *Sample {
		return must(must(NewMarginSystem(Error(), []Constraint{m.AtMost(0.1)}, p, Margins{Hinge, Sigmoid, Each})).On(p))
	}
	mean, each := of(MeanExcess(Error, GroupsName)), of(Excess(Error, GroupsName))
	third := 1. / 3
	want := [][]float64{{1./2 - third, 1./2 - third, -third}, {-third, -third, 1 - third}}
	draws, scores := must(mean.NewDraws(tensor.Float64, 0)), []float64{0.3, -2, 1}
	counts := [2]int{}
	for k := range 400 {
		counts[draws.Group(k)]++
		if got := draws.Weights(k).Data(); !cmp.Equal(got, want[draws.Group(k)]) {
			t.Fatalf("step %d: %v, want %v", k, got, want[draws.Group(k)])
		}
	}
	other, same := must(mean.NewDraws(tensor.Float64, 8)), 0 // the seeds differ in a bit that drawStream does not have
	for k := range 64 {
		if draws.Group(k) == other.Group(k) {
			same++
		}
	}
	if counts[0] < 150 || counts[1] < 150 || same == 64 {
		t.Errorf("400 draws: %v; the draws of two seeds: %d of 64 are equal", counts, same)
	}
	ofEach := onHost(each, scores)
	for _, dt := range dtypes {
		node := gorgonia.NewMatrix(gorgonia.NewGraph(), dt, gorgonia.WithShape(3, 1), gorgonia.WithName("s"))
		f, c, w, err := mean.SampledNodes(node)
		require.NoError(t, err)
		typed := must(mean.NewDraws(dt, 0))
		machine := compiled(t, gorgonia.Nodes{node, w}, gorgonia.Nodes{f, c})
		for k := range 8 {
			let(t, node, dense(dt, scores, 3, 1))
			let(t, w, typed.Weights(k))
			runVM(t, machine)
			got := append(widened(t, f.Value()), widened(t, c.Value())...)
			if d := cmp.Diff([]float64{ofEach[0], ofEach[1+typed.Group(k)]}, got, cmpopts.EquateApprox(0, 1e-6)); d != "" {
				t.Errorf("%v, step %d: %s", dt, k, d)
			}
		}
	}
	if d := cmp.Diff((ofEach[1]+ofEach[2])/2, onHost(mean, scores)[1], near); d != "" {
		t.Errorf("the mean of the groups: %s", d)
	}
	node := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float64, gorgonia.WithShape(3, 1), gorgonia.WithName("s"))
	if _, _, _, err := each.SampledNodes(node); err == nil {
		t.Error("a group is sampled in place of each")
	}
	if _, err := each.NewDraws(tensor.Float64, 1); err == nil {
		t.Error("a group is drawn in place of each")
	}
	if _, err := mean.NewDraws(tensor.Int, 1); err == nil {
		t.Error("weights of integers are accepted")
	}
}
