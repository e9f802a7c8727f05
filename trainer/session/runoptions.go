package session

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/certify/near"
)

// RunOptions returns the settings of the training loop and of the files of a run, bound to the
// fields of o: the flags of ppal train.
func (o *Options) RunOptions() []*option.Option {
	s := &o.Settings
	return []*option.Option{
		option.Explicit("iterations", &s.Iterations, "stop after N iterations; 0 writes the initial weights").
			Or(strconv.Itoa(DefaultIterations)),
		option.Custom("time-limit", "TIME|none", o.setTimeLimit, o.timeLimitText,
			"stop the training after this wall time of the run, such as 90s or 10m; reading and records count", "none").Or("none"),
		option.Number("tolerance", &s.Tolerance, option.AtLeast(0),
			"stop at the first record whose KKT certificate has an epsilon of at most X; 0: never").Or("0"),
		option.Count("batch-size", &o.BatchSize, option.AtLeast(0),
			"train on mini-batches with the same share of every class and group, and then on all rows; 0: all rows from the start, as the methods' theory assumes").Or("0").In("rows"),
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
			"stop after N checks in a row without an improvement on the validation rows (a check follows each 1/200 of --iterations); 0: never").Or("0").In("checks"),
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
		{"the settings of near stationarity", s.Near != (near.Settings{})},
	} {
		if part.set {
			beyond = append(beyond, part.name)
		}
	}
	return o.RunOptions(), beyond
}

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
