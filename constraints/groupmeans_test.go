package constraints

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

func TestMembershipForms(t *testing.T) {
	type form struct {
		Starts  []int
		Indices []int32
		Weights []float64
	}
	for _, tc := range []struct {
		name   string
		groups []Group
		want   form
	}{
		{"consecutive", []Group{{Rows: []int{1, 2}}, {Rows: []int{3}}}, form{[]int{1, 3, 4}, nil, nil}},
		{"one row", []Group{{Rows: []int{4}}}, form{[]int{4, 5}, nil, nil}},
		{"gap", []Group{{Rows: []int{1, 2}}, {Rows: []int{4}}}, form{[]int{0, 2, 3}, []int32{1, 2, 4}, nil}},
		{"overlap", []Group{{Rows: []int{1, 2}}, {Rows: []int{2}}}, form{[]int{0, 2, 3}, []int32{1, 2, 2}, nil}},
		{"some weights", []Group{{Rows: []int{0, 1}}, {Rows: []int{2, 3}, Weights: []float64{-1, 3}}},
			form{[]int{0, 2, 4}, []int32{0, 1, 2, 3}, []float64{0.5, 0.5, -1, 3}}},
		{"weights of overlapping groups", []Group{{Rows: []int{1, 4}, Weights: []float64{7, 8}}, {Rows: []int{0, 1, 4}, Weights: []float64{4, 5, 6}}},
			form{[]int{0, 2, 5}, []int32{1, 4, 0, 1, 4}, []float64{7, 8, 4, 5, 6}}},
		{"rows in another order", []Group{{Rows: []int{3, 1}, Weights: []float64{7, 8}}, {Rows: []int{1, 0}}},
			form{[]int{0, 2, 4}, []int32{3, 1, 1, 0}, []float64{7, 8, 0.5, 0.5}}},
	} {
		m := must(NewMembership(5, tc.groups))
		var got form
		got.Starts, got.Indices, got.Weights = m.CSR()
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", tc.name, d)
		}
	}
}

func TestMembershipErrors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		rows   int
		groups []Group
		want   string
	}{
		{"empty group", 2, []Group{{Name: "all", Rows: []int{0, 1}}, {Name: "old & female"}}, `no rows: "old & female"`},
		{"no groups", 2, nil, "no groups"},
		{"no rows", 0, []Group{{Rows: []int{0}}}, "0 rows"},
		{"out of range", 2, []Group{{Name: "x", Rows: []int{2}}}, `"x": row 2`},
		{"negative", 2, []Group{{Name: "x", Rows: []int{-1}}}, `"x": row -1`},
		{"twice", 3, []Group{{Rows: []int{1}}, {Name: "x", Rows: []int{1, 2, 1}}}, `"x": row 1 is given twice`},
		{"weights", 3, []Group{{Name: "x", Rows: []int{1}, Weights: []float64{1, 2}}}, "2 weights for 1 rows"},
		{"NaN", 3, []Group{{Name: "x", Rows: []int{1}, Weights: []float64{math.NaN()}}}, "weight of row 1 is NaN"},
	} {
		_, err := NewMembership(tc.rows, tc.groups)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		if errors.Is(err, ErrEmptyGroup) != (tc.name == "empty group") {
			t.Errorf("%s: %v is ErrEmptyGroup: wrong", tc.name, err)
		}
	}
	m := must(NewMembership(3, []Group{{Name: "a", Rows: []int{0}}, {Name: "b", Rows: []int{1, 2}}}))
	if _, err := NewGroupMeans(m, []float64{1}); err == nil {
		t.Error("one offset for two groups is accepted")
	}
	if _, err := NewGroupMeans(m, []float64{1, math.NaN()}); err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("NaN offset: %v", err)
	}
	if _, err := NewGroupMean(m, 0); err == nil {
		t.Error("a scalar mean of two groups is accepted")
	}
}

