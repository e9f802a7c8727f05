package recordio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
	"time"

	"ppal/internal/relay"
)

// Pausing is an input whose writer may pause, such as a pipe, a terminal or a socket. A goroutine
// reads it ahead, so that a reader can pass on the rows that have arrived instead of waiting for
// more.
type Pausing struct {
	r      io.Reader // the input; NewContent replaces it by the decompressed content
	blocks chan pausingBlock
	free   chan []byte
	stops  chan struct{}
	once   sync.Once
	block  []byte // the memory of rest
	rest   []byte // read ahead and not yet returned
	err    error  // follows rest
	// Ahead makes Read return ErrPaused if no byte arrives in time. Otherwise Read waits.
	Ahead bool
}

// pausingBlock is what one call of the input's Read has returned.
type pausingBlock struct {
	bytes []byte
	err   error
}

// ErrPaused says that the writer of the input pauses.
var ErrPaused = errors.New("the input pauses")

const (
	Pause         = 2 * time.Millisecond // a pause of the writer that ends a block of rows
	pausingBlocks = 4                    // the largest number of blocks read ahead
	pausingBytes  = 64 << 10             // the size of a block, that of a pipe on Linux
)

// MayPause returns r as a pausing input, or nil if r is a regular file or is not known to wait for
// another program.
func MayPause(r io.Reader) *Pausing {
	if _, waits := Steady(r).(interface{ SetReadDeadline(time.Time) error }); !waits {
		return nil
	}
	return &Pausing{r: r}
}

// start begins to read r ahead, which is the content of the input.
func (p *Pausing) start(r io.Reader) {
	p.blocks, p.free, p.stops = make(chan pausingBlock, pausingBlocks), make(chan []byte, pausingBlocks), make(chan struct{})
	for range pausingBlocks {
		p.free <- make([]byte, pausingBytes)
	}
	go func() {
		var panics relay.Relay
		for {
			var buffer []byte
			select {
			case buffer = <-p.free:
			case <-p.stops:
				return
			}
			b := pausingBlock{}
			b.err = panics.Do(func() error {
				n, err := r.Read(buffer)
				b.bytes = buffer[:n]
				return err
			})
			select {
			case p.blocks <- b:
			case <-p.stops:
				return
			}
			if b.err != nil {
				return
			}
		}
	}()
}

// Stop ends the reading. A Read that waits, and every later one, returns io.ErrClosedPipe. The
// goroutine ends when the input's Read returns. A nil *Pausing does nothing.
func (p *Pausing) Stop() {
	if p != nil && p.stops != nil {
		p.once.Do(func() { close(p.stops) })
	}
}

// Read implements io.Reader.
func (p *Pausing) Read(to []byte) (int, error) {
	for len(p.rest) == 0 && p.err == nil {
		if !p.Next() {
			return 0, ErrPaused
		}
	}
	if len(p.rest) == 0 {
		return 0, p.err
	}
	n := copy(to, p.rest)
	if p.rest = p.rest[n:]; len(p.rest) == 0 && p.block != nil {
		p.free <- p.block
		p.block = nil
	}
	return n, nil
}

// Next takes the next block. It returns false if Ahead is true and no block arrives in time.
func (p *Pausing) Next() bool {
	take := func(b pausingBlock) bool {
		p.block, p.rest, p.err = b.bytes[:cap(b.bytes)], b.bytes, b.err
		if len(b.bytes) == 0 && b.err == nil {
			p.free <- p.block
			p.block = nil
		}
		return true
	}
	select {
	case b := <-p.blocks:
		return take(b)
	default:
	}
	var late <-chan time.Time
	if p.Ahead {
		late = time.After(Pause)
	}
	select {
	case b := <-p.blocks:
		return take(b)
	case <-p.stops:
		p.err = io.ErrClosedPipe
		return true
	case <-late:
		return false
	}
}

// Peek returns the next n bytes of r, which reads the content, or fewer with an error. Of an input
// that may pause it returns the first line alone, with the empty lines before it: what the reader
// decides from it must not depend on how fast the lines arrive.
func (c *Content) Peek(r *bufio.Reader, n int) ([]byte, error) {
	if c.pausing == nil {
		return r.Peek(n)
	}
	for want := 1; ; {
		head, err := r.Peek(want)
		if err != nil {
			return head, err
		}
		head, _ = r.Peek(min(r.Buffered(), n))
		empty := len(head) - len(bytes.TrimLeft(head, "\r\n"))
		if end := bytes.IndexByte(head[empty:], '\n'); end >= 0 {
			return head[:empty+end+1], nil
		}
		if len(head) == n {
			return head, nil
		}
		want = len(head) + 1
	}
}
