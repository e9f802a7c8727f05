package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"

	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/cpu"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// Experiment is a training run at its start, then at its end.
type Experiment struct {
	cfg           config.Train
	t             *task
	dtype         tensor.Dtype
	normalization models.Normalization
	splits        []*split        // training rows, then those of validation and test that there are
	problem       problem.Problem // on all training rows
	sampler       sampler         // what is trained where it is not problem
	method        trainer.Method
	engine, host  graph.Engine                  // of the training rows; of what is only measured
	device        *cpu.Device                   // of the plan's engine where the CPU trains, else nil
	eightBit      bool                          // the training rows
	openGPU       func(GPUOptions) (GPU, error) // nil: this machine's GPUs
	gpu           GPU                           // nil: the CPU trains
	info          Info
}

// split is one part of the rows, with what gives its scores: the problem on the training rows, blocks of the others, which are only
// measured.
type split struct {
	name string // train, validation, test
	rows
	problem *graph.Problem
	blocks  *blocks
	measure func(scores []float64) (measures, error)
}

// sampler is a problem that is another one at every iteration: mini-batches, or a drawn group.
type sampler interface {
	problem.Problem
	problem.Sampler
	// perPass is the number of iterations in one pass over the rows.
	perPass() float64
}

// Info describes what a run is about to do.
type Info struct {
	Device        string    // what computes, in words
	Products      string    // how products with the data are computed: int8x3, or a dtype
	DeviceBytes   int64     // the most of a GPU's memory that the run has had so far; 0: no GPU
	DataFiles     []FileSum // what was read
	Objective     string    // what f is
	Classes       []Part    // mnpc: the objective's first; tables: those of -1 and +1
	Groups        []Part    // of tables
	Rows          Part
	Features      int
	Parameters    int
	Normalization string
	Preparation   *datasets.Preparation // how the columns of a table became features, FeatureNames; nil of pictures
	FeatureNames  []string
	Warnings      []string
	Notes         []string
}

// FileSum identifies data: a file, or rows of a built-in set.
type FileSum struct {
	Name   string
	Bytes  int64
	SHA256 string
	State  string // of a file beside the published one: that of datasets.State
}

// Part is a named set of rows with its size in each split.
type Part struct {
	Name                    string
	Train, Validation, Test int
}

// weightStream tells the initial weights' random stream from others of the same seed.
const weightStream = 0x77656967687473

// New loads the data, initialises the model and builds the problem. dataDir is where the data sets' files are. A cancelled ctx ends
// it between these steps, with the context's error. What it opened is given back by Close.
func New(ctx context.Context, cfg config.Train, dataDir string, options ...Option) (*Experiment, error) {
	return assemble(ctx, cfg, func(e *Experiment) error { return e.load(ctx, dataDir) }, options)
}

// NewOnImages is New on images that are at hand: those of the configuration's classes, in their order.
func NewOnImages(ctx context.Context, cfg config.Train, train, test *datasets.Selection, options ...Option) (*Experiment, error) {
	return assemble(ctx, cfg, func(e *Experiment) error { return e.takeImages(atHand(train), atHand(test)) }, options)
}

// NewOnTables is New on tables that are at hand.
func NewOnTables(ctx context.Context, cfg config.Train, t *datasets.Tables, options ...Option) (*Experiment, error) {
	return assemble(ctx, cfg, func(e *Experiment) error { return e.takeTables(t) }, options)
}

// assemble makes the experiment on what load takes.
func assemble(ctx context.Context, cfg config.Train, load func(e *Experiment) error, options []Option) (*Experiment, error) {
	e := &Experiment{cfg: cfg, dtype: tensor.Float32}
	if cfg.Dtype == "float64" {
		e.dtype = tensor.Float64
	}
	for _, o := range options {
		o(e)
	}
	if err := e.assemble(ctx, load); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Experiment) assemble(ctx context.Context, load func(e *Experiment) error) (err error) {
	if e.method, err = e.cfg.TrainerMethod(); err != nil {
		return err
	}
	if err := e.chooseEngine(); err != nil {
		return err
	}
	e.t = &task{engine: e.engine, host: e.host}
	if err := load(e); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	debug.FreeOSMemory() // what reading left would otherwise stay beside the packed rows
	weights, err := e.start()
	if err != nil {
		return err
	}
	if err := e.build(weights); err != nil {
		return err
	}
	e.describe()
	return nil
}

