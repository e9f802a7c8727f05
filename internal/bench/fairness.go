package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/internal/config"
	"ppal/models"
	"ppal/trainer/graph"
)

// Sizes of the prepared tables.
const (
	adultRows, adultFeatures, adultAttributes = 48842, 123, 14
	communitiesRows, communitiesFeatures      = 1994, 145
	communitiesHidden                         = 64
	manyGroups                                = 800
	gapBound, lossBound                       = 0.05, 0.1 // eps
)

// fairness is a problem whose constraints speak of groups of rows.
type fairness struct {
	goal interface {
		Nodes(scores *gorgonia.Node, rows constraints.Rows) (f, g *gorgonia.Node, err error)
		Smooth() bool
	}
	spec models.Spec
	x    datasets.Matrix
	rows constraints.Rows
}

// fairnessCases are demographic parity on sparse rows, and intersectional fairness on dense ones with many groups and with one.
func fairnessCases(shrink int) []Case {
	settings := func(beta string) config.Values { return config.Values{"regularizer": "none", "beta": beta} }
	adult := Case{Name: "dp-adult", products: "auto", settings: settings("0.1"),
		About: "Adult, demographic parity between two groups in two smooth constraints, linear scores of sparse rows"}
	adult.open = func(_ context.Context, s setting) (*workload, error) { return openAdult(s, adultRows/shrink) }
	groups := func(name string, m int) Case {
		c := Case{Name: name, products: "auto", settings: settings("0.5"),
			About: fmt.Sprintf("Communities and Crime's shape, intersectional fairness over %d groups, %d hidden units (relu)", m, communitiesHidden)}
		c.open = func(_ context.Context, s setting) (*workload, error) {
			return openCommunities(s, communitiesRows/shrink, m)
		}
		return c
	}
	return []Case{adult, groups("if-communities", manyGroups), groups("if-communities-1", 1)}
}

// seed of the random tables.
const fairnessSeed = 0x74616265

// openAdult builds demographic parity on n random rows of Adult's shape.
func openAdult(s setting, n int) (*workload, error) {
	rng := rand.New(rand.NewPCG(1, fairnessSeed))
	p := fairness{spec: models.Spec{Inputs: adultFeatures, Outputs: 1}, rows: constraints.Rows{Labels: randomLabels(rng, n)}}
	x := randomCategories(rng, n, adultFeatures, adultAttributes)
	p.x = x
	p.rows.Groups = []constraints.Group{{Name: "protected"}, {Name: "rest"}}
	for i := range n {
		g := &p.rows.Groups[rng.IntN(2)]
		g.Rows = append(g.Rows, i)
	}
	var err error
	p.goal, err = constraints.NewDemographicParity([]string{"protected", "rest"}, gapBound, constraints.Logistic, constraints.Sigmoid, constraints.Split)
	if err != nil {
		return nil, err
	}
	w, err := p.open(s)
	if err != nil {
		return nil, err
	}
	w.shape.NonZeros = len(x.Columns)
	w.references = func() ([]reference, error) {
		sparse, err := bareSparse(s, x, w.shape.Width)
		if err != nil {
			return nil, err
		}
		pass := newDensePass[float32]
		if s.Dtype == "float64" {
			pass = newDensePass[float64]
		}
		dense, err := pass(s, n, adultFeatures)
		return []reference{sparse, dense}, err
	}
	return w, nil
}

// openCommunities builds intersectional fairness over m random groups of n random rows of Communities and Crime's shape.
func openCommunities(s setting, n, m int) (*workload, error) {
	rng := rand.New(rand.NewPCG(2, fairnessSeed))
	p := fairness{
		spec: models.Spec{Inputs: communitiesFeatures, Hidden: []int{communitiesHidden}, Outputs: 1, Activation: models.ReLU},
		x:    randomNumbers(rng, n, communitiesFeatures),
		rows: constraints.Rows{Labels: randomLabels(rng, n)},
	}
	names := make([]string, m)
	for k := range names {
		names[k] = fmt.Sprintf("group %d", k+1)
		p.rows.Groups = append(p.rows.Groups, constraints.Group{Name: names[k], Rows: randomGroup(rng, n)})
	}
	var err error
	p.goal, err = constraints.NewIntersectional(names, []float64{lossBound}, constraints.Hinge, constraints.Hinge, constraints.Each)
	if err != nil {
		return nil, err
	}
	w, err := p.open(s)
	if err != nil || m == 1 {
		return w, err
	}
	w.references = func() ([]reference, error) {
		r, err := w.dense()
		if err != nil {
			return nil, err
		}
		single, err := openCommunities(s, n, 1)
		if err != nil {
			return nil, err
		}
		return append(r, reference{name: "an iteration with one group", run: single.iterate}), single.begin()
	}
	return w, nil
}

