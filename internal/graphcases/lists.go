package graphcases

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/models"
	"ppal/trainer/problem"
)

// All returns all cases: Neyman-Pearson networks, fairness problems, rates of decisions, and
// user-written expressions.
func All() []Case {
	return slices.Concat(Networks([]int{1, 1}, []int{3, 1, 2}, []int{100, 13, 200, 1}), Fairness(8, 301), Decisions(19, 302), Expressions())
}

// Expressions returns objectives and constraints of Gorgonia's own operations, which no device
// fuses as a whole:
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

// Networks returns Neyman-Pearson problems of every activation, depth and kind of heads with the
// given numbers of rows in each class, centred or not, in every form of the rows.
func Networks(classes ...[]int) []Case {
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
		for k, counts := range classes {
			list = append(list, Network(spec, counts, constraints.Phis()[(i+k)%len(constraints.Phis())], (i+k)%2 == 0, Storage((i+k)%4)))
		}
	}
	return list
}

// Network returns a Neyman-Pearson problem with the given number of rows in each class.
func Network(spec models.Spec, counts []int, phi constraints.Phi, center bool, storage Storage) Case {
	spec.Outputs = len(counts)
	c := Case{Spec: spec, Center: center, Storage: storage, Seed: uint64(7*spec.Inputs + len(counts)),
		Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: 5}}
	var labels []int
	for k, n := range counts {
		c.Rows += n
		for range n {
			labels = append(labels, k)
		}
	}
	if storage != Values { // sorted by class for some problems, mixed for others
		rand.New(rand.NewPCG(5, c.Seed)).Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	}
	s := spec.WithDefaults()
	c.Name = fmt.Sprintf("%d-%v-%d/%s/%s/%v/center=%v/%d rows/form %d", s.Inputs, s.Hidden, s.Outputs, s.Activation, s.Heads, phi, center,
		c.Rows, storage)
	c.Nodes = func(scores *gorgonia.Node, _ *rand.Rand) (f, g *gorgonia.Node, err error) {
		return NeymanPearson(0.3, phi).Nodes(scores, &constraints.Population{Labels: labels, Classes: Names(len(counts))})
	}
	return c
}
