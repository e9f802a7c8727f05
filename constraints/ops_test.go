package constraints

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

// TestShapesOfRowOps checks which shapes the ops of rows accept.
func TestShapesOfRowOps(t *testing.T) {
	matrices := newRowOp("Test", []int{2, 2}, []bool{true, true}, product, nil)
	vectors := newRowOp("Test", []int{2, 1}, []bool{true, true}, product, nil)
	if matrices.Hashcode() == vectors.Hashcode() {
		t.Error("ops of other dimensions have the same hash")
	}
	s := func(n ...int) tensor.Shape { return n }
	for _, test := range []struct {
		op interface {
			InferShape(...gorgonia.DimSizer) (tensor.Shape, error)
		}
		in   []gorgonia.DimSizer
		want tensor.Shape // nil: refused
	}{
		{matrices, []gorgonia.DimSizer{s(2, 3), s(2, 3)}, s(2, 3)},
		{matrices, []gorgonia.DimSizer{s(2, 3), s(2, 1)}, s(2, 3)},
		{vectors, []gorgonia.DimSizer{s(2, 3), s(2)}, s(2, 3)},
		{matrices, []gorgonia.DimSizer{s(2, 3), s(2, 2)}, nil},
		{matrices, []gorgonia.DimSizer{s(2, 3), s(3, 1)}, nil},
		{matrices, []gorgonia.DimSizer{s(2, 3), s(2)}, nil},
		{vectors, []gorgonia.DimSizer{s(2, 3), s(3)}, nil},
		{vectors, []gorgonia.DimSizer{s(2, 3), s(2, 1)}, nil},
		{vectors, []gorgonia.DimSizer{s(2, 3)}, nil},
		{vectors, []gorgonia.DimSizer{noShape{}, s(2)}, nil},
		{vectors, []gorgonia.DimSizer{s(2, 3), noShape{}}, nil},
		{newClassColumn(1), []gorgonia.DimSizer{s(2, 3)}, s(2, 1)},
		{newClassColumn(2), []gorgonia.DimSizer{s(2, 3)}, s(2, 1)},
		{newClassColumn(3), []gorgonia.DimSizer{s(2, 3)}, nil},
		{newClassColumn(0), []gorgonia.DimSizer{s(2)}, nil},
		{newClassColumn(0), []gorgonia.DimSizer{s(2, 3, 1)}, nil},
		{newClassColumn(0), []gorgonia.DimSizer{noShape{}}, nil},
	} {
		if got, err := test.op.InferShape(test.in...); (err == nil) != (test.want != nil) || !slices.Equal(got, test.want) {
			t.Errorf("%v of %v: %v, %v, want %v", test.op, test.in, got, err, test.want)
		}
	}
	one := tensor.New(tensor.WithShape(2, 3), tensor.Of(tensor.Float64))
	if _, err := matrices.Do(one); err == nil || !strings.Contains(err.Error(), "takes 2 inputs, got 1") {
		t.Error(err)
	}
	if _, err := newClassColumn(1).Do(one, one); err == nil || !strings.Contains(err.Error(), "takes 1 input, got 2") {
		t.Error(err)
	}
	if _, err := matrices.SymDiff(nil, nil, nil); !errors.Is(err, ErrSecondDerivative) {
		t.Error(err)
	}
}

// noShape has a dimension, and is not a shape.
type noShape struct{}

func (noShape) DimSize(int) (int, error) { return 2, nil }

// TestSignedLossShapes checks the shape of the scores that an op takes after Apply.
func TestSignedLossShapes(t *testing.T) {
	op := must(NewSignedLoss([]int{1, -1, 1}, Logistic))
	g := gorgonia.NewGraph()
	column := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(3, 1), gorgonia.WithName("column"))
	vector := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(3), gorgonia.WithName("vector"))
	a, b := must(op.Apply(column)), must(op.Apply(vector))
	if got := a.Op().(*SignedLoss); got != op {
		t.Error("scores [n, 1] make another op")
	}
	own, ok := b.Op().(*SignedLoss)
	if !ok || own.in[0].Dims() != 1 || own.Hashcode() == op.Hashcode() {
		t.Errorf("scores [n]: %+v", own)
	}
	if again := must(own.Apply(column)).Op().(*SignedLoss); again.in[0].Dims() != 2 {
		t.Errorf("scores [n, 1] after scores [n]: shape %v", again.in[0])
	}
	for _, n := range []int{0, -1} {
		if _, err := NewRates(n, Sigmoid); err == nil || !strings.Contains(err.Error(), "no rows") {
			t.Errorf("%d rows: %v", n, err)
		}
	}
}

