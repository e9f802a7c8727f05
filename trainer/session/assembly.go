package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/ranks"
	"ppal/internal/relay"
	"ppal/internal/rundir"
	"ppal/internal/seal"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/device"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/internal/measure"
	"ppal/trainer/step"
)

// assembly is the pipeline that New builds from Options. assemble sets the fields from top to
// bottom.
type assembly struct {
	options    Options
	dtype      tensor.Dtype
	devices    *device.Devices
	data       *load.Data
	splits     []*split        // the splits of data, the training rows first
	eightBit   bool            // the training rows are 8-bit data
	builder    *builder        // the model and the task
	problem    problem.Problem // the problem on all training rows
	sampler    build.Sampler   // the problem that training samples; nil: training uses all rows
	batches    *build.Batches  // of the sampler; nil: no mini-batches
	sampled    bool            // the first quasi-Newton steps see samples of the rows
	parameters int
	products   string              // kind of products with the training rows
	device     string              // description of the device
	confidence *measure.Confidence // makes the bounds hold on new rows; nil: they hold on the training rows
	solved     *measure.Solution   // result of the feedback; nil before Optimize, and for other tasks
	init       *rundir.DataFile    // the file of the initial weights; nil: none
	notes      []string            // decisions between loading the data and building the problem
	finishes   []string            // a note on the last iterations of mini-batches; nil without such iterations
	counts     *counts             // counts of the rows; nil before counted
	check      ranks.Procedure     // checkOwn in all processes
	changed    error               // why kept rows are not those that were read; nil before check
}

// weightStream separates the random stream of the initial weights from other streams of the same
// seed.
const weightStream = 0x77656967687473

