package datasets

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/dataerr"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/recordio"
	"ppal/internal/require"
)

// hall is where processes, which are goroutines, add vectors.
type hall struct {
	lock    sync.Mutex
	changed *sync.Cond
	inputs  [][]float64
	came    int
	left    bool // a process has ended: nobody waits for it
	round   int
	sum     []float64
}

// guest is a process of a hall.
type guest struct {
	*hall
	rank  int
	units int // rows that stay together
}

func (g *guest) Rank() int { return g.rank }
func (g *guest) Size() int { return len(g.inputs) }

func (g *guest) Rows(n int) (from, to int) {
	units := (n + g.units - 1) / g.units
	return min(units*g.rank/g.Size()*g.units, n), min(units*(g.rank+1)/g.Size()*g.units, n)
}

func (g *guest) Sum(x []float64) error {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.inputs[g.rank] = append([]float64{}, x...)
	round := g.round
	if g.came++; g.came < len(g.inputs) {
		for g.round == round && !g.left {
			g.changed.Wait()
		}
		if g.round == round {
			g.came--
			return errLeft
		}
	} else {
		g.sum = make([]float64, len(x))
		for _, in := range g.inputs {
			for i, v := range in {
				g.sum[i] += v
			}
		}
		g.came = 0
		g.round++
		g.changed.Broadcast()
	}
	copy(x, g.sum)
	return nil
}

func (g *guest) Vote(own bool) (bool, error) {
	votes := []float64{0}
	if own {
		votes[0] = 1e-3
	}
	err := g.Sum(votes)
	if votes[0] >= 1 {
		return true, errOther
	}
	return votes[0] > 0, err
}

var errOther, errLeft = errors.New("another process failed"), errors.New("another process has ended")

// leave ends the waiting of the other processes.
func (h *hall) leave() {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.left = true
	h.changed.Broadcast()
}

func (g *guest) Agree(err error) error {
	failed := []float64{0}
	if err != nil {
		failed[0] = 1
	}
	if left := g.Sum(failed); err == nil && left != nil {
		return left
	}
	if failed[0] > 0 && err == nil {
		return errOther
	}
	return err
}

// shared loads a table in several processes.
func shared(t *testing.T, size, units int, load func(rank int, s tabular.Share) (*tabular.Tables, error)) ([]*tabular.Tables, []error) {
	t.Helper()
	h := &hall{inputs: make([][]float64, size)}
	h.changed = sync.NewCond(&h.lock)
	tables, errs := make([]*tabular.Tables, size), make([]error, size)
	var group sync.WaitGroup
	for rank := range size {
		group.Go(func() {
			defer h.leave()
			tables[rank], errs[rank] = load(rank, &guest{h, rank, units})
		})
	}
	group.Wait()
	return tables, errs
}

// workers is a file with numbers, categories, dates and missing values, in several chunks.
func workers(t *testing.T) string {
	rng := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "workers.csv")
	text := datatest.RowsText("age,job,born,wage,note,sex,part,paid", 15000, func(i int) string {
		job := []string{"nurse", "cook", "\"smith, black\"", ""}[rng.IntN(4)]
		wage := fmt.Sprintf("%.17g", 1000*rng.ExpFloat64())
		if i%97 == 5 {
			wage = "NA"
		}
		part := []string{"train", "test"}[i/10000] // in the order of the file
		if i%50 == 3 {
			part = "valid"
		}
		return fmt.Sprintf("%d,%s,19%02d-0%d-1%d,%s,\"%s\",%c,%s,%d", rng.IntN(80), job, rng.IntN(90)+10, rng.IntN(9)+1, rng.IntN(9), wage,
			[]string{"a", "two\nlines", "c"}[rng.IntN(3)], "FM"[rng.IntN(2)], part, rng.IntN(2))
	})
	if len(text) < 2*recordio.ChunkBytes {
		t.Fatalf("the file has %d bytes, and the test needs several chunks of %d", len(text), recordio.ChunkBytes)
	}
	datatest.Write(t, "", path, []byte(text))
	return path
}

// Processes that share a table have, together, the features of one process to the bit, and each has
// the labels, groups, attributes and preparation of one process.
func TestSharedTable(t *testing.T) {
	require.NoRace(t, "TestSharedTableErrors starts the same goroutines")
	path := workers(t)
	for name, opts := range map[string]tabular.TableOptions{
		"impute": {Label: "paid", Groups: []string{"sex"}, Missing: tabular.MissingImputed, Dates: tabular.DatesExpanded},
		"drop":   {Label: "paid", Groups: []string{"age>=40"}, Attributes: []string{"job", "wage>500"}, Missing: tabular.MissingDropped, Dates: tabular.DatesExpanded, Ignore: []string{"part"}},
		"column": {Label: "wage>=700", SplitColumn: "part", Values: []string{"NURSE"}, Missing: tabular.MissingDropped, Ignore: []string{"born"}},
		"flag":   {Label: "paid", Groups: []string{"job"}, Attributes: []string{"sex"}, DropSensitive: true, Missing: tabular.MissingFlagged, Ignore: []string{"born"}, Seed: 3},
		"chosen": {Label: "note", Classes: []string{"c", "a"}, Features: []string{"age", "sex"}},
	} {
		opts.File = path
		if opts.Missing == "" {
			opts.Features = []string{"age", "sex"}
		}
		want, err := LoadTable("", "csv", opts)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, c := range []struct{ size, units int }{{3, 24}, {4, 4000}} {
			all, errs := shared(t, c.size, c.units, func(_ int, s tabular.Share) (*tabular.Tables, error) {
				own := opts
				own.Share = s
				return LoadTable("", "csv", own)
			})
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("%s, %v: %v", name, c, err)
			}
			for rank, got := range all {
				for k, p := range got.Parts() {
					one := want.Parts()[k].Table
					own := *p.Table
					part := own.Features.(*matrix.Part)
					own.Features = one.Features
					if !reflect.DeepEqual(one, &own) { // faster than cmp.Diff
						t.Fatalf("%s, %v, process %d, %s rows: %s", name, c, rank, p.Name, cmp.Diff(one, &own))
					}
					rows, cols := part.Own.Dims()
					a, b := make([]float64, rows*cols), make([]float64, rows*cols)
					one.Features.Float64(a, part.From, part.From+rows)
					part.Float64(b, part.From, part.From+rows)
					for i := range a {
						if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
							t.Fatalf("%s, %v, process %d, %s rows: feature %d of row %d is %v, and %v in one process", name, c, rank, p.Name, i%cols, part.From+i/cols, b[i], a[i])
						}
					}
					if from, to := (&guest{&hall{inputs: make([][]float64, c.size)}, rank, c.units}).Rows(own.Rows()); from != part.From || to-from != rows {
						t.Errorf("%s, %v, process %d: has the rows %d to %d, want %d to %d", name, c, rank, part.From, part.From+rows, from, to)
					}
				}
				got.Train, got.Validation, got.Test = want.Train, want.Validation, want.Test
				if !reflect.DeepEqual(want, got) {
					t.Errorf("%s, %v, process %d: %s", name, c, rank, cmp.Diff(want, got))
				}
			}
		}
	}
}

