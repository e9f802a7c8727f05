package cmd

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ppal/datasets/dataerr"
	"ppal/internal/option"
	"ppal/internal/recordio"
	"ppal/internal/relay"
	"ppal/models/predictor"
	"ppal/trainer/session/results"
)

// standardInput names the standard input in errors.
const standardInput = "standard input"

// standard is the name of the standard input and output.
const standard = "-"

// rowsFlags are the flags for reading new rows.
type rowsFlags struct {
	input     string
	unknown   string
	separator string
	table     string
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
	cmd.Flags().StringVar(&f.table, "table", "", "read labels, groups and other columns of the arrays in the input (.npy, .npz) from this `FILE`")
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

// loadModel loads the weights of a run that --weights names, and prints the notes about its files.
func (a *app) loadModel(run, weights string) (m *predictor.Model, err error) {
	switch weights {
	case weightsOutput:
		m, err = predictor.Load(run)
	case weightsBest:
		m, err = predictor.LoadBest(run)
		if errors.Is(err, predictor.ErrNoBest) {
			return nil, usage{fmt.Errorf("--weights best: %w; use --weights output", err)}
		}
	default:
		return nil, usage{fmt.Errorf("--weights %s: must be %s or %s", weights, weightsOutput, weightsBest)}
	}
	if err != nil {
		return nil, asMissing(err)
	}
	for _, note := range m.Notes() {
		fmt.Fprintf(printing{a.stderr}, "ppal: note: %s\n", note)
	}
	return m, nil
}

// options returns the flags' values for a predictor.
func (f *rowsFlags) options(a *app) (predictor.Options, error) {
	o := predictor.Options{Table: f.table, Warn: func(warning string) { fmt.Fprintf(printing{a.stderr}, "ppal: warning: %s\n", warning) }}
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

// open opens the input and returns its name for errors. The reader of the rows needs the file
// itself, because it treats pipes differently. Only a model of pictures takes a folder.
func (f *rowsFlags) open(a *app, m *predictor.Model) (in io.Reader, name string, done func(), err error) {
	if f.input == standard {
		if file, ok := a.stdin.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			return nil, "", nil, usage{errors.New("no rows: name their file with --input FILE, or write them to the standard input")}
		}
		return a.stdin, standardInput, func() {}, nil
	}
	if recordio.IsFolder(f.input) {
		in, err := m.OpenFolder(f.input)
		return in, f.input, func() {}, err
	}
	file, err := os.Open(f.input)
	if err != nil {
		return nil, "", nil, asMissing(fmt.Errorf("--input: %w", err))
	}
	return file, f.input, func() { file.Close() }, nil
}

// advise adds the remedy to an error of the rows.
func advise(err error) error {
	var at *dataerr.FileError
	if !errors.As(err, &at) || at.Advice != "" {
		return err
	}
	switch {
	case errors.Is(err, dataerr.ErrTruncated) && at.Path == standardInput && at.Offset <= 0:
		at.Advice = "name the file of the rows with --input FILE"
	case errors.Is(err, dataerr.ErrCategory):
		at.Advice = "use --unknown ignore to score rows with unknown categories"
	case errors.Is(err, dataerr.ErrNumber):
		at.Advice = "correct the value, or leave out the row"
	case errors.Is(err, dataerr.ErrMissing):
		at.Advice = "the model was trained without missing values in this column: add the value, or leave out the row"
	}
	return err
}

func (a *app) predictCommand() *cobra.Command {
	var rows rowsFlags
	var keep []string
	var output string
	cmd := &cobra.Command{
		Use:   "predict RUN",
		Short: "Score new rows with a trained model",
		Long: `Predict reads rows in the format of the run's data (CSV, TSV, Parquet or arrays of NumPy, LIBSVM, or pictures in a folder or IDX;
plain or gzip) and writes a CSV:

  two classes      row (from 1), score, decision (the label's value), and probability if the run fitted one
  several classes  row, class, score_NAME for each class, and probability_NAME for each class if the run fitted probabilities
  a ranking        row, query, score, rank (1: best; equal scores share a rank) among consecutive rows of one query

The columns of the input may be in any order. Other columns are ignored, and the label's may be absent. --keep repeats columns
at the end of each row, with their texts; for your own pictures, the column of their paths is always there. Missing values are treated as in training. Memory does not grow with the number of
rows.

Rows of a pipe are scored when they arrive and its writer pauses. After an error, the standard output has all rows before the
bad one, and an output file does not appear.`,
		Example: `  ppal predict runs/20260101-120000-dp-alm --input people.csv --output scores.csv
  zcat people.csv.gz | ppal predict RUN > scores.csv
  ppal predict RUN --input people.csv --keep id --unknown ignore
  ppal predict RUN --input people.csv --weights best`,
		Args: oneRun,
		RunE: a.once(func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func() error { return a.predict(args[0], rows, keep, output) })
		}),
	}
	cmd.Flags().SortFlags = false
	rows.add(cmd)
	cmd.Flags().StringSliceVar(&keep, "keep", nil, "repeat these columns of the input, such as an identifier, at the end of each row: `COLUMN,...`")
	cmd.Flags().StringVar(&output, "output", standard, "write the scores to `FILE` (- is the standard output)")
	return cmd
}

