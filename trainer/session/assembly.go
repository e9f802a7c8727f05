package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"

	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/internal/plan"
	"ppal/models"
	"ppal/trainer/problem"
)

// Description says what a session is about to do, and what it found: the provenance of config.yaml,
// and more.
type Description struct {
	Provenance
	Task         string   // the statement's name
	Dataset      string   // its name; of rows at hand "data at hand"
	Objective    string   // what f is, in a word
	Constraints  []string // what g_1..g_m bound: classes, gaps, groups
	Rows         SplitSizes
	Preparation  *datasets.Preparation // how a table's columns became features; nil of other data
	FeatureNames []string
	DeviceBytes  int64 // the most of a GPU's memory that was in use so far; 0 without a GPU
}

// assembly is the pipeline that New makes of options: the rows, the model, the task and the device as
// one problem.
type assembly struct {
	options    Options
	dtype      tensor.Dtype
	devices    *devices
	data       *loaded
	statement  *Statement
	builder    *builder
	problem    problem.Problem // on all training rows
	sampler    sampler         // what is trained where it is not problem
	eightBit   bool            // the training rows
	parameters int
	products   string   // with the training rows, as they run
	device     string   // in words
	notes      []string // on the way from the data to the problem
}

// sampler is a problem that is another one at every iteration: mini-batches, or a drawn group.
type sampler interface {
	problem.Problem
	problem.Sampler
	// perPass is the number of iterations in one pass over the rows.
	perPass() float64
}

// weightStream tells the initial weights' random stream from others of the same seed.
const weightStream = 0x77656967687473

