package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"ppal/internal/parquetfile"
	"ppal/internal/relay"
)

// chunkBytes is the usual size of a chunk, about a thousand rows of a table. A chunk of this size
// and its features stay in a core's cache.
const chunkBytes = 256 << 10

// chunk is a piece of a text that holds whole records.
type chunk struct {
	text []byte
	line int  // number of the first line, from 1
	last bool // the text ends with this chunk
	// number of the first record in the text, from 0, if the reader knows it
	record int
	offset int64 // bytes of the text before the chunk
	// rows of a Parquet file, instead of the text
	rows *parquetfile.Rows
}

// openEnd reports whether the chunk is the last of a text and has no line end.
func (c chunk) openEnd() bool { return c.last && !bytes.HasSuffix(c.text, []byte{'\n'}) }

// OpenEnd returns the warning for a pipe, a terminal or a socket whose last line has no line end.
func OpenEnd(name string) string {
	if name == StandardInput {
		name = "standard input"
	}
	return fmt.Sprintf("the last line of %s has no line end: if its writer ended early, the last value may be incomplete", name)
}

// chunker cuts a text into chunks at line ends outside quotes. In a valid text, a position is
// inside quotes if an odd number of quotes precede the position. In an invalid text, the cuts are
// correct up to the first wrong quote, and the parser reports an error at this quote.
type chunker struct {
	name   string // name of the file, for errors
	r      *bufio.Reader
	line   int    // number of lines before rest
	offset int64  // number of bytes read
	cut    int64  // number of bytes before rest
	rest   []byte // bytes after the last cut
	err    error  // an error of r after rest
	most   int    // largest number of bytes of a record
	// unquoted: the format has no quotes, so every line end is a possible cut
	unquoted bool
	// pausing is the input of r if its writer may pause: a chunk then ends where the writer pauses
	pausing *pausing
}

// newChunker returns a chunker of r. name is used in errors.
func newChunker(r io.Reader, name string) *chunker {
	return &chunker{name: name, r: bufio.NewReader(r), most: maxLine}
}

// next returns the next chunk, which owns its memory. next reuses buffer, the memory of an earlier
// chunk that the caller no longer needs; buffer may be nil. After the last chunk it returns io.EOF.
// Other errors are *FileError; the whole records before an error of the reader are returned first.
//
// If a record is too long, the chunk has a part of the record, and the parser reports an error
// because the record does not end. A second reading of the text gives the same chunks.
func (c *chunker) next(buffer []byte) (chunk, error) {
	size := chunkBytes
	if len(c.rest) >= size {
		size = 2 * len(c.rest)
	}
	if cap(buffer) < size {
		buffer = make([]byte, 0, size)
	}
	buffer = append(buffer[:0:size], c.rest...)
	for {
		end := c.fill(&buffer)
		cut := len(buffer)
		if !end {
			cut = c.lastRecordEnd(buffer)
		}
		switch {
		case end && len(buffer) == 0:
			return chunk{}, io.EOF
		case cut == 0 && c.err != nil:
			return chunk{}, c.fail()
		case cut == 0 && len(buffer) > c.most:
			cut = len(buffer)
		case cut == 0: // one record is longer than the buffer
			buffer = append(make([]byte, 0, max(min(2*cap(buffer), c.most+1), len(buffer)+1)), buffer...)
			continue
		}
		c.rest = append(c.rest[:0], buffer[cut:]...)
		out := chunk{text: buffer[:cut], line: c.line + 1, last: end, offset: c.cut}
		c.cut += int64(cut)
		c.line += bytes.Count(out.text, []byte{'\n'})
		return out, nil
	}
}

// fill reads until the buffer is full, the text ends or reading fails. It reports whether the text
// ends.
func (c *chunker) fill(buffer *[]byte) (end bool) {
	for c.err == nil && len(*buffer) < cap(*buffer) {
		have := len(*buffer)
		c.goAhead(*buffer)
		var n int
		n, c.err = c.r.Read((*buffer)[have:cap(*buffer)])
		c.offset += int64(n)
		*buffer = (*buffer)[:have+n]
	}
	if c.err == nil {
		c.goAhead(*buffer)
		_, c.err = c.r.Peek(1)
	}
	if errors.Is(c.err, errPaused) {
		c.err = nil
	}
	return c.err == io.EOF
}

