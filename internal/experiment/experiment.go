package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
)

// Experiment is a training run at its start, then at its end.
type Experiment struct {
	cfg           config.Train
	t             *task
	dtype         tensor.Dtype
	normalization models.Normalization
	train, test   rows
	problem       *graph.Problem // on all training rows
	batches       *batches       // nil: every iteration takes all rows
	testBlocks    *blocks
	method        trainer.Method
	engine        graph.Engine
	info          Info
}

// Info describes what a run is about to do.
type Info struct {
	Device        string    // what computes, in words
	DataFiles     []FileSum // what was read
	Classes       []Class   // the objective's first
	Features      int
	Parameters    int
	Normalization string
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

// Class is a class with its numbers of rows.
type Class struct {
	Name        string
	Train, Test int
}

// weightStream tells the initial weights' random stream from others of the same seed.
const weightStream = 0x77656967687473

// New loads the data, initialises the model and builds the problem. dataDir is where the data sets' files are. A cancelled ctx ends
// it between these steps, with the context's error.
func New(ctx context.Context, cfg config.Train, dataDir string) (*Experiment, error) {
	return assemble(ctx, cfg, func(e *Experiment) (train, test *datasets.Selection, err error) { return e.load(ctx, dataDir) })
}

// NewOn is New on images that are at hand: those of the configuration's classes, in their order.
func NewOn(ctx context.Context, cfg config.Train, train, test *datasets.Selection) (*Experiment, error) {
	return assemble(ctx, cfg, func(*Experiment) (*datasets.Selection, *datasets.Selection, error) { return train, test, nil })
}

func assemble(ctx context.Context, cfg config.Train, load func(*Experiment) (train, test *datasets.Selection, err error)) (*Experiment, error) {
	e := &Experiment{cfg: cfg, dtype: tensor.Float32}
	if cfg.Dtype == "float64" {
		e.dtype = tensor.Float64
	}
	var err error
	if e.method, err = cfg.TrainerMethod(); err != nil {
		return nil, err
	}
	if err := e.chooseEngine(); err != nil {
		return nil, err
	}
	train, test, err := load(e)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if e.normalization, err = normalization(models.NormalizationKind(cfg.Normalize), train); err != nil {
		return nil, err
	}
	e.train, e.test = newRows(train, e.normalization), newRows(test, e.normalization)
	debug.FreeOSMemory() // what reading left would otherwise stay beside the packed rows
	if err := e.define(train); err != nil {
		return nil, err
	}
	weights, err := e.start()
	if err != nil {
		return nil, err
	}
	if e.problem, err = e.t.problem(e.train, e.dtype, weights); err != nil {
		return nil, err
	}
	if all := e.train.len(); cfg.BatchSize >= all {
		e.info.Notes = append(e.info.Notes, fmt.Sprintf("batch-size %d: all %d rows", cfg.BatchSize, all))
	} else if cfg.BatchSize > 0 {
		if e.batches, err = newBatches(e.t, e.train, cfg.BatchSize, cfg.Seed, e.dtype, weights); err != nil {
			return nil, err
		}
	}
	if e.testBlocks, err = e.t.newBlocks(e.test.data, e.dtype, weights); err != nil {
		return nil, err
	}
	e.describe(train, test)
	return e, nil
}

// chooseEngine makes what the configuration names.
func (e *Experiment) chooseEngine() error {
	if e.cfg.Engine == "gorgonia" {
		e.engine = graph.Tape{}
		e.info.Device = fmt.Sprintf("cpu, %d threads, Gorgonia's tape machine with gonum products, %s", runtime.GOMAXPROCS(0), e.cfg.Dtype)
		return nil
	}
	d, err := CPU(e.cfg.Device)
	if err != nil {
		return err
	}
	e.engine = graph.Planned(d)
	e.info.Device = fmt.Sprintf("cpu, %d threads, %v kernels, %s", d.Threads(), d.Level(), e.cfg.Dtype)
	return nil
}

// CPU is the device that the configuration's plans run on.
func CPU(cfg config.Device) (*cpu.Device, error) {
	level := kernel.Best()
	if cfg.SIMD != "auto" {
		var err error
		if level, err = kernel.ParseLevel(cfg.SIMD); err != nil {
			return nil, err
		}
	}
	return cpu.New(level, cfg.Threads)
}

// load reads the data set and selects the classes.
func (e *Experiment) load(ctx context.Context, dataDir string) (train, test *datasets.Selection, err error) {
	all, held, err := datasets.Load(dataDir, e.cfg.Dataset, e.cfg.Seed)
	if err != nil {
		return nil, nil, err
	}
	report, err := datasets.Verify(ctx, dataDir, e.cfg.Dataset)
	if err != nil {
		return nil, nil, err
	}
	e.info.Warnings = append(e.info.Warnings, report.Warnings...)
	for _, f := range report.Files {
		e.info.DataFiles = append(e.info.DataFiles, FileSum{Name: f.File.Path, Bytes: f.Size, SHA256: f.SHA256, State: f.State.String()})
	}
	if len(report.Files) == 0 {
		e.info.DataFiles = []FileSum{rowsSum(e.cfg.Dataset+" train", all), rowsSum(e.cfg.Dataset+" test", held)}
	}
	if train, err = datasets.Select(all, e.cfg.Classes, e.cfg.RowsPerClass); err != nil {
		return nil, nil, err
	}
	test, err = datasets.Select(held, e.cfg.Classes, 0)
	return train, test, err
}

// rowsSum identifies rows that come from no file.
func rowsSum(name string, set *datasets.Images) FileSum {
	return FileSum{Name: name, Bytes: int64(len(set.Pixels.Data) + len(set.Labels)), SHA256: set.SHA256()}
}

// define makes the task.
func (e *Experiment) define(train *datasets.Selection) error {
	_, features := train.Pixels.Dims()
	e.t = &task{center: scaledCenter(e.normalization), engine: e.engine}
	e.t.spec = models.Spec{
		Inputs: features, Outputs: len(train.Names),
		Activation: models.Activation(e.cfg.Activation), Heads: models.Heads(e.cfg.Heads),
	}
	if e.cfg.Model.Model != "linear" {
		e.t.spec.Hidden = e.cfg.Hidden
	}
	if err := e.t.spec.Validate(); err != nil {
		return err
	}
	phi, err := constraints.ParsePhi(e.cfg.Phi)
	if err != nil {
		return err
	}
	np, err := constraints.NewNeymanPearson(train.Names, e.cfg.Kappa, phi)
	if err != nil {
		return err
	}
	e.t.goal = neymanPearson{np, e.cfg.Classes}
	e.t.regularizer, err = e.regularizer()
	return err
}

// regularizer completes the configuration's r with the groups of group-l1: the parameters.
func (e *Experiment) regularizer() (trainer.Regularizer, error) {
	r, err := e.cfg.TrainerRegularizer()
	if err != nil || r.Kind != trainer.GroupL1 {
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

func (e *Experiment) describe(train, test *datasets.Selection) {
	n, _ := e.problem.Dims()
	for k, name := range train.Names {
		e.info.Classes = append(e.info.Classes, Class{Name: name, Train: len(e.train.strata[k]), Test: len(e.test.strata[k])})
	}
	e.info.Features, e.info.Parameters = e.t.spec.Inputs, n
	e.info.Normalization = e.cfg.Normalize
	if e.normalization.Kind == models.NormalizeStandardize {
		e.info.Normalization = fmt.Sprintf("%s (one deviation: %.6g)", e.cfg.Normalize, e.normalization.Deviation)
	}
	e.info.Warnings = append(e.info.Warnings, e.t.goal.Warnings()...)
}

// Explain is the engine's table of the steps of an iteration.
func (e *Experiment) Explain() string { return e.problem.Explain() }

// Info describes the run.
func (e *Experiment) Info() Info { return e.info }

// Bounds are kappa, one for each constraint.
func (e *Experiment) Bounds() []float64 { return e.t.goal.Bounds() }

// ConstraintNames are the classes whose losses are bounded.
func (e *Experiment) ConstraintNames() []string { return e.t.goal.ConstraintNames() }

// Optimization is what Train runs: the problem that is trained, on all rows or on mini-batches, and the method, not begun.
func (e *Experiment) Optimization() (trainer.Problem, trainer.Method) {
	if e.batches != nil {
		return e.batches, e.method
	}
	return e.problem, e.method
}

// Train runs the method. It adds the error rates to the settings' records and checks for a collapse.
func (e *Experiment) Train(ctx context.Context, s trainer.Settings) (*trainer.Result, error) {
	s.Measure = e.measure
	if threshold, ok := e.t.goal.collapse(); ok {
		s.CollapseAbove = threshold
	}
	if e.batches == nil {
		return trainer.Train(ctx, e.problem, e.method, s)
	}
	s.Full, s.IterationsPerEpoch = e.problem, e.batches.perPass()
	r, err := trainer.Train(ctx, e.batches, e.method, s)
	if err == nil { // the output, which is not always the last record's
		x := e.iterate()
		e.batches.Read(x, trainer.Iterate)
		e.problem.Write(trainer.Iterate, x)
	}
	return r, err
}

// measure evaluates training and test rows at the iterate, whose forward pass on the training rows has been done.
func (e *Experiment) measure() (map[string]float64, error) {
	train, err := e.t.measure(e.problem, e.train)
	if err != nil {
		return nil, err
	}
	test, err := e.measureTest()
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for name, v := range train.named {
		all["train_"+name] = v
	}
	for name, v := range test.named {
		all["test_"+name] = v
	}
	return all, nil
}

// measureTest takes the iterate to the test rows.
func (e *Experiment) measureTest() (measures, error) {
	scores, err := e.testBlocks.scores(e.iterate())
	if err != nil {
		return measures{}, err
	}
	return e.t.goal.measure(scores, e.test)
}

func (e *Experiment) iterate() []float64 {
	n, _ := e.problem.Dims()
	x := make([]float64, n)
	e.problem.Read(x, trainer.Iterate)
	return x
}

// Final is a finished run, measured.
type Final struct {
	Certificate trainer.Certificate // in float64
	Objective   float64             // f + r, in float64
	Constraints []float64           // g, in float64
	Train, Test map[string]float64
	// Per class, the objective's first.
	ClassLoss, TrainError, TestError []float64
}

// sphereOfFloat32 is how near to the ball's sphere weights of float32 count as on it, in float64 too.
const sphereOfFloat32 = 1e-6

// Finish certifies the run's output in float64 and measures it.
func (e *Experiment) Finish(r *trainer.Result) (Final, error) {
	var final Final
	x := e.iterate()
	p, err := newExact(e.t, e.train, x)
	if err != nil {
		return Final{}, err
	}
	at := trainer.Point{Constraints: make([]float64, len(e.Bounds()))}
	if at.Objective, err = p.Forward(at.Constraints); err != nil {
		return Final{}, err
	}
	var set trainer.CertificateSettings
	if e.dtype == tensor.Float32 {
		set.Sphere = sphereOfFloat32
	}
	if final.Certificate, err = trainer.Certify(p, &at, r.Certificate.Nu, set); err != nil {
		return Final{}, err
	}
	final.Objective, final.Constraints = at.Objective+e.t.regularizer.Value(x), at.Constraints
	if _, err := e.problem.Forward(make([]float64, len(at.Constraints))); err != nil {
		return Final{}, err
	}
	train, err := e.t.measure(e.problem, e.train)
	if err != nil {
		return Final{}, err
	}
	test, err := e.measureTest()
	if err != nil {
		return Final{}, err
	}
	final.Train, final.Test = train.named, test.named
	final.ClassLoss, final.TrainError, final.TestError = train.values, train.hard, test.hard
	return final, nil
}

// Save writes the weights of the iterate, acting on raw rows, as a safetensors file.
func (e *Experiment) Save(path string) error {
	trained, err := models.Unstack(e.t.spec, e.iterate())
	if err != nil {
		return err
	}
	raw, err := e.normalization.Fold(e.t.spec, trained)
	if err != nil {
		return err
	}
	return models.SaveFile(path, models.Model{Spec: e.t.spec, Weights: raw, Normalization: e.normalization}, e.dtype)
}
