package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ppal/datasets"
	"ppal/internal/atomicfile"
	"ppal/internal/relay"
	"ppal/models/predictor"
)

// standard is the name of the standard input and output.
const standard = "-"

// rowsFlags are the flags for reading new rows.
type rowsFlags struct {
	input     string
	unknown   string
	separator string
	weights   string
}

// The values of --unknown.
const (
	unknownRefuse = "refuse"
	unknownIgnore = "ignore"
)

func (f *rowsFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.input, "input", standard, "read the rows from `FILE`, plain or gzip (- is the standard input)")
	addWeights(cmd, &f.weights)
	addUnknown(cmd, &f.unknown)
	cmd.Flags().StringVar(&f.separator, "separator", "", "separator of the fields, a `CHARACTER` or tab [default: detected]")
}

// addUnknown adds the flag --unknown.
func addUnknown(cmd *cobra.Command, field *string) {
	cmd.Flags().StringVar(field, "unknown", unknownRefuse, "unknown categories: `refuse|ignore` them (ignored: all their indicators are 0)")
	complete(cmd, "unknown", []string{unknownRefuse, unknownIgnore})
}

// ignoresUnknown returns the value of --unknown.
func ignoresUnknown(text string) (bool, error) {
	switch text {
	case unknownRefuse, unknownIgnore:
		return text == unknownIgnore, nil
	}
	return false, usage{fmt.Errorf("--unknown %s: must be %s or %s", text, unknownRefuse, unknownIgnore)}
}

// The values of --weights.
const (
	weightsOutput = "output"
	weightsBest   = "best"
)

// addWeights adds the flag --weights.
func addWeights(cmd *cobra.Command, field *string) {
	cmd.Flags().StringVar(field, "weights", weightsOutput, "use the weights `output|best`: the run's output (model.safetensors), which summary.json"+
		" describes,\nor the best feasible record (best.safetensors)")
	complete(cmd, "weights", []string{weightsOutput, weightsBest})
}

// loadModel loads the weights of a run that --weights names.
func loadModel(run, weights string) (*predictor.Model, error) {
	switch weights {
	case weightsOutput:
		return predictor.Load(run)
	case weightsBest:
		m, err := predictor.LoadBest(run)
		if errors.Is(err, predictor.ErrNoBest) {
			return nil, usage{fmt.Errorf("--weights best: %w; use --weights output", err)}
		}
		return m, err
	}
	return nil, usage{fmt.Errorf("--weights %s: must be %s or %s", weights, weightsOutput, weightsBest)}
}

// options returns the flags' values for a predictor.
func (f *rowsFlags) options() (predictor.Options, error) {
	var o predictor.Options
	var err error
	if o.IgnoreUnknown, err = ignoresUnknown(f.unknown); err != nil {
		return o, err
	}
	switch separator := f.separator; {
	case separator == "tab":
		o.Separator = '\t'
	case len(separator) == 1 && !strings.ContainsAny(separator, "\"\r\n") && separator[0] < 0x80:
		o.Separator = rune(separator[0])
	case separator != "":
		return o, usage{fmt.Errorf("--separator %q: must be one ASCII character, or tab", separator)}
	}
	return o, nil
}

// open opens the input and returns its name for errors.
func (f *rowsFlags) open(a *app) (io.ReadCloser, string, error) {
	if f.input == standard {
		return io.NopCloser(a.stdin), "standard input", nil
	}
	in, err := os.Open(f.input)
	if err != nil {
		return nil, "", asMissing(fmt.Errorf("--input: %w", err))
	}
	return in, f.input, nil
}

// advise adds the remedy to an error of the rows.
func advise(err error) error {
	var at *datasets.FileError
	if !errors.As(err, &at) || at.Advice != "" {
		return err
	}
	switch {
	case errors.Is(err, datasets.ErrCategory):
		at.Advice = "use --unknown ignore to score rows with unknown categories"
	case errors.Is(err, datasets.ErrMissing):
		at.Advice = "the model takes no missing values in this column, because training had none: add the value, or leave out the row"
	}
	return err
}

func (a *app) predictCommand() *cobra.Command {
	var rows rowsFlags
	var output string
	cmd := &cobra.Command{
		Use:   "predict RUN",
		Short: "Score new rows with a trained model",
		Long: `Predict reads rows in the format of the run's data (CSV, TSV or Parquet, LIBSVM, or pictures in IDX; plain or gzip) and writes a CSV:

  two classes      row (from 1), score, decision (the label's value), and probability if the run fitted one
  several classes  row, class, score_NAME for each class, and probability_NAME for each class if the run fitted probabilities

The columns of the input may be in any order. Other columns are ignored, and the label's may be absent. Missing values are
treated as in training. Memory does not grow with the number of rows.`,
		Example: `  ppal predict runs/20260101-120000-dp-ppala --input people.csv --output scores.csv
  zcat people.csv.gz | ppal predict RUN > scores.csv
  ppal predict RUN --input people.csv --unknown ignore
  ppal predict RUN --input people.csv --weights best`,
		Args: oneRun,
		RunE: a.once(func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func() error { return a.predict(args[0], rows, output) })
		}),
	}
	cmd.Flags().SortFlags = false
	rows.add(cmd)
	cmd.Flags().StringVar(&output, "output", standard, "write the scores to `FILE` (- is the standard output)")
	return cmd
}