// open builds the problem as experiments do: model, objective and constraints as nodes, on the device's plan.
func (p fairness) open(s setting) (*workload, error) {
	weights, err := models.Init(p.spec, rand.New(rand.NewPCG(3, fairnessSeed)))
	if err != nil {
		return nil, err
	}
	dtype := tensor.Float32
	if s.Dtype == "float64" {
		dtype = tensor.Float64
	}
	problem, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, err := models.New(g, p.spec, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		n, d := p.x.Dims()
		x := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("rows"), gorgonia.WithShape(n, d))
		scores, err := net.Scores(x, nil)
		if err != nil {
			return graph.Definition{}, err
		}
		f, c, err := p.goal.Nodes(scores, p.rows)
		return graph.Definition{
			Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: net.Parameters(), NonSmooth: !p.goal.Smooth() || len(p.spec.Hidden) > 0,
			Inputs: gorgonia.Nodes{x}, Data: []graph.Matrix{p.x}, Watch: gorgonia.Nodes{scores},
		}, err
	}, graph.Planned(s.device))
	if err != nil {
		return nil, err
	}
	method, err := s.TrainerMethod()
	if err != nil {
		return nil, err
	}
	n, d := p.x.Dims()
	width := p.spec.Outputs
	if len(p.spec.Hidden) > 0 {
		width = p.spec.Hidden[0]
	}
	w := &workload{problem: problem, method: method, setting: s, shape: Shape{Rows: n, Features: d, Width: width, Data: Synthetic}}
	w.references = w.dense
	return w, nil
}

// randomLabels are -1 and +1, a quarter of them +1.
func randomLabels(rng *rand.Rand, n int) []int {
	labels := make([]int, n)
	for i := range labels {
		labels[i] = -1
		if rng.IntN(4) == 0 {
			labels[i] = 1
		}
	}
	return labels
}

// randomCategories are rows of attributes, each with as many columns as the others, of which one is 1.
func randomCategories(rng *rand.Rand, n, features, attributes int) *datasets.CSR {
	x := &datasets.CSR{Rows: n, Cols: features, Starts: []int{0}}
	for range n {
		for a := range attributes {
			lo, hi := features*a/attributes, features*(a+1)/attributes
			x.Columns = append(x.Columns, int32(lo+rng.IntN(hi-lo)))
		}
		x.Starts = append(x.Starts, len(x.Columns))
	}
	return x
}

// numbers is a dense matrix.
type numbers struct {
	cols   int
	values []float64
}

func randomNumbers(rng *rand.Rand, n, cols int) *numbers {
	x := &numbers{cols, make([]float64, n*cols)}
	for i := range x.values {
		x.values[i] = rng.NormFloat64()
	}
	return x
}

func (x *numbers) Dims() (rows, cols int) { return len(x.values) / x.cols, x.cols }

func (x *numbers) Float32(dst []float32, from, to int) {
	for i, v := range x.values[from*x.cols : to*x.cols] {
		dst[i] = float32(v)
	}
}

func (x *numbers) Float64(dst []float64, from, to int) { copy(dst, x.values[from*x.cols:to*x.cols]) }

// randomGroup draws a group of a size that is as likely to lie between 1% and 7% of the rows as between 7% and a half, always above 1%.
func randomGroup(rng *rand.Rand, n int) []int {
	const least, most = 0.01, 0.5
	share := least * math.Pow(most/least, rng.Float64())
	size := max(int(share*float64(n)), n/100+1)
	return rng.Perm(n)[:size]
}
