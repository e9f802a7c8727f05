// Package dataerr defines the errors of data sets: the kinds of errors, and their positions in
// files.
package dataerr

import (
	"errors"
	"fmt"
)

// The kinds of errors of this package, for errors.Is. A missing file is fs.ErrNotExist.
var (
	// ErrUnknownDataset: the registry has no data set with that name.
	ErrUnknownDataset = errors.New("unknown dataset")
	// ErrFormat: the bytes are not in the expected format (a magic number, a dimension, a
	// compressed stream).
	ErrFormat = errors.New("wrong format")
	// ErrTruncated: the file ends before its content is complete.
	ErrTruncated = errors.New("truncated")
	// ErrNoRows: a file, or the table beside arrays, has at most the names of the columns. It wraps
	// ErrTruncated.
	ErrNoRows = fmt.Errorf("%w: the file has no rows", ErrTruncated)
	// ErrChanged: a file changed while it was read.
	ErrChanged = errors.New("the file changed while it was read")
	// ErrTrailing: the file continues after its content.
	ErrTrailing = errors.New("trailing bytes")
	// ErrLabel: a label is outside the classes of the data set.
	ErrLabel = errors.New("label out of range")
	// ErrNumber: a field of a text file is not a finite number.
	ErrNumber = errors.New("not a finite number")
	// ErrIndex: the index of a feature is outside the matrix or out of order.
	ErrIndex = errors.New("invalid feature index")
	// ErrMissing: a required value is missing.
	ErrMissing = errors.New("missing value")
	// ErrCategory: a value is not one of a column's categories.
	ErrCategory = errors.New("unknown category")
	// ErrMismatch: two files of a data set contradict each other (images and labels).
	ErrMismatch = errors.New("files disagree")
	// ErrClass: the requested classes cannot be selected.
	ErrClass = errors.New("invalid class selection")
	// ErrKind: the caller requested images but the data set is a table, or the reverse.
	ErrKind = errors.New("wrong kind of dataset")
	// ErrOption: an option does not apply to the data set, or a required option is missing.
	ErrOption = errors.New("invalid option")
	// ErrColumn: a table does not have the column, or the column cannot be used as requested.
	ErrColumn = errors.New("invalid column")
	// ErrGroup: a condition does not define groups.
	ErrGroup = errors.New("invalid group")
	// ErrSplit: the shares of training, validation and test rows are not valid.
	ErrSplit = errors.New("invalid split")
	// ErrEmpty: a class or a group has no rows in a split.
	ErrEmpty = errors.New("no rows")
	// ErrPairs: no query of a ranking has documents to compare.
	ErrPairs = errors.New("no pairs of documents")
	// ErrChecksum: a download differs from the published file.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrMirror: a base URL cannot be used for downloads.
	ErrMirror = errors.New("invalid mirror")
	// ErrDownload: a download did not finish.
	ErrDownload = errors.New("download failed")
)

// FileError describes an error in a file, its position, and what to do about it.
type FileError struct {
	Path   string // the file; "archive: member" inside an archive
	Offset int64  // byte offset in the content, after decompression; -1 if it does not apply
	Line   int    // line of a text file, from 1; 0 if it does not apply
	Column int    // field of that line or row, from 1; 0 if it does not apply
	Row    int    // row of a file without lines, from 1; 0 if it does not apply
	Err    error  // the error; wraps one of the errors above or fs.ErrNotExist
	Advice string // what to do, as an imperative clause; may be empty
}

// Error returns one line: path, position, error, advice.
func (e *FileError) Error() string { return "datasets: " + e.Path + ": " + e.problem() }

// problem returns the error without the path.
func (e *FileError) problem() (s string) {
	if place := e.Place(); place != "" {
		s = place + ": "
		if e.Line+e.Row > 0 && e.Column > 0 {
			s = fmt.Sprintf("%s, column %d: ", place, e.Column)
		}
	}
	s += e.Err.Error()
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	return s
}

// Place returns the line, the row or the byte; "": none applies.
func (e *FileError) Place() string {
	switch {
	case e.Line > 0:
		return fmt.Sprintf("line %d", e.Line)
	case e.Row > 0:
		return fmt.Sprintf("row %d", e.Row)
	case e.Offset >= 0:
		return fmt.Sprintf("byte %d", e.Offset)
	}
	return ""
}

// Unwrap returns the error without the position.
func (e *FileError) Unwrap() error { return e.Err }

// Advise sets the advice of err, if err is a *FileError without advice.
func Advise(err error, advice string) error {
	var fe *FileError
	if errors.As(err, &fe) && fe.Advice == "" {
		fe.Advice = advice
	}
	return err
}
