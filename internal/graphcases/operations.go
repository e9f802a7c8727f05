package graphcases

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/models"
	"ppal/trainer/graph"
)

// Operation is a small graph around one operation or layer.
type Operation struct {
	Name string
	// Refused is a part of the error of graph.New; "" if the operation is right.
	Refused string
	// OneCore says that Gorgonia runs a part of the operation on one core of the CPU, so that a GPU
	// refuses the operation.
	OneCore bool
	// Pictures says that the operation is over pictures.
	Pictures bool
	// Kinks and Deep say what the graph shows.
	Kinks, Deep bool
	Build       func(l *Leaves) *gorgonia.Node
}

// Leaves adds parameters and inputs with random values to a graph.
type Leaves struct {
	Graph      *gorgonia.ExprGraph
	Dtype      tensor.Dtype
	rng        *rand.Rand
	count      int
	parameters gorgonia.Nodes
}

// Title returns the name of the operation among all cases.
func (o Operation) Title() string { return "layers/" + o.Name }

// PictureOperations returns the operations over pictures that all devices run.
func PictureOperations() []Operation {
	return slices.DeleteFunc(Operations(), func(o Operation) bool { return !o.Pictures || o.OneCore || o.Refused != "" })
}

// Problem builds f = <R, y>/n + norm(y)^2/n^2 with random R for the value y of n elements, and g,
// the mean of sin(y), and watches y. The dtype of the graph is dtype.
func (o Operation) Problem(dtype tensor.Dtype, engine graph.Engine) (*graph.Problem, error) {
	return graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		l := &Leaves{Graph: g, Dtype: dtype, rng: rand.New(rand.NewPCG(23, 1))}
		y := o.Build(l)
		if y.Dims() != 1 {
			y = must(gorgonia.Reshape(y, tensor.Shape{y.Shape().TotalSize()}))
		}
		n := 1 / float64(y.Shape().TotalSize())
		product := must(gorgonia.Sum(must(gorgonia.HadamardProd(y, Normal(g, dtype, l.rng, "R", y.Shape()...)))))
		square := must(gorgonia.Sum(must(gorgonia.Square(y))))
		f := must(gorgonia.Add(l.Times(product, n), l.Times(square, n*n)))
		return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{must(gorgonia.Mean(must(gorgonia.Sin(y))))}, Parameters: l.parameters, Watch: gorgonia.Nodes{y}}, nil
	}, engine)
}

// Parameter adds a parameter.
func (l *Leaves) Parameter(shape ...int) *gorgonia.Node {
	w := l.Input(shape...)
	l.parameters = append(l.parameters, w)
	return w
}

// Input adds an input.
func (l *Leaves) Input(shape ...int) *gorgonia.Node {
	l.count++
	return Normal(l.Graph, l.Dtype, l.rng, fmt.Sprintf("leaf%d", l.count), shape...)
}

// Number returns a constant.
func (l *Leaves) Number(x float64) *gorgonia.Node {
	if l.Dtype == tensor.Float32 {
		return gorgonia.NewConstant(float32(x))
	}
	return gorgonia.NewConstant(x)
}

// Times returns x times a number.
func (l *Leaves) Times(x *gorgonia.Node, by float64) *gorgonia.Node {
	return must(gorgonia.HadamardProd(x, l.Number(by)))
}

// Positive returns x^2 + 1/2.
func (l *Leaves) Positive(x *gorgonia.Node) *gorgonia.Node {
	return must(gorgonia.Add(must(gorgonia.Square(x)), l.Number(0.5)))
}

// Dense returns X W for random rows X and parameters W.
func (l *Leaves) Dense(rows, inputs, outputs int) *gorgonia.Node {
	return must(gorgonia.Mul(l.Input(rows, inputs), l.Parameter(inputs, outputs)))
}

// Convolution returns the convolution of x with parameters.
func (l *Leaves) Convolution(x *gorgonia.Node, filters, size, pad, stride, dilation int) *gorgonia.Node {
	pair := func(k int) []int { return []int{k, k} }
	return must(gorgonia.Conv2d(x, l.Parameter(filters, x.Shape()[1], size, size), tensor.Shape{size, size}, pair(pad), pair(stride), pair(dilation)))
}

