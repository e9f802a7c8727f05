package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/mapped"
	"ppal/internal/recordio"
)

// ballot is a Share whose votes are given.
type ballot struct {
	tabular.Share
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
		{nil, true, nil, columnar.ErrAlone, []bool{false}},
		{io.EOF, true, nil, columnar.ErrAlone, []bool{true}},
		{nil, true, errOther, errOther, []bool{false}},
		{late, true, nil, late, nil},
		{stopped, true, nil, stopped, nil},
	} {
		b := &ballot{any: c.any, err: c.failed}
		if err := columnar.Vote(b, c.own); err != c.want || !slices.Equal(b.cast, c.cast) {
			t.Errorf("%+v: %v after the votes %v", c, err, b.cast)
		}
	}
}

// Processes do not share tables with a test file or with pages.
func TestSharedOptions(t *testing.T) {
	s := &guest{}
	for _, c := range []struct {
		opts tabular.TableOptions
		want bool
	}{
		{tabular.TableOptions{Share: s}, true}, {tabular.TableOptions{}, false}, {tabular.TableOptions{Share: s, TestFile: "test.csv"}, false},
		{tabular.TableOptions{Share: s, Pages: &mapped.Dir{}}, false},
	} {
		if loader.Shares(&c.opts) != c.want {
			t.Errorf("%+v: want %t", c.opts, c.want)
		}
	}
}

// With a test file or with pages, each process has all rows.
func TestNotShared(t *testing.T) {
	dir := t.TempDir()
	text := datatest.RowsText("x,c,y", 60, func(i int) string { return fmt.Sprintf("%d,%c,%d", i*i, "abc"[i%3], i/2%2) })
	file := datatest.Write(t, dir, "rows.csv", []byte(text))
	pages, err := mapped.New(dir, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	for _, opts := range []tabular.TableOptions{{TestFile: file}, {Pages: pages}} {
		opts.File, opts.Label = file, "y"
		want, err := LoadTable("", "csv", opts)
		if err != nil {
			t.Fatal(err)
		}
		all, errs := shared(t, 2, 24, func(_ int, s tabular.Share) (*tabular.Tables, error) {
			own := opts
			own.Share = s
			return LoadTable("", "csv", own)
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		for rank, got := range all {
			if _, part := got.Train.Features.(*matrix.Part); part || got.Train.SHA256() != want.Train.SHA256() {
				t.Errorf("process %d has %T, want %T", rank, got.Train.Features, want.Train.Features)
			}
		}
	}
}

// Processes read the file for the third time with the given separator, which is not the one that
// would be detected.
func TestSharedSeparator(t *testing.T) {
	text := datatest.RowsText("x;c,d,e,f;y", 40, func(i int) string { return fmt.Sprintf("%d;a,b,c,%c;%d", i*i, "de"[i%2], i/2%2) })
	opts := tabular.TableOptions{File: datatest.Write(t, t.TempDir(), "rows.csv", []byte(text)), Label: "y", Separator: ';'}
	all, errs := shared(t, 2, 24, func(_ int, s tabular.Share) (*tabular.Tables, error) {
		own := opts
		own.Share = s
		return LoadTable("", "csv", own)
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if want := []string{"x", "c,d,e,f=a,b,c,d", "c,d,e,f=a,b,c,e"}; !slices.Equal(all[0].Train.Columns, want) {
		t.Errorf("features %q, want %q", all[0].Train.Columns, want)
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
			next := columnar.OwnChunks(func(buffer []byte) (recordio.Chunk, error) {
				if len(buffer) != 1 || &buffer[0] != &memory[0] {
					t.Errorf("size %d, process %d: chunk %d has other memory", c.size, rank, at)
				}
				if at == len(c.offsets) {
					return recordio.Chunk{}, io.EOF
				}
				memory = []byte{1}
				at++
				return recordio.Chunk{Text: memory, Offset: c.offsets[at-1]}, nil
			}, &guest{&hall{inputs: make([][]float64, 3)}, rank, 1}, c.size)
			var got []int64
			for {
				own, err := next(memory)
				if err != nil {
					break
				}
				got = append(got, own.Offset)
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
			_, errs := shared(t, size, 1, func(rank int, s tabular.Share) (*tabular.Tables, error) {
				got, err := columnar.GatherValues(s, want[rank])
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

// Processes without rows or without bytes of the file, and constant columns, give the features of
// one process.
func TestSharedSmallTable(t *testing.T) {
	opts := tabular.TableOptions{File: filepath.Join(t.TempDir(), "rows.csv"), Label: "y", Missing: tabular.MissingImputed}
	text := datatest.RowsText("x,same,c,y", 40, func(i int) string {
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
			all, errs := shared(t, size, units, func(_ int, s tabular.Share) (*tabular.Tables, error) {
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

// The categories of all processes together have the limit of one process. A column of attributes
// has none.
func TestSharedCategories(t *testing.T) {
	for _, c := range []struct {
		categories int
		free       bool
		want       error
	}{{columnar.MaxCategories, false, nil}, {columnar.MaxCategories + 1, false, columnar.ErrAlone}, {columnar.MaxCategories + 1, true, nil}} {
		text := datatest.RowsText("c,x", 40000, func(i int) string { return fmt.Sprintf("text %05d,%d", i*c.categories/40000, i) })
		_, errs := shared(t, 2, 24, func(rank int, s tabular.Share) (*tabular.Tables, error) {
			got, err := columnar.ReadSheet(strings.NewReader(text), "file", &columnar.Schema{Columns: []columnar.ColumnSpec{{Name: "c", Many: c.free, Guess: c.free}}, Share: s, Size: int64(len(text))})
			if err == nil && (len(got.Columns[0].Values) != c.categories || got.Columns[0].Text(39999) != fmt.Sprintf("text %05d", c.categories-1)) {
				t.Errorf("%+v, process %d: %d categories, the last row has %q", c, rank, len(got.Columns[0].Values), got.Columns[0].Text(39999))
			}
			return nil, err
		})
		if errs[0] != c.want || errs[1] != c.want {
			t.Errorf("%+v: %v", c, errs)
		}
	}
}

// faulty is a Share whose sums fail after the first ones.
type faulty struct {
	tabular.Share
	sums   int
	failed error
}

func (f *faulty) Sum(x []float64) error {
	if f.sums--; f.sums < 0 {
		f.failed = errOther
		return errOther
	}
	return f.Share.Sum(x)
}

// Loading ends with the error of any sum of the processes.
func TestSharedSumsFail(t *testing.T) {
	opts := tabular.TableOptions{File: filepath.Join(t.TempDir(), "rows.csv"), Label: "y", Groups: []string{"c"}, Missing: tabular.MissingDropped}
	text := datatest.RowsText("x,c,y", 30, func(i int) string { return fmt.Sprintf("%d,%c,%d", i*i, "abc"[i%3], i/2%2) })
	if err := os.WriteFile(opts.File, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for sums := 0; ; sums++ {
		var s *faulty
		_, errs := shared(t, 1, 24, func(_ int, one tabular.Share) (*tabular.Tables, error) {
			s = &faulty{Share: one, sums: sums}
			own := opts
			own.Share = s
			return LoadTable("", "csv", own)
		})
		if !errors.Is(errs[0], s.failed) {
			t.Fatalf("the sum after %d sums fails: %v", sums, errs[0])
		}
		if s.failed == nil {
			if sums < 9 {
				t.Errorf("only %d sums", sums)
			}
			return
		}
	}
}