func TestGroupMeansByHand(t *testing.T) {
	l := []float64{1, 2, 4, 8, 16}
	for _, tc := range []struct {
		name         string
		groups       []Group
		offsets, w   []float64
		means, grads []float64
	}{
		{"consecutive", []Group{{Rows: []int{1, 2}}, {Rows: []int{3, 4}}}, []float64{0.5, 2}, []float64{4, -6},
			[]float64{2.5, 10}, []float64{0, 2, 2, -3, -3}},
		{"overlapping", []Group{{Rows: []int{4, 0}}, {Rows: []int{0, 1, 2, 3}}, {Rows: []int{0}}}, nil, []float64{2, 4, 8},
			[]float64{8.5, 3.75, 1}, []float64{10, 1, 1, 1, 1}},
		{"weights", []Group{{Rows: []int{0, 3}, Weights: []float64{-2, 0.5}}, {Rows: []int{3, 4}}}, []float64{0, 1}, []float64{2, 4},
			[]float64{2, 11}, []float64{-4, 0, 0, 3, 2}},
		{"one", []Group{{Rows: []int{0, 1, 2, 3, 4}}}, []float64{-1}, []float64{5}, []float64{7.2}, []float64{1, 1, 1, 1, 1}},
	} {
		m := must(NewMembership(5, tc.groups))
		ops := []*GroupMeans{must(NewGroupMeans(m, tc.offsets))}
		if m.Groups() == 1 {
			ops = append(ops, must(NewGroupMean(m, tc.offsets[0])))
		}
		for _, op := range ops {
			for _, dt := range dtypes {
				means := must(op.Do(dense(dt, l, 5)))
				var w gorgonia.Value = dense(dt, tc.w, len(tc.w))
				if op.out.IsScalar() {
					w = scalar(dt, tc.w[0])
				}
				grads := must(op.derivative().Do(w))
				got := [][]float64{widened(t, means), widened(t, grads)}
				if dt == tensor.Float32 {
					got[0][0] = math.Round(got[0][0]*1e4) / 1e4 // 7.2 has no exact float32
				}
				if d := cmp.Diff([][]float64{tc.means, tc.grads}, got, near); d != "" {
					t.Errorf("%s, %v (-want +got)\n%s", op, dt, d)
				}
				if !means.Shape().Eq(op.out) || means.Dtype() != dt || grads.Dtype() != dt {
					t.Errorf("%s, %v: shape %v", op, dt, means.Shape())
				}
			}
		}
	}
}

func scalar(dt tensor.Dtype, v float64) gorgonia.Value {
	if dt == tensor.Float64 {
		return gorgonia.NewF64(v)
	}
	return gorgonia.NewF32(float32(v))
}

func TestManyGroupsEqualTheDenseProduct(t *testing.T) {
	const n, groups = 600, 800
	rng := rand.New(rand.NewPCG(7, 8))
	dm := make([]float64, groups*n)
	gs := make([]Group, groups)
	for k := range gs {
		gs[k].Name = strconv.Itoa(k)
		for i := range n {
			if rng.IntN(20) == 0 || i == k%n {
				gs[k].Rows = append(gs[k].Rows, i)
				gs[k].Weights = append(gs[k].Weights, rng.NormFloat64())
			}
		}
		if k%3 == 0 {
			gs[k].Weights = nil
		}
		for e, i := range gs[k].Rows {
			dm[k*n+i] = 1 / float64(len(gs[k].Rows))
			if gs[k].Weights != nil {
				dm[k*n+i] = gs[k].Weights[e]
			}
		}
	}
	l, w, offsets := randoms(rng, n, 1), randoms(rng, groups, 1), randoms(rng, groups, 1)
	means, grads := make([]float64, groups), make([]float64, n)
	for k := range groups {
		for i := range n {
			means[k] += dm[k*n+i] * l[i]
			grads[i] += dm[k*n+i] * w[k]
		}
		means[k] -= offsets[k]
	}
	op := must(NewGroupMeans(must(NewMembership(n, gs)), offsets))
	graph := gorgonia.NewGraph()
	ln := gorgonia.NewVector(graph, tensor.Float64, gorgonia.WithShape(n), gorgonia.WithName("l"))
	wn := gorgonia.NewVector(graph, tensor.Float64, gorgonia.WithShape(groups), gorgonia.WithName("w"))
	mn := must(op.Apply(ln))
	gn := must(gorgonia.Backpropagate(gorgonia.Nodes{mn}, gorgonia.Nodes{wn}, gorgonia.Nodes{ln}))
	let(t, ln, dense(tensor.Float64, l, n))
	let(t, wn, dense(tensor.Float64, w, groups))
	runVM(t, compiled(t, gorgonia.Nodes{ln}, gorgonia.Nodes{mn}))
	runVM(t, compiled(t, gorgonia.Nodes{wn}, gn))
	if d := distance(widened(t, mn.Value()), means); !(d <= 1e-14) {
		t.Errorf("M l is off by %g", d)
	}
	if d := distance(widened(t, gn[0].Value()), grads); !(d <= 1e-14) {
		t.Errorf("M^T w is off by %g", d)
	}
}

func TestFloat32SumsAccumulateInFloat64(t *testing.T) {
	require.NoRace(t, "the test starts no goroutine")
	const n = 1 << 22
	rows := make([]int, n)
	l := make([]float32, n)
	for i := range l {
		rows[i], l[i] = i, 0.1
	}
	op := must(NewGroupMean(must(NewMembership(n, []Group{{Rows: rows}})), 0))
	got := must(op.Do(tensor.New(tensor.WithShape(n), tensor.WithBacking(l))))
	if *got.(*gorgonia.F32) != 0.1 {
		t.Errorf("the mean of 0.1 is %v", got)
	}
}

