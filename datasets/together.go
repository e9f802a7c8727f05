package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
)

// errAlone says that a process could not read its part of the file, or that the parts do not give a
// table. Each process then reads the whole file, and all find the first error of the file.
var errAlone = errors.New("datasets: each process reads the whole file")

// vote returns errAlone if a process has an error. A process that is interrupted fails instead.
func vote(s Share, own error) error {
	if errors.Is(own, context.Canceled) || errors.Is(own, context.DeadlineExceeded) {
		return own
	}
	failed, err := s.Vote(own != nil)
	if err == nil && failed {
		err = errAlone
	}
	return err
}

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

// gather returns the numbers of all processes, in the order of the ranks. counts[r] is how many
// numbers process r contributes; number(i) returns the i-th number of this process. gather sums
// vectors with zeros for the other processes, which keeps finite numbers except the sign of zero.
func gather(s Share, counts []int, number func(i int) float64) ([]float64, error) {
	before, total := 0, 0
	for rank, n := range counts {
		if rank < s.Rank() {
			before += n
		}
		total += n
	}
	all := make([]float64, total)
	for i := range counts[s.Rank()] {
		all[before+i] = number(i)
	}
	return all, s.Sum(all)
}

// gatherCounts returns a number of each process.
func gatherCounts(s Share, own int) ([]int, error) {
	x := make([]float64, s.Size())
	x[s.Rank()] = float64(own)
	err := s.Sum(x)
	counts := make([]int, len(x))
	for rank, n := range x {
		counts[rank] = int(n)
	}
	return counts, err
}

// wordBytes is the number of bytes that gatherValues sends in a float64, without rounding.
const wordBytes = 6

// gatherValues returns a value of each process, which JSON keeps.
func gatherValues[T any](s Share, own T) ([]T, error) {
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	lengths, err := gatherCounts(s, len(text))
	if err != nil {
		return nil, err
	}
	words := make([]int, len(lengths))
	for rank, n := range lengths {
		words[rank] = (n + wordBytes - 1) / wordBytes
	}
	numbers, err := gather(s, words, func(i int) float64 {
		word := uint64(0)
		for k, b := range text[i*wordBytes : min((i+1)*wordBytes, len(text))] {
			word |= uint64(b) << (8 * k)
		}
		return float64(word)
	})
	if err != nil {
		return nil, err
	}
	all := make([]T, len(lengths))
	for rank, n := range lengths {
		bytes := make([]byte, 0, n+wordBytes)
		for _, x := range numbers[:words[rank]] {
			for k := range wordBytes {
				bytes = append(bytes, byte(uint64(x)>>(8*k)))
			}
		}
		if err := json.Unmarshal(bytes[:n], &all[rank]); err != nil {
			return nil, err
		}
		numbers = numbers[words[rank]:]
	}
	return all, nil
}

// learnTogether is learn for processes that read a part of the file each. An error of any of them
// is errAlone in all.
func (t *ownTable) learnTogether(text *delimited, s Share, size int64) error {
	if err := vote(s, t.learn(ownChunks(text.next, s, size), text)); err != nil {
		return err
	}
	own := make([]sentProfile, len(t.columns))
	for i, c := range t.columns {
		own[i] = c.profile.send()
	}
	all, err := gatherValues(s, own)
	if err != nil {
		return err
	}
	for i, c := range t.columns {
		c.profile.reset()
		for _, of := range all {
			c.profile.join(of[i].profile(c.profile.onlyCategories))
		}
	}
	return nil
}

// sentProfile is a profile on the way to other processes.
type sentProfile struct {
	Rows, Missing, Plain, Dotted, PointGroups int
	Absent, Unreal, Text                      *sentPosition
	AbsentText, UnrealText, Example           string
	Texts                                     [textKinds]int
	Forms                                     formSet
	Counting, Whole                           bool
	Different                                 int
	First, Last                               uint64 // the bits of the numbers
	Values                                    []string
	Kinds, Counts                             []int // of Values; bytes would be text
}

type sentPosition struct{ Line, Column int }

func send(at *FileError) *sentPosition {
	if at == nil {
		return nil
	}
	return &sentPosition{at.Line, at.Column}
}

func (p *sentPosition) position() *FileError {
	if p == nil {
		return nil
	}
	return &FileError{Offset: -1, Line: p.Line, Column: p.Column}
}

func (p *profile) send() sentProfile {
	s := sentProfile{
		Rows: p.rows, Missing: p.missing, Plain: p.plain, Dotted: p.dotted, PointGroups: p.pointGroups,
		Absent: send(p.absent), Unreal: send(p.unreal), Text: send(p.text),
		AbsentText: p.absentText, UnrealText: p.unrealText, Example: p.example, Texts: p.texts, Forms: p.forms, Counting: p.counting,
		Whole: p.whole, Different: p.different,
		First: math.Float64bits(p.first), Last: math.Float64bits(p.last), Values: p.values,
	}
	for _, v := range p.values {
		s.Kinds, s.Counts = append(s.Kinds, int(p.kinds[v].kind)), append(s.Counts, p.kinds[v].rows)
	}
	return s
}

func (s *sentProfile) profile(onlyCategories bool) *profile {
	p := newProfile(onlyCategories)
	p.rows, p.missing, p.plain, p.dotted, p.pointGroups = s.Rows, s.Missing, s.Plain, s.Dotted, s.PointGroups
	p.absent, p.unreal, p.text = s.Absent.position(), s.Unreal.position(), s.Text.position()
	p.absentText, p.unrealText, p.example, p.texts, p.forms, p.counting = s.AbsentText, s.UnrealText, s.Example, s.Texts, s.Forms, s.Counting
	p.whole, p.different = s.Whole, s.Different
	p.first, p.last, p.values = math.Float64frombits(s.First), math.Float64frombits(s.Last), s.Values
	for i, v := range s.Values {
		p.kinds[v] = &distinct{textKind(s.Kinds[i]), s.Counts[i]}
	}
	return p
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