// oneRun requires the run's directory as the only argument.
func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		hint := ""
		if len(args) > 1 {
			hint = asFile(cmd, args[1])
		}
		return fmt.Errorf("give the directory of one run, not %d arguments%s", len(args), hint)
	}
	return nil
}

// interruptible runs do, and returns early if ctx is cancelled, because a read from a terminal or a
// pipe cannot be interrupted. do then goes on, and its deferred functions may not run:
// interruptible removes its incomplete files.
func (a *app) interruptible(ctx context.Context, do func() error) error {
	var err error
	var panics relay.Relay
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer panics.Catch()
		relay.Guard()
		err = do()
	}()
	select {
	case <-done:
		panics.Throw()
		return err
	case <-ctx.Done():
		a.outputs.end()
		return errInterrupted
	}
}

// keepable checks the columns of --keep.
func keepable(m *predictor.Model, keep []string) ([]string, error) {
	format := m.Description().Input.Format
	for k, name := range keep {
		switch {
		case format != results.FormatText && format != results.FormatPictureFiles:
			return nil, usage{fmt.Errorf("--keep %s: rows in the format %s have no columns with names", name, format)}
		case slices.Contains(outputColumns(m), name):
			return nil, usage{fmt.Errorf("--keep %s: the output has another column of this name; rename the input's column", name)}
		case slices.Contains(keep[:k], name):
			return nil, usage{fmt.Errorf("--keep names %s twice", name)}
		}
	}
	return keep, nil
}

// predict scores the rows.
func (a *app) predict(run string, flags rowsFlags, keep []string, output string) error {
	options, err := flags.options(a)
	if err != nil {
		return err
	}
	m, err := a.loadModel(run, flags.weights)
	if err != nil {
		return err
	}
	if p := m.Preparation(); p != nil && p.Pictures != nil && !slices.Contains(keep, p.Pictures.Column) {
		keep = append(slices.Clone(keep), p.Pictures.Column)
	}
	if options.Keep, err = keepable(m, keep); err != nil {
		return err
	}
	in, name, done, err := flags.open(a, m)
	if err != nil {
		return err
	}
	defer done()
	out, err := a.create(output)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	defer out.discard()
	w := newPredictions(m, out, options.Keep)
	if m.Ranks() && m.Query() != "" {
		options.Keep = append(slices.Clip(options.Keep), m.Query())
	}
	if err = m.Read(in, name, options, w.write); err == nil {
		err = w.end()
	}
	var place *dataerr.FileError
	if errors.Is(err, dataerr.ErrNoRows) && errors.As(err, &place) && m.Preparation() != nil && m.Preparation().Numbers == nil {
		fmt.Fprintf(printing{a.stderr}, "ppal: note: %s has no rows\n", place.Path)
		w.header()
		_, err = out.Write(w.lines)
	}
	if err != nil {
		return advise(err)
	}
	if err := out.commit(); err != nil {
		return err
	}
	if w.unqueried {
		fmt.Fprintf(printing{a.stderr}, "ppal: note: the rows of %s have no qid, so the output has no ranks: compare only scores of one query\n", name)
	}
	a.say(w.rows, w.unknown)
	return nil
}

// say prints the number of rows and the number of ignored categories.
func (a *app) say(rows, unknown int) {
	text := "ppal: scored " + option.Counted(rows, "row")
	if unknown > 0 {
		text += "; " + ignored(unknown)
	}
	fmt.Fprintln(a.stderr, text)
}

// ignored says how many unknown categories were ignored.
func ignored(unknown int) string {
	if unknown == 1 {
		return "1 unknown category was ignored"
	}
	return fmt.Sprintf("%d unknown categories were ignored", unknown)
}

// predictions writes the CSV of predictions. Each write has the rows of a batch, so that a reader
// of the output gets whole rows, and gets them when the rows of the input have arrived.
type predictions struct {
	model   *predictor.Model
	out     io.Writer
	keep    []string // columns of the input that the output repeats
	classes []string // as fields of a CSV
	lines   []byte   // not yet written
	rows    int
	unknown int
	ranked  rankedLines // of a model that ranks documents
	// unqueried says that the rows have no queries, although the model ranks documents.
	unqueried bool
}

// newPredictions returns a writer of predictions. The first batch brings the line of the names.
func newPredictions(m *predictor.Model, out io.Writer, keep []string) *predictions {
	p := &predictions{model: m, out: out, keep: keep}
	for _, class := range m.Classes() {
		p.classes = append(p.classes, string(appendField(nil, class)))
	}
	return p
}