// spec is the model's shape, for that many features and scores.
func (e *Experiment) spec(features, outputs int) (models.Spec, error) {
	s := models.Spec{Inputs: features, Outputs: outputs, Activation: models.Activation(e.cfg.Activation), Heads: models.Heads(e.cfg.Heads)}
	if e.cfg.Model.Model != "linear" {
		s.Hidden = e.cfg.Hidden
	}
	return s, s.Validate()
}

// regularizer completes the configuration's r with the groups of group-l1: the parameters.
func (e *Experiment) regularizer() (problem.Regularizer, error) {
	r, err := e.cfg.TrainerRegularizer()
	if err != nil || r.Kind != problem.GroupL1 {
		return r, err
	}
	end := 0
	for _, p := range e.t.spec.Parameters() {
		n := 1
		for _, d := range p.Shape {
			n *= d
		}
		end += n
		r.Groups = append(r.Groups, end)
	}
	return r, nil
}

// start returns the first weights, as trained: drawn from the seed, or those of --init.
func (e *Experiment) start() (models.Weights, error) {
	if e.cfg.Init == "" {
		return models.Init(e.t.spec, rand.New(rand.NewPCG(e.cfg.Seed, weightStream)))
	}
	m, err := models.LoadFile(e.cfg.Init, &e.t.spec)
	if err != nil {
		return nil, initError(e.cfg.Init, err)
	}
	return e.normalization.Unfold(e.t.spec, m.Weights)
}

// build makes the problem of the training rows, what scores the others, and what is trained.
func (e *Experiment) build(weights models.Weights) error {
	var err error
	if err := e.checkProducts(); err != nil {
		return err
	}
	for i, s := range e.splits {
		if i == 0 {
			s.problem, err = e.t.problem(s.rows, e.dtype, weights)
		} else {
			s.blocks, err = e.t.newBlocks(s.data, e.dtype, weights)
		}
		if err != nil {
			return err
		}
		if s.measure, err = e.t.goal.measurer(s.rows); err != nil {
			return fmt.Errorf("session: %s rows: %w", s.name, err)
		}
	}
	if e.problem, err = wrapped(e.t.goal, e.splits[0].problem); err != nil {
		return err
	}
	all := e.splits[0].len()
	switch {
	case e.cfg.IFForm == "sampled":
		e.sampler, err = newDraws(e.t, e.splits[0].rows, e.cfg.Seed, e.dtype, weights)
	case e.cfg.BatchSize >= all:
		e.info.Notes = append(e.info.Notes, fmt.Sprintf("batch-size %d: all %d rows", e.cfg.BatchSize, all))
	case e.cfg.BatchSize > 0:
		e.sampler, err = newBatches(e.t, e.splits[0].rows, e.cfg.BatchSize, e.cfg.Seed, e.dtype, weights)
	}
	return err
}

// describe completes the info.
func (e *Experiment) describe() {
	e.info.Parameters, _ = e.problem.Dims()
	e.info.Features = e.t.spec.Inputs
	e.info.Rows = e.part("rows", func(r rows) int { return r.len() })
	if e.info.Normalization == "" {
		e.info.Normalization = string(e.normalization.Kind)
	}
	e.info.Warnings = append(e.info.Warnings, e.t.goal.Warnings()...)
	e.describeProducts()
}

// part counts something in every split.
func (e *Experiment) part(name string, count func(r rows) int) Part {
	p := Part{Name: name}
	for _, s := range e.splits {
		switch s.name {
		case "train":
			p.Train = count(s.rows)
		case "validation":
			p.Validation = count(s.rows)
		case "test":
			p.Test = count(s.rows)
		}
	}
	return p
}

// Optimization is what Train runs: the problem that is trained, on all rows or on samples, and the method, not begun.
func (e *Experiment) Optimization() (problem.Problem, trainer.Method) {
	if e.sampler != nil {
		return e.sampler, e.method
	}
	return e.problem, e.method
}

// Explain is the engine's table of the steps of an iteration.
func (e *Experiment) Explain() string { return e.splits[0].problem.Explain() }

// Info describes the run.
func (e *Experiment) Info() Info {
	info := e.info
	if e.gpu != nil {
		info.DeviceBytes = e.gpu.PeakBytes()
	}
	return info
}

// Bounds are the constraints' bounds.
func (e *Experiment) Bounds() []float64 { return e.t.goal.Bounds() }

// ConstraintNames are what the constraints bound: classes, gaps, groups.
func (e *Experiment) ConstraintNames() []string { return e.t.goal.ConstraintNames() }
