package recordio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ppal/datasets/dataerr"
	"ppal/internal/datatest"
)

// chunks returns all chunks of a text and the error at its end.
func chunks(c *Chunker) (list []Chunk, err error) {
	for {
		next, err := c.Next(nil)
		if err != nil {
			return list, err
		}
		list = append(list, next)
	}
}

// TestChunksJoin cuts texts with quotes that hold line ends, and compares the cuts with a count of
// quotes from the beginning.
func TestChunksJoin(t *testing.T) {
	var text strings.Builder
	for i := 0; text.Len() < 3*ChunkBytes; i++ {
		fmt.Fprintf(&text, "%d,\"%s\"\n", i, strings.Repeat("a\n", i%5))
	}
	for _, unquoted := range []bool{false, true} {
		c := NewChunker(strings.NewReader(text.String()), "file")
		c.Unquoted = unquoted
		list, err := chunks(c)
		if err != io.EOF || len(list) < 4 {
			t.Fatalf("%d chunks, %v", len(list), err)
		}
		at := 0
		for k, part := range list {
			before := text.String()[:at]
			if line := 1 + strings.Count(before, "\n"); part.Line != line || part.Last != (k == len(list)-1) {
				t.Errorf("unquoted %t, chunk %d: line %d, last %t, want line %d", unquoted, k, part.Line, part.Last, line)
			}
			if !bytes.HasSuffix(part.Text, []byte{'\n'}) || !unquoted && strings.Count(before, `"`)%2 != 0 {
				t.Errorf("unquoted %t, chunk %d begins within a record", unquoted, k)
			}
			if !strings.HasPrefix(text.String()[at:], string(part.Text)) {
				t.Fatalf("unquoted %t, chunk %d has another text", unquoted, k)
			}
			at += len(part.Text)
		}
		if at != text.Len() {
			t.Errorf("unquoted %t: %d bytes of %d", unquoted, at, text.Len())
		}
	}
}

// TestChunksRepeat cuts a text with long records, with buffers of all sizes from other chunks.
func TestChunksRepeat(t *testing.T) {
	var text strings.Builder
	for i := range 16 {
		text.WriteString(strings.Repeat("a", 1+i%7*ChunkBytes/3) + "\n")
	}
	var want []string
	for reading := range 6 {
		c := NewChunker(strings.NewReader(text.String()), "file")
		var got []string
		for k := 0; ; k++ {
			next, err := c.Next(make([]byte, 0, (k*reading%5)*ChunkBytes*3/2))
			if err != nil {
				break
			}
			got = append(got, string(next.Text))
		}
		if reading == 0 {
			want = got
		}
		if !slices.Equal(got, want) || strings.Join(got, "") != text.String() {
			t.Errorf("reading %d: %d chunks, the first reading gave %d", reading, len(got), len(want))
		}
	}
}

// TestLastRecordEnd checks the last line end outside quotes.
func TestLastRecordEnd(t *testing.T) {
	for text, want := range map[string][2]int{ // with quotes, and in a format without quotes
		"": {0, 0}, "ab": {0, 0}, "a\nb": {2, 2}, "\n": {1, 1}, "\n\"a": {1, 1}, "\n\"a\nb": {1, 4}, "a\n\"b\nc\"\nd": {8, 8},
		"a\n\"b\nc\"\nd\"\n": {8, 11}, "\"a\"\"b\n": {0, 6}, "\"a\nb\nc": {0, 5}, "a\"\"\n": {4, 4},
	} {
		for k, unquoted := range []bool{false, true} {
			if got := (&Chunker{Unquoted: unquoted}).lastRecordEnd([]byte(text)); got != want[k] {
				t.Errorf("%q, unquoted %t: %d, want %d", text, unquoted, got, want[k])
			}
		}
	}
}

// TestLongestRecord checks the limit of a record, line end included.
func TestLongestRecord(t *testing.T) {
	for _, most := range []int{ChunkBytes, ChunkBytes + 1000} {
		for extra, whole := range map[int]bool{0: true, 1: true, 2: false} {
			record := strings.Repeat("a", most+extra-1) + "\n"
			c := NewChunker(strings.NewReader(record+"b\nc\n"), "file")
			c.Most = most
			first, err := c.Next(nil)
			if want := most + extra; err != nil || (len(first.Text) == want) != whole {
				t.Errorf("limit %d: %d bytes of a record of %d, %v", most, len(first.Text), want, err)
			}
		}
	}
}

// TestChunksBeforeAnError checks that the whole records before an error come first, that nothing
// after the error is read, and the position of the error.
func TestChunksBeforeAnError(t *testing.T) {
	fire := errors.New("disk on fire")
	own := &dataerr.FileError{Path: "other", Offset: 3, Err: dataerr.ErrFormat}
	for _, cause := range []error{fire, own} {
		list, err := chunks(NewChunker(&datatest.Once{Parts: []string{"a\nbc\nd", "e\nf\n"}, Err: cause}, "file"))
		if len(list) != 1 || string(list[0].Text) != "a\nbc\n" || list[0].Last {
			t.Errorf("%v: chunks %+v", cause, list)
		}
		var at *dataerr.FileError
		if !errors.As(err, &at) || !errors.Is(err, cause) {
			t.Fatalf("%v, want %v", err, cause)
		}
		if cause == fire && (at.Path != "file" || at.Offset != 6) || cause == own && at != own {
			t.Errorf("%+v", at)
		}
	}
}

// TestInOrderWaits checks that no worker outlives InOrder, not even a worker without a chunk.
func TestInOrderWaits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var begun, ready atomic.Int32
	newWorker := func() func(Chunk, *int) error {
		if begun.Add(1) == 2 {
			time.Sleep(20 * time.Millisecond)
		}
		ready.Add(1)
		return func(Chunk, *int) error { return nil }
	}
	next := func([]byte) (Chunk, error) { return Chunk{}, io.EOF }
	if err := InOrder(next, newWorker, func(*int) error { return nil }); err != nil || ready.Load() != 2 {
		t.Errorf("%v, %d of 2 workers have begun", err, ready.Load())
	}
}
