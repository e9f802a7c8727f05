package newrows

import (
	"compress/gzip"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"ppal/datasets/dataerr"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// conversation feeds NewRows line by line through a pipe, and waits for the rows of each line
// before it writes the next line.
type conversation struct {
	t    *testing.T
	in   io.WriteCloser
	rows chan int   // of each block
	open chan bool  // OpenEnd of each block
	err  chan error // of Read
}

// converse starts a conversation about n's rows through a pipe.
func converse(t *testing.T, n NewRows, r io.Reader, in io.WriteCloser) *conversation {
	t.Helper()
	c := &conversation{t, in, make(chan int, 100), make(chan bool, 100), make(chan error, 1)}
	n.Work = func(_, results []float64) ([]float64, error) { return results, nil }
	n.Emit = func(b *Block) error {
		c.rows <- b.Rows
		c.open <- b.OpenEnd
		return nil
	}
	go func() { c.err <- n.Read(r, "pipe") }()
	return c
}

// say writes a text and waits until Read has emitted the given number of rows.
func (c *conversation) say(text string, rows int) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text); err != nil {
		c.t.Fatal(err)
	}
	for rows > 0 {
		select {
		case n := <-c.rows:
			rows -= n
		case err := <-c.err:
			c.t.Fatalf("%d rows are missing: %v", rows, err)
		case <-time.After(10 * time.Second):
			c.t.Fatalf("%d rows are missing", rows)
		}
	}
	if rows < 0 {
		c.t.Fatalf("%d rows too many", -rows)
	}
}

func (c *conversation) end(want error) {
	c.t.Helper()
	select {
	case err := <-c.err:
		if !errors.Is(err, want) {
			c.t.Errorf("%v, want %v", err, want)
		}
	case <-time.After(10 * time.Second):
		c.t.Error("Read does not end")
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// flushed is a gzip stream that is flushed after each write.
type flushed struct {
	*gzip.Writer
	to io.Closer
}

func (f flushed) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	return n, errors.Join(err, f.Flush())
}

func (f flushed) Close() error { return errors.Join(f.Writer.Close(), f.to.Close()) }

// Rows are emitted when their lines have arrived, and the rest of a line waits for its end.
func TestRowsArriveAsTheyAreWritten(t *testing.T) {
	table := NewRows{Preparation: &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}, {Column: "note", Categories: []string{"a", "b\nc"}}}}}
	for name, tc := range map[string]struct {
		n     NewRows
		texts []string
		rows  []int
	}{
		"CSV":      {table, []string{"x,note\n1,a\n", "2,a\n3,a\n", "4", ",a\n5,", "a\n", "6,\"b\n", "c\"\n"}, []int{1, 2, 0, 1, 1, 0, 1}},
		"header":   {table, []string{"\r\n", "\n\nx;note\n", "1;a\n", "\n", "2;a\n"}, []int{0, 0, 1, 0, 1}},
		"LIBSVM":   {NewRows{Preparation: &tabular.Preparation{Numbers: []int{1, 2}, Indices: 2}}, []string{"1:2\n", "+1 2:3\n1:", "5\n"}, []int{1, 1, 1}},
		"pictures": {NewRows{Pixels: 2, Scale: 1}, []string{"\x00\x00\x08\x02\x00\x00\x00\x04\x00\x00\x00\x02ab", "c", "def", "gh"}, []int{1, 0, 2, 1}},
	} {
		for form, through := range map[string]func(w io.WriteCloser) io.WriteCloser{
			"plain": func(w io.WriteCloser) io.WriteCloser { return w },
			"gzip":  func(w io.WriteCloser) io.WriteCloser { return flushed{gzip.NewWriter(w), w} },
		} {
			t.Run(name+" "+form, func(t *testing.T) {
				r, w := pipe(t)
				c := converse(t, tc.n, r, through(w))
				for k, text := range tc.texts {
					c.say(text, tc.rows[k])
				}
				require.NoError(t, c.in.Close())
				c.end(nil)
			})
		}
	}
}

