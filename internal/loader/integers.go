package loader

import (
	"math"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/vec"
)

// leastDensity is the smallest share of nonzero entries for which Integers treats sparse rows as
// dense.
const leastDensity = 0.25

// Integers returns the features of all splits as small integers, training rows first. It returns
// nil unless, in every column, the features are exactly standardised integers within a range of
// 256. It also returns nil for sparse rows if fewer than leastDensity of the elements are entries.
// Processes that share the rows each call Integers, and get the integers of their own rows; share
// is nil otherwise.
func Integers(t *tabular.Tables, share tabular.Share) ([]*matrix.Integers, error) {
	var list []*matrix.Integers
	for _, p := range t.Parts() {
		if _, ok := p.Features.(*matrix.SparsePart); ok { // few elements are entries
			return nil, nil
		}
		if x, ok := p.Features.(*matrix.CSR); ok && float64(len(x.Columns)) < leastDensity*float64(x.Rows)*float64(x.Cols) {
			return nil, nil
		}
	}
	_, cols := t.Train.Features.Dims()
	center, deviation := Affine(t.Preparation, cols)
	first, last := make([]float64, cols), make([]float64, cols)
	for j := range first {
		first[j], last[j] = math.Inf(1), math.Inf(-1)
	}
	_, single := t.Train.Features.(*matrix.Singles)
	exact := eachElement(t, func(_, j int, x float64) bool {
		v := math.Round(x*deviation[j] + center[j])
		first[j], last[j] = min(first[j], v), max(last[j], v)
		exact := (v - center[j]) / deviation[j]
		if single {
			exact = float64(float32(exact))
		}
		return last[j]-first[j] <= math.MaxUint8 && exact == x
	})
	if share != nil {
		var err error
		if exact, err = JoinBounds(share, exact, first, last); err != nil {
			return nil, err
		}
	}
	if !exact {
		return nil, nil
	}
	stretch := make([]float64, cols)
	for j := range stretch {
		stretch[j] = math.Floor(math.MaxUint8 / max(1, last[j]-first[j]))
	}
	for _, p := range t.Parts() {
		_, rows := localRows(p.Table)
		values := &matrix.Bytes{Rows: rows, Cols: cols, Data: make([]uint8, 0, rows*cols), Scale: 1}
		list = append(list, &matrix.Integers{Values: values, First: first, Stretch: stretch, Center: center, Deviation: deviation})
	}
	eachElement(t, func(part, j int, x float64) bool {
		values := list[part].Values
		values.Data = append(values.Data, uint8(stretch[j]*(math.Round(x*deviation[j]+center[j])-first[j])))
		return true
	})
	return list, nil
}

// localRows returns the first row and the number of rows whose features this process has.
func localRows(t *tabular.Table) (from, rows int) {
	if part, ok := t.Features.(*matrix.Part); ok {
		rows, _ = part.Own.Dims()
		return part.From, rows
	}
	return 0, t.Rows()
}

// JoinBounds replaces the least and the largest integers of this process by the integers of all
// processes. exact is true if the integers of all processes are exact and within a range of 256.
func JoinBounds(share tabular.Share, exact bool, first, last []float64) (all bool, err error) {
	n := 1 + 2*len(first)
	shares := make([]float64, n*share.Size()) // of each process; a sum with zeros keeps finite numbers
	own := shares[n*share.Rank():]
	own[0] = float64(vec.Indicator(!exact))
	copy(own[1:], first)
	copy(own[1+len(first):], last)
	if err := share.Sum(shares); err != nil {
		return false, err
	}
	all = true
	for ; len(shares) > 0; shares = shares[n:] {
		all = all && shares[0] == 0
		for j := range first {
			first[j], last[j] = min(first[j], shares[1+j]), max(last[j], shares[1+len(first)+j])
			all = all && last[j]-first[j] <= math.MaxUint8
		}
	}
	return all, nil
}

// eachElement visits the features of this process's rows of all splits row by row, until visit
// returns false. It reports whether it visited all features.
func eachElement(t *tabular.Tables, visit func(part, j int, x float64) bool) bool {
	for part, p := range t.Parts() {
		_, cols := p.Features.Dims()
		row := make([]float64, cols)
		from, rows := localRows(p.Table)
		for i := from; i < from+rows; i++ {
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

// Affine returns the centre and the deviation of each feature. A feature that is not standardised
// has centre 0 and deviation 1.
func Affine(p *tabular.Preparation, cols int) (center, deviation []float64) {
	center, deviation = make([]float64, cols), make([]float64, cols)
	for j := range deviation {
		deviation[j] = 1
	}
	if p == nil {
		return center, deviation
	}
	copy(center, p.Centers)
	copy(deviation, p.Scales)
	at := 0
	for i := range p.Encodings {
		if e := &p.Encodings[i]; e.Numeric() {
			center[at], deviation[at] = e.Center, e.Scale
		}
		at += p.Encodings[i].Width()
	}
	return center, deviation
}