// Pictures returns pictures that depend on parameters: a convolution of random pictures of the
// given size.
func (l *Leaves) Pictures(rows, channels, size int) *gorgonia.Node {
	return l.Convolution(l.Input(rows, 2, size, size), channels, 3, 1, 1, 1)
}

// Operations lists the operations that users want, right ones and refused ones.
func Operations() []Operation {
	return append(append(elementwiseOperations(), matrixOperations()...), pictureOperations()...)
}

// unary makes an operation of a function of one value.
func unary(name string, kinks bool, f func(*gorgonia.Node) (*gorgonia.Node, error)) Operation {
	return Operation{Name: name, Kinks: kinks, Build: func(l *Leaves) *gorgonia.Node { return must(f(l.Positive(must(gorgonia.Tanh(l.Dense(6, 3, 4)))))) }}
}

// elementwiseOperations lists functions and activations.
func elementwiseOperations() []Operation {
	list := []Operation{
		unary("abs", true, gorgonia.Abs), unary("sin", false, gorgonia.Sin), unary("cos", false, gorgonia.Cos), unary("exp", false, gorgonia.Exp),
		unary("log", false, gorgonia.Log), unary("neg", false, gorgonia.Neg), unary("square", false, gorgonia.Square),
		unary("sqrt", false, gorgonia.Sqrt), unary("inverse", false, gorgonia.Inverse), unary("cube", false, gorgonia.Cube), unary("tanh", false, gorgonia.Tanh),
		unary("sigmoid", false, gorgonia.Sigmoid), unary("log1p", false, gorgonia.Log1p), unary("expm1", false, gorgonia.Expm1), unary("softplus", false, gorgonia.Softplus),
		unary("inverse root", false, graph.InverseSqrt),
	}
	wrong := unary("InverseSqrt", false, gorgonia.InverseSqrt)
	wrong.Refused = "use graph.InverseSqrt"
	log2 := unary("log2", false, gorgonia.Log2)
	log2.Refused = "use gorgonia.Log"
	floor := unary("floor", false, gorgonia.Floor)
	floor.Refused = "does not depend on a parameter"
	activation := func(name string, kinks bool, f func(l *Leaves, x *gorgonia.Node) *gorgonia.Node) {
		list = append(list, Operation{Name: name, Kinks: kinks, Build: func(l *Leaves) *gorgonia.Node { return f(l, l.Dense(6, 3, 4)) }})
	}
	activation("relu", true, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node { return must(gorgonia.Rectify(x)) })
	activation("leaky relu", true, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node { return must(gorgonia.LeakyRelu(x, 0.1)) })
	for _, f := range []models.Activation{models.LeakyReLU, models.Softplus} {
		activation("network with "+string(f), f.Kinked(), func(l *Leaves, x *gorgonia.Node) *gorgonia.Node {
			network := models.Spec{Inputs: 4, Hidden: []int{5}, Outputs: 2, Activation: f}
			return must(network.Scores(x, gorgonia.Nodes{l.Parameter(4, 5), l.Parameter(1, 5), l.Parameter(5, 2), l.Parameter(1, 2)}))
		})
		list[len(list)-1].Deep = true
	}
	activation("gelu", false, func(l *Leaves, x *gorgonia.Node) *gorgonia.Node {
		inner := must(gorgonia.Add(x, l.Times(must(gorgonia.Cube(x)), 0.044715)))
		gate := must(gorgonia.Add(must(gorgonia.Tanh(l.Times(inner, 0.7978845608))), l.Number(1)))
		return l.Times(must(gorgonia.HadamardProd(x, gate)), 0.5)
	})
	activation("mish", false, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node {
		return must(gorgonia.HadamardProd(x, must(gorgonia.Tanh(must(gorgonia.Softplus(x))))))
	})
	activation("quotient and power", false, func(l *Leaves, x *gorgonia.Node) *gorgonia.Node {
		return must(gorgonia.Pow(must(gorgonia.HadamardDiv(l.Positive(x), l.Positive(l.Parameter(6, 4)))), l.Number(1.5)))
	})
	activation("binary cross-entropy", false, func(l *Leaves, x *gorgonia.Node) *gorgonia.Node {
		return must(gorgonia.BinaryXent(must(gorgonia.Sigmoid(x)), must(gorgonia.Sigmoid(l.Input(6, 4)))))
	})
	activation("Dropout", false, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node { return must(gorgonia.Dropout(x, 0.5)) })
	list[len(list)-1].Refused = "draws a new mask at each evaluation"
	activation("GaussianRandomNode", false, func(l *Leaves, x *gorgonia.Node) *gorgonia.Node {
		return must(gorgonia.Add(x, gorgonia.GaussianRandomNode(l.Graph, l.Dtype, 0, 1, 6, 4)))
	})
	list[len(list)-1].Refused = "draws new numbers at each evaluation"
	return append(list, wrong, log2, floor)
}

