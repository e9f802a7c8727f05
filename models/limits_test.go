package models

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

// TestShapesOfOps checks which shapes the ops of a network accept.
func TestShapesOfOps(t *testing.T) {
	bias, columns, second := addBiasOp{matrixOp{"bias", 2}}, columnsOp{matrixOp{"columns", 2}}, columnOp{derivativeOp{matrixOp{"column", 1}}, 1}
	for _, test := range []struct {
		infer func(...gorgonia.DimSizer) (tensor.Shape, error)
		in    []tensor.Shape
		want  tensor.Shape // nil: refused
	}{
		{bias.InferShape, []tensor.Shape{{4, 3}, {1, 3}}, tensor.Shape{4, 3}},
		{bias.InferShape, []tensor.Shape{{4, 3}, {2, 3}}, nil},
		{bias.InferShape, []tensor.Shape{{4, 3}, {1, 2}}, nil},
		{bias.InferShape, []tensor.Shape{{4, 3}, {3}}, nil},
		{bias.InferShape, []tensor.Shape{{4, 3}, {1, 3, 1}}, nil},
		{columns.InferShape, []tensor.Shape{{4, 1}, {4, 1}}, tensor.Shape{4, 2}},
		{columns.InferShape, []tensor.Shape{{4, 1}, {3, 1}}, nil},
		{columns.InferShape, []tensor.Shape{{4, 1}, {4, 2}}, nil},
		{second.InferShape, []tensor.Shape{{4, 2}}, tensor.Shape{4, 1}},
		{second.InferShape, []tensor.Shape{{4, 1}}, nil},
	} {
		var in []gorgonia.DimSizer
		for _, s := range test.in {
			in = append(in, s)
		}
		got, err := test.infer(in...)
		if !slices.Equal(got, test.want) || (err == nil) != (test.want != nil) {
			t.Errorf("%v: %v, %v, want %v", test.in, got, err, test.want)
		}
	}
	if _, err := Columns(); err == nil || !strings.Contains(err.Error(), "Columns of no nodes") {
		t.Errorf("no columns: %v", err)
	}
	if bias.Hashcode() == columns.Hashcode() {
		t.Error("two ops have the same hash")
	}
}

// TestCopyStrided checks the steps in both slices and the end.
func TestCopyStrided(t *testing.T) {
	to := make([]float64, 5)
	copyStrided(to, 2, []float64{1, 2, 3, 4, 5, 6}, 2)
	if diff := cmp.Diff([]float64{1, 0, 3, 0, 5}, to); diff != "" {
		t.Error(diff)
	}
	copyStrided(to, 1, []float64{6, 7, 8}, 2)
	if diff := cmp.Diff([]float64{6, 8, 3, 0, 5}, to); diff != "" {
		t.Error(diff)
	}
}

// TestValueOfParameter replaces the value of a parameter by values that the network refuses.
func TestValueOfParameter(t *testing.T) {
	spec := Spec{Inputs: 2, Outputs: 3, Heads: Shared}
	weights := make(Weights, 0, 2)
	for _, p := range spec.Parameters() {
		weights = append(weights, Tensor{Name: p.Name, Shape: p.Shape, Data: make([]float64, size(p.Shape))})
	}
	net := require.Value(New(gorgonia.NewGraph(), spec, tensor.Float64, weights))(t)
	of := func(dtype tensor.Dtype, shape ...int) *tensor.Dense {
		return tensor.New(tensor.Of(dtype), tensor.WithShape(shape...))
	}
	view := require.Value(of(tensor.Float64, 2, 6).Slice(nil, gorgonia.S(0, 3)))(t)
	for name, value := range map[string]gorgonia.Value{
		"sparse":        tensor.CSRFromCoord(tensor.Shape{2, 3}, []int{0}, []int{1}, []float64{1}),
		"columns first": tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(2, 3), tensor.AsFortran(nil)),
		"view":          view,
	} {
		if err := gorgonia.UnsafeLet(net.nodes[0], value); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := net.Weights(); err == nil || !strings.Contains(err.Error(), "expected a dense float64 tensor of shape (2, 3)") {
			t.Errorf("%s: %v", name, err)
		}
	}
	require.NoError(t, gorgonia.UnsafeLet(net.nodes[0], of(tensor.Float64, 2, 3)))
	if err := net.SetWeights(weights); err != nil {
		t.Error(err)
	}
}

// TestMatricesOfOps checks which values the ops accept, and which memory they reuse.
func TestMatricesOfOps(t *testing.T) {
	of := func(dtype tensor.Dtype, shape ...int) *tensor.Dense {
		return tensor.New(tensor.Of(dtype), tensor.WithShape(shape...))
	}
	view := require.Value(of(tensor.Float64, 4, 3).Slice(nil, gorgonia.S(0, 2)))(t)
	byColumns := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(4, 2), tensor.AsFortran(nil))
	plain, vector, single := of(tensor.Float64, 4, 2), of(tensor.Float64, 8), of(tensor.Float32, 4, 2)
	for _, test := range []struct {
		name          string
		value         gorgonia.Value
		input, reused bool // as the second input, and as the memory of a result of 4 x 2
	}{
		{"matrix", plain, true, true},
		{"float32", single, false, false},
		{"vector", vector, false, false},
		{"three dimensions", of(tensor.Float64, 4, 2, 1), false, false},
		{"columns first", byColumns, false, false},
		{"view", view, false, false},
		{"number", gorgonia.NewF64(1), false, false},
		{"three rows", of(tensor.Float64, 3, 2), true, false},
		{"three columns", of(tensor.Float64, 4, 3), true, false},
	} {
		if _, err := denses("op", []gorgonia.Value{plain, test.value}); (err == nil) != test.input {
			t.Errorf("%s as an input: %v", test.name, err)
		}
		out := output(test.value, tensor.Float64, 4, 2)
		if same := gorgonia.Value(out) == test.value; same != test.reused || !out.Shape().Eq(tensor.Shape{4, 2}) || out.Dtype() != tensor.Float64 {
			t.Errorf("%s as a result: reused %t, shape %v of %v", test.name, same, out.Shape(), out.Dtype())
		}
	}
}