// appendField appends the text as a field of a CSV.
func appendField(line []byte, text string) []byte {
	if text != "" && text[0] > ' ' && text[0] < utf8.RuneSelf && text[0] != '\\' && !strings.ContainsAny(text, "\",\r\n") {
		return append(line, text...)
	}
	var out strings.Builder
	w := csv.NewWriter(&out)
	_ = w.Write([]string{text, ""}) // a strings.Builder has no errors
	w.Flush()
	return append(line, strings.TrimSuffix(out.String(), ",\n")...)
}

// outputColumns returns the names of the output's columns without those of keep.
func outputColumns(m *predictor.Model) []string {
	if m.Ranks() {
		return []string{"row", "query", "score", "rank"}
	}
	if m.Outputs() == 1 {
		names := []string{"row", "score", "decision"}
		if _, ok := m.Probability(0); ok {
			names = append(names, "probability")
		}
		return names
	}
	names := []string{"row", "class"}
	for _, class := range m.Classes() {
		names = append(names, "score_"+class)
	}
	if _, ok := m.Probabilities(make([]float64, m.Outputs())); ok {
		for _, class := range m.Classes() {
			names = append(names, "probability_"+class)
		}
	}
	return names
}

// header adds the line of the columns' names.
func (p *predictions) header() {
	for k, name := range append(outputColumns(p.model), p.keep...) {
		if k > 0 {
			p.lines = append(p.lines, ',')
		}
		p.lines = appendField(p.lines, name)
	}
	p.lines = append(p.lines, '\n')
}

// write writes the lines of a batch.
func (p *predictions) write(b *predictor.Batch) error {
	p.lines = p.lines[:0]
	if p.model.Ranks() {
		return p.rank(b)
	}
	if p.rows == 0 {
		for k, name := range p.keep {
			if b.Columns[k] != name { // a condition such as age<25
				return usage{fmt.Errorf("--keep %s: the input has no column of this name", name)}
			}
		}
		p.header()
	}
	outputs, line := p.model.Outputs(), p.lines
	for i, decision := range b.Decisions {
		scores := b.Scores[i*outputs:][:outputs]
		line = append(strconv.AppendInt(line, int64(b.First+i+1), 10), ',')
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
		for _, texts := range b.Kept {
			line = appendField(append(line, ','), texts[i])
		}
		line = append(line, '\n')
	}
	p.lines = line
	p.rows += len(b.Decisions)
	p.unknown += b.Unknown
	_, err := p.out.Write(p.lines)
	return err
}

// appendNumber appends the shortest text that parses as x.
func appendNumber(line []byte, x float64) []byte { return strconv.AppendFloat(line, x, 'g', -1, 64) }

// rankedLines are the rows of the last query, which may go on in the next batch.
type rankedLines struct {
	query  string
	rows   []int64
	scores []float64
	kept   [][]string // of each row
}

// rank writes the lines of the queries that end in the batch. Without queries, the lines have the
// scores alone.
func (p *predictions) rank(b *predictor.Batch) error {
	at := len(p.keep) // the place of the query among the kept texts
	if p.rows == 0 {
		p.unqueried = at == len(b.Kept) || len(b.Kept[at]) > 0 && b.Kept[at][0] == ""
		if p.unqueried {
			p.lines = append(p.lines, "row,score\n"...)
		} else {
			p.header()
		}
	}
	for i, score := range b.Scores {
		row := int64(b.First + i + 1)
		if p.unqueried {
			p.lines = append(appendNumber(append(strconv.AppendInt(p.lines, row, 10), ','), score), '\n')
			continue
		}
		l := &p.ranked
		if query := b.Kept[at][i]; query != l.query {
			p.flush()
			l.query = query
		}
		texts := make([]string, at)
		for k := range texts {
			texts[k] = b.Kept[k][i]
		}
		l.rows, l.scores, l.kept = append(l.rows, row), append(l.scores, score), append(l.kept, texts)
	}
	p.rows += len(b.Scores)
	p.unknown += b.Unknown
	_, err := p.out.Write(p.lines)
	return err
}

// flush appends the lines of the last query.
func (p *predictions) flush() {
	l := &p.ranked
	for i, rank := range predictor.Ranks(l.scores) {
		line := appendField(append(strconv.AppendInt(p.lines, l.rows[i], 10), ','), l.query)
		line = strconv.AppendInt(append(appendNumber(append(line, ','), l.scores[i]), ','), int64(rank), 10)
		for _, text := range l.kept[i] {
			line = appendField(append(line, ','), text)
		}
		p.lines = append(line, '\n')
	}
	l.rows, l.scores, l.kept = l.rows[:0], l.scores[:0], l.kept[:0]
}

// end writes the lines of the last query.
func (p *predictions) end() error {
	p.lines = p.lines[:0]
	p.flush()
	_, err := p.out.Write(p.lines)
	return err
}
