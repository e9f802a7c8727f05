package datasets

import (
	"errors"
	"io"
	"math"
)

// errAlone says that a process could not read its part of the file, or that the parts do not give a
// table. Each process then reads the whole file, and all find the first error of the file.
var errAlone = errors.New("datasets: each process reads the whole file")

// ownChunks returns a function that returns the chunks of next that begin in this process's part of
// size bytes. The chunks of the processes follow each other in the order of the ranks. All bytes
// after size, as of a compressed text, belong to the last process.
func ownChunks(next func(buffer []byte) (chunk, error), s Share, size int64) func(buffer []byte) (chunk, error) {
	ranks := int64(s.Size())
	part := max(1, (size+ranks-1)/ranks)
	return func(buffer []byte) (chunk, error) {
		for {
			c, err := next(buffer)
			if err != nil {
				return c, err
			}
			switch owner := min(c.offset/part, ranks-1); {
			case owner == int64(s.Rank()):
				return c, nil
			case owner > int64(s.Rank()):
				return chunk{}, io.EOF
			}
			buffer = c.text
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
func (r *sheetReader) combine(s Share, own error) error {
	if err := vote(s, own); err != nil {
		return err
	}
	all, err := gatherValues(s, sentSheet{r.rows, r.records, r.begins, r.values, r.lacks})
	if err != nil {
		return err
	}
	counts, before := make([]int, len(all)), 0 // the rows of each process, the records of the processes before
	r.rows, r.records, r.begins = 0, 0, nil
	for rank, of := range all {
		if counts[rank] = of.Rows; rank == s.Rank() {
			before = r.records
		}
		for _, n := range of.Begins {
			r.begins = append(r.begins, r.records+n)
		}
		r.rows, r.records = r.rows+of.Rows, r.records+of.Records
	}
	for i := range r.specs {
		if err := r.combineColumn(s, i, all, counts); err != nil {
			return err
		}
	}
	if !r.drop {
		return nil
	}
	source, err := gather(s, counts, func(i int) float64 { return float64(before + r.source[i]) })
	r.source = nil
	for _, n := range source {
		r.source = append(r.source, int(n))
	}
	return err
}

// combineColumn gives column i the values of all processes.
func (r *sheetReader) combineColumn(s Share, i int, all []sentSheet, counts []int) error {
	spec, ownValues := &r.specs[i], r.values[i]
	r.values[i], r.codes[i] = nil, map[string]int32{}
	for _, of := range all {
		r.lacks[i] = r.lacks[i] || of.Lacks[i]
		for _, v := range of.Values[i] {
			if _, known := r.codes[i][v]; !known {
				r.codes[i][v] = int32(len(r.values[i]))
				r.values[i] = append(r.values[i], v)
			}
		}
	}
	switch {
	case len(r.values[i]) > maxCategories && !spec.many:
		return errAlone
	case spec.summary:
		return nil
	}
	own := r.join(i, counts[s.Rank()])
	var joined columnPart
	if spec.numeric { // the bits, in two halves: a sum would lose the sign of -0
		high, err := gather(s, counts, func(i int) float64 { return float64(math.Float64bits(own.numbers[i]) >> 32) })
		if err != nil {
			return err
		}
		low, err := gather(s, counts, func(i int) float64 { return float64(uint32(math.Float64bits(own.numbers[i]))) })
		if err != nil {
			return err
		}
		for i, bits := range high {
			low[i] = math.Float64frombits(uint64(bits)<<32 | uint64(low[i]))
		}
		joined.numbers = low
	} else {
		codes, err := gather(s, counts, func(k int) float64 {
			if code := own.codes[k]; code >= 0 {
				return float64(r.codes[i][ownValues[code]])
			}
			return float64(own.codes[k])
		})
		if err != nil {
			return err
		}
		joined.codes = make([]int32, len(codes))
		for k, code := range codes {
			joined.codes[k] = int32(code)
		}
	}
	r.parts[i] = []columnPart{joined}
	return nil
}
