package datasets

import (
	"math"

	"ppal/datasets/matrix"
)

// leastDensity is the smallest share of nonzero entries for which Integers treats sparse rows as
// dense.
const leastDensity = 0.25

// Integers returns the features of all splits as small integers, training rows first. It returns
// nil unless, in every column, the features are exactly standardised integers within a range of
// 256. It also returns nil for sparse rows if fewer than leastDensity of the elements are entries.
func (t *Tables) Integers() []*matrix.Integers {
	var list []*matrix.Integers
	for _, p := range t.Parts() {
		if x, ok := p.Features.(*matrix.CSR); ok && float64(len(x.Columns)) < leastDensity*float64(x.Rows)*float64(x.Cols) {
			return nil
		}
	}
	_, cols := t.Train.Features.Dims()
	center, deviation := t.Preparation.affine(cols)
	first, last := make([]float64, cols), make([]float64, cols)
	for j := range first {
		first[j], last[j] = math.Inf(1), math.Inf(-1)
	}
	exact := t.eachElement(func(_, j int, x float64) bool {
		v := math.Round(x*deviation[j] + center[j])
		first[j], last[j] = min(first[j], v), max(last[j], v)
		return last[j]-first[j] <= math.MaxUint8 && (v-center[j])/deviation[j] == x
	})
	if !exact {
		return nil
	}
	stretch := make([]float64, cols)
	for j := range stretch {
		stretch[j] = math.Floor(math.MaxUint8 / max(1, last[j]-first[j]))
	}
	for _, p := range t.Parts() {
		values := &matrix.Bytes{Rows: p.Rows(), Cols: cols, Data: make([]uint8, 0, p.Rows()*cols), Scale: 1}
		list = append(list, &matrix.Integers{Values: values, First: first, Stretch: stretch, Center: center, Deviation: deviation})
	}
	t.eachElement(func(part, j int, x float64) bool {
		values := list[part].Values
		values.Data = append(values.Data, uint8(stretch[j]*(math.Round(x*deviation[j]+center[j])-first[j])))
		return true
	})
	return list
}

// eachElement visits the features of all splits row by row, until visit returns false. It reports
// whether it visited all features.
func (t *Tables) eachElement(visit func(part, j int, x float64) bool) bool {
	for part, p := range t.Parts() {
		rows, cols := p.Features.Dims()
		row := make([]float64, cols)
		for i := range rows {
			p.Features.Float64(row, i, i+1)
			for j, x := range row {
				if !visit(part, j, x) {
					return false
				}
			}
		}
	}
	return true
}

// affine returns the centre and the deviation of each feature. A feature that is not standardised
// has centre 0 and deviation 1.
func (p *Preparation) affine(cols int) (center, deviation []float64) {
	center, deviation = make([]float64, cols), make([]float64, cols)
	for j := range deviation {
		deviation[j] = 1
	}
	if p == nil {
		return center, deviation
	}
	at := 0
	for i := range p.Encodings {
		if e := &p.Encodings[i]; e.numeric() {
			center[at], deviation[at] = e.Center, e.Scale
		}
		at += p.Encodings[i].width()
	}
	return center, deviation
}
