package predictor

import (
	"fmt"
	"io"

	"ppal/datasets"
	"ppal/datasets/dataerr"
	"ppal/internal/newrows"
	"ppal/internal/recordio"
	"ppal/trainer/session/results"
)

// Options say how to read rows.
type Options struct {
	// IgnoreUnknown accepts categories that the training rows do not contain and sets all their
	// indicators to 0. By default, an unknown category is an error.
	IgnoreUnknown bool
	// Separator separates the fields of a text file. 0 detects the separator.
	Separator rune
	// Table is the path of the table beside a file of arrays, which has the labels, groups and kept
	// columns; "": none. The run knows the key.
	Table string
	// Warn is called with a sentence about a possible problem of the rows; nil: no calls.
	Warn func(warning string)
	// Keep names columns whose texts the batches include. See newrows.NewRows.
	Keep []string

	required []string // as in newrows.NewRows
}

// Batch holds consecutive rows with their scores.
type Batch struct {
	First     int        // number of the first row, from 0
	Scores    []float64  // [rows, Outputs]
	Decisions []int      // indices into Classes
	Kept      [][]string // texts of each column in Options.Keep
	Columns   []string   // names of these columns
	Unknown   int        // number of unknown categories that Read ignored

	source  []int // as in newrows.Block
	leftOut int
}

// Read reads rows in the format of the run's data (CSV, TSV, Parquet or arrays, LIBSVM, or IDX;
// plain or gzip) to the end of r, prepares and scores them on several cores, and passes them to
// each in the order of the file. The memory does not grow with the number of rows. A batch is valid
// until each returns. name is used in errors.
//
// A text file may have its columns in any order, may have additional columns, and may lack the
// label. Read treats missing values as the training did. It returns an error of
// newrows.NewRows.Read (with line and column), of Scores, or of each. Read has then passed all
// earlier batches to each.
func (m *Model) Read(r io.Reader, name string, o Options, each func(b *Batch) error) error {
	in := m.description.Input
	if in.Format == results.FormatMatrix {
		return m.noFile()
	}
	var batch Batch
	openEnd := false
	rows := newrows.NewRows{
		Preparation: m.preparation, Pixels: in.Features, Scale: in.Scale,
		IgnoreUnknown: o.IgnoreUnknown, Separator: o.Separator, JoinFile: o.Table, Keep: o.Keep, Required: o.required, Warn: o.Warn,
		Work: func(features, results []float64) ([]float64, error) {
			scores, err := m.Scores(features)
			return append(results, scores...), err
		},
		Emit: func(b *newrows.Block) error {
			batch.First, batch.Scores, batch.Kept, batch.Columns = b.First, b.Results, b.Kept, b.Columns
			batch.Unknown, openEnd = b.Unknown, b.OpenEnd
			batch.source, batch.leftOut = b.Source, b.LeftOut
			batch.Decisions = m.decide(batch.Decisions[:0], b.Results)
			return each(&batch)
		},
	}
	err := rows.Read(r, name)
	if err == nil && openEnd && o.Warn != nil {
		o.Warn(recordio.OpenEnd(name))
	}
	return err
}

// Row is one scored row.
type Row struct {
	Scores   []float64 // [Outputs]
	Decision int       // an index into Classes
	Unknown  int       // number of unknown categories that were ignored
}

// Row prepares and scores one row of a table, given as the text of each column by name, as in a
// file of new rows. Columns that the model does not use are ignored. Of the options, Row uses
// IgnoreUnknown.
//
// A text that the preparation refuses, or a missing column, is an error of
// newrows.Row. A model of pictures, of LIBSVM rows or of a program's matrix has no
// columns: the error wraps ErrModel, and Scores is the way.
func (m *Model) Row(texts map[string]string, o Options) (Row, error) {
	if m.description.Input.Format != results.FormatText || m.preparation == nil {
		return Row{}, fmt.Errorf("predictor: %s: %w: the rows have no columns with texts; use Scores", m.dir, ErrModel)
	}
	features, unknown, err := newrows.Row(m.preparation, texts, o.IgnoreUnknown)
	if err != nil {
		return Row{}, err
	}
	scores, err := m.Scores(features)
	if err != nil {
		return Row{}, err
	}
	return Row{Scores: scores, Decision: m.Decide(scores)[0], Unknown: unknown}, nil
}

// OpenFolder returns the table of the pictures in a folder, for Read and Evaluate with the folder's
// path as the name. The names of the classes' folders are the labels. A folder without such folders
// has pictures without labels. The error wraps ErrFormat if the run's rows are not files of
// pictures.
func (m *Model) OpenFolder(path string) (io.Reader, error) {
	if m.preparation == nil || m.preparation.Pictures == nil {
		return nil, &dataerr.FileError{Path: path, Offset: -1, Err: fmt.Errorf("%w: it is a directory, and the run's rows are not files of pictures", dataerr.ErrFormat)}
	}
	return recordio.OpenFolder(path, m.preparation.Pictures.Column, m.description.Decision.Label.Column)
}

// noFile returns the error for a model whose rows do not come from a file.
func (m *Model) noFile() error {
	if d, err := datasets.Lookup(m.description.Dataset); err == nil && d.Ranks() {
		return fmt.Errorf("predictor: %s: %w: the features of %s have means over the documents of a query, which single rows do not have", m.dir, dataerr.ErrKind, d.Name)
	}
	return fmt.Errorf("predictor: %s: %w: the rows of the run came from a program and not from a file; use Scores", m.dir, ErrModel)
}