// TestCrossEntropyErrors checks the shapes and labels that CrossEntropy and Softmax refuse.
func TestCrossEntropyErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	matrix := func(rows, cols int) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(rows, cols), gorgonia.WithName("scores"))
	}
	vector := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(2), gorgonia.WithName("vector"))
	for _, test := range []struct {
		scores *gorgonia.Node
		labels []int
		want   string
	}{
		{vector, []int{0, 0}, "scores of shape (2) for 2 rows"},
		{matrix(3, 3), []int{0, 0}, "scores of shape (3, 3) for 2 rows"},
		{matrix(2, 3), []int{0, -1}, "row 1 has label -1, want 0..2"},
		{matrix(2, 3), []int{3, 0}, "row 0 has label 3, want 0..2"},
		{matrix(2, 1), []int{0, 0}, "at least 2 classes"},
	} {
		if _, err := CrossEntropy(test.scores, test.labels); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	if _, err := Softmax(vector); err == nil || !strings.Contains(err.Error(), "scores of shape (2), want [n, C]") {
		t.Error(err)
	}
}

// TestNodesErrors checks the scores and the rows that Nodes refuses, and rates that no decision
// changes.
func TestNodesErrors(t *testing.T) {
	p := &Population{Labels: []int{0, 1, 2, 0}, Classes: []string{"a", "b", "c"},
		Attributes: []Attribute{{Name: "u", Values: []string{"x", "y"}, Of: []int{0, 0, 0, 1}}}}
	system := func(texts ...string) *System {
		var subject []Constraint
		for _, text := range texts {
			subject = append(subject, must(Parse(text)))
		}
		return must(NewSystem(Error(), subject, p))
	}
	scores := func(shape ...int) *gorgonia.Node {
		return gorgonia.NewTensor(gorgonia.NewGraph(), tensor.Float64, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName("scores"),
			gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.Of(tensor.Float64))))
	}
	sample := must(system().On(p))
	for _, shape := range [][]int{{4, 1}, {4}, {3, 3}, {4, 2}, {12}, {4, 3, 1}} {
		if _, _, err := sample.Nodes(scores(shape...)); err == nil || !strings.Contains(err.Error(), "for 4 rows of 3 classes") {
			t.Errorf("scores %v: %v", shape, err)
		}
	}
	n := scores(4, 3)
	f, rates, err := sample.Nodes(n) // a single rate, the accuracy
	require.NoError(t, err)
	runVM(t, compiled(t, gorgonia.Nodes{n}, gorgonia.Nodes{f, rates}))
	if got := widened(t, f.Value()); got[0] < 0.66 || got[0] > 0.67 {
		t.Errorf("the error of equal probabilities is %v", got)
	}
	other := &Population{Labels: []int{0, 2, 0, 0}, Classes: p.Classes, Attributes: []Attribute{{Name: "u", Values: []string{"y"}, Of: make([]int, 4)}}}
	if _, _, err := must(system("error[u=x] <= 0.5").On(other)).Nodes(scores(4, 3)); !errors.Is(err, ErrEmptyGroup) {
		t.Errorf("a rate without rows: %v", err)
	}
	// No row has the label b, so no decision for b is right.
	precise, n := must(system("precision[b] >= 0.5").On(other)), scores(4, 3)
	_, rates, err = precise.Nodes(n)
	require.NoError(t, err)
	runVM(t, compiled(t, gorgonia.Nodes{n}, gorgonia.Nodes{rates}))
	if got := widened(t, rates.Value()); len(got) != 3 || got[1] != 0 || got[2] < 0.33 || got[2] > 0.34 {
		t.Errorf("accuracy, right and wrong decisions for b: %v", got)
	}
}