// TestDifferences lists the settings that differ, one at a time.
func TestDifferences(t *testing.T) {
	same := Spec{Inputs: 2, Hidden: []int{3}, Outputs: 2, Activation: ReLU, Heads: Shared}
	for key, change := range map[string]func(s *Spec){
		"": func(*Spec) {}, "inputs": func(s *Spec) { s.Inputs = 4 }, "hidden": func(s *Spec) { s.Hidden = []int{4} },
		"outputs": func(s *Spec) { s.Outputs = 4 }, "activation": func(s *Spec) { s.Activation = Tanh }, "heads": func(s *Spec) { s.Heads = Separate },
	} {
		other := same
		change(&other)
		var keys []string
		for _, d := range (&MismatchError{File: same, Want: other}).Differences() {
			keys = append(keys, d.Key)
		}
		if strings.Join(keys, " ") != key {
			t.Errorf("differences %v, want %q", keys, key)
		}
	}
}

// full is a file on a full disk.
type full struct{}

var errFull = errors.New("no space")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestSaveReportsAFullDisk checks that Save returns the error of the file.
func TestSaveReportsAFullDisk(t *testing.T) {
	spec := Spec{Inputs: 2, Outputs: 1}
	weights := require.Value(Init(spec, generator(1)))(t)
	if err := Save(full{}, Model{Architecture: spec, Weights: weights}, tensor.Float64); !errors.Is(err, errFull) {
		t.Errorf("%v, want %v", err, errFull)
	}
	if err := Save(&bytes.Buffer{}, Model{Architecture: spec, Weights: weights}, tensor.Float64); err != nil {
		t.Error(err)
	}
}

// TestRangesOfNumbers checks weights, scores and widths at the limits of their types.
func TestRangesOfNumbers(t *testing.T) {
	spec := Spec{Inputs: 2, Outputs: 2}
	weights := require.Value(Init(spec, generator(1)))(t)
	net := require.Value(New(gorgonia.NewGraph(), spec, tensor.Float64, weights))(t)
	huge := weights.Clone()
	huge[0].Data[0], huge[0].Data[1] = 1e308, 1e308
	if err := net.SetWeights(huge); err != nil {
		t.Errorf("1e308 in float64: %v", err)
	}
	if _, err := Predict(spec, huge, []float64{0, 0, 10, 10}); err == nil || !strings.Contains(err.Error(), "score 0 of row 1 is +Inf") {
		t.Errorf("a score above the largest float64: %v", err)
	}
	if got := sigmoid(-740); got != math.Exp(-740) {
		t.Errorf("sigmoid(-740) = %v, want %v", got, math.Exp(-740))
	}
	if got := sigmoid(800); got != 1 {
		t.Errorf("sigmoid(800) = %v, want 1", got)
	}
	for width, want := range map[int]string{math.MaxInt32 + 1: "expected 1 to 2147483647", math.MaxInt32: "parameters: use fewer units"} {
		if err := (Spec{Inputs: width, Outputs: 1}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d inputs: %v, want %q", width, err, want)
		}
	}
	center := Normalization{Kind: NormalizeCenter, Center: []float64{0, math.Inf(-1)}}
	if _, err := center.Fold(spec, weights); !errors.Is(err, ErrNormalization) || !strings.Contains(err.Error(), "feature 1 is -Inf") {
		t.Errorf("an infinite center: %v", err)
	}
}

// TestNodesOfOtherTypes checks the nodes that Scores and ScaledScores refuse by their own errors.
func TestNodesOfOtherTypes(t *testing.T) {
	spec := Spec{Inputs: 5, Outputs: 2}
	weights := require.Value(Init(spec, generator(1)))(t)
	g := gorgonia.NewGraph()
	net := require.Value(New(g, spec, tensor.Float64, weights))(t)
	node := func(g *gorgonia.ExprGraph, dtype tensor.Dtype, rows, cols int) *gorgonia.Node {
		return gorgonia.NewMatrix(g, dtype, gorgonia.WithShape(rows, cols), gorgonia.WithName("node"))
	}
	x := node(g, tensor.Float64, 3, 5)
	for _, scale := range []*gorgonia.Node{node(gorgonia.NewGraph(), tensor.Float64, 5, 1), node(g, tensor.Float32, 5, 1), node(g, tensor.Float64, 1, 5)} {
		if _, err := net.ScaledScores(x, nil, scale); err == nil || !strings.Contains(err.Error(), "models: scale is a node") {
			t.Errorf("scale of shape %v: %v", scale.Shape(), err)
		}
	}
	if _, err := net.Scores(node(g, tensor.Float32, 3, 5), nil); err == nil || !strings.Contains(err.Error(), "x is of float32, the parameters are of float64") {
		t.Errorf("%v", err)
	}
}
