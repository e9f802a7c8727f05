package loader

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/internal/columnar"
	"ppal/internal/inputfile"
	"ppal/internal/paged"
	"ppal/internal/recordio"
	"ppal/internal/textvalue"
)

// LIBSVM is the content of a file in the format of LIBSVM and SVMlight (Chang and Lin, "LIBSVM: a
// library for support vector machines", ACM TIST 2, 2011), one line for each row:
//
//	label [qid:query] index:value index:value ... [# comment]
//
// Indices start at 1 and increase along the line. Features that a line omits are 0.
type LIBSVM struct {
	X       *matrix.CSR
	Labels  []float64 // the numbers in the file: +1 and -1, classes, or grades of relevance
	Queries []int64   // the rows' qid; nil: the file has no qid
}

// LoadLIBSVM calls ReadLIBSVM on a file.
func LoadLIBSVM(path string, cols int) (*LIBSVM, error) {
	f, err := inputfile.OpenInput(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadLIBSVM(f, path, cols)
}

// ReadLIBSVM reads rows with cols features from r, plain or gzip, line by line. With cols = 0 the
// number of features is the largest index. It skips blank lines and leaves out entries with the
// value 0. If all remaining entries are 1, the matrix has no Values.
//
// Errors are *FileError with name and line, and wrap ErrFormat (a field that is not a label, a
// query or an entry), ErrNumber, ErrIndex (0, above cols, or not increasing) or ErrTruncated (a
// truncated compressed file, or no rows); or are errors of r.
func ReadLIBSVM(r io.Reader, name string, cols int) (*LIBSVM, error) {
	return ReadRows(r, name, cols, nil, nil)
}

// ReadRows is ReadLIBSVM with the rows in pages; nil: memory. set changes the parser; nil: no
// changes.
func ReadRows(r io.Reader, name string, cols int, pages *paged.Dir, set func(p *LibsvmParser)) (*LIBSVM, error) {
	if cols < 0 || cols > textvalue.MaxIndex {
		return nil, fmt.Errorf("datasets: %d features for %s, want 1 to %d, or 0 for as many as it has", cols, name, textvalue.MaxIndex)
	}
	r = inputfile.Steady(r)
	text, err := recordio.OpenLIBSVM(r, name)
	if err != nil {
		return nil, err
	}
	p := newLIBSVMParser(cols, pages)
	if set != nil {
		set(p)
	}
	lines := LineReader{R: bufio.NewReaderSize(text, 256<<10), Most: recordio.MaxLine}
	read := 0 // bytes
	for {
		line, err := lines.Next()
		if read += len(line) + 1; lines.Number == sampledLines && pages == nil {
			p.Reserve(float64(TextSize(r)) / float64(read))
		}
		if err == nil {
			if err = p.line(line); err == nil {
				err = p.spill(SpillRows)
			}
		}
		if err == nil && p.room != nil && pages == nil && read-p.asked >= roomBytes {
			p.asked = read
			if err := p.room(columnar.RowCopies * p.bytes()); err != nil {
				return nil, err
			}
		}
		switch {
		case err == io.EOF:
			p.openEnd = lines.openEnd
			return p.end(name)
		case errors.Is(err, dataerr.ErrChanged):
			return nil, err
		case err != nil:
			return nil, &dataerr.FileError{Path: name, Offset: -1, Line: lines.Number, Err: err}
		}
	}
}

// roomBytes is the number of bytes of text between two questions for room.
const roomBytes = 1 << 20

// bytes returns the memory of the parser's rows.
func (p *LibsvmParser) bytes() uint64 {
	const word, column = 8, 4
	return uint64(word*(len(p.X.Starts)+len(p.X.Values)+len(p.Labels)+len(p.queries)) + column*len(p.X.Columns))
}

// sampledLines is the number of lines after which the parser estimates the size of the matrix.
const sampledLines = 256

// TextSize returns the size of an open file in bytes, or 0 if r is not a regular file. The text of
// a compressed file is longer.
func TextSize(r io.Reader) int64 {
	if f, ok := r.(*inputfile.SteadyFile); ok {
		return f.Info.Size()
	}
	return 0
}

// Reserve allocates memory for the rows of a text that is longer than the text so far by the
// factor, if the rest has as many rows and entries in each byte. An entry takes at least 4 bytes of
// the text, so that the memory is at most the size of the text.
func (p *LibsvmParser) Reserve(factor float64) {
	const margin = 1.02
	more := func(n int) int { return max(0, int(float64(n)*(margin*factor-1))) }
	p.X.Columns = slices.Grow(p.X.Columns, more(len(p.X.Columns)))
	p.X.Starts = slices.Grow(p.X.Starts, more(len(p.Labels)))
	p.Labels = slices.Grow(p.Labels, more(len(p.Labels)))
	p.X.Values = slices.Grow(p.X.Values, more(len(p.X.Values))) // nil stays nil
}

// end returns an error if the file has no rows, and sets the size of the matrix.
func (p *LibsvmParser) end(name string) (*LIBSVM, error) {
	if err := p.collect(); err != nil {
		return nil, err
	}
	p.X.Rows, p.X.Cols = len(p.Labels), p.Cols
	if p.Cols == 0 {
		p.X.Cols = p.Largest
	}
	fail := func(err error, advice string) (*LIBSVM, error) {
		return nil, &dataerr.FileError{Path: name, Offset: -1, Err: err, Advice: advice}
	}
	switch {
	case p.X.Rows == 0:
		return fail(fmt.Errorf("%w: the file has no rows", dataerr.ErrTruncated), "")
	case p.X.Cols == 0:
		return fail(fmt.Errorf("%w: no row has an entry", dataerr.ErrFormat), "specify the number of features")
	}
	return &LIBSVM{X: p.X, Labels: p.Labels, Queries: p.queries}, nil
}

// LineReader returns the lines of a text without their line ends.
type LineReader struct {
	R      *bufio.Reader
	Most   int    // largest number of bytes of a line, line end included
	Number int    // number of the last line, from 1
	long   []byte // buffer for a line longer than r's buffer
	// OpenEnd says that the last line had no line end
	openEnd bool
}

// Next returns the next line, which is valid until the next call. The last line may lack its line
// end. After the last line, next returns io.EOF.
func (l *LineReader) Next() ([]byte, error) {
	l.Number++
	line, err := l.R.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = append(l.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = l.R.ReadSlice('\n')
			if l.long = append(l.long, line...); len(l.long) > l.Most {
				return nil, fmt.Errorf("%w: a line of more than %d bytes", dataerr.ErrFormat, l.Most)
			}
		}
		line = l.long
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, err
	}
	l.openEnd = err == io.EOF
	return bytes.TrimSuffix(line, []byte{'\n'}), nil
}
