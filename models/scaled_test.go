package models

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

// With a center and a scale, the scores and the first layer's gradients equal the scores and
// gradients of the rows (x - c) o a.
func TestScaledScores(t *testing.T) {
	forCases(t, func(t *testing.T, spec Spec, weights Weights, rows, center, d []float64) {
		if spec.Inputs == 1 {
			return // Gorgonia takes matrices with a side of 1 for vectors when it repeats them
		}
		n := len(rows) / spec.Inputs
		scale, scaled := make([]float64, spec.Inputs), make([]float64, len(rows))
		for j := range scale {
			scale[j] = 0.5 + float64(j)
		}
		for i, x := range rows {
			j := i % spec.Inputs
			if center != nil {
				x -= center[j]
			}
			scaled[i] = x * scale[j]
		}
		got, want := scaledPass(t, spec, weights, n, rows, center, scale, d), scaledPass(t, spec, weights, n, scaled, nil, nil, d)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12*(1+math.Abs(want[i])) {
				t.Fatalf("number %d is %v, want %v", i, got[i], want[i])
			}
		}
	})
}

// scaledPass returns the scores and the gradients of sum_ij D_ij S_ij.
func scaledPass(t *testing.T, spec Spec, weights Weights, n int, rows, center, scale, d []float64) []float64 {
	t.Helper()
	g := gorgonia.NewGraph()
	net := require.Value(New(g, spec, tensor.Float64, weights))(t)
	node := func(name string, data []float64, rows, cols int) *gorgonia.Node {
		if data == nil {
			return nil
		}
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(append([]float64{}, data...)))))
	}
	s := require.Value(net.ScaledScores(node("x", rows, n, spec.Inputs), node("c", center, 1, spec.Inputs), node("a", scale, spec.Inputs, 1)))(t)
	gradients := require.Value(gorgonia.Backpropagate(gorgonia.Nodes{s}, gorgonia.Nodes{node("d", d, n, spec.Outputs)}, net.Parameters()))(t)
	values := make([]gorgonia.Value, len(gradients)+1)
	gorgonia.Read(s, &values[0])
	for i, v := range gradients {
		gorgonia.Read(v, &values[1+i])
	}
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	require.NoError(t, vm.RunAll())
	var list []float64
	for _, v := range values {
		switch data := v.Data().(type) {
		case []float64:
			list = append(list, data...)
		case float64:
			list = append(list, data)
		}
	}
	return list
}

func TestScaledScoresRefuses(t *testing.T) {
	spec := Spec{Inputs: 5, Outputs: 2}
	weights := require.Value(Init(spec, generator(1)))(t)
	g := gorgonia.NewGraph()
	net := require.Value(New(g, spec, tensor.Float64, weights))(t)
	x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(3, 5), gorgonia.WithName("x"))
	wrong := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(1, 5), gorgonia.WithName("a"))
	if _, err := net.ScaledScores(x, nil, wrong); err == nil {
		t.Error("a scale of one row is accepted")
	}
}
