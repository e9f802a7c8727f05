package experiment

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/models"
)

// rows are one split's pictures, grouped by class, with the normalisation that they are trained under: the graph sees pixels/s
// and the centre c/s.
type rows struct {
	pixels  *datasets.Bytes
	offsets []int // class k is rows offsets[k]..offsets[k+1]-1
}

func newRows(s *datasets.Selection, n models.Normalization) rows {
	scaled := *s.Pixels // shares the pixels
	if n.Kind == models.NormalizeStandardize {
		scaled.Scale /= n.Deviation
	}
	return rows{pixels: &scaled, offsets: s.Offsets}
}

// normalization measures what kind asks for on the training rows.
func normalization(kind models.NormalizationKind, train *datasets.Selection) (models.Normalization, error) {
	n := models.Normalization{Kind: kind}
	if kind == models.NormalizeNone {
		return n, nil
	}
	center, deviation := datasets.Moments(train.Pixels)
	n.Center = center
	if kind == models.NormalizeStandardize {
		if deviation == 0 {
			return n, fmt.Errorf("experiment: all training rows are equal, so they cannot be standardised: use --normalize none")
		}
		n.Deviation = deviation
	}
	return n, nil
}

// scaledCenter is c/s, nil without centring.
func scaledCenter(n models.Normalization) []float64 {
	if n.Kind == models.NormalizeNone {
		return nil
	}
	c := append([]float64{}, n.Center...)
	if n.Kind == models.NormalizeStandardize {
		for i := range c {
			c[i] /= n.Deviation
		}
	}
	return c
}

// labels are the rows' classes.
func (r rows) labels() []int {
	labels := make([]int, 0, r.offsets[len(r.offsets)-1])
	for k := range len(r.offsets) - 1 {
		for range r.offsets[k+1] - r.offsets[k] {
			labels = append(labels, k)
		}
	}
	return labels
}

// counts are the rows of each class.
func (r rows) counts() []int {
	counts := make([]int, len(r.offsets)-1)
	for k := range counts {
		counts[k] = r.offsets[k+1] - r.offsets[k]
	}
	return counts
}

// block is part b of parts: the same share of every class's rows, so that each part has all classes.
func (r rows) block(b, parts int) rows {
	_, cols := r.pixels.Dims()
	part := rows{pixels: &datasets.Bytes{Cols: cols, Scale: r.pixels.Scale}, offsets: []int{0}}
	for k, n := range r.counts() {
		lo, hi := r.offsets[k]+n*b/parts, r.offsets[k]+n*(b+1)/parts
		part.pixels.Data = append(part.pixels.Data, r.pixels.Data[lo*cols:hi*cols]...)
		part.pixels.Rows += hi - lo
		part.offsets = append(part.offsets, part.pixels.Rows)
	}
	return part
}

// centerNode adds c/s, nil without centring.
func centerNode(g *gorgonia.ExprGraph, dtype tensor.Dtype, center []float64) *gorgonia.Node {
	if center == nil {
		return nil
	}
	if dtype == tensor.Float64 {
		return matrixNode(g, "center", dtype, 1, len(center), center)
	}
	values := make([]float32, len(center))
	for i, v := range center {
		values[i] = float32(v)
	}
	return matrixNode(g, "center", dtype, 1, len(center), values)
}

func matrixNode(g *gorgonia.ExprGraph, name string, dtype tensor.Dtype, rows, cols int, backing any) *gorgonia.Node {
	return gorgonia.NewMatrix(g, dtype, gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(backing))))
}
