package session

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/disk"
	"ppal/internal/relay"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/step"
)

// builder builds the problems of one model and one task.
type builder struct {
	*build.Builder
	statement *Statement
}

// newBuilder states the task on the training rows, and completes the model's shape and the
// regularizer.
func (a *assembly) newBuilder(train load.Rows) (*builder, error) {
	smooth := method.SmoothOn(a.options.Method, a.onBatches(train))
	statement, err := a.options.Task.State(rowsOf(train), smooth)
	if err != nil {
		return nil, err
	}
	if err := statement.check(); err != nil {
		return nil, err
	}
	if train.Weights != nil && !statement.Weighted {
		return nil, &OptionError{Option: "weight", Problem: fmt.Sprintf("gives the rows weights, and the task %s does not say that it counts them (Statement.Weighted); leave it out", statement.Name)}
	}
	if _, ok := a.options.Model.(models.Scores); ok {
		if err := statement.ofScores(); err != nil {
			return nil, err
		}
	}
	if statement, err = statement.onDecisions(rowsOf(train)); err != nil {
		return nil, err
	}
	b := &builder{statement: statement, Builder: &build.Builder{
		Regularizer: *a.options.Regularizer, Center: a.data.Center, Scale: a.data.Scale, Devices: a.devices,
		ParameterNodes: statement.ParameterNodes, Complete: statement.complete,
	}}
	model := a.options.Model
	if m, ok := model.(models.OfPictures); ok && a.data.Shape.Pixels() > 0 {
		s := a.data.Shape
		model = m.On(models.Picture{Channels: s.Channels, Height: s.Height, Width: s.Width})
	}
	if b.Model, err = models.Sized(model, train.Features(), max(1, statement.Outputs)); err != nil {
		return nil, err
	}
	b.Regularizer.L1Ball = build.L1Ball(statement.system, b.Model, b.Regularizer.Kind, a.dtype)
	if b.HasScales() {
		b.Scales = problem.NewScales(b.Parameters())
	}
	if b.Regularizer.Kind == problem.GroupL1 && b.Regularizer.Groups == nil {
		b.Regularizer.Groups = build.ParameterEnds(b.Model)
	}
	return b, nil
}

// rows returns rows with the task on them.
func (b *builder) rows(r load.Rows) build.Rows {
	var queries func() (paired, others [][]int)
	if r.Queries != nil {
		queries = r.ByQuery
	}
	return build.Rows{
		Data: r.Data, Strata: r.Stratified, Queries: queries, Violations: b.violations(r),
		Nodes: func(scores *gorgonia.Node) (*gorgonia.Node, gorgonia.Nodes, error) {
			return b.statement.Nodes(scores, rowsOf(r))
		},
		Weights: r.Weights,
		Equal: func() build.Rows {
			own := r
			own.Weights = nil
			return b.rows(own)
		},
		Pick: func(list []int) build.Rows { return b.rows(r.Pick(list, build.PickData(r.Data, list))) },
	}
}

// violations returns the maker of build.Rows.Violations; nil: the task counts no pairs.
func (b *builder) violations(r load.Rows) func() (func(scores []float64) ([]float64, error), error) {
	if b.statement.system == nil || !b.statement.system.OfPairs() {
		return nil
	}
	return func() (func(scores []float64) ([]float64, error), error) {
		sample, err := b.statement.samples.sample(rowsOf(r))
		if err != nil {
			return nil, err
		}
		bounds := b.statement.bounds()
		return func(scores []float64) ([]float64, error) {
			_, _, counted, err := smoothAndCounted(sample, nil, scores, nil)
			if err != nil {
				return nil, err
			}
			for k, n := range counted.Rows {
				if n == 0 { // as in the smooth problem, all pairs replace those of a cell without pairs
					counted.Terms[k], _ = counted.PairError()
					counted.Rows[k] = 1
				}
			}
			values := b.statement.system.Values(counted.Terms, counted.Rows)
			for j := range values {
				values[j] -= bounds[j]
			}
			return values, nil
		}, nil
	}
}

// exactBlocks returns the blocks of a split in float64. The split keeps them: the exact step, the
// certificate and the measures use the same blocks. x are the weights of the first call.
func (b *builder) exactBlocks(s *split, x []float64) (_ *build.Blocks, err error) {
	if s.exact != nil {
		return s.exact, nil
	}
	if s.exact, err = b.NewExactBlocks(s.Data, x); err == nil {
		b.byStrata(s, s.exact)
	}
	return s.exact, err
}

