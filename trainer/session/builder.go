package session

import (
	"maps"
	"strings"

	"gorgonia.org/gorgonia"

	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/device"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/step"
)

// builder builds the problems of one model and one task.
type builder struct {
	*build.Builder
	statement *Statement
}

// rows returns rows with the task on them.
func (b *builder) rows(r load.Rows) build.Rows {
	var queries func() (paired, others [][]int)
	if r.Queries != nil {
		queries = r.ByQuery
	}
	return build.Rows{
		Data: r.Data, Strata: r.Stratified, Queries: queries,
		Nodes: func(scores *gorgonia.Node) (*gorgonia.Node, gorgonia.Nodes, error) {
			return b.statement.Nodes(scores, rowsOf(r))
		},
		Pick: func(list []int) build.Rows { return b.rows(r.Pick(list, build.PickData(r.Data, list))) },
	}
}

// exactBlocks returns the blocks of a split in float64. The split keeps them: the exact step, the
// certificate and the measures use the same blocks. x are the weights of the first call.
func (b *builder) exactBlocks(s *split, x []float64) (_ *build.Blocks, err error) {
	if s.exact == nil {
		s.exact, err = b.NewExactBlocks(s.Data, x)
	}
	return s.exact, err
}

// exact returns the problem of a split in float64 at the iterate x, the stacked weights as trained.
func (b *builder) exact(s *split, x []float64) (*build.Exact, error) {
	blocks, err := b.exactBlocks(s, x)
	if err != nil {
		return nil, err
	}
	if s.head == nil {
		if s.head, err = b.Head(b.rows(s.Rows)); err != nil {
			return nil, err
		}
	}
	return build.NewExact(b.Builder, blocks, s.head, x), nil
}

// measurer returns the function that measures scores of the rows. The function is the statement's
// own, or else computes f and g with the statement's nodes.
func (b *builder) measurer(r load.Rows) (func(scores []float64) (Measures, error), error) {
	if b.statement.measures != nil {
		measure, err := b.statement.measures(rowsOf(r))
		if err != nil {
			return nil, err
		}
		return func(scores []float64) (Measures, error) { return measure(scores, b.Terms.Last()) }, nil
	}
	measure, err := b.nodesMeasurer(r)
	if err != nil || b.statement.Decided == nil {
		return measure, err
	}
	sample, err := b.statement.samples.sample(rowsOf(r))
	if err != nil {
		return nil, err
	}
	return func(scores []float64) (Measures, error) {
		m, err := measure(scores)
		if err != nil {
			return m, err
		}
		_, _, counted, err := smoothAndCounted(sample, nil, scores, nil)
		named := nameCounted(&measurement{system: b.statement.system, counted: counted})
		maps.Copy(named, m.Named)
		m.Named = named
		return m, err
	}, nil
}

// nodesMeasurer is measurer without the decisions that a statement of nodes states.
func (b *builder) nodesMeasurer(r load.Rows) (func(scores []float64) (Measures, error), error) {
	if b.statement.Measures != nil {
		return b.statement.Measures(rowsOf(r))
	}
	head, err := b.Head(b.rows(r))
	if err != nil {
		return nil, err
	}
	p, err := b.statement.complete(head)
	if err != nil {
		return nil, err
	}
	return func(scores []float64) (Measures, error) {
		head.Space().Write(problem.Iterate, scores)
		g := make([]float64, len(b.statement.Constraints))
		f, err := p.Forward(g)
		m := Measures{Named: map[string]float64{"objective": f, "max_violation": problem.MaxViolation(g)}, Values: []float64{f}}
		for j, c := range b.statement.Constraints {
			m.Named[strings.ReplaceAll(c.Name, " ", "_")] = g[j] + c.Bound
			m.Values = append(m.Values, g[j]+c.Bound)
		}
		return m, err
	}, nil
}

// usesScales reports whether the training takes quasi-Newton steps of a model with scales.
func (a *assembly) usesScales() bool {
	rule, ok := a.options.Method.(trainer.DualRule)
	return a.builder.Scales != nil && (a.batches != nil || ok && rule.PrimalStep().Kind == step.LBFGS)
}

// setScales sets the scales of the weights, if the training uses them. All processes must call it.
func (a *assembly) setScales() error {
	if !a.usesScales() {
		return nil
	}
	train := a.splits[0].Rows
	return a.builder.SetScales(train.Data, train.Labels)
}

// forBuilder returns what a builder needs of the devices.
func forBuilder(d *device.Devices) build.Devices {
	return build.Devices{Train: d.Train, Measure: d.Measure, Team: d.Team, Share: d.Share, Memory: d.Options.Memory}
}
