package session

import (
	"errors"
	"fmt"
	"time"

	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/option"
	"ppal/trainer/problem"
)

// ErrOptions marks options that do not fit together or do not fit the data or the device.
var ErrOptions = errors.New("bad session options")

// OptionError is a refused option. errors.Is finds ErrOptions and Err.
type OptionError struct {
	Option  string // its name on the command line, without dashes: "products"
	Problem string // what is wrong, and what to choose
	Err     error  // the cause; may be nil
}

// Error gives one line.
func (e *OptionError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("session: %s %s: %v", e.Option, e.Problem, e.Err)
	}
	return fmt.Sprintf("session: %s %s", e.Option, e.Problem)
}

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.Err }

// Is reports whether target is ErrOptions.
func (e *OptionError) Is(target error) bool { return target == ErrOptions }

// InitError is a file that holds no initial weights for the run. errors.As finds a
// *models.MismatchError where the file holds another model.
type InitError struct {
	Path string
	Err  error
}

// Error gives one line.
func (e *InitError) Error() string {
	return fmt.Sprintf("session: initial weights %s: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *InitError) Unwrap() error { return e.Err }

// Options say what a session does. Data and Task are needed; the zero value of every other field is
// the program's default.
type Options struct {
	// Data is the source of the rows: Images, Table, CSV, LIBSVM, ImagesAtHand, TablesAtHand or
	// Matrices.
	Data Source
	// Task is what is learnt: NeymanPearson, DemographicParity, EqualizedOdds, Intersectional, or a
	// *Statement of the caller's own.
	Task Task
	// Model is the shape of the scores; the session sets Inputs and Outputs. nil is the task's
	// default: a linear model for gaps between two groups and for the caller's own tasks, a network
	// of 256 sigmoid units for Neyman-Pearson, of 64 ReLU units for intersectional fairness.
	Model *models.Spec
	// Regularizer is the convex term r. The session sets the Groups of problem.GroupL1 to the
	// parameters. nil is the task's default: a ball of radius 40 for Neyman-Pearson, else none.
	Regularizer *problem.Regularizer
	// Method is the method, not used before. nil is PPALA with the practical settings for the task.
	Method trainer.Method
	// Settings are the training loop's. Iterations 0 means DefaultIterations, a negative number
	// none: only the start is evaluated. Seed is also the seed of the initial weights, the
	// mini-batches, a table's split and built-in data. Measure, Full, IterationsPerEpoch and
	// CollapseAbove are the session's own.
	Settings trainer.Settings
	// BatchSize is the number of rows of a mini-batch, which keeps every class's share; 0: all rows.
	BatchSize int
	// Init is the path of a safetensors file with the initial weights; "" draws them from the seed.
	Init string
	// Device is what computes.
	Device Device
	// Files is what the calling program adds to the run's directory.
	Files Files
}

// DefaultIterations is the iteration limit where Options.Settings has none.
const DefaultIterations = 1000

// Files says what the calling program adds to the run's directory.
type Files struct {
	// Config returns the contents of config.yaml with the provenance; nil writes the options that
	// can be told in words, and the provenance.
	Config func(p Provenance) ([]byte, error)
	// Version is the program's, for config.yaml and summary.json; "" is that of the build.
	Version string
	// Notes stand before the session's own.
	Notes []string
	// Clock gives the time for the name of a directory that has none; nil is time.Now.
	Clock func() time.Time
}

// The types of the run's files.
type (
	// Provenance is what config.yaml tells of a run beside the settings.
	Provenance = rundir.Provenance
	// Summary is the contents of summary.json.
	Summary = rundir.Summary
	// DataFile identifies data that were read.
	DataFile = rundir.DataFile
	// SplitSizes is a named set of rows with its size in each split.
	SplitSizes = rundir.SplitSizes
	// Split names a part of the rows.
	Split = rundir.Split
)

// The splits.
const (
	Training   = rundir.Training
	Validation = rundir.Validation
	Test       = rundir.Test
)

// withDefaults fills in what is not given.
func (o Options) withDefaults() (Options, error) {
	if o.Data == nil || o.Task == nil {
		return o, fmt.Errorf("session: %w: Data and Task are needed", ErrOptions)
	}
	var d taskDefaults
	if t, ok := o.Task.(interface{ defaults() taskDefaults }); ok {
		d = t.defaults()
	}
	if o.Model == nil {
		o.Model = &models.Spec{Hidden: d.hidden, Activation: d.activation}
	}
	if o.Regularizer == nil {
		o.Regularizer = &d.regularizer
	}
	if o.Method == nil {
		m := &method.PPALA{}
		settings := map[string]string{option.NameProblem: d.problem, option.NamePreset: option.PresetPractical}
		if err := option.SetDefaults(m.Options(), func(name string) string { return settings[name] }); err != nil {
			return o, err
		}
		o.Method = m
	}
	return o.withProgram(), o.Device.validate()
}

// withProgram fills in the settings of the loop and of the files.
func (o Options) withProgram() Options {
	switch {
	case o.Settings.Iterations == 0:
		o.Settings.Iterations = DefaultIterations
	case o.Settings.Iterations < 0:
		o.Settings.Iterations = 0
	}
	if o.Files.Version == "" {
		o.Files.Version = buildVersion()
	}
	if o.Files.Clock == nil {
		o.Files.Clock = time.Now
	}
	return o
}

// taskDefaults are the options that a task recommends.
type taskDefaults struct {
	problem     string // its name, for the defaults of PPALA
	hidden      []int
	activation  models.Activation
	regularizer problem.Regularizer
}
