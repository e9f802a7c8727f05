package graph_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// convolutional returns a Neyman-Pearson problem whose scores come from a convolutional network: a
// convolution 3 x 3 with the given number of filters and a bias for each filter, tanh, max-pooling
// 2 x 2, and a dense layer. The loss of the first class is the objective. The losses of the other
// classes minus bound are the constraints.
func convolutional(rows *picture.Selection, shape picture.Shape, filters int, bound float64, engine graph.Engine) (*graph.Problem, error) {
	n, classes := len(rows.Labels()), len(rows.Classes)
	labelled := &constraints.Population{Labels: rows.Labels(), Classes: rows.Names}
	var bounds []constraints.Constraint
	for _, class := range rows.Names[1:] {
		bounds = append(bounds, constraints.Error(class).AtMost(bound))
	}
	system, err := constraints.NewMarginSystem(constraints.Error(rows.Names[0]), bounds, labelled,
		constraints.Margins{Objective: constraints.Sigmoid, Constraints: constraints.Sigmoid})
	if err != nil {
		return nil, err
	}
	multiclass, err := system.On(labelled)
	if err != nil {
		return nil, err
	}
	pixels := make([]float32, len(rows.Pixels.Data))
	rows.Pixels.Float32(pixels, 0, n)
	rng := rand.New(rand.NewPCG(1, 0))
	return graph.New(func(g *gorgonia.ExprGraph) (d graph.Definition, err error) {
		defer func() { // Must panics if shapes do not fit
			if r := recover(); r != nil {
				err = fmt.Errorf("%v", r)
			}
		}()
		array := func(name string, data []float32, shape ...int) *gorgonia.Node {
			return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...),
				gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))))
		}
		// parameter draws weights with the variance 2 / fanIn; fanIn = 0 gives zeros.
		parameter := func(name string, fanIn int, shape ...int) *gorgonia.Node {
			data := make([]float32, tensor.Shape(shape).TotalSize())
			for i := range data {
				if fanIn > 0 {
					data[i] = float32(rng.NormFloat64() * math.Sqrt(2/float64(fanIn)))
				}
			}
			w := array(name, data, shape...)
			d.Parameters = append(d.Parameters, w)
			return w
		}
		const kernel = 3
		x := array("pictures", pixels, n, shape.Channels, shape.Height, shape.Width)
		filter := parameter("filter", kernel*kernel*shape.Channels, filters, shape.Channels, kernel, kernel)
		x = gorgonia.Must(gorgonia.Conv2d(x, filter, tensor.Shape{kernel, kernel}, []int{1, 1}, []int{1, 1}, []int{1, 1}))
		x = gorgonia.Must(gorgonia.BroadcastAdd(x, parameter("bias", 0, 1, filters, 1, 1), nil, []byte{0, 2, 3}))
		x = gorgonia.Must(gorgonia.MaxPool2D(gorgonia.Must(gorgonia.Tanh(x)), tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}))
		features := x.Shape().TotalSize() / n
		x = gorgonia.Must(gorgonia.Reshape(x, tensor.Shape{n, features}))
		scores := gorgonia.Must(gorgonia.Mul(x, parameter("dense", features, features, classes)))
		f, losses, err := multiclass.Nodes(scores)
		d.Objective, d.Constraints = f, gorgonia.Nodes{losses}
		return d, err
	}, engine)
}

// A convolutional network with constraints: three classes of the built-in pictures. The loss of the
// first class is minimised while the losses of the other classes stay below 0.2.
func ExampleNew_convolution() {
	train, _, err := datasets.LoadImages("", "synthetic", 1)
	if err != nil {
		log.Fatal(err)
	}
	rows, err := picture.Select(train, []int{0, 1, 2}, 10)
	if err != nil {
		log.Fatal(err)
	}
	engine, err := graph.CPU(2)
	if err != nil {
		log.Fatal(err)
	}
	p, err := convolutional(rows, train.Shape, 4, 0.2, engine)
	if err != nil {
		log.Fatal(err)
	}
	r, err := trainer.Train(context.Background(), p, &method.ALM{}, trainer.Settings{Iterations: 100})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("bounds met: %t\n", r.Certificate.Infeasibility <= 1e-3)

	size, _ := p.Dims()
	weights := make([]float64, size) // filter, bias and dense layer, in this order
	p.Space().Read(weights, problem.Iterate)
	fmt.Println(size, "weights")
	// Output:
	// bounds met: true
	// 2392 weights
}
