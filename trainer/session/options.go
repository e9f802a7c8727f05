package session

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gorgonia.org/tensor"

	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/results"
	"ppal/trainer/step"
)

// ErrOptions marks options that contradict each other, the data or the device. errors.Is finds
// problem.ErrSettings, too.
var ErrOptions = load.ErrOptions

// early returns an error that wraps problem.ErrOrder: a call of a session at the wrong time.
func early(format string, args ...any) error {
	return fmt.Errorf("session: %w: "+format, append([]any{problem.ErrOrder}, args...)...)
}

// OptionError is a refused option. errors.Is finds ErrOptions and Err.
type OptionError struct {
	Option  string // name of the option as in ppal's flags: "products"
	Problem string // follows the name in the message
	Err     error  // cause, or nil
}

// Error returns the message in a single line.
func (e *OptionError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("session: %s %s: %v", e.Option, e.Problem, e.Err)
	}
	return fmt.Sprintf("session: %s %s", e.Option, e.Problem)
}

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.Err }

// Is reports whether target is ErrOptions or problem.ErrSettings.
func (e *OptionError) Is(target error) bool {
	return target == ErrOptions || target == problem.ErrSettings
}

// InitError reports a file without valid initial weights for the run. errors.As finds a
// *models.MismatchError if the file holds another model.
type InitError struct {
	Path string
	Err  error
}

