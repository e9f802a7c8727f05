package datasets

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"ppal/datasets/matrix"
)

// LIBSVM is the content of a file in the format of LIBSVM and SVMlight (Chang and Lin, "LIBSVM: a library for support vector machines",
// ACM TIST 2, 2011), one row a line:
//
//	label [qid:query] index:value index:value ... [# comment]
//
// Indices start at 1 and increase along the line; what a line leaves out is 0.
type LIBSVM struct {
	X       *matrix.CSR
	Labels  []float64 // as written: +1 and -1, classes, grades of relevance
	Queries []int64   // the rows' qid; nil where the file has none
}

// maxLine bounds what one line may hold, 64 MiB: a file of another kind has no line ends.
const maxLine = 64 << 20

// LoadLIBSVM is ReadLIBSVM on a file by its path.
func LoadLIBSVM(path string, cols int) (*LIBSVM, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadLIBSVM(f, path, cols)
}

// ReadLIBSVM reads rows of cols features from r, plain or gzip, line by line; with cols = 0 there are as many as the largest index. Blank
// lines are passed over. Entries that are written but 0 are left out, and where all others are 1 the matrix has no Values.
//
// Errors are *FileError with name and line, and wrap ErrFormat (a field that is neither a label, a query nor an entry), ErrNumber, ErrIndex
// (0, over cols, or not increasing), ErrTruncated (a compressed file that breaks off, or no row at all), or are what r reports.
func ReadLIBSVM(r io.Reader, name string, cols int) (*LIBSVM, error) {
	if cols < 0 || cols > maxIndex {
		return nil, fmt.Errorf("datasets: %d features for %s, want 1 to %d, or 0 for as many as it has", cols, name, maxIndex)
	}
	c, err := newContent(r, name)
	if err != nil {
		return nil, err
	}
	p := &libsvmParser{cols: cols, x: &matrix.CSR{Starts: []int{0}}}
	lines := lineReader{r: bufio.NewReaderSize(c, 256<<10)}
	for {
		line, err := lines.next()
		if err == nil && line != nil {
			err = p.line(line)
		}
		switch {
		case err == io.EOF:
			return p.end(name)
		case err != nil:
			return nil, &FileError{Path: name, Offset: -1, Line: lines.number, Err: err}
		}
	}
}

// end checks that there were rows, and gives the matrix its size.
func (p *libsvmParser) end(name string) (*LIBSVM, error) {
	p.x.Rows, p.x.Cols = len(p.labels), p.cols
	if p.cols == 0 {
		p.x.Cols = p.largest
	}
	fail := func(err error, advice string) (*LIBSVM, error) {
		return nil, &FileError{Path: name, Offset: -1, Err: err, Advice: advice}
	}
	switch {
	case p.x.Rows == 0:
		return fail(fmt.Errorf("%w: there is no row", ErrTruncated), "")
	case p.x.Cols == 0:
		return fail(fmt.Errorf("%w: no row has an entry", ErrFormat), "say how many features there are")
	}
	return &LIBSVM{X: p.x, Labels: p.labels, Queries: p.queries}, nil
}

// lineReader gives the lines of a text without their ends.
type lineReader struct {
	r      *bufio.Reader
	number int    // of the line given last, from 1
	long   []byte // room for a line that is longer than r's buffer
}

// next returns the next line, which is valid until the next call; the last may lack its end. After it comes io.EOF.
func (l *lineReader) next() ([]byte, error) {
	l.number++
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = append(l.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = l.r.ReadSlice('\n')
			if l.long = append(l.long, line...); len(l.long) > maxLine {
				return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrFormat, maxLine)
			}
		}
		line = l.long
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, err
	}
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	return line, nil
}
