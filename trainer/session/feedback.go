package session

import (
	"context"
	"fmt"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/decide"
	"ppal/trainer/problem"
)

// decisions are the constraints of a task on rates of decisions.
type decisions struct {
	system *constraints.System
	// bounds maps the rates, which are the nodes of the statement, to the constraints. The problems of
	// all rows, of mini-batches and in float64 share it, with its shifts.
	bounds *problem.AffineMap
	on     BoundsOn
	// population describes rows for the system.
	population func(Rows) *constraints.Population
}

// newDecisions prepares a resolved system.
func newDecisions(system *constraints.System, on BoundsOn, population func(Rows) *constraints.Population) (*decisions, error) {
	var list []problem.AffineRow
	for _, b := range system.Bounds {
		list = append(list, problem.AffineRow{Coefficients: b.Coefficients, Constant: b.Constant, Bound: b.Bound})
	}
	bounds, err := problem.NewAffineMap(system.Terms(), list)
	if err != nil {
		return nil, err
	}
	return &decisions{system: system, bounds: bounds, on: on, population: population}, nil
}

// sample returns the system on rows.
func (d *decisions) sample(r rows) (*constraints.Sample, error) {
	return d.system.On(d.population(r.public()))
}

// rates returns the rates of decisions on a sample of n rows.
func (d *decisions) rates(s *constraints.Sample, n, classes int) (*decide.Rates, error) {
	starts := make([]int, n+1)
	s.Entries(func(e constraints.Entry) { starts[e.Row+1]++ })
	for i := range n {
		starts[i+1] += starts[i]
	}
	entries, next := make([]decide.Entry, starts[n]), append([]int{}, starts[:n]...)
	s.Entries(func(e constraints.Entry) {
		entries[next[e.Row]] = decide.Entry{Rate: e.Rate, Class: e.Class, Weight: e.Weight}
		next[e.Row]++
	})
	r, err := decide.NewRates(n, classes, make([]float64, d.system.Terms()), func(i int) []decide.Entry { return entries[starts[i]:starts[i+1]] })
	if err != nil {
		return nil, err
	}
	for k := range d.system.Terms() {
		if k >= len(d.system.Rates) || d.system.Rates[k].IsLoss() {
			r.Undecided(k)
		}
	}
	return r, nil
}

// target returns the objective and the bounds on decisions. A gap or a ratio has a slack of one row
// of its smallest cell, a loss and a norm have the feasibility tolerance, and a rate has none.
func (d *decisions) target(counted *constraints.Counted) *decide.Target {
	t := &decide.Target{}
	t.Objective.Coefficients, t.Objective.Constant = d.system.ObjectiveRow()
	for _, b := range d.system.Bounds {
		own := decide.Bound{AffineRow: problem.AffineRow{Coefficients: b.Coefficients, Constant: b.Constant, Bound: b.Bound}}
		switch row := counted.OneRow(b.Constraint); {
		case d.system.DependsOnLoss(b.Constraint):
			own.Slack = row
		case d.system.Compares(b.Constraint):
			own.Slack, own.Row = row, row
		default:
			own.Row = row
		}
		t.Bounds = append(t.Bounds, own)
	}
	return t
}

// Resolutions of scores: the relative distance up to which two scores count as equal in the exact
// step. It is some units of the rounding of the weights, which the threshold must survive.
const (
	resolutionOfFloat32 = 1e-5
	resolutionOfFloat64 = 1e-12
)

func (a *assembly) resolution() float64 {
	if a.dtype == tensor.Float32 {
		return resolutionOfFloat32
	}
	return resolutionOfFloat64
}

// solution is what the rounds of feedback found.
type solution struct {
	rounds *decide.Result
	sample *constraints.Sample // the training rows
	rates  *decide.Rates
	target *decide.Target
	exact  *decide.Exact // the exact step on scores in float64; nil before it
}

// optimizeDecisions runs the rounds of feedback, and finds the exact step.
func (a *assembly) optimizeDecisions(ctx context.Context, s trainer.Settings) (*trainer.Result, error) {
	d, train := a.builder.statement.decisions, a.data.splits[0]
	f := &solution{}
	var err error
	if f.sample, err = d.sample(train.rows); err != nil {
		return nil, err
	}
	n := train.len()
	if f.rates, err = d.rates(f.sample, n, len(train.classes)); err != nil {
		return nil, err
	}
	counted, err := f.sample.CountWith(make([]int, n), make([]float64, d.system.Terms()))
	if err != nil {
		return nil, err
	}
	f.target = d.target(&counted)
	smooth, ok := a.problem.(*problem.Affine)
	if !ok {
		return nil, fmt.Errorf("session: %w: the task %s does not support bounds on decisions", ErrOptions, a.builder.statement.Name)
	}
	f.rounds, err = decide.Train(ctx, a.Problem(), a.options.Method, s, decide.Feedback{
		Smooth: smooth, Rates: f.rates, Target: f.target, Resolution: a.resolution(),
		Scores: func() ([]float64, error) { return a.scores(train) },
	})
	if err != nil {
		if f.rounds == nil {
			return nil, err
		}
		return f.rounds.Result, err
	}
	if err := a.exactStep(f); err != nil {
		return f.rounds.Result, err
	}
	a.solved = f
	for _, w := range f.warnings(d) {
		f.rounds.Warnings = append(f.rounds.Warnings, w)
		if s.Warn != nil {
			s.Warn(w)
		}
	}
	return f.rounds.Result, nil
}

// exactStep finds the offsets of the scores in float64 at the iterate.
func (a *assembly) exactStep(f *solution) error {
	x, train := a.iterate(), a.data.splits[0]
	weights, err := models.Unstack(a.builder.spec, x)
	if err != nil {
		return err
	}
	blocks, err := a.builder.newBlocks(train.data, tensor.Float64, weights)
	if err != nil {
		return err
	}
	scores, err := blocks.scores(x)
	if err != nil {
		return err
	}
	f.exact, err = decide.Offsets(f.rates, f.target, scores, a.resolution())
	return err
}

// dearStep is the increase of the objective by the exact step that is worth a warning.
const dearStep = 0.005

// warnings says where the exact step failed, or what it cost.
func (f *solution) warnings(d *decisions) (list []string) {
	if f.exact.Violation > 0 {
		what := "no threshold"
		if f.rates.Outputs() > 1 {
			what = "no offsets of the classes that the search found"
		}
		list = append(list, fmt.Sprintf("%s meets all bounds on the decisions of the training rows: they are exceeded by %.3g in all; "+
			"use more --iterations, looser bounds, or fewer constraints", what, f.exact.Violation))
	}
	if cost := f.exact.Cost(); cost > dearStep {
		list = append(list, fmt.Sprintf("the exact threshold costs %.1f points of the objective (%s): use more --iterations, or a looser bound",
			100*cost, d.system.Minimize))
	}
	return list
}

// applyExactStep moves the iterate to the weights whose scores have the offsets.
func (a *assembly) applyExactStep() error {
	if a.solved == nil || !a.solved.exact.Moved {
		return nil
	}
	x := a.iterate()
	if err := models.AddToScores(a.builder.spec, x, a.solved.exact.Offsets); err != nil {
		return err
	}
	a.problem.Space().Write(problem.Iterate, x)
	return nil
}