// matrixOperations lists layers of matrices and losses.
func matrixOperations() []Operation {
	return []Operation{
		{Name: "linear", Build: func(l *Leaves) *gorgonia.Node { return l.Dense(6, 3, 4) }},
		{Name: "two layers", Deep: true, Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.Mul(must(gorgonia.Tanh(l.Dense(6, 3, 4))), l.Parameter(4, 2)))
		}},
		{Name: "residual", Deep: true, Build: func(l *Leaves) *gorgonia.Node {
			x := l.Dense(6, 3, 4)
			return must(gorgonia.Add(x, must(gorgonia.Mul(must(gorgonia.Tanh(x)), l.Parameter(4, 4)))))
		}},
		{Name: "norm of the weights", Build: func(l *Leaves) *gorgonia.Node {
			w := l.Parameter(5)
			return must(gorgonia.Mul(w, w))
		}},
		{Name: "products of vectors", Deep: true, Build: func(l *Leaves) *gorgonia.Node {
			v, w := must(gorgonia.Tanh(l.Parameter(4))), l.Parameter(4)
			x := must(gorgonia.Mul(must(gorgonia.Tanh(l.Parameter(3, 4))), must(gorgonia.Sin(w))))
			return must(gorgonia.HadamardProd(must(gorgonia.Mul(x, l.Parameter(3, 5))), must(gorgonia.Sin(must(gorgonia.Mul(v, w))))))
		}},
		{Name: "OuterProd", Refused: "use gorgonia.Mul of a matrix of one column", Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.OuterProd(must(gorgonia.Tanh(l.Parameter(4))), l.Parameter(3)))
		}},
		{Name: "column times row", Deep: true, Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.Mul(must(gorgonia.Tanh(l.Parameter(4, 1))), l.Parameter(1, 3)))
		}},
		{Name: "powers with parameters", Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.Pow(l.Positive(l.Parameter(2, 3)), l.Parameter(2, 3)))
		}},
		{Name: "numbers and matrices", Build: func(l *Leaves) *gorgonia.Node {
			x := l.Positive(l.Dense(6, 3, 4))
			s := must(gorgonia.Sum(must(gorgonia.Tanh(x))))
			quotient := must(gorgonia.HadamardDiv(s, must(gorgonia.Add(x, s))))
			return must(gorgonia.Pow(must(gorgonia.Sub(s, must(gorgonia.HadamardDiv(quotient, s)))), must(gorgonia.Sigmoid(s))))
		}},
		{Name: "norm", Build: func(l *Leaves) *gorgonia.Node { return must(gorgonia.Norm(l.Dense(6, 3, 4), 1, 2)) }},
		{Name: "Tensordot", OneCore: true, Deep: true, Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.Tensordot([]int{1}, []int{1}, l.Parameter(2, 3, 4), l.Parameter(4, 3, 2)))
		}},
		{Name: "Sparsemax", OneCore: true, Kinks: true, Build: func(l *Leaves) *gorgonia.Node { return must(gorgonia.Sparsemax(l.Dense(6, 3, 4))) }},
		{Name: "Max of all", OneCore: true, Kinks: true, Build: func(l *Leaves) *gorgonia.Node { return must(gorgonia.Max(l.Dense(6, 3, 4))) }},
		{Name: "one row", OneCore: true, Build: func(l *Leaves) *gorgonia.Node { return must(gorgonia.Slice(l.Dense(6, 3, 4), gorgonia.S(1))) }},
		{Name: "sums over one axis", Build: func(l *Leaves) *gorgonia.Node {
			x := must(gorgonia.Tanh(l.Dense(6, 3, 4)))
			return must(gorgonia.HadamardProd(must(gorgonia.Sum(x, 1)), must(gorgonia.Mul(x, must(gorgonia.Sum(x, 0))))))
		}, Deep: true},
		{Name: "cross-entropy by hand", Build: func(l *Leaves) *gorgonia.Node {
			x := l.Dense(6, 3, 4)
			return must(gorgonia.Log(must(gorgonia.Sum(must(gorgonia.Exp(x)), 1))))
		}},
		{Name: "broadcasts", Build: func(l *Leaves) *gorgonia.Node {
			x := must(gorgonia.BroadcastSub(l.Dense(6, 3, 4), l.Parameter(6, 1), nil, []byte{1}))
			return must(gorgonia.BroadcastHadamardProd(x, l.Parameter(1, 4), nil, []byte{0}))
		}},
		{Name: "layer norm", Build: func(l *Leaves) *gorgonia.Node {
			return must(graph.GroupNorm(l.Dense(6, 3, 4), l.Parameter(1, 4), l.Parameter(1, 4), 1, 1e-3))
		}},
		{Name: "embedding", Build: func(l *Leaves) *gorgonia.Node {
			return must(graph.Embedding(l.Parameter(5, 3), l.Indices(4, 0, 2, 2, 1, 0, 3)))
		}},
		{Name: "embedding of ints", Build: func(l *Leaves) *gorgonia.Node { return must(graph.Embedding(l.Parameter(5, 3), l.Ints(4, 0, 2, 2))) }},
		{Name: "embedding, then a layer", Deep: true, Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.Mul(must(graph.Embedding(l.Parameter(5, 3), l.Indices(4, 0, 2, 2, 1, 0, 3))), l.Parameter(3, 2)))
		}},
		{Name: "index out of range", Refused: "index 1 of the embedding is 5", Build: func(l *Leaves) *gorgonia.Node {
			return must(graph.Embedding(l.Parameter(5, 3), l.Indices(0, 5)))
		}},
		{Name: "ByIndices", Refused: "use graph.Embedding", Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.ByIndices(l.Parameter(5, 3), l.Ints(4, 0, 2), 0))
		}},
		{Name: "SoftMax", OneCore: true, Build: func(l *Leaves) *gorgonia.Node { return must(gorgonia.SoftMax(l.Dense(6, 3, 4))) }},
		{Name: "LogSoftMax", OneCore: true, Build: func(l *Leaves) *gorgonia.Node { return must(gorgonia.LogSoftMax(l.Dense(6, 3, 4))) }},
		{Name: "Concat", OneCore: true, Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.Concat(1, l.Dense(6, 3, 4), l.Dense(6, 3, 2)))
		}},
		{Name: "Slice", OneCore: true, Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.Slice(l.Dense(6, 3, 4), nil, gorgonia.S(1, 3)))
		}},
		{Name: "Max over an axis", OneCore: true, Kinks: true, Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.Max(l.Dense(6, 3, 4), 1))
		}},
		{Name: "Transpose", OneCore: true, Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.Transpose(must(gorgonia.Tanh(l.Dense(6, 3, 4))), 1, 0))
		}},
		{Name: "BatchedMatMul", OneCore: true, Deep: true, Build: func(l *Leaves) *gorgonia.Node {
			return must(gorgonia.BatchedMatMul(l.Parameter(2, 3, 4), must(gorgonia.Tanh(l.Parameter(2, 4, 2)))))
		}},
		{Name: "attention", OneCore: true, Deep: true, Build: func(l *Leaves) *gorgonia.Node {
			q, k, v := l.Dense(5, 3, 4), l.Dense(5, 3, 4), l.Dense(5, 3, 4)
			weights := must(gorgonia.SoftMax(l.Times(must(gorgonia.Mul(q, must(gorgonia.Transpose(k, 1, 0)))), 0.5)))
			return must(gorgonia.Mul(weights, v))
		}},
	}
}

