package ranks

import (
	"context"
	"errors"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// adult returns the training rows of the built-in table.
func adult(t *testing.T) *tabular.Table {
	t.Helper()
	tables := require.Value(datasets.LoadTable("", "synthetic-adult", tabular.TableOptions{Seed: 1}))(t)
	return tables.Train
}

// parity returns demographic parity with the bound 0.02 for a linear model in float64, on the CPU.
// The processes of the team share the rows; nil: this process has all rows.
func parity(table *tabular.Table, team *Team) (problem.Piecewise, error) {
	rows, cols := table.Features.Dims()
	protected, rest, err := table.Partition()
	if err != nil {
		return nil, err
	}
	mean, gap := constraints.Group{Name: "rows"}, constraints.Group{Name: "gap", Weights: make([]float64, rows)}
	for i := range rows {
		mean.Rows, mean.Weights = append(mean.Rows, i), append(mean.Weights, 1/float64(rows))
	}
	for _, i := range protected.Rows {
		gap.Weights[i] = 1 / float64(len(protected.Rows))
	}
	for _, i := range rest.Rows {
		gap.Weights[i] = -1 / float64(len(rest.Rows))
	}
	gap.Rows = mean.Rows
	x := make([]float64, rows*cols)
	table.Features.Float64(x, 0, rows)
	inner, err := cpu.New(kernel.Best(), 1)
	if err != nil {
		return nil, err
	}
	var device plan.Device = inner
	if team != nil {
		device = Device(inner.Among(team), team)
	}
	p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		return gapNodes(g, x, table.Labels, mean, gap)
	}, graph.On(device))
	if err != nil {
		return nil, err
	}
	return problem.MakePiecewise(p, problem.Abs(0.02))
}

// gapNodes adds f = sum of the mean's weights times the losses, and h = the same of the rates.
func gapNodes(g *gorgonia.ExprGraph, x []float64, labels []int, mean, gap constraints.Group) (d graph.Definition, err error) {
	n := len(labels)
	cols := len(x) / n
	data := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("x"), gorgonia.WithShape(n, cols))
	w := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("w"), gorgonia.WithShape(cols, 1),
		gorgonia.WithValue(tensor.New(tensor.WithShape(cols, 1), tensor.WithBacking(make([]float64, cols)))))
	scores, err := gorgonia.Mul(data, w)
	if err != nil {
		return d, err
	}
	weighted := func(op *constraints.SignedLoss, by constraints.Group) (*gorgonia.Node, error) {
		values, err := op.Apply(scores)
		if err != nil {
			return nil, err
		}
		m, err := constraints.NewMembership(n, []constraints.Group{by})
		if err != nil {
			return nil, err
		}
		sum, err := constraints.NewGroupMeans(m, []float64{0})
		if err != nil {
			return nil, err
		}
		v, err := sum.Apply(values)
		if err != nil {
			return nil, err
		}
		return gorgonia.Sum(v)
	}
	loss, err := constraints.NewSignedLoss(labels, constraints.Logistic)
	if err != nil {
		return d, err
	}
	rates, err := constraints.NewRates(n, constraints.Sigmoid)
	if err != nil {
		return d, err
	}
	f, err := weighted(loss, mean)
	if err != nil {
		return d, err
	}
	h, err := weighted(rates, gap)
	return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{h}, Parameters: gorgonia.Nodes{w},
		Inputs: gorgonia.Nodes{data}, Data: []matrix.Matrix{&matrix.Dense{Rows: n, Cols: cols, Data: x}}}, err
}

// outcome is the end of a training.
type outcome struct {
	objective float64
	x, nu     []float64
	violation float64
}

// trained trains with PPALA. Process 0 of the team leads, the others serve and return no outcome.
func trained(table *tabular.Table, team *Team, primal step.Settings, iterations int) (o outcome, err error) {
	p, err := parity(table, team)
	if err != nil {
		return o, err
	}
	if team != nil && team.Rank() > 0 {
		return o, team.Serve()
	}
	r, err := trainer.Train(context.Background(), p, &method.PPALA{Primal: primal}, trainer.Settings{Iterations: iterations})
	if err != nil {
		return o, err
	}
	o = outcome{objective: r.Objective, nu: r.Certificate.Nu, violation: r.Certificate.Infeasibility, x: make([]float64, p.Space().Len())}
	p.Space().Read(o.x, problem.Iterate)
	if team != nil {
		return o, team.Release()
	}
	return o, nil
}

// together runs f for each rank, in n goroutines.
func together(n int, f func(c Collective) error) error {
	errs := make(chan error, n)
	for _, c := range Goroutines(n) {
		go func() { errs <- f(c) }()
	}
	var all error
	for range n {
		all = errors.Join(all, <-errs)
	}
	return all
}

// distance returns the largest difference between two outcomes' numbers, in units of 1 + |number|.
func (o outcome) distance(other outcome) float64 {
	worst := math.Abs(o.objective-other.objective) / (1 + math.Abs(o.objective))
	for i, v := range o.x {
		worst = max(worst, math.Abs(v-other.x[i])/(1+math.Abs(v)))
	}
	for i, v := range o.nu {
		worst = max(worst, math.Abs(v-other.nu[i])/(1+math.Abs(v)))
	}
	return worst
}

var fixedStep = step.Settings{Kind: step.Gradient, Eta: 0.05, Fixed: true}

// The weights, the objective and the multipliers of several ranks are those of one rank, up to
// rounding: 200 iterations with fixed steps to 1e-12. A second run has the same bits.
func TestRanksTrainAsOne(t *testing.T) {
	require.NoRace(t, "240 iterations; the tests of package cpu run the same goroutines")
	table := adult(t)
	one := require.Value(trained(table, nil, fixedStep, 80))(t)
	if one.nu[0] == 0 {
		t.Fatal("the bound is not active: the test needs an active bound")
	}
	var first outcome
	for run := range 2 {
		var own outcome
		require.NoError(t, together(3, func(c Collective) error {
			o, err := trained(table, NewTeam(c), fixedStep, 80)
			if c.Rank() == 0 {
				own = o
			}
			return err
		}))
		if run == 0 {
			first = own
		} else if d := own.distance(first); d != 0 {
			t.Errorf("the second run differs by %g, want the same bits", d)
		}
	}
	if d := first.distance(one); !(d <= 1e-12) {
		t.Errorf("three ranks differ from one by %g, want at most 1e-12", d)
	}
}
