package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/loader"
	"ppal/internal/require"
)

// describeLIBSVM formats the content value by value.
func describeLIBSVM(s *loader.LIBSVM) []byte {
	var b bytes.Buffer
	rows, cols := s.X.Dims()
	fmt.Fprintf(&b, "%d x %d, %d entries, values %t\n", rows, cols, len(s.X.Columns), s.X.Values != nil)
	for i := range rows {
		fmt.Fprintf(&b, "%v", s.Labels[i])
		if s.Queries != nil {
			fmt.Fprintf(&b, " query %s", s.Queries.Names[s.Queries.Of[i]])
		}
		for e := s.X.Starts[i]; e < s.X.Starts[i+1]; e++ {
			fmt.Fprintf(&b, " [%d]=%v", s.X.Columns[e], s.X.EntryValues()[e])
		}
		fmt.Fprintln(&b)
	}
	return b.Bytes()
}

// TestLIBSVMGolden reads a file with comments, blank lines, queries, tabs, all notations of
// numbers, and no last line end.
func TestLIBSVMGolden(t *testing.T) {
	s := require.Value(loader.LoadLIBSVM("testdata/mixed.libsvm", 0))(t)
	require.Golden(t, "testdata/mixed.golden", describeLIBSVM(s))
}

// TestReadLIBSVMErrors checks what a text in testdata/readers.txt cannot say.
func TestReadLIBSVMErrors(t *testing.T) {
	const good = "1 1:1\n"
	t.Run("compressed file cut", func(t *testing.T) {
		data := datatest.Gzipped([]byte(strings.Repeat(good, 99)))
		_, err := (&loader.SparseRows{Cols: 5}).Read(bytes.NewReader(data[:len(data)-9]), "file")
		datatest.CheckError(t, err, dataerr.ErrTruncated, "the file ends too early")
	})
	t.Run("missing", func(t *testing.T) {
		_, err := loader.LoadLIBSVM(filepath.Join(t.TempDir(), "none"), 5)
		datatest.CheckError(t, err, os.ErrNotExist, "none")
	})
	t.Run("dimension", func(t *testing.T) {
		for _, cols := range []int{-1, math.MaxInt32 + 1} {
			if _, err := (&loader.SparseRows{Cols: cols}).Read(strings.NewReader(good), "file"); err == nil {
				t.Errorf("%d features gave no error", cols)
			}
		}
	})
}

// entriesFile is a LIBSVM file of rows with about the given share of 40 features, also with zeros
// and comments.
func entriesFile(t *testing.T, rows int, density float64) string {
	rng := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	text.WriteString("# a comment\n")
	for i := range rows {
		fmt.Fprintf(&text, "%+d", 1-2*rng.IntN(2))
		for j := range 40 {
			if rng.Float64() < density || j == 39 && i == 7 {
				fmt.Fprintf(&text, " %d:%v", j+1, []float64{1, 0, 0.5}[rng.IntN(3)])
			}
		}
		text.WriteString("\n")
	}
	path := datatest.Write(t, t.TempDir(), "entries", []byte(text.String()))
	return path
}

