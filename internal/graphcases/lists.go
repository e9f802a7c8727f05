package graphcases

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/models"
	"ppal/trainer"
)

// All are the cases: Neyman-Pearson networks, fairness problems, and expressions of a user's own.
func All() []Case { return slices.Concat(Networks(), Fairness(), Expressions()) }

// Expressions are objectives and constraints of Gorgonia's own operations, which no device knows as a whole:
//
//	f = mean(s^2 exp(-s^2/8)),   g = column sums of tanh(s)/(1 + s^2)
func Expressions() []Case {
	var list []Case
	for i, n := range []int{3, 170} {
		list = append(list, Case{Name: fmt.Sprintf("expressions/%d rows", n), Spec: models.Spec{Inputs: 6, Hidden: []int{5}, Outputs: 2},
			Rows: n, Center: i == 0, Storage: Storage(i), Seed: uint64(n), Nodes: expressions})
	}
	return list
}

func expressions(s *gorgonia.Node, _ *rand.Rand) (f, g *gorgonia.Node, err error) {
	number := func(x float64) *gorgonia.Node {
		if s.Dtype() == tensor.Float32 {
			return gorgonia.NewConstant(float32(x))
		}
		return gorgonia.NewConstant(x)
	}
	must := gorgonia.Must
	square := must(gorgonia.Square(s))
	f, err = gorgonia.Mean(must(gorgonia.HadamardProd(square, must(gorgonia.Exp(must(gorgonia.Mul(square, number(-0.125))))))))
	if err != nil {
		return nil, nil, err
	}
	g, err = gorgonia.Sum(must(gorgonia.HadamardDiv(must(gorgonia.Tanh(s)), must(gorgonia.Add(square, number(1))))), 0)
	return f, g, err
}

// Networks are Neyman-Pearson problems of every activation, depth and kind of heads, with classes of one row and of many, centred or
// not, in every form of the rows.
func Networks() []Case {
	var list []Case
	for i, spec := range []models.Spec{
		{Inputs: 5},
		{Inputs: 1, Hidden: []int{1}, Heads: models.Separate},
		{Inputs: 13, Hidden: []int{7}},
		{Inputs: 13, Hidden: []int{33}, Activation: models.Tanh},
		{Inputs: 9, Hidden: []int{20}, Activation: models.ReLU},
		{Inputs: 31, Hidden: []int{40, 19}},
		{Inputs: 11, Hidden: []int{6}, Heads: models.Separate},
		{Inputs: 11, Hidden: []int{18, 17}, Activation: models.Tanh, Heads: models.Separate},
	} {
		for k, counts := range [][]int{{1, 1}, {3, 1, 2}, {100, 13, 200, 1}} {
			list = append(list, Network(spec, counts, constraints.Phis()[(i+k)%len(constraints.Phis())], (i+k)%2 == 0, Storage((i+k)%4)))
		}
	}
	return list
}

// Network is a Neyman-Pearson problem with that many rows of each class.
func Network(spec models.Spec, counts []int, phi constraints.Phi, center bool, storage Storage) Case {
	spec.Outputs = len(counts)
	c := Case{Spec: spec, Center: center, Storage: storage, Seed: uint64(7*spec.Inputs + len(counts)),
		Regularizer: trainer.Regularizer{Kind: trainer.Ball, Radius: 5}}
	var labels []int
	for k, n := range counts {
		c.Rows += n
		for range n {
			labels = append(labels, k)
		}
	}
	if storage != Values { // in order for some, mixed for others
		rand.New(rand.NewPCG(5, c.Seed)).Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	}
	s := spec.WithDefaults()
	c.Name = fmt.Sprintf("%d-%v-%d/%s/%s/%v/center=%v/%d rows/form %d", s.Inputs, s.Hidden, s.Outputs, s.Activation, s.Heads, phi, center,
		c.Rows, storage)
	c.Nodes = func(scores *gorgonia.Node, _ *rand.Rand) (f, g *gorgonia.Node, err error) {
		goal, err := constraints.NewNeymanPearson(names(len(counts)), []float64{0.3}, phi)
		if err != nil {
			return nil, nil, err
		}
		return goal.Nodes(scores, labels)
	}
	return c
}

// goal is what the fairness problems have in common.
type goal interface {
	Nodes(scores *gorgonia.Node, rows constraints.Rows) (f, terms *gorgonia.Node, err error)
	Pieces() []constraints.Piece
}

// Fairness are demographic parity, equalized odds and intersectional groups in all forms, on layouts with groups of one row, overlapping
// groups and rows in none.
func Fairness() []Case {
	var list []Case
	phis := constraints.Phis()
	for _, n := range []int{8, 301} {
		for i, spec := range []models.Spec{{Inputs: 5, Outputs: 1}, {Inputs: 9, Hidden: []int{12}, Outputs: 1, Activation: models.ReLU}} {
			for k, phi := range phis {
				psi, storage := phis[(k+i)%len(phis)], Storage((i+k)%4)
				for _, form := range constraints.GapForms() {
					parity, err := constraints.NewDemographicParity(names(2), 0.1, phi, psi, form)
					list = append(list, fairness(fmt.Sprintf("parity/%v", form), spec, n, storage, parity, err, halves(n)))
					odds, err := constraints.NewEqualizedOdds(names(2), []float64{0.1, 0.2}, phi, psi, form)
					list = append(list, fairness(fmt.Sprintf("odds/%v", form), spec, n, storage, odds, err, halves(n)))
				}
				for _, form := range constraints.GroupForms() {
					m := 3 + 10*k
					groups, err := constraints.NewIntersectional(names(m), []float64{0.1}, phi, psi, form)
					list = append(list, fairness(fmt.Sprintf("groups/%v", form), spec, n, storage, groups, err, scattered(n, m, 0.05*float64(1+5*k))))
				}
			}
		}
	}
	return list
}

// fairness is a case; err is that of the goal.
func fairness(name string, spec models.Spec, n int, storage Storage, g goal, err error, groups func(rng *rand.Rand) []constraints.Group) Case {
	c := Case{Name: fmt.Sprintf("%s/%v/%d rows/form %d", name, spec.Hidden, n, storage), Spec: spec, Rows: n, Storage: storage, Seed: uint64(n)}
	c.Nodes = func(scores *gorgonia.Node, rng *rand.Rand) (f, terms *gorgonia.Node, _ error) {
		if err != nil {
			return nil, nil, err
		}
		rows := constraints.Rows{Labels: make([]int, n), Groups: groups(rng)}
		for i := range rows.Labels {
			rows.Labels[i] = 1 - 2*(i*i%3%2)
		}
		return g.Nodes(scores, rows)
	}
	if err == nil {
		c.Pieces = g.Pieces()
	}
	return c
}

// scattered draws m groups that overlap, each with that share of the n rows and at least one.
func scattered(n, m int, share float64) func(rng *rand.Rand) []constraints.Group {
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

// halves are two groups that alternate, every seventh row in neither.
func halves(n int) func(rng *rand.Rand) []constraints.Group {
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

func names(m int) []string {
	list := make([]string, m)
	for k := range list {
		list[k] = fmt.Sprint(k)
	}
	return list
}
