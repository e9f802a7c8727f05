package models

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// predictBlock is the number of rows in one block of Predict: enough for the products to run at
// full speed, and few enough for the activations to stay in the cache.
const predictBlock = 256

// Predict computes the scores of rows in float64. rows holds n rows of the architecture's inputs,
// one after the other; the result holds n rows of its scores. The weights act on the rows as given
// (see [Model.Predict]). Memory beyond the result does not grow with n. The scores come from the
// method of a [HostPredictor], else from Gorgonia's machine.
func Predict(a Architecture, weights Weights, rows []float64) ([]float64, error) {
	return Model{Architecture: a, Weights: weights}.Predict(rows)
}

// Predict computes the scores of raw rows in float64, like [Predict].
func (m Model) Predict(rows []float64) ([]float64, error) {
	a, err := completed(m.Architecture)
	if err != nil {
		return nil, err
	}
	m.Architecture = a
	if err := m.check(); err != nil {
		return nil, err
	}
	inputs, outputs := a.Dims()
	if len(rows)%inputs != 0 {
		return nil, fmt.Errorf("models: predict: %d values are not a multiple of %d features", len(rows), inputs)
	}
	n := len(rows) / inputs
	block, err := m.blockPredictor(min(n, predictBlock))
	if err != nil {
		return nil, fmt.Errorf("models: predict: %w", err)
	}
	normalizes := m.normalizesRows()
	scores := make([]float64, n*outputs)
	for first := 0; first < n; first += predictBlock {
		last := min(first+predictBlock, n)
		part := rows[first*inputs : last*inputs]
		if normalizes {
			part = slices.Clone(part)
			m.Normalization.apply(part)
		}
		if err := block(scores[first*outputs:last*outputs], part); err != nil {
			return nil, fmt.Errorf("models: predict: %w", err)
		}
	}
	for i, f := range scores {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("models: predict: score %d of row %d is %v", i%outputs, i/outputs, f)
		}
	}
	return scores, nil
}

// normalizesRows reports whether the normalization is a layer of its own, because the weights have
// not taken it in.
func (m Model) normalizesRows() bool {
	return len(m.Normalization.Center) > 0 && firstLayers(m.Architecture) == nil
}

// blockPredictor returns a function that writes the scores of at most the given number of rows.
func (m Model) blockPredictor(rows int) (func(scores, rows []float64) error, error) {
	if host, ok := m.Architecture.(HostPredictor); ok {
		return func(scores, rows []float64) error {
			host.PredictRows(scores, rows, m.Weights)
			return nil
		}, nil
	}
	g := gorgonia.NewGraph()
	net, err := New(g, m.Architecture, tensor.Float64, m.Weights)
	if err != nil {
		return nil, err
	}
	inputs, _ := m.Architecture.Dims()
	values := make([]float64, max(1, rows)*inputs)
	x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("rows"), gorgonia.WithShape(max(1, rows), inputs),
		gorgonia.WithValue(tensor.New(tensor.WithShape(max(1, rows), inputs), tensor.WithBacking(values))))
	f, err := net.Scores(x, nil)
	if err != nil {
		return nil, err
	}
	machine := gorgonia.NewTapeMachine(g)
	return func(scores, rows []float64) error {
		copy(values, rows) // a last block of fewer rows leaves the others as they are
		machine.Reset()
		if err := machine.RunAll(); err != nil {
			return err
		}
		all, ok := f.Value().Data().([]float64)
		if !ok {
			return fmt.Errorf("the scores have the type %T", f.Value().Data())
		}
		copy(scores, all)
		return nil
	}, nil
}

// PredictRows implements HostPredictor.
func (s Spec) PredictRows(scores, rows []float64, weights Weights) {
	newPredictor(s, len(rows)/s.Inputs).block(weights, rows, scores)
}

// predictor holds two buffers, which the layers' activations use alternately.
type predictor struct {
	spec    Spec
	buffers [2][]float64
}

func newPredictor(spec Spec, rows int) *predictor {
	widest := spec.Outputs
	for _, width := range spec.Hidden {
		widest = max(widest, width)
	}
	p := &predictor{spec: spec}
	for i := range p.buffers {
		p.buffers[i] = make([]float64, rows*widest)
	}
	return p
}

// block writes the scores of one block of rows.
func (p *predictor) block(weights Weights, rows, scores []float64) {
	n := len(rows) / p.spec.Inputs
	for i := range p.spec.heads() {
		layers := p.spec.head(i)
		a := blas64.General{Rows: n, Cols: p.spec.Inputs, Stride: p.spec.Inputs, Data: rows}
		for k, l := range layers {
			z := blas64.General{Rows: n, Cols: l.out, Stride: l.out, Data: p.buffers[k%2][:n*l.out]}
			affineRows(z, a, weights[2*k].Data, weights[2*k+1].Data)
			if k+1 < len(layers) {
				p.spec.Activation.apply(z.Data)
			}
			a = z
		}
		for r := range n { // a shared head fills whole rows, a separate head fills one column
			copy(scores[r*p.spec.Outputs+i:], a.Data[r*a.Stride:(r+1)*a.Stride])
		}
		weights = weights[2*len(layers):]
	}
}

// affineRows computes Z = A W^T + 1 b^T, with W and b in PyTorch's layout.
func affineRows(z, a blas64.General, weight, bias []float64) {
	for r := range z.Rows {
		copy(z.Data[r*z.Stride:], bias)
	}
	w := blas64.General{Rows: len(bias), Cols: a.Cols, Stride: a.Cols, Data: weight}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, a, w, 1, z)
}

// apply replaces each number by its activation.
func (a Activation) apply(z []float64) {
	for i, v := range z {
		switch a {
		case ReLU:
			z[i] = max(0, v)
		case Tanh:
			z[i] = math.Tanh(v)
		case LeakyReLU:
			z[i] = max(v, leak*v)
		case Softplus:
			z[i] = max(v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
		default:
			z[i] = sigmoid(v)
		}
	}
}

// sigmoid returns 1/(1 + exp(-z)) to full precision for every z.
func sigmoid(z float64) float64 {
	if z >= 0 {
		return 1 / (1 + math.Exp(-z))
	}
	e := math.Exp(z)
	return e / (1 + e)
}