// oneRun requires the run's directory as the only argument.
func oneRun(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give the directory of one run, not %d arguments", len(args))
	}
	return nil
}

// interruptible runs do, and returns early if ctx is cancelled, because a read from a terminal or a
// pipe cannot be interrupted.
func (a *app) interruptible(ctx context.Context, do func() error) error {
	var err error
	var panics relay.Relay
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer panics.Catch()
		err = do()
	}()
	select {
	case <-done:
		panics.Throw()
		return err
	case <-ctx.Done():
		return errors.New("interrupted; no output file was written")
	}
}

// predict scores the rows.
func (a *app) predict(run string, flags rowsFlags, output string) error {
	options, err := flags.options()
	if err != nil {
		return err
	}
	m, err := loadModel(run, flags.weights)
	if err != nil {
		return err
	}
	in, name, err := flags.open(a)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := a.create(output)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	defer out.discard()
	w := newPredictions(m, out)
	if err := w.header(); err != nil {
		return err
	}
	if err := m.Read(in, name, options, w.write); err != nil {
		return advise(err)
	}
	if err := cmpOr(w.out.Flush, out.commit); err != nil {
		return err
	}
	a.say(w.rows, w.unknown)
	return nil
}

// cmpOr calls the functions up to the first error.
func cmpOr(list ...func() error) error {
	for _, do := range list {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// say prints the number of rows and the number of ignored categories.
func (a *app) say(rows, unknown int) {
	if unknown > 0 {
		fmt.Fprintf(a.stderr, "ppal: scored %d rows; %d unknown categories were ignored\n", rows, unknown)
		return
	}
	fmt.Fprintf(a.stderr, "ppal: scored %d rows\n", rows)
}

// destination is where a command writes its result: a file that appears when it is complete, or a
// stream.
type destination struct {
	io.Writer
	commit func() error
	// discard removes the incomplete file, if any.
	discard func()
}

// create returns the destination with the given name. If the name is not a regular file, such as
// /dev/null, the command writes to it without replacing it.
func (a *app) create(name string) (*destination, error) {
	nothing := func() error { return nil }
	if name == standard {
		return &destination{a.stdout, nothing, func() {}}, nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &destination{f, f.Close, func() {}}, nil
	}
	f, err := atomicfile.Create(name, 0o644)
	if err != nil {
		return nil, err
	}
	return &destination{f, f.Commit, func() { _ = f.Discard() }}, nil
}

// predictions writes the CSV of predictions.
type predictions struct {
	model   *predictor.Model
	out     *bufio.Writer
	classes []string // as fields of a CSV
	line    []byte
	rows    int
	unknown int
}

func newPredictions(m *predictor.Model, out io.Writer) *predictions {
	p := &predictions{model: m, out: bufio.NewWriterSize(out, 256<<10)}
	for _, class := range m.Classes() {
		p.classes = append(p.classes, csvField(class))
	}
	return p
}

// csvField returns the text as a field of a CSV.
func csvField(text string) string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	_ = w.Write([]string{text, ""}) // a strings.Builder has no errors
	w.Flush()
	return strings.TrimSuffix(out.String(), ",\n")
}

// header writes the columns' names.
func (p *predictions) header() error {
	names := []string{"row", "score", "decision"}
	if p.model.Outputs() > 1 {
		names = []string{"row", "class"}
		for _, class := range p.model.Classes() {
			names = append(names, csvField("score_"+class))
		}
		if _, ok := p.model.Probabilities(make([]float64, p.model.Outputs())); ok {
			for _, class := range p.model.Classes() {
				names = append(names, csvField("probability_"+class))
			}
		}
	} else if _, ok := p.model.Probability(0); ok {
		names = append(names, "probability")
	}
	_, err := p.out.WriteString(strings.Join(names, ",") + "\n")
	return err
}

// write writes the lines of a batch.
func (p *predictions) write(b *predictor.Batch) error {
	outputs := p.model.Outputs()
	for i, decision := range b.Decisions {
		scores := b.Scores[i*outputs:][:outputs]
		line := append(strconv.AppendInt(p.line[:0], int64(b.First+i+1), 10), ',')
		if outputs == 1 {
			line = append(append(appendNumber(line, scores[0]), ','), p.classes[decision]...)
			if probability, ok := p.model.Probability(scores[0]); ok {
				line = appendNumber(append(line, ','), probability)
			}
		} else {
			line = append(line, p.classes[decision]...)
			for _, score := range scores {
				line = appendNumber(append(line, ','), score)
			}
			probabilities, _ := p.model.Probabilities(scores)
			for _, probability := range probabilities {
				line = appendNumber(append(line, ','), probability)
			}
		}
		p.line = append(line, '\n')
		if _, err := p.out.Write(p.line); err != nil {
			return err
		}
	}
	p.rows += len(b.Decisions)
	p.unknown += b.Unknown
	return nil
}

// appendNumber appends the shortest text that parses as x.
func appendNumber(line []byte, x float64) []byte { return strconv.AppendFloat(line, x, 'g', -1, 64) }
