package recordio

import (
	"io"
	"slices"

	"ppal/datasets/dataerr"
)

// Only selects rows of a file, such as the rows of one process. An earlier reading has counted the
// rows of each chunk, so that chunks without selected rows are not parsed. The zero value selects
// all rows.
type Only struct {
	Rows   []int // numbers of the rows in the file, increasing; nil: all rows
	Begins []int // numbers of the first rows of the chunks, and of all rows, in the earlier reading
}

// Chunks returns a function that returns the chunks of next that have selected rows.
func (o Only) Chunks(next func(buffer []byte) (Chunk, error)) func(buffer []byte) (Chunk, error) {
	if o.Rows == nil {
		return next
	}
	at := 0 // index of the next chunk
	return func(buffer []byte) (Chunk, error) {
		for {
			c, err := next(buffer)
			if err != nil || at+1 >= len(o.Begins) {
				return c, err
			}
			c.Record, c.records = o.Begins[at], o.Begins[at+1]-o.Begins[at]
			at++
			switch i, _ := slices.BinarySearch(o.Rows, c.Record); {
			case i == len(o.Rows):
				return Chunk{}, io.EOF
			case o.Rows[i] < o.Begins[at]:
				return c, nil
			}
			buffer = c.Text
		}
	}
}

// In returns a function that reports whether a row of the chunk is selected. Its calls are for the
// rows in their order.
func (o Only) In(c Chunk) func() bool {
	if o.Rows == nil {
		return func() bool { return true }
	}
	row := c.Record
	next, _ := slices.BinarySearch(o.Rows, row) // index of the next selected row
	return func() bool {
		is := next < len(o.Rows) && o.Rows[next] == row
		if row++; is {
			next++
		}
		return is
	}
}

// Check returns an error if the chunk has another number of rows than in the earlier reading.
func (o Only) Check(c Chunk, rows int, name string) error {
	if c.records > 0 && rows != c.records {
		return &dataerr.FileError{Path: name, Offset: -1, Err: dataerr.ErrChanged, Advice: "repeat the command when no program writes to the file"}
	}
	return nil
}
