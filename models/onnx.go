package models

import "fmt"

// The types of elements in ONNX's format.
const (
	onnxFloat  = 1
	onnxDouble = 11
)

// onnxActivate adds an activation of x. number makes a constant of doubles one of x's type.
func onnxActivate(g ONNXGraph, a Activation, x string, number func(x string) string) string {
	if a == LeakyReLU { // ONNX Runtime has no LeakyRelu of doubles
		return g.Apply("Max", []string{x, g.Apply("Mul", []string{x, number(g.Doubles([]float64{leak}, 1))}, nil)}, nil)
	}
	return g.Apply(map[Activation]string{Sigmoid: "Sigmoid", Tanh: "Tanh", ReLU: "Relu", Softplus: "Softplus"}[a], []string{x}, nil)
}

// ONNX implements Exporter.
func (s Spec) ONNX(g ONNXGraph, weights Weights, x string) (string, error) {
	var scores []string
	for i := range s.heads() {
		a, layers := x, s.head(i)
		for k := range layers {
			w, b := weights[2*k], weights[2*k+1]
			if k > 0 {
				a = onnxActivate(g, s.WithDefaults().Activation, a, func(x string) string { return x })
			}
			a = g.Apply("Gemm", []string{a, g.Doubles(w.Data, w.Shape...), g.Doubles(b.Data, b.Shape...)}, map[string]any{"transB": 1})
		}
		scores = append(scores, a)
		weights = weights[2*len(layers):]
	}
	if len(scores) == 1 {
		return scores[0], nil
	}
	return g.Apply("Concat", scores, map[string]any{"axis": 1}), nil
}

// ONNX adds the normalization and the architecture to the graph, for raw rows. The error wraps
// [ErrSpec] if the architecture has no form in ONNX.
func (m Model) ONNX(g ONNXGraph, x string) (scores string, err error) {
	e, ok := m.Architecture.(Exporter)
	if !ok {
		return "", fmt.Errorf("models: %w: the kind %s cannot be written in ONNX's format: implement models.Exporter", ErrSpec, m.Architecture.Kind())
	}
	if m.normalizesRows() {
		x = g.Apply("Sub", []string{x, g.Doubles(m.Normalization.Center, len(m.Normalization.Center))}, nil)
		x = g.Apply("Div", []string{x, g.Doubles([]float64{m.Normalization.scale()}, 1)}, nil)
	}
	return e.ONNX(g, m.Weights, x)
}

// onnxPicture is the name of pictures in single precision, and their shape.
type onnxPicture struct {
	Picture
	name string
}

// onnxLayers implements layers for the nodes of an ONNX graph.
type onnxLayers struct {
	g       ONNXGraph
	weights Weights // those that no layer has taken yet
}

var _ layers[onnxPicture] = &onnxLayers{}

// pictureONNX adds a network for pictures to the graph, as pictureScores does. The layers for
// pictures compute in single precision, because ONNX Runtime has no Conv of doubles.
func pictureONNX(g ONNXGraph, weights Weights, x string, p Picture, dense Spec, features func(l layers[onnxPicture], a onnxPicture) onnxPicture) (string, error) {
	l := &onnxLayers{g, weights}
	a := g.Apply("Reshape", []string{x, g.Ints([]int64{-1, int64(p.Channels), int64(p.Height), int64(p.Width)}, 4)}, nil)
	a = g.Apply("Flatten", []string{features(l, onnxPicture{p, l.single(a)}).name}, nil)
	return dense.ONNX(g, l.weights, g.Apply("Cast", []string{a}, map[string]any{"to": onnxDouble}))
}

func (l *onnxLayers) single(x string) string {
	return l.g.Apply("Cast", []string{x}, map[string]any{"to": onnxFloat})
}

// next returns the next weight in single precision, of its own or the given shape.
func (l *onnxLayers) next(shape ...int) string {
	w := l.weights[0]
	if l.weights = l.weights[1:]; len(shape) == 0 {
		shape = w.Shape
	}
	return l.single(l.g.Doubles(w.Data, shape...))
}

func (l *onnxLayers) convolve(a onnxPicture, _ string, filters, side, stride int, bias bool) onnxPicture {
	inputs := []string{a.name, l.next()}
	if bias {
		inputs = append(inputs, l.next())
	}
	square := func(n int) []int64 { return []int64{int64(n), int64(n)} }
	pad := int64(side / 2)
	return onnxPicture{a.convolved(filters, side, stride), l.g.Apply("Conv", inputs,
		map[string]any{"kernel_shape": square(side), "pads": []int64{pad, pad, pad, pad}, "strides": square(stride)})}
}

// normalize is InstanceNormalization of the groups as channels, and the gain and bias of each
// channel. Version 17 of the operators has no GroupNormalization.
func (l *onnxLayers) normalize(a onnxPicture, _ string) onnxPicture {
	groups := groupsOf(a.Channels)
	ones, zeros := make([]float64, groups), make([]float64, groups)
	for i := range ones {
		ones[i] = 1
	}
	z := l.g.Apply("Reshape", []string{a.name, l.g.Ints([]int64{-1, int64(groups), int64(a.Pixels() / groups)}, 3)}, nil)
	z = l.g.Apply("InstanceNormalization", []string{z, l.single(l.g.Doubles(ones, groups)), l.single(l.g.Doubles(zeros, groups))}, nil)
	z = l.g.Apply("Reshape", []string{z, l.g.Ints([]int64{-1, int64(a.Channels), int64(a.Height), int64(a.Width)}, 4)}, nil)
	z = l.g.Apply("Mul", []string{z, l.next(1, a.Channels, 1, 1)}, nil)
	return onnxPicture{a.Picture, l.g.Apply("Add", []string{z, l.next(1, a.Channels, 1, 1)}, nil)}
}

func (l *onnxLayers) activate(a onnxPicture, f Activation) onnxPicture {
	return onnxPicture{a.Picture, onnxActivate(l.g, f, a.name, l.single)}
}

func (l *onnxLayers) pool(a onnxPicture, kind Pool, height, width int) onnxPicture {
	sides := []int64{int64(height), int64(width)}
	return onnxPicture{a.pooled(height, width), l.g.Apply(map[Pool]string{MaxPool: "MaxPool", AveragePool: "AveragePool"}[kind],
		[]string{a.name}, map[string]any{"kernel_shape": sides, "strides": sides})}
}

func (l *onnxLayers) add(a, b onnxPicture) onnxPicture {
	return onnxPicture{a.Picture, l.g.Apply("Add", []string{a.name, b.name}, nil)}
}