// assemble opens the device, loads the data, states the task on them and builds the problem. A
// cancelled ctx ends assemble between these steps, with the context's error.
func assemble(ctx context.Context, o Options) (*assembly, error) {
	a := &assembly{options: o, dtype: o.Device.dtype()}
	var err error
	if a.devices, err = openDevices(o.Device); err != nil {
		return nil, err
	}
	if err := a.build(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// build does what assemble does once the device is open.
func (a *assembly) build(ctx context.Context) (err error) {
	seed := a.options.Settings.Seed
	if a.data, err = a.options.Data.load(ctx, request{a.devices, a.dtype, seed}); err != nil {
		return err
	}
	a.options.Data = nil // rows at hand are freed once the device has them in its own form
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	debug.FreeOSMemory() // the memory that reading used would otherwise stay beside the packed rows
	train := a.data.splits[0]
	if a.statement, err = a.options.Task.State(train.public(), needsSmooth(a.options.Method)); err != nil {
		return err
	}
	if err := a.statement.check(); err != nil {
		return err
	}
	if a.builder, err = a.newBuilder(train.features()); err != nil {
		return err
	}
	weights, err := a.start()
	if err != nil {
		return err
	}
	if err := a.checkProducts(); err != nil {
		return err
	}
	if err := a.buildSplits(weights); err != nil {
		return err
	}
	if a.problem, err = a.statement.complete(train.problem); err != nil {
		return err
	}
	a.parameters, _ = a.problem.Dims()
	if a.products = train.problem.Products(); a.products == "" {
		a.products = a.dtype.String()
	}
	a.device = a.devices.describe(a.products)
	return a.buildSampler(train.rows, seed, weights)
}

// newBuilder completes the model's shape and the regularizer for rows of so many features.
func (a *assembly) newBuilder(features int) (*builder, error) {
	b := &builder{
		spec: *a.options.Model, statement: a.statement, regularizer: *a.options.Regularizer,
		center: a.data.center, scale: a.data.scale, engine: a.devices.train, host: a.devices.measure,
	}
	b.spec.Inputs, b.spec.Outputs = features, max(1, a.statement.Outputs)
	if err := b.spec.Validate(); err != nil {
		return nil, err
	}
	if b.regularizer.Kind == problem.GroupL1 && b.regularizer.Groups == nil {
		end := 0
		for _, p := range b.spec.Parameters() {
			n := 1
			for _, d := range p.Shape {
				n *= d
			}
			end += n
			b.regularizer.Groups = append(b.regularizer.Groups, end)
		}
	}
	return b, nil
}

// start returns the first weights, as trained: drawn from the seed, or those of a file.
func (a *assembly) start() (models.Weights, error) {
	if a.options.Init == "" {
		return models.Init(a.builder.spec, rand.New(rand.NewPCG(a.options.Settings.Seed, weightStream)))
	}
	m, err := models.LoadFile(a.options.Init, &a.builder.spec)
	if err != nil {
		return nil, &InitError{Path: a.options.Init, Err: err}
	}
	return a.data.normalization.Unfold(a.builder.spec, m.Weights)
}

// buildSplits makes the problem of the training rows, what scores the others, and every split's
// measures.
func (a *assembly) buildSplits(weights models.Weights) (err error) {
	for i, s := range a.data.splits {
		if i == 0 {
			err = a.buildTraining(s, weights)
		} else {
			s.blocks, err = a.builder.newBlocks(s.data, a.dtype, weights)
		}
		if err != nil {
			return err
		}
		if s.measure, err = a.builder.measurer(s.rows); err != nil {
			return fmt.Errorf("session: %s rows: %w", s.name, err)
		}
	}
	return nil
}

// buildTraining makes the problem of the training rows. If the engine stores 8-bit rows exactly, the
// split reads them from there, and the memory that they were read to is freed.
func (a *assembly) buildTraining(s *split, weights models.Weights) (err error) {
	if s.problem, err = a.builder.problem(s.rows, a.dtype, weights); err != nil {
		return err
	}
	if own := s.problem.Stored(0); own != nil && own != s.data {
		s.data = own
		debug.FreeOSMemory()
	}
	return nil
}

// buildSampler makes the problem that is trained, where it is not that of all rows.
func (a *assembly) buildSampler(train rows, seed uint64, weights models.Weights) (err error) {
	size, all := a.options.BatchSize, train.len()
	switch {
	case a.statement.sampled != nil:
		a.sampler, err = newDraws(a.builder, train, seed, a.dtype, weights)
	case size >= all:
		a.notes = append(a.notes, fmt.Sprintf("batch-size %d: all %d rows", size, all))
	case size > 0:
		a.sampler, err = newBatches(a.builder, train, size, seed, a.dtype, weights)
	}
	return err
}

// checkProducts refuses products of integers where the data are not of 8 bits.
func (a *assembly) checkProducts() error {
	_, a.eightBit = a.data.splits[0].data.(matrix.EightBit)
	if p := a.options.Device.Products; p.ofBytes() && !a.eightBit {
		return &OptionError{Option: "products", Problem: fmt.Sprintf(
			"is %s, which is for 8-bit data; the features of %s are others, want auto or float32", p, a.data.name())}
	}
	return nil
}

// Describe implements Pipeline.
func (a *assembly) Describe() Description {
	d := a.data.told
	d.Dataset = a.data.name()
	d.Task, d.Objective, d.Constraints, d.Bounds = a.statement.Name, a.statement.Objective, a.statement.names(), a.statement.bounds()
	if d.Objective == "" {
		d.Objective = "objective"
	}
	d.Features, d.Parameters = a.builder.spec.Inputs, a.parameters
	d.Products, d.Device, d.DeviceBytes = a.products, a.device, a.devices.peakBytes()
	d.Rows = a.sizes("rows", rows.len)
	train := a.data.splits[0]
	for _, c := range train.classes {
		d.Classes = append(d.Classes, a.sizes(c.Name, func(r rows) int { return r.ofLabel(c.Label) }))
	}
	for k, g := range train.groups {
		d.Groups = append(d.Groups, a.sizes(g.Name, func(r rows) int { return len(r.groups[k].Rows) }))
	}
	d.Warnings = concat(d.Warnings, a.statement.Warnings)
	d.Notes = concat(d.Notes, a.notes, a.productsNote())
	return d
}

// productsNote says why products with 8-bit data are in float32, where they are without having been
// asked for.
func (a *assembly) productsNote() []string {
	if !a.eightBit || a.devices.cpu == nil || a.options.Device.Products != "" || a.dtype != tensor.Float32 {
		return nil
	}
	if _, err := a.devices.cpu.With(plan.Int8x3); err == nil {
		return nil
	}
	return []string{fmt.Sprintf("The data are of 8 bits, but the %v kernels have neither AVX-512 VNNI nor AVX-VNNI here: products are in float32.",
		a.devices.cpu.Level())}
}

// sizes counts rows in every split.
func (a *assembly) sizes(name string, count func(r rows) int) SplitSizes {
	sizes := SplitSizes{Name: name}
	for _, s := range a.data.splits {
		sizes.Set(s.name, count(s.rows))
	}
	return sizes
}

// Problem implements Pipeline.
func (a *assembly) Problem() problem.Problem {
	if a.sampler != nil {
		return a.sampler
	}
	return a.problem
}

// Explain implements Pipeline.
func (a *assembly) Explain() string { return a.data.splits[0].problem.Explain() }

// Close implements Pipeline.
func (a *assembly) Close() error { return a.devices.close() }

// concat joins lists in a new slice, nil where all are empty.
func concat(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
