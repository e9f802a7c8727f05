package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/matrix"
	"ppal/internal/paged"
)

// ballot is a Share whose votes are given.
type ballot struct {
	Share
	any  bool
	err  error
	cast []bool
}

func (b *ballot) Vote(own bool) (bool, error) { b.cast = append(b.cast, own); return b.any, b.err }

// An error of a process is a vote, and an interruption is none.
func TestSharedVote(t *testing.T) {
	late := fmt.Errorf("late: %w", context.DeadlineExceeded)
	stopped := fmt.Errorf("stopped: %w", context.Canceled)
	for _, c := range []struct {
		own    error
		any    bool
		failed error
		want   error
		cast   []bool
	}{
		{nil, false, nil, nil, []bool{false}},
		{nil, true, nil, errAlone, []bool{false}},
		{io.EOF, true, nil, errAlone, []bool{true}},
		{nil, true, errOther, errOther, []bool{false}},
		{late, true, nil, late, nil},
		{stopped, true, nil, stopped, nil},
	} {
		b := &ballot{any: c.any, err: c.failed}
		if err := vote(b, c.own); err != c.want || !slices.Equal(b.cast, c.cast) {
			t.Errorf("%+v: %v after the votes %v", c, err, b.cast)
		}
	}
}

// Processes do not share tables with a test file or with pages.
func TestSharedOptions(t *testing.T) {
	s := &guest{}
	for _, c := range []struct {
		opts TableOptions
		want bool
	}{
		{TableOptions{Share: s}, true}, {TableOptions{}, false}, {TableOptions{Share: s, TestFile: "test.csv"}, false},
		{TableOptions{Share: s, Pages: &paged.Dir{}}, false},
	} {
		if c.opts.shares() != c.want {
			t.Errorf("%+v: want %t", c.opts, c.want)
		}
	}
}

// Each chunk has one owner, also those after the end of the file. The memory of skipped chunks is
// used again, and a process stops after its part.
func TestSharedChunkOwners(t *testing.T) {
	for _, c := range []struct {
		size    int64
		offsets []int64
		want    [][]int64
	}{
		{10, []int64{0, 3, 4, 7, 8, 9, 12, 40}, [][]int64{{0, 3}, {4, 7}, {8, 9, 12, 40}}},
		{9, []int64{0, 2, 3, 5, 6, 9}, [][]int64{{0, 2}, {3, 5}, {6, 9}}},
		{1, []int64{0}, [][]int64{{0}, nil, nil}},
		{0, []int64{0}, [][]int64{{0}, nil, nil}},
	} {
		for rank, want := range c.want {
			at, memory := 0, []byte{1}
			next := ownChunks(func(buffer []byte) (chunk, error) {
				if len(buffer) != 1 || &buffer[0] != &memory[0] {
					t.Errorf("size %d, process %d: chunk %d has other memory", c.size, rank, at)
				}
				if at == len(c.offsets) {
					return chunk{}, io.EOF
				}
				memory = []byte{1}
				at++
				return chunk{text: memory, offset: c.offsets[at-1]}, nil
			}, &guest{&hall{inputs: make([][]float64, 3)}, rank, 1}, c.size)
			var got []int64
			for {
				own, err := next(memory)
				if err != nil {
					break
				}
				got = append(got, own.offset)
			}
			if !slices.Equal(got, want) {
				t.Errorf("size %d, process %d: %v, want %v", c.size, rank, got, want)
			}
		}
	}
}

// All processes get the values of all, of any number of bytes.
func TestSharedValues(t *testing.T) {
	for size := 1; size <= 4; size++ {
		for length := range 8 {
			want := make([]string, size)
			for rank := range want {
				want[rank] = strings.Repeat("\"ü", (length+3*rank)%8)
			}
			_, errs := shared(t, size, 1, func(rank int, s Share) (*Tables, error) {
				got, err := gatherValues(s, want[rank])
				if !slices.Equal(got, want) {
					t.Errorf("process %d of %d: %q, want %q", rank, size, got, want)
				}
				return nil, err
			})
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A profile is the same after it was sent.
func TestSharedProfile(t *testing.T) {
	p := newProfile(false)
	p.rows, p.missing, p.plain, p.dotted, p.pointGroups = 9, 1, 2, 3, 4
	p.absent, p.absentText = &FileError{Offset: -1, Line: 2, Column: 3}, "NA"
	p.unreal, p.unrealText = &FileError{Offset: -1, Line: 4, Column: 5}, "inf"
	p.text, p.example, p.texts[otherText] = &FileError{Offset: -1, Line: 6, Column: 7}, "x", 5
	p.forms, p.counting, p.first, p.last = 3, false, math.Copysign(0, -1), math.Inf(1)
	p.values, p.kinds = []string{"x", "1,5"}, map[string]textKind{"x": otherText, "1,5": commaText}
	s := p.send()
	if got := s.profile(false); !reflect.DeepEqual(got, p) {
		t.Errorf("%+v, want %+v", got, p)
	}
}

// Processes without rows or without bytes of the file, and constant columns, give the features of
// one process.
func TestSharedSmallTable(t *testing.T) {
	opts := TableOptions{File: filepath.Join(t.TempDir(), "rows.csv"), Label: "y", Missing: MissingImputed}
	text := rowsText("x,same,c,y", 40, func(i int) string {
		x := fmt.Sprint(0.1*float64(i) - 7)
		if i%9 == 4 {
			x = "NA"
		}
		return fmt.Sprintf("%s,0.1,\"%c\n\",%d", x, "abc"[i%3], i/2%2)
	})
	if err := os.WriteFile(opts.File, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	want, err := LoadTable("", "csv", opts)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1; size <= 4; size++ {
		for _, units := range []int{1, 24} {
			all, errs := shared(t, size, units, func(_ int, s Share) (*Tables, error) {
				own := opts
				own.Share = s
				return LoadTable("", "csv", own)
			})
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			for rank, got := range all {
				if !reflect.DeepEqual(got.Preparation, want.Preparation) {
					t.Errorf("process %d of %d: %+v, want %+v", rank, size, got.Preparation, want.Preparation)
				}
				for k, p := range got.Parts() {
					part := p.Features.(*matrix.Part)
					rows, cols := part.Own.Dims()
					a, b := make([]float64, rows*cols), make([]float64, rows*cols)
					want.Parts()[k].Features.Float64(a, part.From, part.From+rows)
					part.Float64(b, part.From, part.From+rows)
					if !slices.Equal(a, b) {
						t.Errorf("process %d of %d, %s rows: %v, want %v", rank, size, p.Name, b, a)
					}
				}
			}
		}
	}
}
