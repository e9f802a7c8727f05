package predictor

import (
	"fmt"
	"io"

	"ppal/datasets"
	"ppal/internal/rundir"
)

// Options say how to read rows.
type Options struct {
	// IgnoreUnknown accepts categories that the training rows did not have: all their indicators
	// are 0. Otherwise they are an error.
	IgnoreUnknown bool
	// Separator separates the fields of a text; 0: detect it.
	Separator rune
	// Keep names columns whose texts the batches keep. See datasets.NewRows.
	Keep []string
}

// Batch is some consecutive rows with their scores.
type Batch struct {
	First     int        // number of the first row, from 0
	Scores    []float64  // [rows, Outputs]
	Decisions []int      // indices into Classes
	Kept      [][]string // texts of each column in Options.Keep
	Columns   []string   // names of these columns
	Unknown   int        // number of unknown categories that were ignored
}

// Read reads rows in the format of the run's data (CSV or TSV, LIBSVM, or IDX; plain or gzip) to
// the end of r, prepares and scores them on several cores, and passes them to each in the order of
// the file. The memory does not grow with the number of rows. A batch is valid until each returns.
// name is used in errors.
//
// A text may have its columns in any order and other columns beside; the label's may be absent.
// Missing values are treated as in training. Errors are those of datasets.NewRows.Read, which names
// line and column, those of Scores, or come from each; each has seen the rows before.
func (m *Model) Read(r io.Reader, name string, o Options, each func(b *Batch) error) error {
	in := m.description.Input
	if in.Format == rundir.FormatMatrix {
		return m.noFile()
	}
	var batch Batch
	rows := datasets.NewRows{
		Preparation: m.preparation, Pixels: in.Features, Scale: in.Scale,
		IgnoreUnknown: o.IgnoreUnknown, Separator: o.Separator, Keep: o.Keep,
		Work: func(features, results []float64) ([]float64, error) {
			scores, err := m.Scores(features)
			return append(results, scores...), err
		},
		Emit: func(b *datasets.Block) error {
			batch.First, batch.Scores, batch.Kept, batch.Columns, batch.Unknown = b.First, b.Results, b.Kept, b.Columns, b.Unknown
			batch.Decisions = m.decide(batch.Decisions[:0], b.Results)
			return each(&batch)
		},
	}
	return rows.Read(r, name)
}

// noFile is the error of a model whose rows come from no file.
func (m *Model) noFile() error {
	return fmt.Errorf("predictor: %s: %w: the rows of the run came from a program and not from a file; use Scores", m.dir, ErrModel)
}
