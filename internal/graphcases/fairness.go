package graphcases

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/models"
)

// Goal is what the fairness problems have in common.
type Goal interface {
	Nodes(scores *gorgonia.Node, rows constraints.Rows) (f, terms *gorgonia.Node, err error)
	Pieces() []constraints.Piece
}

// Fairness are demographic parity, equalized odds and intersectional groups in all forms, for each number of rows, on layouts with
// groups of one row, overlapping groups and rows in none.
func Fairness(rows ...int) []Case {
	var list []Case
	phis := constraints.Phis()
	for _, n := range rows {
		for i, spec := range []models.Spec{{Inputs: 5, Outputs: 1}, {Inputs: 9, Hidden: []int{12}, Outputs: 1, Activation: models.ReLU}} {
			for k, phi := range phis {
				psi, storage := phis[(k+i)%len(phis)], Storage((i+k)%4)
				for _, form := range constraints.GapForms() {
					parity := must(constraints.NewDemographicParity(Names(2), 0.1, phi, psi, form))
					odds := must(constraints.NewEqualizedOdds(Names(2), []float64{0.1, 0.2}, phi, psi, form))
					list = append(list, Fair(fmt.Sprintf("parity/%v", form), spec, n, storage, parity, Halves(n)),
						Fair(fmt.Sprintf("odds/%v", form), spec, n, storage, odds, Halves(n)))
				}
				for _, form := range constraints.GroupForms() {
					m := 3 + 10*k
					groups := must(constraints.NewIntersectional(Names(m), []float64{0.1}, phi, psi, form))
					list = append(list, Fair(fmt.Sprintf("groups/%v", form), spec, n, storage, groups, Scattered(n, m, 0.05*float64(1+5*k))))
				}
			}
		}
	}
	return list
}

// Fair is a fairness problem on n rows in the groups that are drawn.
func Fair(name string, spec models.Spec, n int, storage Storage, goal Goal, groups func(rng *rand.Rand) []constraints.Group) Case {
	c := Case{Name: fmt.Sprintf("%s/%v/%d rows/form %d", name, spec.Hidden, n, storage), Spec: spec, Rows: n, Storage: storage, Seed: uint64(n),
		Pieces: goal.Pieces()}
	c.Nodes = func(scores *gorgonia.Node, rng *rand.Rand) (f, terms *gorgonia.Node, err error) {
		rows := constraints.Rows{Labels: make([]int, n), Groups: groups(rng)}
		for i := range rows.Labels {
			rows.Labels[i] = 1 - 2*(i*i%3%2)
		}
		return goal.Nodes(scores, rows)
	}
	return c
}

// Scattered draws m groups that overlap, each with that share of the n rows and at least one.
func Scattered(n, m int, share float64) func(rng *rand.Rand) []constraints.Group {
	return func(rng *rand.Rand) []constraints.Group {
		groups := make([]constraints.Group, m)
		for k := range groups {
			groups[k] = constraints.Group{Name: fmt.Sprint(k), Rows: []int{k % n}}
			for i := range n {
				if i != k%n && rng.Float64() < share {
					groups[k].Rows = append(groups[k].Rows, i)
				}
			}
		}
		return groups
	}
}

// Halves are two groups that alternate, every seventh row in neither.
func Halves(n int) func(rng *rand.Rand) []constraints.Group {
	return func(*rand.Rand) []constraints.Group {
		groups := []constraints.Group{{Name: "0"}, {Name: "1"}}
		for i := range n {
			if i%7 != 6 {
				groups[i%2].Rows = append(groups[i%2].Rows, i)
			}
		}
		return groups
	}
}

// Names are those of m classes, or of m groups of Halves or Scattered: 0, 1, ...
func Names(m int) []string {
	list := make([]string, m)
	for k := range list {
		list[k] = fmt.Sprint(k)
	}
	return list
}

// must is for the settings above, which fit.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
