package experiment

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/models"
)

// rows are one split: the data matrix as trained (the graph sees pixels/s, and the centre c/s) and what the goal knows of each row.
type rows struct {
	data   datasets.Matrix
	labels []int   // classes by their place in the configuration
	strata [][]int // the rows whose shares a mini-batch keeps; they hold every row once
}

// newRows takes the rows of a selection under their normalisation.
func newRows(s *datasets.Selection, n models.Normalization) rows {
	scaled := *s.Pixels // shares the pixels
	if n.Kind == models.NormalizeStandardize {
		scaled.Scale /= n.Deviation
	}
	r := rows{data: &scaled}
	for k := range len(s.Offsets) - 1 {
		var class []int
		for i := s.Offsets[k]; i < s.Offsets[k+1]; i++ {
			r.labels = append(r.labels, k)
			class = append(class, i)
		}
		r.strata = append(r.strata, class)
	}
	return r
}

// len is the number of rows.
func (r rows) len() int { return len(r.labels) }

// features is the number of columns.
func (r rows) features() int {
	_, cols := r.data.Dims()
	return cols
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

// centerNode adds c/s, nil without centring.
func centerNode(g *gorgonia.ExprGraph, dtype tensor.Dtype, center []float64) *gorgonia.Node {
	if center == nil {
		return nil
	}
	return gorgonia.NewMatrix(g, dtype, gorgonia.WithName("center"), gorgonia.WithShape(1, len(center)),
		gorgonia.WithValue(tensor.New(tensor.WithShape(1, len(center)), tensor.WithBacking(backing(dtype, center)))))
}

// backing copies values in the dtype.
func backing(dtype tensor.Dtype, values []float64) any {
	if dtype == tensor.Float64 {
		return append([]float64{}, values...)
	}
	single := make([]float32, len(values))
	for i, v := range values {
		single[i] = float32(v)
	}
	return single
}
