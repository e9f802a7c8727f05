package graph_test

import (
	"context"
	"os"
	"testing"

	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
)

// A convolutional network learns rows of Fashion-MNIST within its bounds: the start exceeds the
// bounds, the end meets them, and f falls to less than a tenth.
func TestConvolutionalTraining(t *testing.T) {
	dir := os.Getenv("PPAL_DATA")
	switch {
	case dir == "":
		t.Skip("PPAL_DATA is not set")
	case require.Racing || testing.Short():
		t.Skip("slow")
	}
	train, _, err := datasets.LoadImages(dir, "fashion-mnist", 1)
	require.NoError(t, err)
	rows := require.Value(picture.Select(train, []int{0, 1, 2}, 20))(t)
	engine := require.Value(graph.CPU(2))(t)
	p := require.Value(convolutional(rows, train.Shape, 4, 0.2, engine))(t)
	g := make([]float64, 2)
	f := require.Value(p.Forward(g))(t)
	if g[0] <= 0 || g[1] <= 0 {
		t.Errorf("the start meets bounds: g = %v", g)
	}
	r := require.Value(trainer.Train(context.Background(), p, &method.ALM{}, trainer.Settings{Iterations: 150}))(t)
	if r.Objective > f/10 || r.Certificate.Infeasibility > 1e-3 {
		t.Errorf("f = %v, was %v; violation %v", r.Objective, f, r.Certificate.Infeasibility)
	}
}
