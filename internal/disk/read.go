package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

var (
	// ErrKind says that a path leads to a pipe, a device or a directory.
	ErrKind = errors.New("not a regular file")
	// ErrSize says that a file is larger than any file of its kind.
	ErrSize = errors.New("too large")
	// ErrChanged says that a file has another checksum than the run wrote.
	ErrChanged = errors.New("not the file that the run wrote")
)

// The largest sizes of files, in bytes.
const (
	mostText    = 64 << 20 // settings and descriptions
	mostDetails = 1 << 30  // summary.json and details.json, which may hold thousands of groups or pictures
	MostRecords = 4 << 30  // metrics.jsonl and the splits of the rows
	MostWeights = 8 << 30  // weights
	MostState   = 32 << 30 // checkpoints
	mostOther   = mostText // a file with another name
)

// limits has the largest size of each file of a run, by name.
var limits = map[string]int64{
	"config.yaml": mostText, "preparation.yaml": mostText, modelName: mostText,
	SummaryName: mostDetails, "details.json": mostDetails,
	"metrics.jsonl": MostRecords, "rows.csv": MostRecords, "rows.csv.gz": MostRecords,
	"checkpoint": MostState, "checkpoint.previous": MostState,
}

// limitOf returns the largest size of the file at path.
func limitOf(path string) int64 {
	name := filepath.Base(path)
	if limit, ok := limits[name]; ok {
		return limit
	}
	if filepath.Ext(name) == ".safetensors" {
		return MostWeights
	}
	return mostOther
}

// Read returns the content of a file of a run, of at most the size that its name allows. The errors
// are those of ReadUpTo.
func Read(path string) ([]byte, error) { return ReadUpTo(path, limitOf(path)) }

// ReadUpTo returns the content of a regular file of at most limit bytes. It does not wait for the
// writer of a named pipe. The errors are *fs.PathError and wrap ErrKind or ErrSize,
// or come from the file system.
func ReadUpTo(path string, limit int64) ([]byte, error) {
	f, size, err := openUpTo(path, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, size)
	if n, err := io.ReadFull(f, data); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	} else if err != nil {
		data = data[:n] // the file has become shorter: a checksum or the parser finds that
	}
	return data, nil
}

// openUpTo opens a regular file of at most limit bytes, and returns its size.
func openUpTo(path string, limit int64) (f *os.File, size int64, err error) {
	if f, err = OpenRegular(path, os.O_RDONLY); err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: it has %d bytes, at most %d are read", ErrSize, info.Size(), limit)}
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// OpenRegular opens a regular file with the flags of os.OpenFile. It does not wait for the writer
// of a named pipe. The error wraps ErrKind for anything but a regular file.
func OpenRegular(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w: %s", ErrKind, kind(info.Mode()))}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// kind names what is not a regular file.
func kind(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "it is a directory"
	case m&os.ModeNamedPipe != 0:
		return "it is a pipe"
	case m&os.ModeDevice != 0:
		return "it is a device"
	}
	return "it is a socket"
}