// Processes find the same first error of a file as one process: a record, a number, a missing
// value, or a column with too many categories.
func TestSharedTableErrors(t *testing.T) {
	path := workers(t)
	text := require.Value(os.ReadFile(path))(t)
	lines := strings.SplitAfter(string(text), "\n")
	for name, c := range map[string]struct {
		change func(lines []string)
		opts   tabular.TableOptions
	}{
		"record":     {func(lines []string) { lines[len(lines)-9] = "1,2,3\n" }, tabular.TableOptions{Features: []string{"age"}}},
		"encoding":   {func(lines []string) { lines[len(lines)-9] = "\xe4" + lines[len(lines)-9] }, tabular.TableOptions{Features: []string{"age"}}},
		"missing":    {func([]string) {}, tabular.TableOptions{Features: []string{"age", "wage"}}},
		"categories": {func([]string) {}, tabular.TableOptions{Features: []string{"wage"}, Categorical: []string{"wage"}, Missing: tabular.MissingDropped}},
		"class":      {func([]string) {}, tabular.TableOptions{Features: []string{"age"}, Groups: []string{"age=77.5"}}},
	} {
		changed := append([]string{}, lines...)
		c.change(changed)
		c.opts.File, c.opts.Label = filepath.Join(t.TempDir(), "workers.csv"), "paid"
		require.NoError(t, os.WriteFile(c.opts.File, []byte(strings.Join(changed, "")), 0o644))
		refuseAlike(t, name, "csv", c.opts)
	}
}

// refuseAlike expects that three processes refuse a table with the error of one process.
func refuseAlike(t *testing.T, name, dataset string, opts tabular.TableOptions) {
	t.Helper()
	_, want := LoadTable("", dataset, opts)
	_, errs := shared(t, 3, 24, func(_ int, s tabular.Share) (*tabular.Tables, error) {
		own := opts
		own.Share = s
		return LoadTable("", dataset, own)
	})
	for rank, err := range errs {
		if want == nil || err == nil || err.Error() != want.Error() {
			t.Errorf("%s, process %d: %v, and in one process %v", name, rank, err, want)
		}
	}
}

// A process that cannot read its rows ends the loading in all processes. A file that changed
// between the readings is an error.
func TestSharedTableFails(t *testing.T) {
	path := workers(t)
	good := tabular.TableOptions{File: path, Label: "paid", Features: []string{"age", "wage"}, Missing: tabular.MissingImputed}
	_, errs := shared(t, 3, 24, func(rank int, s tabular.Share) (*tabular.Tables, error) {
		opts := good
		if opts.Share = s; rank == 1 {
			opts.Label = "none"
			_, err := LoadTable("", "csv", opts)
			return nil, s.Agree(err) // the caller agrees if the loading did not
		}
		return LoadTable("", "csv", opts)
	})
	if !errors.Is(errs[0], errOther) || !errors.Is(errs[2], errOther) || !errors.Is(errs[1], dataerr.ErrColumn) {
		t.Errorf("%q", errs)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	_, errs = shared(t, 3, 24, func(rank int, s tabular.Share) (*tabular.Tables, error) {
		opts := good
		if opts.Share = s; rank > 0 {
			return LoadTable("", "csv", opts)
		}
		_, err := LoadTableContext(stopped, "", "csv", opts)
		return nil, s.Agree(err)
	})
	if !errors.Is(errs[0], context.Canceled) || !errors.Is(errs[1], errOther) || !errors.Is(errs[2], errOther) {
		t.Errorf("interrupted: %q", errs)
	}
	_, errs = shared(t, 2, 24, func(rank int, s tabular.Share) (*tabular.Tables, error) {
		opts := good
		opts.Share = s
		if rank == 1 {
			opts.Share = shortening{s, path}
		}
		return LoadTable("", "csv", opts)
	})
	if errs[1] == nil || !strings.Contains(errs[1].Error(), "changed while it was read") {
		t.Errorf("%q", errs)
	}
}

// shortening cuts the file when its process asks for its rows.
type shortening struct {
	tabular.Share
	path string
}

func (s shortening) Rows(n int) (from, to int) {
	_ = os.Truncate(s.path, recordio.ChunkBytes)
	return s.Share.Rows(n)
}
