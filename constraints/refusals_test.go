package constraints

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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

// TestOpsRefuseWrongInputs checks the shapes, numbers and types of an op's inputs.
func TestOpsRefuseWrongInputs(t *testing.T) {
	loss := must(NewMarginLoss([]int{0, 2}, 3, Sigmoid))
	for _, in := range [][]gorgonia.DimSizer{{}, {tensor.Shape{3, 2}}, {tensor.Shape{2, 3}, tensor.Shape{2}}, {notAShape{}}} {
		if _, err := loss.InferShape(in...); err == nil {
			t.Errorf("%v: no error", in)
		}
	}
	if s, err := loss.InferShape(tensor.Shape{2, 3}); err != nil || !s.Eq(tensor.Shape{2}) {
		t.Error(s, err)
	}
	if _, err := loss.SymDiff(nil, nil, nil); err == nil || !strings.Contains(err.Error(), "takes 1 input, got 0") {
		t.Error(err)
	}
	single, double := tensor.New(tensor.WithShape(2, 3), tensor.Of(tensor.Float32)), tensor.New(tensor.WithShape(2, 3), tensor.Of(tensor.Float64))
	for _, values := range [][]gorgonia.Value{
		{single, tensor.New(tensor.WithShape(2), tensor.Of(tensor.Float64))}, {double, tensor.New(tensor.WithShape(2), tensor.Of(tensor.Float32))},
	} {
		if _, err := newMarginLossGrad(loss).Do(values...); err == nil || !strings.Contains(err.Error(), "different element types") {
			t.Error(err)
		}
	}
	if _, err := newClassColumn(1).Do(); err == nil || !strings.Contains(err.Error(), "takes 1 input, got 0") {
		t.Error(err)
	}
	if _, err := NewMarginLoss([]int{0, 3}, 3, Sigmoid); err == nil || !strings.Contains(err.Error(), "0..2") {
		t.Error(err)
	}
}

// notAShape has a dimension, and is not a shape.
type notAShape struct{}

func (notAShape) DimSize(int) (int, error) { return 2, nil }
