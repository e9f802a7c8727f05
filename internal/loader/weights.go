package loader

import (
	"fmt"
	"math"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/textvalue"
	"ppal/internal/vec"
)

// A weight is 0 or between these limits, so that sums and products of weights stay in range.
const (
	leastWeight = 1e-100
	mostWeight  = 1e100
)

// checkWeight returns an error for a number that is no weight.
func checkWeight(w float64) error {
	if w != 0 && !(w >= leastWeight && w <= mostWeight) {
		return fmt.Errorf("the weight %v: %w from 0 to %.0g", w, dataerr.ErrNumber, mostWeight)
	}
	return nil
}

// ParseWeight reads the weight of a new row. decimal is the decimal sign of the numbers, as in
// tabular.Encoding.
func ParseWeight(text, decimal string) (w float64, err error) {
	w, ok := textvalue.LocalNumber([]byte(text), decimal)
	if !ok {
		return 0, fmt.Errorf("the weight %s is %w", textvalue.Quoted([]byte(text)), dataerr.ErrNumber)
	}
	return w, checkWeight(w)
}

// setWeights reads the weights of the rows. A row of weight 0 gets the label Outside, so that it is
// in no split. The error names the first row with a bad weight.
func (t *UserTable) setWeights(out *Source, s *columnar.Sheet) error {
	if t.Opts.Weight == "" {
		return nil
	}
	column := s.Column(t.Opts.Weight)
	numbers := column.Listed()
	for i, w := range numbers {
		if err := checkWeight(w); err != nil {
			return t.badWeight(s.Number(i), fmt.Errorf("column %q: %w", column.Name, err))
		}
	}
	if out.weights = ExactWeights(numbers); out.weights == nil {
		return t.badWeight(-1, fmt.Errorf("column %q: %w: all weights are 0", column.Name, dataerr.ErrEmpty))
	}
	for i, w := range out.weights {
		if w == 0 {
			out.Labels[i] = Outside
		}
	}
	if e, ok := out.Features.(*Encoded); ok {
		e.weights = out.weights
	}
	out.reading.Weight = &tabular.ColumnReading{Column: column.Name, Number: true, Decimal: column.Decimal}
	return nil
}

// badWeight is the error of the weight in a row of the files, or without a row below 0.
func (t *UserTable) badWeight(row int, err error) error {
	e := &dataerr.FileError{Path: t.Opts.File, Offset: -1, Row: row + 1, Err: err, Advice: "correct the weight, or name another column (--weight)"}
	if len(t.files) > 0 && row >= t.files[0].Rows {
		e.Path, e.Row = t.files[1].Name, row+1-t.files[0].Rows
	}
	return e
}

// ExactWeights returns the weights of rows, each rounded to a multiple of one power of two, so that
// every sum of them is exact in float64 and does not depend on the order. The total stays below
// 2^53 multiples: whole numbers stay as they are, and the rounding is at most 2^-52 of the total. A
// weight above 0 is at least one multiple. ExactWeights returns nil if all weights are 0.
func ExactWeights(weights []float64) []float64 {
	largest := 0.0
	for _, w := range weights {
		largest = max(largest, w)
	}
	if largest == 0 {
		return nil
	}
	total := 0.0 // in units of the largest, so that it cannot overflow
	for _, w := range weights {
		total += w / largest
	}
	_, exponent := math.Frexp(total)
	_, unit := math.Frexp(largest)
	unit += exponent - 51 // total < 2^exponent, largest < 2^unit
	list := slices.Clone(weights)
	for i, w := range list {
		if n := math.Round(math.Ldexp(w, -unit)); w > 0 {
			list[i] = math.Ldexp(max(n, 1), unit)
		}
	}
	return list
}

// weightsOf returns the weights of the listed rows; nil: 1 each.
func weightsOf(rows []int, weights []float64) []float64 {
	if weights == nil {
		return nil
	}
	list := make([]float64, len(rows))
	for k, i := range rows {
		list[k] = weights[i]
	}
	return list
}

// weightless returns the number of rows of weight 0.
func (s *Source) weightless() (n int) {
	for _, w := range s.weights {
		if w == 0 {
			n++
		}
	}
	return n
}

// weightNotes describes the weights.
func (s *Source) weightNotes(train []int) (notes []string) {
	if s.weights == nil {
		return nil
	}
	sum, squares := 0.0, 0.0
	for _, i := range train {
		sum, squares = sum+s.weights[i], squares+s.weights[i]*s.weights[i]
	}
	notes = append(notes, fmt.Sprintf("Rates, objective, thresholds and intervals count the weights in the column %q: the %d training rows tell as much as %.0f rows of equal weight.",
		s.reading.Weight.Column, len(train), vec.EffectiveRows(len(train), sum, squares)))
	if n := s.weightless(); n > 0 {
		notes = append(notes, fmt.Sprintf("%d rows of weight 0 are left out.", n))
	}
	return notes
}