// byStrata orders the rows of blocks of pictures, of which a block has few.
func (b *builder) byStrata(s *split, blocks *build.Blocks) {
	if _, pictures := b.Model.(models.OfPictures); pictures {
		blocks.ByStrata(s.Stratified())
	}
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

// weightStream separates the random stream of the initial weights from other streams of the same
// seed.
const weightStream = 0x77656967687473

// start returns the initial weights as trained. start draws the weights from the seed or reads
// them from a file.
func (a *assembly) start() (models.Weights, error) {
	if a.scored != nil {
		return a.scored.weights(a.builder.Model, make([]float64, max(1, len(a.scored.groups))*a.builder.Outputs()), nil)
	}
	if a.options.Init == "" {
		return models.Init(a.builder.Model, rand.New(rand.NewPCG(a.options.Settings.Seed, weightStream)))
	}
	m, err := a.readInit(a.options.Init)
	if err != nil {
		return nil, &InitError{Path: a.options.Init, Err: err}
	}
	return a.data.Normalization.Unfold(a.builder.Model, m.Weights)
}

// readInit reads the model in the file of the initial weights, and identifies the file.
func (a *assembly) readInit(path string) (models.Model, error) {
	data, err := disk.ReadBeside(path)
	if err != nil {
		return models.Model{}, err
	}
	m, err := models.Load(bytes.NewReader(data), a.builder.Model)
	if err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	sum := rundir.NewSum()
	sum.Write(data)
	file := sum.File(path)
	a.init = &file
	return m, nil
}

// buildSplits builds the problem of the training rows and, at the same time if the statement allows
// it, the blocks of the other rows and the measures of every split.
func (a *assembly) buildSplits(weights models.Weights) (err error) {
	train := a.splits[0]
	if a.buildsConcurrently() {
		rest := relay.Go(func() error {
			err := a.buildMeasures(weights)
			if err == nil && train.Len()*a.builder.Outputs() <= smallTask {
				err = a.buildExact(train, weights)
			}
			return err
		})
		return cmp.Or(a.buildTraining(train, weights), rest())
	}
	if err := a.buildTraining(train, weights); err != nil {
		return err
	}
	if err := a.buildMeasures(weights); err != nil || a.devices.Team == nil {
		return err
	}
	x, err := models.Stack(a.builder.Model, weights)
	if err != nil {
		return err
	}
	// all processes build the blocks of the certificate in the same order
	for _, s := range a.splits {
		if _, err := a.builder.exactBlocks(s, x); err != nil {
			return err
		}
		s.divide(a.devices)
	}
	return nil
}

// buildsConcurrently reports whether buildSplits builds several problems at the same time. Bounded
// memory has no room for them, buildTraining replaces 8-bit rows, several processes need a fixed
// order, and one goroutine uses a GPU.
func (a *assembly) buildsConcurrently() bool {
	return a.builder.statement.pure && a.devices.Team == nil && a.devices.Pages == nil && !a.eightBit && a.devices.GPU == nil
}

// smallTask is the largest number of scores for which buildSplits builds the certificate's problem
// too: during the training, its graph takes about 100 bytes for each score.
const smallTask = 1 << 17

// buildExact builds the certificate's problem.
func (a *assembly) buildExact(train *split, weights models.Weights) (err error) {
	if train.exact, err = a.builder.NewBlocks(train.Data, tensor.Float64, weights); err != nil {
		return err
	}
	a.builder.byStrata(train, train.exact)
	train.head, err = a.builder.Head(a.builder.rows(train.Rows))
	return err
}

// buildMeasures builds the blocks of the rows that are not for training, and the measures of every
// split.
func (a *assembly) buildMeasures(weights models.Weights) (err error) {
	for i, s := range a.splits {
		if i > 0 {
			if s.blocks, err = a.builder.HeldOut(s.Data, a.dtype, weights); err != nil {
				return err
			}
		}
		if s.measure, err = a.builder.measurer(s.Rows); err != nil {
			return fmt.Errorf("session: %s rows: %w", s.Name, err)
		}
	}
	return nil
}

// buildTraining builds the problem of the training rows. If the engine stores 8-bit rows exactly,
// the split reads the rows from the engine, and buildTraining releases the original rows.
func (a *assembly) buildTraining(s *split, weights models.Weights) (err error) {
	if s.problem, err = a.builder.Problem(a.builder.rows(s.Rows), a.dtype, weights); err != nil {
		return err
	}
	if own := s.problem.Stored(0); own != nil && own != s.Data {
		s.Data = own
		a.data.FreeMemory()
	}
	return nil
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
