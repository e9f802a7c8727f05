package columnar

import (
	"errors"
	"io"
	"math"

	"ppal/datasets/tabular"
	"ppal/internal/recordio"
)

// ErrAlone says that a process could not read its part of the file, or that the parts do not give a
// table. Each process then reads the whole file, and all processes find the same first error.
var ErrAlone = errors.New("datasets: each process reads the whole file")

// OwnChunks returns a function that returns the chunks of next that begin in this process's part of
// size bytes. The chunks of the processes follow each other in the order of the ranks. All bytes
// after size, as of a compressed text, belong to the last process.
func OwnChunks(next func(buffer []byte) (recordio.Chunk, error), s tabular.Share, size int64) func(buffer []byte) (recordio.Chunk, error) {
	ranks := int64(s.Size())
	part := max(1, (size+ranks-1)/ranks)
	return func(buffer []byte) (recordio.Chunk, error) {
		for {
			c, err := next(buffer)
			if err != nil {
				return c, err
			}
			switch owner := min(c.Offset/part, ranks-1); {
			case owner == int64(s.Rank()):
				return c, nil
			case owner > int64(s.Rank()):
				return recordio.Chunk{}, io.EOF
			}
			buffer = c.Text
		}
	}
}

// sentSheet describes the rows that a process has read.
type sentSheet struct {
	Rows, Records int
	Begins        []int
	Values        [][]string // categories of each column
	Lacks         []bool
}

// combine gives the reader the rows of all processes. own is the error of this process.
func (r *SheetReader) combine(s tabular.Share, own error) error {
	if err := Vote(s, own); err != nil {
		return err
	}
	all, err := GatherValues(s, sentSheet{r.rows, r.records, r.begins, r.values, r.lacks})
	if err != nil {
		return err
	}
	counts, before := make([]int, len(all)), 0 // the rows of each process, the records of the processes before
	r.rows, r.records, r.begins = 0, 0, nil
	for rank, sent := range all {
		if counts[rank] = sent.Rows; rank == s.Rank() {
			before = r.records
		}
		for _, n := range sent.Begins {
			r.begins = append(r.begins, r.records+n)
		}
		r.rows, r.records = r.rows+sent.Rows, r.records+sent.Records
	}
	for i := range r.Specs {
		if err := r.combineColumn(s, i, all, counts); err != nil {
			return err
		}
	}
	if !r.drop {
		return nil
	}
	source, err := Gather(s, counts, func(i int) float64 { return float64(before + r.source[i]) })
	r.source = nil
	for _, n := range source {
		r.source = append(r.source, int(n))
	}
	return err
}

// combineColumn gives column i the values of all processes.
func (r *SheetReader) combineColumn(s tabular.Share, i int, all []sentSheet, counts []int) error {
	spec, ownValues := &r.Specs[i], r.values[i]
	r.values[i], r.codes[i] = nil, map[string]int32{}
	for _, sent := range all {
		r.lacks[i] = r.lacks[i] || sent.Lacks[i]
		for _, v := range sent.Values[i] {
			if _, known := r.codes[i][v]; !known {
				r.codes[i][v] = int32(len(r.values[i]))
				r.values[i] = append(r.values[i], v)
			}
		}
	}
	switch {
	case len(r.values[i]) > MaxCategories && !spec.Many:
		return ErrAlone
	case spec.Summary:
		return nil
	}
	own := r.join(i, counts[s.Rank()])
	var joined ColumnPart
	if spec.Numeric { // the bits, in two halves: a sum would lose the sign of -0
		high, err := Gather(s, counts, func(i int) float64 { return float64(math.Float64bits(own.Numbers[i]) >> 32) })
		if err != nil {
			return err
		}
		low, err := Gather(s, counts, func(i int) float64 { return float64(uint32(math.Float64bits(own.Numbers[i]))) })
		if err != nil {
			return err
		}
		for i, bits := range high {
			low[i] = math.Float64frombits(uint64(bits)<<32 | uint64(low[i]))
		}
		joined.Numbers = low
	} else {
		codes, err := Gather(s, counts, func(k int) float64 {
			if code := own.Codes[k]; code >= 0 {
				return float64(r.codes[i][ownValues[code]])
			}
			return float64(own.Codes[k])
		})
		if err != nil {
			return err
		}
		joined.Codes = make([]int32, len(codes))
		for k, code := range codes {
			joined.Codes[k] = int32(code)
		}
	}
	r.parts[i] = []ColumnPart{joined}
	return nil
}
