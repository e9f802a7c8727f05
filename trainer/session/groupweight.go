package session

import (
	"ppal/constraints"
	"ppal/models"
)

// groupWeight is a weight of a linear model that shifts the scores of a group of documents against
// the others. values has the feature of each training row; nil: there is no such weight.
type groupWeight struct {
	column int
	values []float64
}

// ranks reports whether the task is about pairs of documents.
func (a *assembly) ranks() bool {
	s := a.builder.statement.system
	return s != nil && s.OfPairs()
}

// ofQueries reports whether a bound is on the pairs of a single query, so that every step needs all
// queries.
func (a *assembly) ofQueries() bool { return a.ranks() && a.builder.statement.system.OfQueries() }

// groupWeight finds the feature that tells the two kinds of documents of the sample apart: it has
// one value in each of them. Networks, other numbers of kinds, and rows in several processes have
// no such weight.
func (a *assembly) groupWeight(sample *constraints.Sample) (g groupWeight, err error) {
	kinds, kindOf := sample.Kinds()
	train := a.splits[0]
	if kinds != 2 || !models.IsLinear(a.builder.Model) || a.devices.Team != nil {
		return g, nil
	}
	features := train.Features()
	first, row := [2][]float64{}, make([]float64, features)
	var left []int // the columns that have one value in each kind so far
	for j := range features {
		left = append(left, j)
	}
	for i, kind := range kindOf {
		if err := train.readRow(row, i); err != nil {
			return g, err
		}
		if first[kind] == nil {
			first[kind] = append([]float64{}, row...)
			continue
		}
		kept := left[:0]
		for _, j := range left {
			if row[j] == first[kind][j] {
				kept = append(kept, j)
			}
		}
		if left = kept; len(left) == 0 {
			return g, nil
		}
	}
	for _, j := range left {
		if first[0][j] != first[1][j] {
			g = groupWeight{j, make([]float64, len(kindOf))}
			for i, kind := range kindOf {
				g.values[i] = first[kind][j]
			}
			return g, nil
		}
	}
	return g, nil
}