// goAhead lets the next read end with errPaused if the text has whole records.
func (c *chunker) goAhead(text []byte) {
	if c.pausing != nil {
		c.pausing.ahead = c.lastRecordEnd(text) > 0
	}
}

// fail returns the error of the reader with its position.
func (c *chunker) fail() error {
	var file *FileError
	if errors.As(c.err, &file) {
		return c.err
	}
	return &FileError{Path: c.name, Offset: c.offset, Err: c.err}
}

// lastRecordEnd returns the length of the text up to its last line end outside quotes, or 0.
func (c *chunker) lastRecordEnd(text []byte) int {
	if c.unquoted {
		return bytes.LastIndexByte(text, '\n') + 1
	}
	quotes := bytes.Count(text, []byte{'"'})
	for end := len(text); ; {
		at := bytes.LastIndexByte(text[:end], '\n')
		if at < 0 {
			return 0
		}
		quotes -= bytes.Count(text[at:end], []byte{'"'})
		if quotes%2 == 0 {
			return at + 1
		}
		end = at
	}
}

// errLongRecord is the error of a record that does not fit in memory.
var errLongRecord = fmt.Errorf("%w: a record of more than %d bytes", ErrFormat, maxLine)

// job is a chunk on its way through a worker, with the worker's result.
type job[T any] struct {
	chunk
	result T
	err    error
	done   chan struct{}
}

// inOrder passes chunks through as many workers as GOMAXPROCS, and their results to emit in the
// order of the chunks. A worker fills a result up to its first error. next reuses the memory of a
// chunk, and a worker reuses a result, once emit has returned. next and emit each run in one
// goroutine. Memory holds at most 2 chunks for each worker.
//
// The error is the first one in the order of the chunks, of a worker after the emit of its result,
// of emit, or of next. io.EOF of next ends the chunks.
func inOrder[T any](next func(buffer []byte) (chunk, error), newWorker func() func(c chunk, result *T) error, emit func(result *T) error) error {
	workers := runtime.GOMAXPROCS(0)
	free := make(chan *job[T], 2*workers)
	for range cap(free) {
		free <- &job[T]{done: make(chan struct{}, 1)}
	}
	todo, order := make(chan *job[T], cap(free)), make(chan *job[T], cap(free))
	stop := make(chan struct{})
	var group sync.WaitGroup
	var panics relay.Relay
	for range workers {
		group.Go(func() {
			var work func(c chunk, result *T) error
			_ = panics.Do(func() error { work = newWorker(); return nil })
			for j := range todo {
				j.err = panics.Do(func() error { return work(j.chunk, &j.result) })
				j.done <- struct{}{}
			}
		})
	}
	var readErr error
	group.Go(func() {
		defer close(order)
		defer close(todo)
		defer panics.Catch()
		relay.Guard()
		for {
			var j *job[T]
			select {
			case j = <-free:
			case <-stop:
				return
			}
			if j.chunk, readErr = next(j.text); readErr != nil {
				return
			}
			todo <- j
			order <- j
		}
	})
	err := emitAll(order, free, emit)
	close(stop)
	for j := range order { // wait for the jobs that remain after an error
		<-j.done
	}
	group.Wait()
	panics.Throw()
	if err == nil && readErr != io.EOF {
		err = readErr
	}
	return err
}

// emitAll emits the results in the order of their chunks, up to the first error.
func emitAll[T any](order <-chan *job[T], free chan<- *job[T], emit func(result *T) error) error {
	for j := range order {
		<-j.done
		if errors.As(j.err, new(*relay.Panic)) { // the result is not complete
			return j.err
		}
		if err := emit(&j.result); err != nil {
			return err
		}
		if j.err != nil {
			return j.err
		}
		free <- j
	}
	return nil
}

// inParallel calls do(0), ..., do(n-1) from as many goroutines as GOMAXPROCS.
func inParallel(n int, do func(i int)) {
	var group sync.WaitGroup
	var panics relay.Relay
	todo := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := range todo {
				_ = panics.Do(func() error { do(i); return nil })
			}
		})
	}
	for i := range n {
		todo <- i
	}
	close(todo)
	group.Wait()
	panics.Throw()
}
