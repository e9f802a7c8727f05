package decide

import (
	"encoding/binary"
	"fmt"
	"math"

	"ppal/trainer/problem"
)

// Entry says that a rate counts a row's decision: the rate grows by Weight times the row's weight
// if the decision is Class.
type Entry struct {
	Rate, Class int
	Weight      float64
}

// Rates are numbers that are linear in the decisions of n rows:
//
//	d_r = constant_r + sum over the entries of rate r, row i, of Weight w_i 1[decision_i = Class],
//
// where w_i is the weight of row i: 1, or see Weigh.
//
// Many rows have the same entries, for example the rows of the same class and group. Rates stores
// each distinct list of entries once.
type Rates struct {
	classes   int
	constants []float64
	kinds     [][]Entry // the distinct lists of entries
	kind      []int32   // of each row, an index into kinds
	undecided []int     // the rates that decisions do not determine
	weights   []float64 // of each row; nil: 1
}

// Weigh gives each row a weight, a finite number; nil: 1.
func (r *Rates) Weigh(weights []float64) { r.weights = weights }

// weight returns the weight of a row.
func (r *Rates) weight(row int32) float64 {
	if r.weights == nil {
		return 1
	}
	return r.weights[row]
}

// Undecided declares that decisions do not determine a rate, for example a mean loss. Train uses
// the smooth value of the rate.
func (r *Rates) Undecided(rate int) { r.undecided = append(r.undecided, rate) }

// AllDecided reports whether decisions determine all rates: no rate is Undecided.
func (r *Rates) AllDecided() bool { return len(r.undecided) == 0 }

// swings returns, for each kind of rows, the absolute change of sum_r coefficients_r d_r if the
// decision for one row of weight 1 changes to the other of two classes.
func (r *Rates) swings(coefficients []float64) []float64 {
	swings := make([]float64, len(r.kinds))
	for k, list := range r.kinds {
		for _, e := range list {
			swings[k] += float64(2*e.Class-1) * e.Weight * coefficients[e.Rate]
		}
		swings[k] = math.Abs(swings[k])
	}
	return swings
}

// noise returns the standard error of the change of sum_r coefficients_r d_r from decisions a to
// decisions b of two classes, if each changed decision is right with probability 1/2.
func (r *Rates) noise(coefficients []float64, a, b []int32) float64 {
	swings, sum := r.swings(coefficients), 0.0
	for i, k := range r.kind {
		if a[i] != b[i] {
			v := swings[k] * r.weight(int32(i))
			sum += v * v
		}
	}
	return math.Sqrt(sum)
}

// at returns the rates with the values h of the rates that decisions do not determine.
func (r *Rates) at(h []float64) *Rates {
	own := *r
	own.constants = append([]float64{}, r.constants...)
	for _, k := range r.undecided {
		own.constants[k] = h[k]
	}
	return &own
}

// NewRates returns the rates of rows with the given constants. The function entries returns the
// entries of a row; it may use one slice for all rows. With two classes, class 1 is the positive
// decision. NewRates returns an error that wraps problem.ErrSettings if an entry has an unknown
// rate or class, or a weight that is not finite.
func NewRates(rows, classes int, constants []float64, entries func(row int) []Entry) (*Rates, error) {
	if rows <= 0 || classes < 2 {
		return nil, fmt.Errorf("decide: %w: %d rows and %d classes, want rows and at least two classes", problem.ErrSettings, rows, classes)
	}
	r := &Rates{classes: classes, constants: append([]float64{}, constants...), kind: make([]int32, rows)}
	known, key := map[string]int32{}, []byte(nil)
	for i := range rows {
		list := entries(i)
		key = key[:0]
		for _, e := range list {
			if e.Rate < 0 || e.Rate >= len(constants) || e.Class < 0 || e.Class >= classes || math.IsNaN(e.Weight) || math.IsInf(e.Weight, 0) {
				return nil, fmt.Errorf("decide: %w: row %d has an entry of rate %d and class %d with the weight %v (there are %d rates and %d classes)",
					problem.ErrSettings, i, e.Rate, e.Class, e.Weight, len(constants), classes)
			}
			key = binary.AppendUvarint(key, uint64(e.Rate))
			key = binary.AppendUvarint(key, uint64(e.Class))
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(e.Weight))
		}
		k, ok := known[string(key)]
		if !ok {
			k = int32(len(r.kinds))
			known[string(key)] = k
			r.kinds = append(r.kinds, append([]Entry{}, list...))
		}
		r.kind[i] = k
	}
	return r, nil
}

// Rows returns the number of rows.
func (r *Rates) Rows() int { return len(r.kind) }

// Len returns the number of rates.
func (r *Rates) Len() int { return len(r.constants) }

// Classes returns the number of classes.
func (r *Rates) Classes() int { return r.classes }

// Outputs returns the number of scores of a row: 1 for two classes, else the number of classes.
func (r *Rates) Outputs() int {
	if r.classes == 2 {
		return 1
	}
	return r.classes
}

// Count writes the rates of the decisions into d. A decision is the index of a class.
func (r *Rates) Count(d []float64, decisions []int32) {
	copy(d, r.constants)
	counts := make([]float64, len(r.kinds)*r.classes)
	for i, k := range r.kind {
		counts[int(k)*r.classes+int(decisions[i])] += r.weight(int32(i))
	}
	for k, list := range r.kinds {
		for _, e := range list {
			d[e.Rate] += e.Weight * counts[k*r.classes+e.Class]
		}
	}
}

// CountScores implements Decisions.
func (r *Rates) CountScores(d, scores, smooth []float64) error {
	decisions := make([]int32, r.Rows())
	Decide(decisions, scores, nil)
	r.at(smooth).Count(d, decisions)
	return nil
}

// Step implements Decisions: see Offsets.
func (r *Rates) Step(target *Target, scores, smooth []float64, resolution float64) (*Exact, error) {
	return Offsets(r.at(smooth), target, scores, resolution)
}

// Decide writes the decisions of scores [n, outputs] plus offsets. With one score for each row, the
// decision is 1 if the score is above 0 and 0 otherwise. With several scores, the decision is the
// first class with the largest score. nil offsets are 0.
func Decide(decisions []int32, scores, offsets []float64) {
	n := len(decisions)
	if n == 0 {
		return
	}
	outputs := len(scores) / n
	at := func(i, k int) float64 {
		if offsets == nil {
			return scores[i*outputs+k]
		}
		return scores[i*outputs+k] + offsets[k]
	}
	for i := range decisions {
		if outputs == 1 {
			decisions[i] = 0
			if at(i, 0) > 0 {
				decisions[i] = 1
			}
			continue
		}
		best := 0
		for k := 1; k < outputs; k++ {
			if at(i, k) > at(i, best) {
				best = k
			}
		}
		decisions[i] = int32(best)
	}
}
