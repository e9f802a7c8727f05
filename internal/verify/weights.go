package verify

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"

	"ppal/models"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// weightsFile holds the weights of a file.
type weightsFile struct {
	in  *session.Inputs
	raw models.Weights // for raw rows, with the threshold
	// normalized says that the file's numbers are rounded results of the normalization. folded says
	// the same of the normalization or a threshold.
	normalized, folded bool
	offsets            []float64 // what the exact step subtracted from each score; nil: nothing
}

// weights returns the weights in a file of the run.
func (c *check) weights(path string, offsets []float64) (*weightsFile, error) {
	in := c.in
	m, err := models.Load(bytes.NewReader(c.content[path]), &in.Model)
	if err != nil {
		return nil, fmt.Errorf("verify: %s: %w", path, err)
	}
	f := &weightsFile{in: in, raw: m.Weights, normalized: len(in.Normalization.Center) > 0}
	f.folded = f.normalized
	for _, b := range offsets {
		if b != 0 {
			f.offsets, f.folded = offsets, true
		}
	}
	return f, nil
}

// unit returns the rounding unit of the file's numbers.
func (f *weightsFile) unit() float64 {
	if f.in.Float32 {
		return 0x1p-24
	}
	return 0x1p-53
}

// as returns the network as trained. If decided is true, the scores contain the threshold. moved
// moves each number of the file by a random amount of at most two roundings; nil: not at all.
func (f *weightsFile) as(decided bool, moved *rand.Rand) *network {
	own := f.raw.Clone()
	if moved != nil {
		for _, t := range own {
			for i := range t.Data {
				t.Data[i] += t.Data[i] * f.unit() * 2 * (2*moved.Float64() - 1)
			}
		}
	}
	layers, heads := len(f.in.Model.Hidden)+1, 1
	if f.in.Model.Heads == models.Separate {
		heads = f.in.Model.Outputs
	}
	at := 0
	for h := range heads {
		first, bias := own[2*h*layers], own[2*h*layers+1]
		f.unfold(first, bias)
		last := own[2*(h+1)*layers-1]
		for o := range last.Data {
			if f.offsets != nil && !decided {
				last.Data[o] += f.offsets[at]
			}
			at++
		}
	}
	return newNetwork(f.in.Model, own, f.in.Center)
}

// unfold inverts the folding of the normalization x -> (x - c)/s: b = b' + W' c and W = s W'.
// A bias that is 0 within the rounding becomes 0, because l1 and group-l1 have kinks there.
func (f *weightsFile) unfold(weight, bias models.Tensor) {
	n := f.in.Normalization
	if len(n.Center) == 0 {
		return
	}
	s := 1.0
	if n.Kind == models.NormalizeStandardize {
		s = n.Deviation
	}
	cols := len(n.Center)
	for o := range bias.Data {
		row := weight.Data[o*cols : (o+1)*cols]
		sum, size := bias.Data[o], math.Abs(bias.Data[o])
		for j, c := range n.Center {
			sum += row[j] * c
			size += math.Abs(row[j] * c)
			row[j] *= s
		}
		if kinks := f.in.Regularizer.Kind == problem.L1 || f.in.Regularizer.Kind == problem.GroupL1; kinks && math.Abs(sum) <= 8*f.unit()*size {
			sum = 0
		}
		bias.Data[o] = sum
	}
}

// l1 returns the sum of the absolute values of the weights without the biases.
func (n *network) l1() float64 {
	sum := 0.0
	for _, h := range n.heads {
		for _, l := range h {
			for _, w := range l.w {
				sum += math.Abs(w)
			}
		}
	}
	return sum
}

// addL1 adds a times the gradient of l1 to sum, in the order of flat.
func (n *network) addL1(sum []float64, a float64) {
	at := 0
	for _, h := range n.heads {
		for _, l := range h {
			for i, w := range l.w {
				switch {
				case w > 0:
					sum[at+i] += a
				case w < 0:
					sum[at+i] -= a
				}
			}
			at += len(l.w) + len(l.b)
		}
	}
}
