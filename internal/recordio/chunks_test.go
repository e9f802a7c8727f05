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

// The fast parser of indicators takes the fields that it knows, and leaves the text from the first
// other field on.
func TestIndicators(t *testing.T) {
	for _, c := range []struct {
		text           string
		cols, previous int
		rest           string
		columns        []int32
	}{
		{"", 0, 3, "", nil},
		{" \t", 0, 0, "", nil},
		{" 1:1  19:1\t905:1 123456789:1", 0, 0, "", []int32{0, 18, 904, 123456788}},
		{"1:1 2:1 1234567890:1 7:1", 0, 0, "1234567890:1 7:1", []int32{0, 1}},
		{"   3:1 5:1 6:1", 5, 2, "6:1", []int32{2, 4}},
		{"3:1", 5, 3, "3:1", nil},
		{"0:1 2:1", 5, 0, "0:1 2:1", nil},
		{"1:1 :1 2:1", 5, 0, ":1 2:1", []int32{0}},
		{"1:1 x:1", 5, 0, "x:1", []int32{0}},
		{"1:1 2", 5, 0, "2", []int32{0}},
		{"1:1 2:", 5, 0, "2:", []int32{0}},
		{"1:1 2:10 3:1", 5, 0, "2:10 3:1", []int32{0}},
		{"1:1 2:2 3:1", 5, 0, "2:2 3:1", []int32{0}},
		{"1:1 2x1 3:1", 5, 0, "2x1 3:1", []int32{0}},
	} {
		s, e := &SparseReader{Cols: c.cols}, &Entries{Largest: 2}
		rest, last := s.indicators(e, []byte(c.text), c.previous)
		want := c.previous
		if len(c.columns) > 0 {
			want = int(c.columns[len(c.columns)-1]) + 1
		}
		if string(rest) != c.rest || last != want || !slices.Equal(e.Columns, c.columns) || e.Largest != max(2, want) {
			t.Errorf("%q: columns %v, last %d, largest %d, rest %q", c.text, e.Columns, last, e.Largest, rest)
		}
	}
}

// Chunks without wanted rows are skipped, and their memory is used again. A shorter file ends,
// and the new chunks of a longer file are read, too.
func TestOnlyChunks(t *testing.T) {
	errOther := errors.New("another error")
	begins := []int{0, 5, 5, 9, 12}
	for _, c := range []struct {
		rows   []int
		chunks int
		want   []int // records of the chunks
		err    error
	}{
		{[]int{0, 11}, 4, []int{0, 9}, errOther},
		{[]int{4, 5}, 4, []int{0, 5}, io.EOF},
		{[]int{5}, 4, []int{5}, io.EOF},
		{[]int{8}, 4, []int{5}, io.EOF},
		{[]int{9}, 4, []int{9}, errOther},
		{[]int{2}, 4, []int{0}, io.EOF},
		{[]int{2, 11}, 3, []int{0}, errOther},
		{[]int{11}, 6, []int{9, 0, 0}, errOther},
	} {
		at, memory := 0, []byte{1}
		next := Only{Rows: c.rows, Begins: begins}.Chunks(func(buffer []byte) (Chunk, error) {
			if &buffer[0] != &memory[0] {
				t.Errorf("%v: chunk %d has other memory", c.rows, at)
			}
			if at == c.chunks {
				return Chunk{}, errOther
			}
			memory = []byte{1}
			at++
			return Chunk{Text: memory}, nil
		})
		var got []int
		for {
			part, err := next(memory)
			if err != nil {
				if err != c.err {
					t.Errorf("%v of %d chunks: %v, want %v", c.rows, c.chunks, err, c.err)
				}
				break
			}
			got = append(got, part.Record)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v of %d chunks: %v, want %v", c.rows, c.chunks, got, c.want)
		}
	}
}

// The selected rows of a chunk are read, and another number of rows than before is an error.
func TestOnlyRows(t *testing.T) {
	only := Only{Rows: []int{3, 7, 8, 12}, Begins: []int{0, 5, 10, 14}}
	for _, c := range []struct {
		chunk Chunk
		rows  int
		want  []int
	}{
		{Chunk{Record: 5}, 5, []int{2, 3}},
		{Chunk{Record: 10}, 4, []int{2}},
		{Chunk{Record: 13}, 1, nil},
	} {
		selected, got := only.In(c.chunk), []int(nil)
		for i := range c.rows {
			if selected() {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("chunk from row %d: %v, want %v", c.chunk.Record, got, c.want)
		}
	}
	all := (Only{}).In(Chunk{})
	for range 2 {
		if !all() {
			t.Error("no selection leaves out rows")
		}
	}
	c, err := only.Chunks(func([]byte) (Chunk, error) { return Chunk{}, nil })(nil)
	if err != nil || only.Check(c, 5, "file") != nil || !errors.Is(only.Check(c, 6, "file"), dataerr.ErrChanged) {
		t.Errorf("the number of rows of a chunk: %v, %v, %v", err, only.Check(c, 5, "file"), only.Check(c, 6, "file"))
	}
}