// Processes that share a LIBSVM file have, together, the entries of one process, and each has the
// labels, groups and attributes of one process. Files with many nonzero elements, and features that
// are left out by comparison with the groups, have all rows in all processes.
func TestSharedLIBSVM(t *testing.T) {
	sparse, dense := entriesFile(t, 900, 0.2), entriesFile(t, 900, 0.5)
	for name, c := range map[string]struct {
		opts  tabular.TableOptions
		whole bool
	}{
		"plain":      {opts: tabular.TableOptions{File: sparse}},
		"groups":     {opts: tabular.TableOptions{File: sparse, Groups: []string{"3", "9"}, Attributes: []string{"5"}, Ignore: []string{"4", "40"}}},
		"dense":      {opts: tabular.TableOptions{File: dense, Groups: []string{"3"}}, whole: true},
		"comparison": {opts: tabular.TableOptions{File: sparse, Groups: []string{"3"}, DropSensitive: true}, whole: true},
	} {
		want, err := LoadTable("", "libsvm", c.opts)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all, errs := shared(t, 3, 24, func(_ int, s tabular.Share) (*tabular.Tables, error) {
			own := c.opts
			own.Share = s
			return LoadTable("", "libsvm", own)
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for rank, got := range all {
			for k, p := range got.Parts() {
				one := want.Parts()[k].Table
				own := *p.Table
				own.Features = one.Features
				if !reflect.DeepEqual(one, &own) {
					t.Fatalf("%s, process %d, %s rows: %s", name, rank, p.Name, cmp.Diff(one, &own))
				}
				part, divided := p.Features.(*matrix.SparsePart)
				if divided == c.whole {
					t.Fatalf("%s, process %d has the %s rows as %T", name, rank, p.Name, p.Features)
				}
				if !divided {
					continue
				}
				from, to := (&guest{&hall{inputs: make([][]float64, 3)}, rank, 24}).Rows(own.Rows())
				if part.From != from || part.To != to || part.Has(from-1) || part.Has(to) || to > from && !(part.Has(from) && part.Has(to-1)) {
					t.Errorf("%s, process %d has the rows %d to %d, want %d to %d", name, rank, part.From, part.To, from, to)
				}
				if rows, cols := part.Dims(); rows != own.Rows() || cols != one.Features.(*matrix.CSR).Cols {
					t.Errorf("%s, process %d: %d x %d", name, rank, rows, cols)
				}
				if n := matrix.CountEntries(one.Features.(*matrix.CSR)); matrix.CountEntries(part) != n {
					t.Errorf("%s, process %d counts %d %s entries, want %d", name, rank, matrix.CountEntries(part), p.Name, n)
				}
				if part.Starts[from] != 0 || part.Starts[to] != len(part.Columns) {
					t.Errorf("%s, process %d has entries of other rows", name, rank)
				}
				_, cols := part.Dims()
				a, b := make([]float64, (to-from)*cols), make([]float64, (to-from)*cols)
				one.Features.Float64(a, from, to)
				part.Float64(b, from, to)
				if !reflect.DeepEqual(a, b) {
					t.Errorf("%s, process %d: other features than in one process", name, rank)
				}
			}
			got.Train, got.Validation, got.Test = want.Train, want.Validation, want.Test
			if !reflect.DeepEqual(want, got) {
				t.Errorf("%s, process %d: %s", name, rank, cmp.Diff(want, got))
			}
		}
	}
}

// Processes that share a LIBSVM file report the errors of one process, and a file that changes
// between the two readings is an error.
func TestSharedLIBSVMErrors(t *testing.T) {
	path := entriesFile(t, 200, 0.2)
	text := require.Value(os.ReadFile(path))(t)
	write := func(text string) {
		datatest.Write(t, "", path, []byte(text))
	}
	for name, c := range map[string]struct {
		text string
		opts tabular.TableOptions
	}{
		"entry":   {string(text) + "+1 3:x\n", tabular.TableOptions{}},
		"label":   {string(text) + "one 3:1\n", tabular.TableOptions{}},
		"feature": {string(text), tabular.TableOptions{Groups: []string{"41"}}},
		"wide":    {string(text) + fmt.Sprintf("+1 %d:1\n", loader.MaxUserFeatures+1), tabular.TableOptions{}},
	} {
		write(c.text)
		c.opts.File = path
		refuseAlike(t, name, "libsvm", c.opts)
	}

	write(string(text))
	_, errs := shared(t, 1, 24, func(_ int, s tabular.Share) (*tabular.Tables, error) {
		opts := tabular.TableOptions{File: path, Share: changing{s, func() { write(string(text) + "+1 1:1\n") }}}
		return LoadTable("", "libsvm", opts)
	})
	if err := errs[0]; !errors.Is(err, dataerr.ErrChanged) {
		t.Errorf("a file that changed: %v", err)
	}
}

// changing calls change before the second reading.
type changing struct {
	tabular.Share
	change func()
}

func (c changing) Rows(n int) (from, to int) {
	c.change()
	return c.Share.Rows(n)
}