// Gorgonia merges nodes with equal hashes, therefore the hash must include the constants.
func TestDifferentConstantsAreDifferentNodes(t *testing.T) {
	g := gorgonia.NewGraph()
	l := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(4), gorgonia.WithName("l"))
	s := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(4, 3), gorgonia.WithName("s"))
	member := func(gs ...Group) *Membership { return must(NewMembership(4, gs)) }
	a, b := Group{Rows: []int{0, 1}}, Group{Rows: []int{2, 3}}
	aw := Group{Rows: []int{0, 1}, Weights: []float64{0.25, 0.75}}
	pairs := func(levels, groups []int, count int, each bool) *Pairs {
		return must(NewPairs(Documents{[]int32{0, 0, 1, 1}, levels, groups}, count, each))
	}
	ten, two := []int{1, 0, 1, 0}, []int{0, 1, 0, 1}
	ops := map[string]*function{
		"plain":         &must(NewGroupMeans(member(a, b), nil)).function,
		"offset":        &must(NewGroupMeans(member(a, b), []float64{0, 1e-9})).function,
		"other":         &must(NewGroupMeans(member(b, a), nil)).function,
		"weights":       &must(NewGroupMeans(member(aw, b), nil)).function,
		"shifted":       &must(NewGroupMeans(member(Group{Rows: []int{1, 2}}, Group{Rows: []int{3}}), nil)).function,
		"one":           &must(NewGroupMeans(member(a), nil)).function,
		"scalar":        &must(NewGroupMean(member(a), 0)).function,
		"same once":     &must(NewGroupMean(member(b), 0)).function,
		"loss":          &must(NewMarginLoss([]int{0, 1, 2, 0}, 3, Sigmoid)).function,
		"labels":        &must(NewMarginLoss([]int{0, 1, 2, 1}, 3, Sigmoid)).function,
		"phi":           &must(NewMarginLoss([]int{0, 1, 2, 0}, 3, Hinge)).function,
		"signed":        &must(NewSignedLoss([]int{1, 1, -1, 1}, Sigmoid)).function,
		"signed labels": &must(NewSignedLoss([]int{1, 1, 1, -1}, Sigmoid)).function,
		"signed phi":    &must(NewSignedLoss([]int{1, 1, -1, 1}, Hinge)).function,
		"signed vector": &newSignedLoss([]int8{1, 1, -1, 1}, Sigmoid, 1).function,
		"rates":         &must(NewRates(4, Sigmoid)).function,
		"pairs":         &must(NewPairMeans(pairs(ten, two, 2, false), Sigmoid)).function,
		"each query":    &must(NewPairMeans(pairs(ten, two, 2, true), Sigmoid)).function,
		"pairs phi":     &must(NewPairMeans(pairs(ten, two, 2, false), Hinge)).function,
		"pairs vector":  &newPairMeans(pairs(ten, two, 2, false), Sigmoid, 1).function,
		"pairs groups":  &must(NewPairMeans(pairs(ten, []int{0, 1, 1, 0}, 2, false), Sigmoid)).function,
		"pairs levels":  &must(NewPairMeans(pairs([]int{0, 1, 1, 0}, two, 2, false), Sigmoid)).function,
		"pairs number":  &must(NewPairMeans(pairs(ten, two, 3, false), Sigmoid)).function,
	}
	for _, name := range slices.Collect(maps.Keys(ops)) {
		if name != "offset" { // its derivative is that of "plain": a derivative does not contain the offset
			ops[name+" gradient"] = ops[name].derivative()
		}
	}
	seen := map[uint32]string{}
	for name, op := range ops {
		if other, ok := seen[op.Hashcode()]; ok {
			t.Errorf("%q and %q have one hash", name, other)
		}
		seen[op.Hashcode()] = name
		if op.ReturnsPtr() || op.CallsExtern() || op.OverwritesInput() != -1 {
			t.Errorf("%s is not pure", op)
		}
	}

	// The nodes in one graph have different values.
	plain := must(apply(ops["plain"], l))
	offset := must(apply(ops["offset"], l))
	again := must(must(NewGroupMeans(member(a, b), nil)).Apply(l))
	losses := must(apply(ops["loss"], s))
	lost := must(apply(ops["labels"], s))
	if plain == offset || losses == lost {
		t.Error("nodes of different constants were merged")
	}
	let(t, l, dense(tensor.Float64, []float64{1, 2, 3, 4}, 4))
	runVM(t, compiled(t, gorgonia.Nodes{l}, gorgonia.Nodes{plain, offset, again}))
	want := [][]float64{{1.5, 3.5}, {1.5, 3.5 - 1e-9}, {1.5, 3.5}}
	got := [][]float64{widened(t, plain.Value()), widened(t, offset.Value()), widened(t, again.Value())}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
