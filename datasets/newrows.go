package datasets

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"unicode/utf8"

	"ppal/internal/relay"
)

// NewRows reads rows that a trained model has not seen, in blocks and with bounded memory, and
// prepares the rows on several cores.
type NewRows struct {
	// Preparation describes how columns become features. A preparation with Encodings reads text of
	// separated fields, and a preparation with Numbers reads LIBSVM's format. nil: the rows are
	// pictures.
	Preparation *Preparation
	// Pixels is the number of bytes of a picture. A feature is Scale times a byte.
	Pixels int
	Scale  float64
	// IgnoreUnknown leaves the features of an unknown category at 0 and skips unknown features of a
	// row in LIBSVM's format. If IgnoreUnknown is false, unknown categories and features are
	// errors.
	IgnoreUnknown bool
	// Separator separates the fields; 0: detect it.
	Separator rune
	// Keep lists columns, or conditions on columns, whose texts the blocks keep, such as the
	// label's column. In LIBSVM's format, "" keeps the label, and a feature's number keeps "1" for
	// rows with the feature and "0" for other rows.
	Keep []string
	// Work computes the results of the features [rows, width] and appends them to results. Several
	// goroutines call it at the same time, each with rows in the order of the file.
	Work func(features []float64, results []float64) ([]float64, error)
	// Emit receives the blocks in the order of the file, from one goroutine.
	Emit func(b *Block) error
}

// Block holds consecutive rows of a file after Work.
type Block struct {
	First   int        // number of the first row, from 0
	Rows    int        // number of rows
	Results []float64  // as Work returned them
	Kept    [][]string // texts of each column in NewRows.Keep
	Columns []string   // names of the columns in Kept
	Unknown int        // number of unknown categories and features that were ignored
}

// featureBytes limits the memory of the features in one call of Work to a share of a core's cache.
// A single row may need more.
const featureBytes = 256 << 10

// Read reads a plain or gzip file from r to its end: text or Parquet, or pictures of 8 bits in the
// IDX format with any shape of Pixels bytes. name is used in errors. The columns of a text may be
// in any order, and the file may have columns that the preparation does not need.
//
// Errors are *FileError with line and column: ErrFormat, ErrTruncated (also a file without rows),
// ErrColumn, ErrNumber, ErrCategory, ErrMissing, ErrIndex; or are errors of r, Work or Emit. Blocks
// before the first error in the file are emitted.
func (n *NewRows) Read(r io.Reader, name string) error {
	switch {
	case n.Preparation == nil:
		return n.readPictures(r, name)
	case len(n.Preparation.Numbers) > 0:
		return n.readLIBSVM(r, name)
	}
	return n.readText(r, name)
}

// readText reads text of separated fields.
func (n *NewRows) readText(r io.Reader, name string) error {
	text, separator, err := openText(r, name, n.Separator)
	if err != nil {
		return err
	}
	from := &chunker{r: text, line: 1}
	header := n.Preparation.Header
	first, err := from.next(nil)
	if err != nil && err != io.EOF {
		return textError(name, err)
	}
	fields := newFieldReader(first, byte(separator), len(header))
	if header == nil {
		if err := fields.next(); err != nil {
			return textError(name, err)
		}
		for _, field := range fields.fields {
			header = append(header, string(field))
		}
		header = columnNames(header)
		first.text, first.line, fields.want = fields.text, fields.line, len(header)
	}
	encoder, err := n.Preparation.newRowEncoder(header, n.IgnoreUnknown)
	keep, columns := make([]int, len(n.Keep)), slices.Clone(n.Keep)
	for k, column := range n.Keep {
		if c, bad := parseCondition(column, header); bad == nil {
			columns[k] = c.column
		}
		if keep[k] = slices.Index(header, columns[k]); keep[k] < 0 && err == nil {
			err = noColumn(column, header)
		}
	}
	if err != nil {
		return &FileError{Path: name, Offset: -1, Line: 1, Err: err}
	}
	return n.pipeline(name, columns, first, from.next, func() worker {
		own := *encoder
		return &textWorker{results: n.newResults(own.width), fields: newFieldReader(chunk{}, byte(separator), len(header)),
			encoder: &own, keep: keep, texts: map[string]string{}}
	})
}

// textError adds the file's name to an error of reading its text.
func textError(name string, err error) error {
	var at *fieldError
	var file *FileError
	switch {
	case errors.As(err, &at):
		return at.of(name)
	case errors.As(err, &file):
		return err
	}
	return &FileError{Path: name, Offset: -1, Err: err}
}

// worker prepares the rows of chunks.
type worker interface {
	// do fills the block with the rows of the chunk up to the first error, and returns the error.
	do(c chunk, b *Block) error
}

// job is a chunk on its way through a worker.
type job struct {
	chunk
	block Block
	err   error
	done  chan struct{}
}

