package recordio

import (
	"errors"
	"io"
	"slices"
	"testing"

	"ppal/datasets/dataerr"
)

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
