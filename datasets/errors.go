package datasets

import (
	"errors"
	"fmt"
)

// What can be wrong with a data set; to be tested with errors.Is. A missing
// file is fs.ErrNotExist.
var (
	// ErrUnknownDataset: the registry has no set of that name.
	ErrUnknownDataset = errors.New("unknown dataset")
	// ErrFormat: the bytes are not in the format expected (a magic number, a
	// dimension, a compressed stream).
	ErrFormat = errors.New("wrong format")
	// ErrTruncated: the file ends before the content that it promises.
	ErrTruncated = errors.New("truncated")
	// ErrTrailing: the file goes on after its content.
	ErrTrailing = errors.New("trailing bytes")
	// ErrLabel: a label lies outside the classes that the set declares.
	ErrLabel = errors.New("label out of range")
	// ErrNumber: a field of a text file is no finite number.
	ErrNumber = errors.New("not a finite number")
	// ErrIndex: a feature's index is outside the matrix or out of order.
	ErrIndex = errors.New("bad index")
	// ErrMissing: a value is missing where one is needed.
	ErrMissing = errors.New("missing value")
	// ErrCategory: a value is none of those that a column may have.
	ErrCategory = errors.New("unknown category")
	// ErrMismatch: two files of one set disagree (images and labels).
	ErrMismatch = errors.New("files disagree")
	// ErrClass: classes were asked for that cannot be selected.
	ErrClass = errors.New("bad class selection")
	// ErrKind: images were asked of a table, or rows of a set of images.
	ErrKind = errors.New("wrong kind of dataset")
	// ErrOption: a set was asked for with options that it has no use for, or without one that it needs.
	ErrOption = errors.New("bad option")
	// ErrColumn: a table has no such column, or it cannot be used as asked.
	ErrColumn = errors.New("bad column")
	// ErrGroup: a condition that makes no groups.
	ErrGroup = errors.New("bad group")
	// ErrSplit: shares of training, validation and test rows that make no split.
	ErrSplit = errors.New("bad split")
	// ErrEmpty: a class or a group has no rows in some part of a split.
	ErrEmpty = errors.New("no rows")
	// ErrChecksum: a download is not the file that was published.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrMirror: a base URL that nothing can be downloaded from.
	ErrMirror = errors.New("bad mirror")
	// ErrDownload: a download did not come to its end.
	ErrDownload = errors.New("download failed")
)

// FileError says what is wrong with a file, where, and what to do about it.
type FileError struct {
	Path   string // the file; "archive: member" inside an archive
	Offset int64  // byte offset in the content, after decompression; -1 where none applies
	Line   int    // of a text file, from 1; 0 where none applies
	Column int    // field of that line, from 1; 0 where none applies
	Err    error  // what is wrong; wraps one of the sentinels above or fs.ErrNotExist
	Advice string // what to do, an imperative clause; may be empty
}

// Error gives one line: path, line and column or else byte offset, what is wrong, what to do.
func (e *FileError) Error() string {
	s := "datasets: " + e.Path
	if e.Line > 0 {
		s += fmt.Sprintf(": line %d", e.Line)
		if e.Column > 0 {
			s += fmt.Sprintf(", column %d", e.Column)
		}
	} else if e.Offset >= 0 {
		s += fmt.Sprintf(": byte %d", e.Offset)
	}
	s += ": " + e.Err.Error()
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	return s
}

// Unwrap returns what is wrong, without the place.
func (e *FileError) Unwrap() error { return e.Err }

// advise sets the advice of err where it is a *FileError that has none.
func advise(err error, advice string) error {
	var fe *FileError
	if errors.As(err, &fe) && fe.Advice == "" {
		fe.Advice = advice
	}
	return err
}