// Error returns the message in a single line.
func (e *InitError) Error() string {
	return fmt.Sprintf("session: initial weights %s: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *InitError) Unwrap() error { return e.Err }

// Options describe a session. Data and Task are required. The zero value of every other field means
// the default of the program ppal.
type Options struct {
	// Data is the source of the rows.
	Data Source
	// Task is the objective and the constraints: NeymanPearson, DemographicParity, EqualizedOdds,
	// Intersectional, Decisions, or the caller's own *Statement.
	Task Task
	// Model is the model: a models.Spec, or an architecture of the caller's own. The session sets the
	// numbers of features and scores. nil means the default of the task, see Defaults.
	Model models.Architecture
	// Regularizer is the convex term r. For problem.GroupL1 without Groups, each parameter of the
	// model is a group. nil means the default of the task, see Defaults.
	Regularizer *problem.Regularizer
	// Method is the method. A value serves a single session. nil means ALM if quasi-Newton
	// steps suit the problem, else PPALA with practical settings, and Unconstrained for Decisions
	// without constraints.
	Method trainer.Method
	// Settings are the settings of the training loop. Iterations 0 means DefaultIterations, or
	// DefaultPasses passes for convolutional networks on mini-batches; a negative number evaluates
	// only the initial weights. Tolerance 0 lets the session set Solved to the rounding of 1 in the
	// dtype; a negative number means that neither ends the run. Seed is also the seed of the initial
	// weights, the mini-batches, the split of a table and built-in data. The session sets Measure,
	// TrainMerit, ValidationMerit, RecordWork, LeastRecords, RecordShare, FreeRecords, Full,
	// IterationsPerEpoch, AllRowsFrom and CollapseAbove. Output and Patience may choose weights by
	// validation rows.
	Settings trainer.Settings
	// TimeLimit is the wall time of New, Optimize and Certify together: reading, training, records and
	// the certificate, whose time is estimated before the training. The training has at least a
	// quarter of the time after New. The time between the calls does not count. 0: no limit.
	// Settings.TimeLimit limits the training time alone.
	TimeLimit time.Duration
	// CheckpointEvery is the least wall time between checkpoints in an open directory; a run that is
	// cancelled, or that a limit ends, writes one, too. Checkpoints take at most a twentieth of the
	// time of the training. 0: no checkpoints.
	CheckpointEvery time.Duration
	// TensorBoard also writes the records to an open directory as an event file for TensorBoard.
	TensorBoard bool
	// BatchSize is the approximate number of rows of a mini-batch; 0: all rows. Every batch has
	// about the same share of each class and group. The last iterations use all rows: about as many
	// passes as the batches make, and twice as many for models without hidden layers.
	BatchSize int
	// AllRows shows all rows to every step. By default, the first quasi-Newton steps of large
	// problems on the CPU see a sample of the rows (step.QuasiNewton).
	AllRows bool
	// Init is the path of a safetensors file with the initial weights; "" draws them from the seed.
	Init string
	// Device selects the device that computes.
	Device Device
	// Files describes the calling program in the run's directory.
	Files Files

	samplesPay    sampleRule // the zero value is the variable samplesPay; tests have fewer rows
	choosesMethod bool       // Method was nil, and the problem may need another than the default
	passes        int        // passes over the rows before setIterations; 0: Settings has the iterations
	configuration *configuration
}

// Files describes the calling program in the run's directory.
type Files struct {
	// Settings are the program's lines of config.yaml. A line replaces the session's line of the same
	// name, and an empty value removes that line.
	Settings []Setting
	// Version is the version of the program; "": the version of its module.
	Version string
	// Notes precede the session's notes.
	Notes []string
	// Examples is the number of wrong decisions of each class that details.json and report.html show
	// with their rows; 0 means DefaultExamples, and a negative number means none.
	Examples int
	// Renderer writes the plots and report.html; nil means neither. The command ppal has one, and
	// `ppal report` writes the page of any run.
	Renderer Renderer
	// Clock returns the time for the directory's default name; nil means time.Now.
	Clock func() time.Time
}

// A Renderer shows the files of a run's directory as pictures and a page.
type Renderer interface {
	// Curves writes the plots of the records in the file metrics.jsonl of the directory dir, while
	// Certify runs.
	Curves(dir string, l results.Legend) error
	// Rates writes the plots of the rates of decisions and of the ROC curves (FPR, TPR) of the splits.
	Rates(dir, title string, tables map[results.Split]*results.RateTable, roc map[results.Split][][2]float64) error
	// Page writes report.html after the other files, except summary.json, whose contents are sum.
	Page(dir string, sum *results.Summary) error
}

// withDefaults replaces zero values with the defaults.
func (o Options) withDefaults() (Options, error) {
	if o.Data == nil || o.Task == nil {
		return o, fmt.Errorf("session: %w: Data and Task are needed", ErrOptions)
	}
	if err := CheckTask(o.Task); err != nil {
		return o, err
	}
	if m, ok := o.Model.(models.Scores); ok {
		if m.Thresholds == "" {
			m.Thresholds = models.OneThreshold
		}
		o.Model, o.Regularizer, o.Method = m, &problem.Regularizer{}, &method.Unconstrained{}
		o.Device.Kind, o.Device.Dtype = CPU, tensor.Float64
	}
	d := o.defaults()
	if s, ok := o.Model.(*models.Spec); ok && s != nil {
		o.Model = *s
	} else if ok || o.Model == nil {
		o.Model = d.Spec()
	}
	if o.Regularizer == nil {
		o.Regularizer = &d.Regularizer
	}
	_, pictures := o.Model.(models.OfPictures)
	switch {
	case o.Method == nil && pictures && o.BatchSize > 0 && !TraitsOf(o.Task).Unbounded:
		o.Method = &method.ALM{Primal: step.Settings{Kind: step.Adam}}
	case o.Method == nil:
		o.Method, o.choosesMethod = defaultMethod(o.Task), !TraitsOf(o.Task).Unbounded
	}
	if pictures && o.BatchSize > 0 && o.Settings.Iterations == 0 {
		o.passes = DefaultPasses
	}
	return o.withProgram(), o.Device.validate()
}

// The least numbers of passes and of iterations that setIterations chooses. With fewer passes the
// multipliers do not settle, and with fewer iterations the network learns little.
const (
	leastPasses     = 4
	leastIterations = 300
)

// setIterations sets the number of iterations of a run whose number is automatic. A pass has the
// given number of batches, and takes copies rows of each picture. More copies than two have fewer
// passes.
func (o *Options) setIterations(batches, copies int) {
	if o.passes > 0 {
		passes := min(o.passes, max(leastPasses, 2*o.passes/copies))
		o.Settings.Iterations, o.passes = max(leastIterations, passes*batches), 0
	}
}

// withProgram replaces zero values of Settings and Files with the defaults.
func (o Options) withProgram() Options {
	switch {
	case o.Settings.Iterations == 0 && o.passes == 0:
		o.Settings.Iterations = DefaultIterations
	case o.Settings.Iterations < 0:
		o.Settings.Iterations = 0
	}
	if o.Settings.FeasibilityTolerance == 0 {
		o.Settings.FeasibilityTolerance = trainer.DefaultFeasibilityTolerance
	}
	if o.Method != nil {
		method.SetRun(o.Method, o.Settings.FeasibilityTolerance, o.Settings.Seed)
	}
	if o.Files.Version == "" {
		o.Files.Version = buildVersion()
	}
	if o.Files.Examples == 0 {
		o.Files.Examples = DefaultExamples
	}
	if o.Files.Clock == nil {
		o.Files.Clock = time.Now
	}
	o.configuration = describe(o)
	return o
}

// runOptions returns the settings of the training loop and of the files of a run, bound to the
// fields of o: the flags of ppal train.
func (o *Options) runOptions() []*option.Option {
	s := &o.Settings
	list := []*option.Option{
		option.ExplicitOr("iterations", &s.Iterations, automatic, fmt.Sprintf(
			"stop after N iterations; 0 writes the initial weights; auto: %d passes over the rows for conv and resnet on mini-batches, else %d", DefaultPasses, DefaultIterations)).
			For(automatic, option.If("model", models.PictureKinds()...)).Or(strconv.Itoa(DefaultIterations)),
		option.Custom("time-limit", "TIME|none", o.setTimeLimit, o.timeLimitText,
			"stop the training after this wall time of the run, such as 90s or 10m; reading and records count", "none").Or("none"),
		option.ExplicitNumberOr("tolerance", &s.Tolerance, automatic,
			"stop at the first check whose KKT certificate has an epsilon of at most X; 0: never; auto: if epsilon and the objective are both at most the unit roundoff").Or(automatic),
		option.Count("batch-size", &o.BatchSize, option.AtLeast(0),
			"train on mini-batches with the same share of every class and group, and then on all rows; 0: all rows from the start, as the methods' theory assumes").
			For(strconv.Itoa(DefaultPictureBatch), option.If("model", models.PictureKinds()...)).Or("0").In("rows"),
		option.Either("samples", &o.AllRows, "auto", "none",
			"auto: the first quasi-Newton steps of a large problem on the CPU see a growing sample of the rows; none: every step sees all rows"),
		option.Seed("seed", &s.Seed, "seed the weights, the mini-batches and the built-in data").Or("1"),
		option.Words("output", o.output, func(word string) { s.Output = trainer.Output(word) },
			"save the last iterate, the feasible record with the smallest objective, or a random iterate",
			string(trainer.OutputLast), string(trainer.OutputBest), string(trainer.OutputRandom)),
		option.Words("select", o.selected, o.setSelected,
			"save the last iterate, or the record with the smallest violation, and then the smallest objective, on the training or validation rows",
			string(trainer.OutputLast), string(trainer.OutputBestTrain), string(trainer.OutputBestValidation)).
			OrRule("last; with --patience: best-validation", o.defaultSelect, "output", "patience").Refuse(o.refuseSelect),
		option.Count("patience", &s.Patience, option.AtLeast(0),
			"stop after N checks in a row without an improvement on the validation rows (up to 200 checks follow equal parts of --iterations); 0: never").Or("0").In("checks"),
		option.Number("feasibility-tolerance", &s.FeasibilityTolerance, option.Positive, "count a constraint as met up to this violation").
			Or(option.Float(trainer.DefaultFeasibilityTolerance)),
		option.CountOr("record-every", &s.RecordEvery, option.AtLeast(1), "auto",
			"record every N iterations, which changes neither the weights nor the end of the run; auto: at most 200 records a run, which take at most a tenth of the training time if it exceeds 10 s"),
		option.Count("near-stationarity", &s.NearEvery, option.AtLeast(0),
			"measure near stationarity at the first, the last and every N-th record, for some hundred passes over the rows each; 0: never").
			Or("0").In("records"),
		option.Explicit("examples", &o.Files.Examples,
			"show the rows of N wrong decisions of each class in report.html; 0: none, so that the run's directory holds no rows of the data").
			Or(strconv.Itoa(DefaultExamples)),
		option.Text("init", &o.Init, "FILE", "start from the weights in this safetensors file").Or(""),
		option.Switch("tensorboard", &o.TensorBoard, "also write the records as event files for TensorBoard, which reads the directory with tensorboard --logdir DIR"),
	}
	for _, own := range list {
		if !slices.Contains([]string{"time-limit", "seed", "examples"}, own.Name) {
			own.With(option.Trained())
		}
	}
	return list
}

// runSettings returns the settings of the run, and names what no flag expresses.
func (o *Options) runSettings() (flags []*option.Option, beyond []string) {
	s := &o.Settings
	for _, part := range []struct {
		name string
		set  bool
	}{
		{"the limit on the training time", s.TimeLimit > 0},
		{"the interval of the checks", s.CheckEvery > 0},
		{"the deadline", !s.Deadline.IsZero()},
		{"the limit on gradient evaluations", s.Gradients > 0},
		{"the state that the run resumes", s.Resume != nil},
		{"the tolerances of the certificate", s.Certificate != (certify.Settings{})},
		{"that the run goes on although its bounds cannot be met", s.IgnoreConflict},
		{"the settings of near stationarity", s.Near != (certify.NearSettings{})},
	} {
		if part.set {
			beyond = append(beyond, part.name)
		}
	}
	if s.Iterations == 0 && o.passes == 0 { // withProgram has replaced a negative number
		s.Iterations = -1
	}
	return o.runOptions(), beyond
}

// Served returns the options for a process that serves a run of process 0: without the settings of
// the loop that no flag expresses, because process 0 alone runs the loop, and without Table.Folds
// and Table.Held, which the process must set again.
func (o Options) Served() (served Options, folds, held int) {
	s := &o.Settings
	s.TimeLimit, s.CheckEvery, s.Deadline, s.Gradients, s.Resume = 0, 0, time.Time{}, 0, nil
	s.Certificate, s.IgnoreConflict, s.Near = certify.Settings{}, false, certify.NearSettings{}
	if t, ok := readFrom(o.Data).(Table); ok {
		folds, held, t.Folds, t.Held = t.Folds, t.Held, 0, 0
		o.Data = t
	}
	return o, folds, held
}

// automatic is the text of iterations of 0.
const automatic = "auto"

// noLimit is the text of a time limit of 0.
const noLimit = "none"

// setTimeLimit reads time-limit.
func (o *Options) setTimeLimit(text string) error {
	if o.TimeLimit = 0; text == noLimit {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("must be a positive duration such as 90s or 10m, or none")
	}
	o.TimeLimit = d
	return nil
}

// timeLimitText is the text of time-limit, in the largest unit that divides it: 90s, 10m, 2h.
func (o *Options) timeLimitText() string {
	if o.TimeLimit <= 0 {
		return noLimit
	}
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if o.TimeLimit%unit.size == 0 {
			return strconv.FormatInt(int64(o.TimeLimit/unit.size), 10) + unit.name
		}
	}
	return o.TimeLimit.String()
}

// byRecords reports whether the records choose the saved weights, as --select says.
func byRecords(output trainer.Output) bool {
	return output == trainer.OutputBestTrain || output == trainer.OutputBestValidation
}

// output is the text of output. The settings output and select share the field Settings.Output.
func (o *Options) output() string {
	if chosen := o.Settings.Output; chosen != "" && !byRecords(chosen) {
		return string(chosen)
	}
	return string(trainer.OutputLast)
}

// selected is the text of select.
func (o *Options) selected() string {
	if chosen := o.Settings.Selects(); byRecords(chosen) {
		return string(chosen)
	}
	return string(trainer.OutputLast)
}

// setSelected reads select. The last iterate leaves the choice of output.
func (o *Options) setSelected(word string) {
	if chosen := trainer.Output(word); byRecords(chosen) || o.Settings.Output == "" {
		o.Settings.Output = chosen
	}
}

// refuseSelect refuses a second choice of the saved weights.
func (o *Options) refuseSelect(text string) error {
	if !byRecords(trainer.Output(text)) || o.output() == string(trainer.OutputLast) {
		return nil
	}
	return fmt.Errorf("--output %s chooses the saved weights too; give one of the two", o.output())
}

// defaultSelect is the default of select: early stopping returns to the best record, unless output
// chooses.
func (o *Options) defaultSelect() string {
	if o.Settings.Patience > 0 && o.output() == string(trainer.OutputLast) {
		return string(trainer.OutputBestValidation)
	}
	return string(trainer.OutputLast)
}
