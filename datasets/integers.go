package datasets

import (
	"math"

	// Integers are features whose numbers are small integers, standardised:
	//
	//	element (i, j) = (First[j] + v_ij - Center[j]) / Deviation[j],   v_ij in {0, ..., 255}
	//
	// bit by bit what the rows were before. Values has Stretch[j] v_ij, with scale 1: the columns'
	// numbers are stretched to much the same range, so that the weights they are multiplied with do not
	// differ by more than the columns' deviations do.
	"ppal/datasets/matrix"
)

// leastDensity is the smallest share of nonzero entries for which Integers treats sparse rows as
// dense.
const leastDensity = 0.25

// Integers returns the parts' features as small integers, training rows first, where every column
// has no more than 256 of them and that says the features exactly; nil otherwise, and for sparse
// rows of which less than a quarter of the elements are entries.
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

// eachElement visits the features of all parts row by row until visit says that it is enough, and
// says whether it saw all.
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

// affine are the centres and deviations of the features, 0 and 1 of those that are as they were
// read.
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
