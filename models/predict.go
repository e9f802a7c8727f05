package models

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// predictBlock is the number of rows in one block of Predict: enough for the products to run at
// full speed, and few enough for the activations to stay in the cache.
const predictBlock = 256

// Predict computes the scores of rows in float64, without Gorgonia. rows holds n rows of
// spec.Inputs features, one after the other; the result holds n rows of spec.Outputs scores. The
// weights act on the rows as given (see [Normalization.Fold]). Memory beyond the result does not
// grow with n.
func Predict(spec Spec, weights Weights, rows []float64) ([]float64, error) {
	if err := weights.Check(spec); err != nil {
		return nil, err
	}
	if len(rows)%spec.Inputs != 0 {
		return nil, fmt.Errorf("models: predict: %d values are not a multiple of %d features", len(rows), spec.Inputs)
	}
	n := len(rows) / spec.Inputs
	scores := make([]float64, n*spec.Outputs)
	p := newPredictor(spec, min(n, predictBlock))
	for first := 0; first < n; first += predictBlock {
		last := min(first+predictBlock, n)
		p.block(weights, rows[first*spec.Inputs:last*spec.Inputs], scores[first*spec.Outputs:last*spec.Outputs])
	}
	for i, f := range scores {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("models: predict: score %d of row %d is %v", i%spec.Outputs, i/spec.Outputs, f)
		}
	}
	return scores, nil
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
				p.activate(z.Data)
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

func (p *predictor) activate(z []float64) {
	for i, v := range z {
		switch p.spec.Activation {
		case ReLU:
			z[i] = max(0, v)
		case Tanh:
			z[i] = math.Tanh(v)
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
