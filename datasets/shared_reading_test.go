package datasets

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/mapped"
	"ppal/internal/require"
)

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
	pages := require.Value(mapped.New(dir, 1<<40))(t)
	defer pages.Close()
	for _, opts := range []tabular.TableOptions{{TestFile: file}, {Pages: pages}} {
		opts.File, opts.Label = file, "y"
		want := loaded(t, "csv", opts)
		all, errs := shared(t, 2, 24, func(_ int, s tabular.Share) (*tabular.Tables, error) {
			own := opts
			own.Share = s
			return LoadTable("", "csv", own)
		})
		require.NoError(t, errors.Join(errs...))
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
	require.NoError(t, errors.Join(errs...))
	if want := []string{"x", "c,d,e,f=a,b,c,d", "c,d,e,f=a,b,c,e"}; !slices.Equal(all[0].Train.Columns, want) {
		t.Errorf("features %q, want %q", all[0].Train.Columns, want)
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
	datatest.Write(t, "", opts.File, []byte(text))
	want := loaded(t, "csv", opts)
	for size := 1; size <= 4; size++ {
		for _, units := range []int{1, 24} {
			all, errs := shared(t, size, units, func(_ int, s tabular.Share) (*tabular.Tables, error) {
				own := opts
				own.Share = s
				return LoadTable("", "csv", own)
			})
			require.NoError(t, errors.Join(errs...))
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
	datatest.Write(t, "", opts.File, []byte(text))
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
			if sums < 2 {
				t.Errorf("only %d sums", sums)
			}
			return
		}
	}
}

// The sheet has the values of the columns that determine labels, groups, attributes and splits. The
// values of the other features are read later, for the process's own rows.
func TestSharedColumnsKept(t *testing.T) {
	text := datatest.RowsText("x,c,g,a,v,born,when,part,y", 40, func(i int) string {
		return fmt.Sprintf("%d,%c,%c,%d,%c,2001-02-%02d,2001-03-%02d,%s,%d", i*i, "abc"[i%3], "de"[i%2], i%7, "NM"[i%2], 1+i%9, 1+i%5,
			[]string{"train", "test"}[i/30], i/2%2)
	})
	opts := tabular.TableOptions{File: "file", Label: "y", Groups: []string{"g"}, Attributes: []string{"a", "when"}, Values: []string{"n"}, SplitColumn: "part",
		Dates: tabular.DatesExpanded}
	_, errs := shared(t, 2, 24, func(rank int, s tabular.Share) (*tabular.Tables, error) {
		own := opts
		own.Share = s
		source, err := loader.ReadUserCSV(t.Context(), strings.NewReader(text), own)
		if err != nil {
			return nil, err
		}
		for _, c := range source.Features.(*loader.Encoded).Sheet.Columns {
			want := slices.Contains([]string{"g", "a", "v", "when", "part", "y"}, c.Name)
			if kept := len(c.Numbers)+len(c.Codes) > 0; kept != want {
				t.Errorf("process %d: the values of %q are kept: %t", rank, c.Name, kept)
			}
		}
		return nil, nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}
