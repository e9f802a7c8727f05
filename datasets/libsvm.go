package datasets

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"ppal/datasets/matrix"
	"ppal/internal/paged"
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
	f, err := openInput(context.Background(), path)
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
	return readLIBSVM(r, name, cols, nil, nil)
}

// readLIBSVM is ReadLIBSVM with the rows in pages; nil: memory. set changes the parser; nil: no
// changes.
func readLIBSVM(r io.Reader, name string, cols int, pages *paged.Dir, set func(p *libsvmParser)) (*LIBSVM, error) {
	if cols < 0 || cols > maxIndex {
		return nil, fmt.Errorf("datasets: %d features for %s, want 1 to %d, or 0 for as many as it has", cols, name, maxIndex)
	}
	r = steady(r)
	text, err := openLIBSVM(r, name)
	if err != nil {
		return nil, err
	}
	p := newLIBSVMParser(cols, pages)
	if set != nil {
		set(p)
	}
	lines := lineReader{r: bufio.NewReaderSize(text, 256<<10), most: maxLine}
	read := 0 // bytes
	for {
		line, err := lines.next()
		if read += len(line) + 1; lines.number == sampledLines && pages == nil {
			p.reserve(float64(textSize(r)) / float64(read))
		}
		if err == nil {
			if err = p.line(line); err == nil {
				err = p.spill(spillRows)
			}
		}
		if err == nil && p.room != nil && pages == nil && read-p.asked >= roomBytes {
			p.asked = read
			if err := p.room(rowCopies * p.bytes()); err != nil {
				return nil, err
			}
		}
		switch {
		case err == io.EOF:
			p.openEnd = lines.openEnd
			return p.end(name)
		case errors.Is(err, ErrChanged):
			return nil, err
		case err != nil:
			return nil, &FileError{Path: name, Offset: -1, Line: lines.number, Err: err}
		}
	}
}

// roomBytes is the number of bytes of text between two questions for room.
const roomBytes = 1 << 20

// bytes returns the memory of the parser's rows.
func (p *libsvmParser) bytes() uint64 {
	const word, column = 8, 4
	return uint64(word*(len(p.x.Starts)+len(p.x.Values)+len(p.labels)+len(p.queries)) + column*len(p.x.Columns))
}

// sampledLines is the number of lines after which the parser estimates the size of the matrix.
const sampledLines = 256

// textSize returns the size of an open file in bytes, or 0 if r is not a regular file. The text of
// a compressed file is longer.
func textSize(r io.Reader) int64 {
	if f, ok := r.(*steadyFile); ok {
		return f.info.Size()
	}
	return 0
}

// reserve allocates memory for the rows of a text that is longer than the text so far by the
// factor, if the rest has as many rows and entries in each byte. An entry takes at least 4 bytes of
// the text, so that the memory is at most the size of the text.
func (p *libsvmParser) reserve(factor float64) {
	const margin = 1.02
	more := func(n int) int { return max(0, int(float64(n)*(margin*factor-1))) }
	p.x.Columns = slices.Grow(p.x.Columns, more(len(p.x.Columns)))
	p.x.Starts = slices.Grow(p.x.Starts, more(len(p.labels)))
	p.labels = slices.Grow(p.labels, more(len(p.labels)))
	p.x.Values = slices.Grow(p.x.Values, more(len(p.x.Values))) // nil stays nil
}

// end returns an error if the file has no rows, and sets the size of the matrix.
func (p *libsvmParser) end(name string) (*LIBSVM, error) {
	if err := p.collect(); err != nil {
		return nil, err
	}
	p.x.Rows, p.x.Cols = len(p.labels), p.cols
	if p.cols == 0 {
		p.x.Cols = p.largest
	}
	fail := func(err error, advice string) (*LIBSVM, error) {
		return nil, &FileError{Path: name, Offset: -1, Err: err, Advice: advice}
	}
	switch {
	case p.x.Rows == 0:
		return fail(fmt.Errorf("%w: the file has no rows", ErrTruncated), "")
	case p.x.Cols == 0:
		return fail(fmt.Errorf("%w: no row has an entry", ErrFormat), "specify the number of features")
	}
	return &LIBSVM{X: p.x, Labels: p.labels, Queries: p.queries}, nil
}

// lineReader returns the lines of a text without their line ends.
type lineReader struct {
	r      *bufio.Reader
	most   int    // largest number of bytes of a line, line end included
	number int    // number of the last line, from 1
	long   []byte // buffer for a line longer than r's buffer
	// openEnd says that the last line had no line end
	openEnd bool
}

// next returns the next line, which is valid until the next call. The last line may lack its line
// end. After the last line, next returns io.EOF.
func (l *lineReader) next() ([]byte, error) {
	l.number++
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = append(l.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = l.r.ReadSlice('\n')
			if l.long = append(l.long, line...); len(l.long) > l.most {
				return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrFormat, l.most)
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
