package models

import "fmt"

// The types of elements in ONNX's format.
const (
	onnxFloat  = 1
	onnxDouble = 11
)

// onnxActivation returns ONNX's operator.
func onnxActivation(a Activation) string {
	return map[Activation]string{Sigmoid: "Sigmoid", Tanh: "Tanh", ReLU: "Relu"}[a]
}

// ONNX implements Exporter.
func (s Spec) ONNX(g ONNXGraph, weights Weights, x string) (string, error) {
	var scores []string
	for i := range s.heads() {
		a, layers := x, s.head(i)
		for k := range layers {
			w, b := weights[2*k], weights[2*k+1]
			if k > 0 {
				a = g.Apply(onnxActivation(s.WithDefaults().Activation), []string{a}, nil)
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
