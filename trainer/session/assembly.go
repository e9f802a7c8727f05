package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/plan"
	"ppal/internal/ranks"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/internal/measure"
	"ppal/trainer/session/results"
	"ppal/trainer/step"
)

// assembly is the pipeline that New builds from Options. assemble sets the fields from top to
// bottom.
type assembly struct {
	options    Options
	dtype      tensor.Dtype
	devices    *build.Devices
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
	recorded   *recordSample       // the rows that records measure; nil: all rows
	confidence *measure.Confidence // makes the bounds hold on new rows; nil: they hold on the training rows
	scored     *scored             // the features of given scores; nil: the run trains a model
	solved     *measure.Solution   // result of the feedback; nil before Optimize, and for other tasks
	shifts     groupWeight         // the weight that shifts the scores of a group; of rankings
	init       *results.DataFile   // the file of the initial weights; nil: none
	notes      []string            // decisions between loading the data and building the problem
	finishes   []string            // a note on the last iterations of mini-batches; nil without such iterations
	counts     *counts             // counts of the rows; nil before counted
	check      ranks.Procedure     // checkOwn in all processes
	changed    error               // why kept rows are not those that were read; nil before check
}

// assemble opens the device while it loads the data, states the task on them and builds the
// problem. If ctx is cancelled, assemble returns the context's error after the step that is
// running.
func assemble(ctx context.Context, o Options) (*assembly, error) {
	a := &assembly{options: o, dtype: o.Device.dtype()}
	var err error
	if a.devices, err = build.Open(o.Device.resolved()); err != nil {
		return nil, err
	}
	if err := a.build(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// build does the steps of assemble that need the device.
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
	if a.devices.GPU == nil {
		source = nil // the rows are not read again: see read
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
	err = a.buildSplits(weights)
	if note := a.devices.Unsupported(err); note != "" {
		if a.devices, err = a.devices.LeaveGPU(note); err == nil {
			a.options.Data = source
			err = a.build(ctx)
		}
		return err
	}
	if err != nil {
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
	if a.needsSample() {
		if err := a.sampleRecords(weights); err != nil {
			return fmt.Errorf("session: the sample of the records: %w", err)
		}
	}
	if a.coarse() {
		a.products = string(Int8)
		a.notes = append(a.notes, coarseNote)
	}
	if err := a.addSamples(); err != nil {
		return err
	}
	return a.checkHistory()
}

// read reads the data for the device, and states the task on the training rows.
func (a *assembly) read(ctx context.Context, source Source) (err error) {
	if err := a.options.checkScores(); err != nil {
		return err
	}
	rows, err := loadRows(ctx, source, a.options.request(a.devices, a.dtype))
	changed, failure := a.devices.Opened()
	if failure != nil {
		return failure
	}
	if changed { // in the form for the CPU
		rows, err = loadRows(ctx, source, a.options.request(a.devices, a.dtype))
	}
	if err != nil {
		return err
	}
	a.take(rows)
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
	if a.builder, err = a.newBuilder(train.Rows); err != nil {
		return err
	}
	if a.scored, err = a.scoresOf(); err == nil && a.ranks() && a.devices.Team != nil {
		err = fmt.Errorf("session: %w: rates of pairs of documents need one process: train without mpirun", ErrOptions)
	}
	return err
}

// take makes the rows of a source the rows of the run.
func (a *assembly) take(l *load.Data) {
	a.data, a.splits, a.notes = l, make([]*split, len(l.Splits)), slices.Clone(l.KeptNotes)
	for k, s := range l.Splits {
		a.splits[k] = &split{Split: s}
	}
}

const coarseNote = "The first iterations multiply with two digits of the weights and derivatives, until the steps need three. " +
	"--products int8x3 always multiplies with three digits."

// coarse reports whether the training begins with coarse products.
func (a *assembly) coarse() bool {
	rule, ok := a.options.Method.(trainer.DualRule)
	return ok && rule.PrimalStep().Kind == step.LBFGS && problem.FeaturesOf(a.Problem()).Graded != nil
}

// chooseSteps chooses the method if the choice is the session's, and the primal step.
func (a *assembly) chooseSteps() (err error) {
	if a.scored != nil {
		return nil
	}
	o := &a.options
	if o.choosesMethod && step.QuasiNewtonRefuses(a.Problem()) != "" {
		d, _ := o.description()
		if o.Method, err = firstOrderMethod(d.Name); err != nil {
			return err
		}
	}
	if note := method.ChoosePrimal(o.Method, a.Problem()); note != "" {
		a.notes = append(a.notes, note)
	}
	if rule, ok := o.Method.(trainer.DualRule); ok && rule.PrimalStep().Kind == step.LBFGS {
		if reason := step.QuasiNewtonLacks(a.Problem()); reason != "" {
			return &OptionError{Option: "primal", Problem: "lbfgs: " + reason + "; use --primal nesterov"}
		}
	}
	method.SetCollapsed(o.Method, a.builder.statement.collapsed())
	return nil
}

// onBatches reports whether the training rows are taken in mini-batches.
func (a *assembly) onBatches(train load.Rows) bool {
	return a.options.BatchSize > 0 && a.options.BatchSize < train.Len()
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

// checkProducts refuses products of digits if the training rows are not 8-bit data. On the CPU,
// checkBFloat16 checks digits of bfloat16.
func (a *assembly) checkProducts(train load.Rows) error {
	_, a.eightBit = train.Data.(matrix.EightBit)
	p := plan.Products(a.options.Device.Products)
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
	p := plan.Products(a.options.Device.Products)
	if !p.BFloat16() || a.devices.GPU != nil || a.products == string(p) {
		return nil
	}
	return &OptionError{Option: "products", Problem: fmt.Sprintf(
		"is %s, which is for dense data on the CPU; the features of %s are others, want auto or float32", p, a.data.Name())}
}

// checkHistory refuses a primal step whose earlier vectors do not fit in memory. On a GPU they lie
// in the device's memory.
func (a *assembly) checkHistory() error {
	history := method.History(a.options.Method)
	if history == 0 || a.devices.GPU != nil {
		return nil
	}
	bytes := uint64(history) * uint64(a.parameters) * uint64(a.dtype.Size())
	return a.devices.Options.CheckMemory(bytes, fmt.Sprintf("the %d vectors of %d parameters of the step lbfgs (another: --primal nesterov) need", history, a.parameters))
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
			Labels: train.Labels, Groups: train.Groups, Levels: train.Levels, Weights: train.Weights}, seed, a.dtype, weights)
	case size >= all:
		a.notes = append(a.notes, fmt.Sprintf("batch-size %d: all %d rows", size, all))
	case size > 0 && a.ofQueries():
		return &OptionError{Option: "batch-size", Problem: "takes some queries, and the bounds are on the gaps of each query: use 0, or bound the gap over all queries, " +
			"as in --subject-to \"gap(cross_pair_error, GROUP) <= 0.25\""}
	case size > 0:
		if a.batches, a.sampler, err = build.NewBatches(a.builder.Builder, a.builder.rows(train), size, seed, a.dtype, weights, a.problem); err == nil {
			if err = a.checkBatches(); a.devices.Team == nil {
				a.splits[0].problem.Yield()
			}
		}
	}
	batches := 1
	if a.batches != nil {
		batches = int(a.batches.PerPass())
	}
	a.options.setIterations(batches, max(1, train.Copies))
	if err != nil || a.batches == nil || a.onDecisions() {
		return err
	}
	a.finishOnAll(a.options.Settings.Iterations)
	return nil
}

// finishOnAll lets the last iterations before the limit use all rows, unless the method returns a
// mean of its iterates, or the constraints bound a single query.
func (a *assembly) finishOnAll(limit int) {
	a.finishes = nil
	if method.AveragesOn(a.options.Method, a.sampler) || problem.FeaturesOf(a.sampler).Group != nil {
		return
	}
	if note := a.batches.FinishOnAll(a.options.Method, limit, a.devices.Team == nil || a.devices.Team.Rank() == 0); note != "" {
		a.finishes = []string{note}
	}
}

// checkBatches refuses mini-batches whose packed rows, which the CPU keeps beside all rows, do not
// fit in memory. A process has its part of the rows.
func (a *assembly) checkBatches() error {
	if a.devices.CPU == nil || a.devices.GPU != nil {
		return nil // the GPU keeps the rows of the batches that fit
	}
	bytes := a.batches.KeptBytes(a.dtype.Size(), a.devices.Pages != nil) / uint64(a.devices.Team.Size())
	return a.devices.Options.CheckMemory(bytes, "the second packed copy of the rows for --batch-size (train without it) needs")
}

// sampleRule decides whether samples pay.
type sampleRule struct {
	// least is the least number of rows of each stratum in the smallest sample. The standard error of
	// a rate of a half in 500 rows is 0.022, so that the violations of early iterates, which are
	// larger, are seen.
	least float64
	// work is the least work of an iteration on all rows, in nanoseconds on one thread. Below, an
	// iteration has little else than the step's own work, and the training is short.
	work float64
}

var samplesPay = sampleRule{least: 500, work: 1e7}

// addSamples adds samples of the rows to the training problem if they pay, and notes it.
//
// The device must be one CPU in this process, without bounded memory, and the method must take
// quasi-Newton steps on a model with hidden layers. Bounds on decisions have no samples, because
// their later rounds begin near a solution.
func (a *assembly) addSamples() error {
	train, pays := a.splits[0], cmp.Or(a.options.samplesPay, samplesPay)
	rule, ok := a.options.Method.(trainer.DualRule)
	switch {
	case a.options.AllRows || a.sampler != nil || !ok || rule.PrimalStep().Kind != step.LBFGS,
		a.devices.CPU == nil || a.devices.GPU != nil || a.devices.Team != nil || a.devices.Pages != nil,
		models.IsLinear(a.builder.Model) || a.onDecisions() || a.ofQueries() || a.iterationWork() < pays.work:
		return nil
	}
	strata := a.splits[0].Rows.Stratified()
	for _, rows := range strata {
		if float64(len(rows))*build.SampleShares()[0] < pays.least {
			return nil
		}
	}
	weights, err := a.start()
	if err != nil {
		return err
	}
	counts, err := a.builder.AddSamples(train.problem, a.builder.rows(train.Rows), a.options.Settings.Seed, a.dtype, weights)
	if err != nil {
		return err
	}
	a.sampled = true
	a.notes = append(a.notes, fmt.Sprintf("The first iterations see %d, then %d of the %d training rows, until the sampling error is larger than the gain of a step. "+
		"--samples none shows them all rows.", counts[0], counts[1], train.Len()))
	return nil
}