// assemble opens the device, loads the data, states the task on them and builds the problem. If ctx
// is cancelled, assemble returns the context's error after the step that is running.
func assemble(ctx context.Context, o Options) (*assembly, error) {
	a := &assembly{options: o, dtype: o.Device.dtype()}
	var err error
	if a.devices, err = device.Open(o.Device.resolved()); err != nil {
		return nil, err
	}
	if err := a.build(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

const coarseNote = "The first iterations multiply with two digits of the weights and derivatives, until the steps need three. " +
	"--products int8x3 always multiplies with three digits."

// build does the steps of assemble that come after the device is open.
func (a *assembly) build(ctx context.Context) (err error) {
	seed, source := a.options.Settings.Seed, a.options.Data
	if err := a.read(ctx, source); err != nil {
		return err
	}
	if note := a.devices.TooSmall(a.stepWork()); note != "" {
		if a.devices, err = a.devices.LeaveGPU(note); err != nil {
			return err
		}
		if err := a.read(ctx, source); err != nil { // in the form for the CPU
			return err
		}
	}
	a.check = a.devices.Team.Register(a.checkOwn)
	train := a.splits[0]
	if err := a.devices.CheckParameters(a.builder.Parameters()); err != nil {
		return err
	}
	if a.confidence, err = a.newConfidence(); err != nil {
		return err
	}
	weights, err := a.start()
	if err != nil {
		return err
	}
	if a.builder.Terms, err = a.builder.NewParameterTerms(weights); errors.Is(err, build.ErrNoScalar) {
		return fmt.Errorf("session: %w: %w", ErrOptions, err)
	} else if err != nil {
		return err
	}
	if err := a.buildSplits(weights); err != nil {
		return err
	}
	if a.problem, err = a.builder.statement.complete(train.problem); err != nil {
		return err
	}
	a.parameters, _ = a.problem.Dims()
	rows := 0
	for _, s := range a.splits {
		rows += s.Len()
	}
	if w := a.devices.Options.TooLittle(rows, a.parameters); w != "" {
		a.data.Description.Warnings = append(a.data.Description.Warnings, w)
	}
	if a.products = train.problem.Products(); a.products == "" {
		a.products = a.dtype.String()
	}
	if err := a.checkBFloat16(); err != nil {
		return err
	}
	a.device = a.devices.Describe(a.products)
	if err := a.buildSampler(train.Rows, seed, weights); err != nil {
		return err
	}
	if err := a.chooseSteps(); err != nil {
		return err
	}
	if a.coarse() {
		a.products = Int8.String()
		a.notes = append(a.notes, coarseNote)
	}
	if err := a.addSamples(); err != nil {
		return err
	}
	return a.checkHistory()
}

// chooseSteps chooses the method if the choice is the session's, and the primal step.
func (a *assembly) chooseSteps() (err error) {
	o := &a.options
	if _, multipliers := o.Method.(*method.ALM); o.choosesMethod && multipliers && step.QuasiNewtonRefuses(a.Problem()) != "" {
		d, _ := o.description()
		if o.Method, err = firstOrderMethod(d.Name); err != nil {
			return err
		}
	}
	if note := method.ChoosePrimal(o.Method, a.Problem()); note != "" {
		a.notes = append(a.notes, note)
	}
	return nil
}

// coarse reports whether the training begins with coarse products.
func (a *assembly) coarse() bool {
	rule, ok := a.options.Method.(trainer.DualRule)
	return ok && rule.PrimalStep().Kind == step.LBFGS && problem.FeaturesOf(a.Problem()).Graded != nil
}

// read reads the data for the device, and states the task on the training rows.
func (a *assembly) read(ctx context.Context, source Source) (err error) {
	loaded, err := source.Load(ctx, Request{request(a.devices, a.dtype, a.options.Settings.Seed, a.options.needs(), a.options.BatchSize > 0)})
	if err != nil {
		return err
	}
	a.take(loaded.Data)
	if err := a.checkSelection(); err != nil {
		return err
	}
	a.options.Data = nil // the session can free rows at hand once the device has a copy
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a.data.FreeMemory() // otherwise the memory of the reading stays beside the packed rows
	train := a.splits[0]
	if err := a.checkProducts(train.Rows); err != nil {
		return err
	}
	a.builder, err = a.newBuilder(train.Rows)
	return err
}

// take makes the rows of a source the rows of the run.
func (a *assembly) take(l *load.Data) {
	a.data, a.splits = l, make([]*split, len(l.Splits))
	for k, s := range l.Splits {
		a.splits[k] = &split{Split: s}
	}
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
	if statement, err = statement.onDecisions(rowsOf(train)); err != nil {
		return nil, err
	}
	b := &builder{statement: statement, Builder: &build.Builder{
		Regularizer: *a.options.Regularizer, Center: a.data.Center, Scale: a.data.Scale, Devices: forBuilder(a.devices),
		ParameterNodes: statement.ParameterNodes, Complete: statement.complete,
	}}
	if b.Model, err = models.Sized(a.options.Model, train.Features(), max(1, statement.Outputs)); err != nil {
		return nil, err
	}
	if b.HasScales() {
		b.Scales = problem.NewScales(b.Parameters())
	}
	if b.Regularizer.Kind == problem.GroupL1 && b.Regularizer.Groups == nil {
		b.Regularizer.Groups = build.ParameterEnds(b.Model)
	}
	return b, nil
}

// onBatches reports whether the training rows are taken in mini-batches.
func (a *assembly) onBatches(train load.Rows) bool {
	return a.options.BatchSize > 0 && a.options.BatchSize < train.Len()
}

// start returns the initial weights as trained. start draws the weights from the seed or reads
// them from a file.
func (a *assembly) start() (models.Weights, error) {
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
	data, err := seal.ReadBeside(path)
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
		rest := relay.Go(func() error { return a.buildMeasures(weights) })
		err := a.buildTraining(train, weights)
		if failure := rest(); err == nil {
			err = failure
		}
		return err
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
// memory has no room for them, buildTraining replaces 8-bit rows, and several processes need a
// fixed order.
func (a *assembly) buildsConcurrently() bool {
	return a.builder.statement.pure && a.devices.Team == nil && a.devices.Pages == nil && !a.eightBit
}

// smallTask is the largest number of scores for which buildMeasures builds the certificate's
// problem: during the training, its graph takes about 100 bytes for each score.
const smallTask = 1 << 17

// buildMeasures builds the blocks of the rows that are not for training, and the measures of every
// split. If the rows are few and the training problem is built at the same time, buildMeasures
// builds the certificate's problem too.
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
	train := a.splits[0]
	if !a.buildsConcurrently() || train.Len()*a.builder.Outputs() > smallTask {
		return nil
	}
	if train.exact, err = a.builder.NewBlocks(train.Data, tensor.Float64, weights); err != nil {
		return err
	}
	train.head, err = a.builder.Head(a.builder.rows(train.Rows))
	return err
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

// buildSampler builds the sampled problem if training uses mini-batches or drawn groups.
func (a *assembly) buildSampler(train load.Rows, seed uint64, weights models.Weights) (err error) {
	size, all := a.options.BatchSize, train.Len()
	switch {
	case a.builder.statement.sampled:
		sample, failure := a.builder.statement.samples.sample(rowsOf(train))
		if failure != nil {
			return failure
		}
		a.sampler, err = build.NewDraws(a.builder.Builder, build.DrawnRows{Data: train.Data, Sample: sample, Bound: a.builder.statement.Constraints[0].Bound,
			Labels: train.Labels, Groups: train.Groups, Levels: train.Levels}, seed, a.dtype, weights)
	case size >= all:
		a.notes = append(a.notes, fmt.Sprintf("batch-size %d: all %d rows", size, all))
	case size > 0:
		if a.batches, a.sampler, err = build.NewBatches(a.builder.Builder, a.builder.rows(train), size, seed, a.dtype, weights, a.problem); err == nil {
			err = a.checkBatches()
		}
	}
	if err != nil || a.batches == nil || a.onDecisions() {
		return err
	}
	a.finishOnAll(a.options.Settings.Iterations)
	return nil
}

// finishOnAll lets the last iterations before the limit use all rows.
func (a *assembly) finishOnAll(limit int) {
	a.finishes = nil
	if note := a.batches.FinishOnAll(a.options.Method, limit, a.devices.Team == nil || a.devices.Team.Rank() == 0); note != "" {
		a.finishes = []string{note}
	}
}

// checkProducts refuses products of digits if the training rows are not 8-bit data. On the CPU,
// checkBFloat16 checks digits of bfloat16.
func (a *assembly) checkProducts(train load.Rows) error {
	_, a.eightBit = train.Data.(matrix.EightBit)
	p := a.options.Device.Products
	if p.BFloat16() && a.devices.GPU == nil {
		return nil // the compiled problem tells: see checkBFloat16
	}
	if p.Digits() > 0 && !a.eightBit {
		return &OptionError{Option: "products", Problem: fmt.Sprintf(
			"is %s, which is for 8-bit data; the features of %s are others, want auto or float32", p, a.data.Name())}
	}
	return nil
}

// checkBFloat16 refuses digits of bfloat16 if the CPU's problem does not have them.
func (a *assembly) checkBFloat16() error {
	p := a.options.Device.Products
	if !p.BFloat16() || a.devices.GPU != nil || a.products == string(p) {
		return nil
	}
	return &OptionError{Option: "products", Problem: fmt.Sprintf(
		"is %s, which is for dense data on the CPU; the features of %s are others, want auto or float32", p, a.data.Name())}
}

// Problem implements Pipeline.
func (a *assembly) Problem() problem.Problem {
	if a.sampler != nil {
		return a.sampler
	}
	return a.problem
}

// Explain implements Pipeline.
func (a *assembly) Explain() string { return a.splits[0].problem.Explain() }

// Close implements Pipeline.
func (a *assembly) Close() error { return a.devices.Close() }

// recordWork estimates the work of a record, in iterations, and returns the number of records that
// a run takes in any case.
func (a *assembly) recordWork() (iterations float64, least int) {
	var rows []matrix.Matrix
	for _, s := range a.splits {
		rows = append(rows, s.Data)
	}
	batch := 0
	if a.sampler != nil {
		batch = a.options.BatchSize
	}
	return a.builder.RecordWork(rows, batch, a.sampler != nil || a.products == Int8.String() || a.sampled)
}

// iterationWork estimates the work of an iteration on all training rows.
func (a *assembly) iterationWork() float64 { return a.builder.IterationWork(a.splits[0].Data) }

// stepWork returns the work of an iteration on the training rows, or on one batch of them.
func (a *assembly) stepWork() float64 {
	work := a.iterationWork()
	if train := a.splits[0].Rows; a.onBatches(train) {
		work *= float64(a.options.BatchSize) / float64(train.Len())
	}
	return work
}