// pipeline passes chunks through several workers and emits their blocks in order. One goroutine
// reads. Memory holds at most 2 chunks for each worker.
func (n *NewRows) pipeline(name string, columns []string, first chunk, next func(buffer []byte) (chunk, error), newWorker func() worker) error {
	workers := runtime.GOMAXPROCS(0)
	free := make(chan *job, 2*workers)
	for range cap(free) {
		free <- &job{block: Block{Columns: columns}, done: make(chan struct{}, 1)}
	}
	todo, order := make(chan *job, cap(free)), make(chan *job, cap(free))
	stop := make(chan struct{})
	var group sync.WaitGroup
	var panics relay.Relay
	for range workers {
		group.Go(func() {
			var w worker
			_ = panics.Do(func() error { w = newWorker(); return nil })
			for j := range todo {
				j.err = panics.Do(func() error { return w.do(j.chunk, &j.block) })
				j.done <- struct{}{}
			}
		})
	}
	var readErr error
	group.Go(func() {
		defer close(order)
		defer close(todo)
		defer panics.Catch()
		for c := first; ; {
			var j *job
			select {
			case j = <-free:
			case <-stop:
				return
			}
			if c.text == nil {
				if c, readErr = next(j.text); readErr != nil {
					return
				}
			}
			j.chunk, c = c, chunk{}
			todo <- j
			order <- j
		}
	})
	rows, err := n.emitAll(order, free)
	close(stop)
	for j := range order { // wait for the jobs that remain after an error
		<-j.done
	}
	group.Wait()
	panics.Throw()
	var at *fieldError
	switch {
	case errors.As(err, &at):
		return at.of(name)
	case err != nil:
		return err
	case readErr != nil && readErr != io.EOF:
		return textError(name, readErr)
	case rows == 0:
		return &FileError{Path: name, Offset: -1, Err: fmt.Errorf("%w: the file has no rows", ErrTruncated)}
	}
	return nil
}

// emitAll emits the blocks in the order of their chunks, up to the first error.
func (n *NewRows) emitAll(order <-chan *job, free chan<- *job) (rows int, err error) {
	for j := range order {
		<-j.done
		j.block.First = rows
		if j.block.Rows > 0 {
			if err := n.Emit(&j.block); err != nil {
				return rows, err
			}
		}
		if j.err != nil {
			return rows, j.err
		}
		rows += j.block.Rows
		free <- j
	}
	return rows, nil
}

// textWorker prepares rows of separated fields.
type textWorker struct {
	*results
	fields  *fieldReader
	encoder *rowEncoder
	keep    []int             // index of each kept column in a record
	texts   map[string]string // one copy of each kept text
}

// do implements worker.
func (w *textWorker) do(c chunk, b *Block) error {
	w.fields.reset(c)
	w.begin(b)
	w.encoder.unknown = 0
	valid := utf8.Valid(c.text)
	for {
		err := w.fields.next()
		if err == io.EOF {
			break
		}
		if err == nil && !valid {
			err = w.fields.checkUTF8()
		}
		if err == nil {
			var field int
			if field, err = w.encoder.encode(w.fields.fields, w.row()); err != nil {
				err = w.fields.fail(field, err)
			}
		}
		if err != nil {
			return w.fail(err)
		}
		for k, field := range w.keep {
			text, ok := w.texts[string(w.fields.fields[field])]
			if !ok {
				text = string(w.fields.fields[field])
				w.texts[text] = text
			}
			b.Kept[k] = append(b.Kept[k], text)
		}
		if err := w.add(); err != nil {
			return err
		}
	}
	b.Unknown = w.encoder.unknown
	return w.flush()
}

// results passes the rows of a block to Work, several at a time.
type results struct {
	of       *NewRows
	width    int
	features []float64 // buffer of rows before Work
	rows     int       // number of rows in the buffer
	block    *Block
}

// newResults returns a buffer for rows of the given width.
func (n *NewRows) newResults(width int) *results {
	return &results{of: n, width: width, features: make([]float64, max(1, featureBytes/8/width)*width)}
}

// begin starts a block.
func (r *results) begin(b *Block) {
	r.block, r.rows = b, 0
	clear(r.features)
	b.Rows, b.Unknown, b.Results = 0, 0, b.Results[:0]
	if b.Kept == nil {
		b.Kept = make([][]string, len(r.of.Keep))
	}
	for k := range b.Kept {
		b.Kept[k] = b.Kept[k][:0]
	}
}

// row returns the features of the next row, all 0.
func (r *results) row() []float64 { return r.features[r.rows*r.width:][:r.width] }

// add adds the row to the block.
func (r *results) add() error {
	r.rows++
	if (r.rows+1)*r.width > len(r.features) {
		return r.flush()
	}
	return nil
}

// flush passes the rows in the buffer to Work.
func (r *results) flush() error {
	if r.rows == 0 {
		return nil
	}
	used := r.features[:r.rows*r.width]
	out, err := r.of.Work(used, r.block.Results)
	if err != nil {
		return err
	}
	r.block.Results = out
	r.block.Rows += r.rows
	r.rows = 0
	clear(used)
	return nil
}

// fail passes the complete rows to Work and then returns err, or the error of Work.
func (r *results) fail(err error) error {
	clear(r.row()) // clear the features of the row with the error
	if first := r.flush(); first != nil {
		return first
	}
	for k := range r.block.Kept {
		r.block.Kept[k] = r.block.Kept[k][:r.block.Rows]
	}
	return err
}