// TestTooManyRows checks the limit of the row indices.
func TestTooManyRows(t *testing.T) {
	for rows, want := range map[int]string{math.MaxInt32: "no groups", math.MaxInt32 + 1: "2147483648 rows, want 1..2147483647", 0: "0 rows"} {
		if _, err := NewMembership(rows, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
	for _, w := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		if _, err := NewMembership(2, []Group{{Rows: []int{0, 1}, Weights: []float64{1, w}}}); err == nil || !strings.Contains(err.Error(), "weight of row 1") {
			t.Errorf("weight %v: %v", w, err)
		}
	}
}

// TestDigestCoversMembership checks that each part of the matrix changes the digest.
func TestDigestCoversMembership(t *testing.T) {
	seen := map[[32]byte]int{}
	for k, m := range []*Membership{
		must(NewMembership(4, []Group{{Rows: []int{0, 1}}, {Rows: []int{2}}})),
		must(NewMembership(5, []Group{{Rows: []int{0, 1}}, {Rows: []int{2}}})),
		must(NewMembership(4, []Group{{Rows: []int{0}}, {Rows: []int{1, 2}}})),
		must(NewMembership(4, []Group{{Rows: []int{0, 1}}, {Rows: []int{3}}})),
		must(NewMembership(4, []Group{{Rows: []int{0, 1}, Weights: []float64{0.4, 0.6}}, {Rows: []int{2}}})),
		must(NewMembership(4, []Group{{Rows: []int{0, 1}, Weights: []float64{0.6, 0.4}}, {Rows: []int{2}}})),
		must(NewMembership(4, []Group{{Rows: []int{0, 2}}, {Rows: []int{3}}})),
		must(NewMembership(4, []Group{{Rows: []int{2, 0}}, {Rows: []int{3}}})), // adds up in another order
	} {
		if other, ok := seen[m.digest()]; ok {
			t.Errorf("memberships %d and %d have the same digest", other, k)
		}
		seen[m.digest()] = k
	}
}

// TestFunctionsRefuseWrongInputs checks the shapes, numbers and types of the inputs of all ops and
// their derivatives, which no graph differentiates again.
func TestFunctionsRefuseWrongInputs(t *testing.T) {
	m := must(NewMembership(3, []Group{{Rows: []int{0}}, {Rows: []int{1, 2}}}))
	one := must(NewMembership(2, []Group{{Rows: []int{0, 1}}}))
	pairs := must(NewPairs(Documents{Queries: []int32{0, 0}, Levels: []int{1, 0}}, 1, false))
	loss := &must(NewMarginLoss([]int{0, 2}, 3, Sigmoid)).function
	for _, f := range []*function{loss, &must(NewSignedLoss([]int{1, -1, 1}, Hinge)).function, &must(NewGroupMeans(m, nil)).function,
		&must(NewGroupMean(one, 0)).function, &must(NewPairMeans(pairs, Sigmoid)).function} {
		d := f.derivative()
		if _, err := f.SymDiff(nil, nil, nil); err == nil || !strings.Contains(err.Error(), "takes 1 input, got 0") {
			t.Errorf("%v: %v", f, err)
		}
		if _, err := d.SymDiff(nil, nil, nil); !errors.Is(err, ErrSecondDerivative) {
			t.Errorf("%v: %v", d, err)
		}
		for _, op := range []*function{f, d} {
			shapes := make([]gorgonia.DimSizer, len(op.in))
			values, mixed, ints := make([]gorgonia.Value, len(op.in)), make([]gorgonia.Value, len(op.in)), make([]gorgonia.Value, len(op.in))
			for k, s := range op.in {
				shapes[k] = s
				values[k] = tensor.New(tensor.WithShape(s...), tensor.Of(tensor.Float64))
				mixed[k] = tensor.New(tensor.WithShape(s...), tensor.Of(dtypes[k%2]))
				ints[k] = tensor.New(tensor.WithShape(s...), tensor.Of(tensor.Int))
			}
			if s, err := op.InferShape(shapes...); err != nil || !s.Eq(op.out) {
				t.Errorf("%v: %v, %v, want %v", op, s, err, op.out)
			}
			if v, err := op.Do(values...); err != nil || v.Dtype() != tensor.Float64 {
				t.Errorf("%v: %v, %v", op, v, err)
			}
			for name, in := range map[string][]gorgonia.DimSizer{"none": nil, "no shape": append(shapes[1:], noShape{}),
				"one more": append(slices.Clip(shapes), tensor.Shape{2}), "another": append(shapes[1:], tensor.Shape{7, 2})} {
				if _, err := op.InferShape(in...); err == nil {
					t.Errorf("%v, %s: no error", op, name)
				}
			}
			other := append(slices.Clip(values[1:]), gorgonia.Value(dense(tensor.Float64, make([]float64, 7), 7)))
			for name, in := range map[string][]gorgonia.Value{"none": nil, "integers": ints, "another size": other} {
				if _, err := op.Do(in...); err == nil {
					t.Errorf("%v, %s: no error", op, name)
				}
			}
			if _, err := op.Do(mixed...); op.arity == 2 && (err == nil || !strings.Contains(err.Error(), "different element types")) {
				t.Errorf("%v: %v", op, err)
			}
		}
	}
	g := gorgonia.NewGraph()
	for _, shape := range []tensor.Shape{{2, 4}, {6}, {2, 3, 1}} {
		n := gorgonia.NewTensor(g, tensor.Float64, shape.Dims(), gorgonia.WithShape(shape...), gorgonia.WithName(fmt.Sprint(shape)))
		if _, err := apply(loss, n); err == nil {
			t.Errorf("a graph takes scores of shape %v for 2 rows of 3 classes", shape)
		}
	}
	if _, err := newClassColumn(1).Do(); err == nil || !strings.Contains(err.Error(), "takes 1 input, got 0") {
		t.Error(err)
	}
}

// TestInParts checks that the parts cover each row once, and that a panic of a part arrives.
func TestInParts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for _, n := range []int{0, 1, leastPart, 2*leastPart + 1, 9 * leastPart} {
		seen, parts := make([]int32, n), int32(0)
		inParts(n, func(from, to int) {
			atomic.AddInt32(&parts, 1)
			for i := from; i < to; i++ {
				atomic.AddInt32(&seen[i], 1)
			}
		})
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("%d rows: row %d is in %d parts", n, i, times)
			}
		}
		if want := int32(max(1, min(3, n/leastPart))); parts != want {
			t.Errorf("%d rows: %d parts, want %d", n, parts, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("the panic of a task is lost")
		}
	}()
	concurrently(func() {}, func() { panic("a task") })
}