// Indices adds an input of numbers in the graph's dtype.
func (l *Leaves) Indices(list ...float64) *gorgonia.Node {
	return gorgonia.NewVector(l.Graph, l.Dtype, gorgonia.WithName("indices"), gorgonia.WithShape(len(list)),
		gorgonia.WithValue(tensor.New(tensor.WithShape(len(list)), tensor.WithBacking(Backing(l.Dtype, list)))))
}

// Ints adds an input of integers.
func (l *Leaves) Ints(list ...int) *gorgonia.Node {
	return gorgonia.NewVector(l.Graph, tensor.Int, gorgonia.WithName("ints"), gorgonia.WithShape(len(list)),
		gorgonia.WithValue(tensor.New(tensor.WithShape(len(list)), tensor.WithBacking(list))))
}

// pictureOperations lists layers of pictures.
func pictureOperations() []Operation {
	convolution := func(size, pad, stride, dilation int) Operation {
		return Operation{Name: fmt.Sprintf("convolution %d, pad %d, stride %d, dilation %d", size, pad, stride, dilation), Deep: true, Pictures: true,
			Build: func(l *Leaves) *gorgonia.Node {
				return l.Convolution(must(gorgonia.Tanh(l.Pictures(3, 4, 8))), 3, size, pad, stride, dilation)
			}}
	}
	pictures := func(name string, kinks bool, f func(l *Leaves, x *gorgonia.Node) *gorgonia.Node) Operation {
		return Operation{Name: name, Kinks: kinks, Pictures: true, Build: func(l *Leaves) *gorgonia.Node { return f(l, l.Pictures(3, 4, 6)) }}
	}
	refused := func(name, text string, f func(l *Leaves, x *gorgonia.Node) *gorgonia.Node) Operation {
		o := pictures(name, false, f)
		o.Refused = text
		return o
	}
	square := func(k int) []int { return []int{k, k} }
	network := func(name string, a models.OfPictures) Operation {
		return Operation{Name: name, Deep: true, Pictures: true, Build: func(l *Leaves) *gorgonia.Node {
			sized := must(models.Sized(a.On(models.Picture{Channels: 2, Height: 6, Width: 5}), 60, 3))
			var parameters gorgonia.Nodes
			for _, p := range sized.Parameters() {
				shape := p.Shape
				if len(shape) == 1 {
					shape = []int{1, shape[0]}
				} else if len(shape) == 2 {
					shape = []int{shape[1], shape[0]}
				}
				parameters = append(parameters, l.Parameter(shape...))
			}
			return must(sized.Scores(l.Input(3, 60), parameters))
		}}
	}
	list := []Operation{
		convolution(3, 1, 1, 1), convolution(3, 0, 2, 1), convolution(3, 1, 3, 1), convolution(3, 2, 1, 2), convolution(1, 0, 2, 1), convolution(8, 0, 8, 1),
		pictures("max-pooling 2", true, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node {
			return must(gorgonia.MaxPool2D(x, tensor.Shape{2, 2}, square(0), square(2)))
		}),
		pictures("max-pooling 3, stride 1", true, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node {
			return must(gorgonia.MaxPool2D(x, tensor.Shape{3, 3}, square(0), square(1)))
		}),
		pictures("models.MaxPool2D 3, pad 1, stride 2", true, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node {
			return must(models.MaxPool2D(x, tensor.Shape{3, 3}, square(1), square(2)))
		}),
		pictures("average pooling 2", false, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node {
			return must(graph.AveragePool2D(x, tensor.Shape{2, 2}, square(0), square(2)))
		}),
		pictures("average pooling 3, pad 1, stride 2", false, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node {
			return must(graph.AveragePool2D(x, tensor.Shape{3, 3}, square(1), square(2)))
		}),
		pictures("global mean", false, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node { return must(graph.GlobalMean(x)) }),
		pictures("group norm", false, func(l *Leaves, x *gorgonia.Node) *gorgonia.Node {
			return must(graph.GroupNorm(x, l.Parameter(1, 4, 1, 1), l.Parameter(1, 4, 1, 1), 2, 1e-3))
		}),
		pictures("scale and shift of channels", false, func(l *Leaves, x *gorgonia.Node) *gorgonia.Node {
			y := must(gorgonia.BroadcastHadamardProd(x, l.Parameter(1, 4, 1, 1), nil, []byte{0, 2, 3}))
			return must(gorgonia.BroadcastAdd(y, l.Parameter(1, 4, 1, 1), nil, []byte{0, 2, 3}))
		}),
		pictures("residual convolution", false, func(l *Leaves, x *gorgonia.Node) *gorgonia.Node {
			return must(gorgonia.Add(x, l.Convolution(must(gorgonia.Tanh(x)), 4, 3, 1, 1, 1)))
		}),
		network("resnet", models.ResNet{Channels: []int{4, 8}, Activation: models.Softplus}),
		network("conv with group norm", models.Conv{Channels: []int{3, 4}, Norm: models.GroupNorm, Pool: models.AveragePool, Activation: models.Tanh}),
		pictures("BatchNorm", false, func(l *Leaves, x *gorgonia.Node) *gorgonia.Node {
			y, _, _, _, err := gorgonia.BatchNorm(x, l.Parameter(1, 4, 1, 1), l.Parameter(1, 4, 1, 1), 0.9, 1e-3)
			return must(y, err)
		}),
		pictures("Upsample2D", false, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node { return must(gorgonia.Upsample2D(x, 2)) }),
		refused("AveragePool2D", "use graph.AveragePool2D", func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node {
			return must(gorgonia.AveragePool2D(x, tensor.Shape{2, 2}, square(0), square(2)))
		}),
		refused("GlobalAveragePool2D", "use graph.GlobalMean", func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node { return must(gorgonia.GlobalAveragePool2D(x)) }),
		refused("Conv1d of three axes", "building the graph: gorgonia panics", func(l *Leaves, _ *gorgonia.Node) *gorgonia.Node {
			return must(gorgonia.Conv1d(l.Parameter(3, 2, 8), l.Parameter(4, 2, 3), 3, 1, 1, 1))
		}),
	}
	for i := range list {
		switch list[i].Name {
		case "residual convolution":
			list[i].Deep = true
		case "BatchNorm", "Upsample2D":
			list[i].OneCore = true
		}
	}
	for _, axes := range [][]int{{2, 3}, {1, 2}, {0, 1}, {0, 2, 3}, {0, 2}, {1, 3}, {3}, {1}, {0}} {
		name := fmt.Sprint(axes)
		sum := pictures("sum over "+name, false, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node { return must(graph.Sum(x, axes...)) })
		mean := pictures("mean over "+name, false, func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node { return must(graph.Mean(x, axes...)) })
		// Gorgonia sums over axes between other axes.
		sum.OneCore = slices.Contains(axes, 1) && !slices.Contains(axes, 0) || fmt.Sprint(axes) == "[0 2]"
		mean.OneCore = sum.OneCore
		list = append(list, sum, mean)
		if len(axes) > 1 {
			list = append(list,
				refused("Sum over "+name, "use graph.Sum", func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node { return must(gorgonia.Sum(x, axes...)) }),
				refused("Mean over "+name, "use graph.Sum or graph.Mean", func(_ *Leaves, x *gorgonia.Node) *gorgonia.Node { return must(gorgonia.Mean(x, axes...)) }))
		}
	}
	return list
}
