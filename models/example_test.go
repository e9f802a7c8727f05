package models_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/models"
)

// The scores of a two-layer network for two rows, with Gorgonia and without.
func Example() {
	spec := models.Spec{Inputs: 3, Hidden: []int{8}, Outputs: 2}
	weights, err := models.Init(spec, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		panic(err)
	}
	g := gorgonia.NewGraph()
	net, err := models.New(g, spec, tensor.Float64, weights)
	if err != nil {
		panic(err)
	}
	rows := []float64{1, 0, -1, 0.5, 0.5, 0.5}
	x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("x"), gorgonia.WithShape(2, 3),
		gorgonia.WithValue(tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(rows))))
	scores, err := net.Scores(x, nil)
	if err != nil {
		panic(err)
	}
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", scores.Value().Data())

	predicted, err := models.Predict(spec, weights, rows)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", predicted)
	// Output:
	// [-0.485 -0.406 -0.503 -0.312]
	// [-0.485 -0.406 -0.503 -0.312]
}

// A trained model's weights act on (x - c)/s; the file holds weights for raw rows.
func ExampleSave() {
	spec := models.Spec{Inputs: 2, Outputs: 1}
	trained := models.Weights{
		{Name: "linear.weight", Shape: []int{1, 2}, Data: []float64{8, 4}},
		{Name: "linear.bias", Shape: []int{1}, Data: []float64{3}},
	}
	norm := models.Normalization{Kind: models.NormalizeStandardize, Center: []float64{1, 2}, Deviation: 4}
	raw, err := norm.Fold(spec, trained)
	if err != nil {
		panic(err)
	}
	var file bytes.Buffer
	if err := models.Save(&file, models.Model{Architecture: spec, Weights: raw, Normalization: norm}, tensor.Float32); err != nil {
		panic(err)
	}
	m, err := models.Load(&file, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Weights[0].Data, m.Weights[1].Data)
	again, err := m.Normalization.Unfold(m.Architecture, m.Weights)
	if err != nil {
		panic(err)
	}
	fmt.Println(again[0].Data, again[1].Data)
	// Output:
	// [2 1] [-1]
	// [8 4] [3]
}
