package decisions

import (
	"math"

	"ppal/constraints"
)

// attribute is the name of the two groups in the system of a judge.
const attribute = "group"

// judge judges the bounds of a problem on counts of accepted rows, by the judgement of package
// constraints. The counts may be expected numbers of a classifier that draws its decisions.
type judge struct {
	system *constraints.System
	// share[k][g][y] is 1 or -1 if cell k of the system counts the accepted or the rejected rows of
	// group g with label y, and 0 if it counts none of them
	share [][2][2]float64
}

// newJudge returns the judge of a problem. It finds the rows of each cell with one row for each
// group and label.
func newJudge(p Problem) (*judge, error) {
	rows := &constraints.Population{Classes: []string{"0", "1"}, Labels: []int{0, 1, 0, 1},
		Attributes: []constraints.Attribute{{Name: attribute, Values: []string{"0", "1"}, Of: []int{0, 0, 1, 1}}}}
	system, err := constraints.NewSystem(constraints.Error(), p.statement(attribute).SubjectTo, rows)
	if err != nil {
		return nil, err
	}
	sample, err := system.On(rows)
	if err != nil {
		return nil, err
	}
	none, err := sample.Count(make([]int, len(rows.Labels)))
	if err != nil {
		return nil, err
	}
	j := &judge{system, make([][2][2]float64, len(system.Rates))}
	for i := range rows.Labels {
		decisions := make([]int, len(rows.Labels))
		decisions[i] = 1
		one, err := sample.Count(decisions)
		if err != nil {
			return nil, err
		}
		for k := range j.share {
			j.share[k][i/2][i%2] = float64(one.Hits[k] - none.Hits[k])
		}
	}
	return j, nil
}

// training returns the judgement of each bound on the training decisions.
func (j *judge) training(totals, accepted Counts) (list []constraints.Judgement) {
	rates, rows := make([]float64, len(j.share)), make([]int, len(j.share))
	for k, shares := range j.share {
		n, hits := 0.0, 0.0
		for g := range shares {
			for y, w := range shares[g] {
				n += math.Abs(w) * totals[0][g][y]
				hits += w * accepted[0][g][y]
				if w < 0 {
					hits += totals[0][g][y]
				}
			}
		}
		if rows[k] = int(n); n > 0 {
			rates[k] = hits / n
		}
	}
	for c := range j.system.Subject {
		list = append(list, j.system.JudgeRates(c, rates, rows))
	}
	return list
}

// judged returns the judgement of each bound of the problem on the training decisions.
func (p Problem) judged(totals, accepted Counts) []constraints.Judgement {
	j, err := newJudge(p)
	if err != nil { // the bounds of the comparison's problems are valid
		panic(err)
	}
	return j.training(totals, accepted)
}

// met reports whether all bounds count as met on the training decisions.
func (p Problem) met(totals, accepted Counts) bool {
	for _, j := range p.judged(totals, accepted) {
		if !j.State.Holds() {
			return false
		}
	}
	return true
}