// A bad row is reported although the writer goes on to wait for an answer, and so is an error of
// Emit.
func TestBadRowOfAPausingInput(t *testing.T) {
	n := NewRows{Preparation: &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}}}
	r, w := pipe(t)
	c := converse(t, n, r, w)
	c.say("x,y\n1,2\n", 1)
	c.say("3,4\nno,5\n", 1)
	c.end(dataerr.ErrNumber)
	server, client := net.Pipe()
	defer client.Close()
	broken := errors.New("broken")
	n.Work = func(_, results []float64) ([]float64, error) { return results, nil }
	n.Emit = func(*Block) error { return broken }
	ended := make(chan error, 1)
	go func() { ended <- n.Read(server, "socket") }()
	require.Value(io.WriteString(client, "x,y\n1,2\n"))(t)
	if err := <-ended; !errors.Is(err, broken) {
		t.Error(err)
	}
}

// The separator of an input that may pause does not depend on the rows that have arrived, and a
// last line without a line end is marked.
func TestPausingInputEnds(t *testing.T) {
	n := NewRows{Preparation: &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}}}
	for text, open := range map[string]bool{"x;y\n1;2\n": false, "x;y\n1;2": true, "x;y\n1;2\n3;4": true} {
		r, w := pipe(t)
		c := converse(t, n, r, w)
		require.Value(io.WriteString(w, text))(t)
		w.Close()
		c.end(nil)
		got := false
		for len(c.open) > 0 {
			got = <-c.open
		}
		if got != open {
			t.Errorf("%q: %v", text, got)
		}
	}
	// With all lines, the separator of this text is a semicolon. The first line has two candidates.
	for _, pieces := range [][]string{{"x,n;y\n1,5;2\n3;4\n"}, {"x,n;y\n", "1,5;2\n", "3;4\n"}} {
		n := NewRows{Preparation: &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "y", Scale: 1}}}}
		r, w := pipe(t)
		c := converse(t, n, r, w)
		for _, piece := range pieces {
			if _, err := io.WriteString(w, piece); err != nil {
				break // Read has ended with its error
			}
			time.Sleep(2 * recordio.Pause)
		}
		w.Close()
		c.end(dataerr.ErrColumn)
	}
	if recordio.MayPause(strings.NewReader("")) != nil {
		t.Error("a text may pause")
	}
	path := datatest.Write(t, t.TempDir(), "rows", []byte("x,y\n1,2"))
	f := require.Value(os.Open(path))(t)
	defer f.Close()
	if recordio.MayPause(f) != nil {
		t.Error("a file may pause")
	}
}

// A part of a line waits for the rest without work.
func TestPausingWithinALine(t *testing.T) {
	n := NewRows{Preparation: &tabular.Preparation{Encodings: []tabular.Encoding{{Column: "x", Scale: 1}}}}
	r, w := pipe(t)
	c := converse(t, n, r, w)
	c.say("x,y\n1,2\n3", 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	time.Sleep(50 * recordio.Pause)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4*recordio.ChunkBytes {
		t.Errorf("%d bytes allocated", n)
	}
	c.say(",4\n", 1)
	w.Close()
	c.end(nil)
}

// A table that is longer than all buffers arrives whole through a pipe.
func TestLongPausingInput(t *testing.T) {
	p, text := newColumns(), manyRows(20000)
	want := require.Value(trained(p, text))(t)
	r, w := pipe(t)
	go func() {
		defer w.Close()
		for rest := text; rest != ""; {
			n := min(len(rest), 100_003)
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				return
			}
			if rest = rest[n:]; len(rest)%7 == 0 {
				time.Sleep(2 * recordio.Pause)
			}
		}
	}()
	x, _, _, err := newRows(p, r, NewRows{})
	if err != nil || x.Rows != want.Rows {
		t.Fatalf("%d rows, %v", x.Rows, err)
	}
	for i := range x.Data {
		if x.Data[i] != want.Data[i] {
			t.Fatalf("element %d is %v, want %v", i, x.Data[i], want.Data[i])
		}
	}
}
