package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/ranks"
	"ppal/internal/recordio"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// shared calls lead in process 0 of several, with the options of the process. The other processes
// serve.
func shared(t *testing.T, processes int, o Options, lead func(o Options)) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range ranks.Goroutines(processes) {
		own := o
		own.Device.Ranks, own.Device.Threads = c, 1
		if c.Rank() > 0 {
			all.Go(func() {
				if err := Serve(context.Background(), own, nil); err != nil {
					t.Errorf("process %d: %v", c.Rank(), err)
				}
			})
			continue
		}
		all.Go(func() { lead(own) })
	}
	all.Wait()
}

// traceOver returns the trace of a run of several processes.
func traceOver(t *testing.T, processes int, o Options) (r *trace) {
	t.Helper()
	shared(t, processes, o, func(o Options) { r = traceOn(t, o, 1) })
	return r
}

// onEach prepares the run in n processes at once, and calls check in each of them.
func onEach(t *testing.T, o Options, n int, check func(r ranks.Collective, a *assembly)) {
	t.Helper()
	var group sync.WaitGroup
	for _, r := range ranks.Goroutines(n) {
		o.Device.Ranks = r
		own := o
		group.Go(func() {
			a, err := own.prepare(t.Context(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			check(r, a)
		})
	}
	group.Wait()
}

// within compares traces up to a difference of numbers, relative or absolute.
func within(difference float64) cmp.Options {
	return cmp.Options{cmpopts.EquateApprox(difference, difference), cmpopts.EquateNaNs()}
}

// A run of several processes gives the records, the weights, the certificate and the measures on
// held-out rows of one process, up to rounding, and the same bits again.
func TestProcessesTrainAsOne(t *testing.T) {
	require.NoRace(t, "internal/cpu and internal/ranks run the same goroutines")
	fixed := func(o *Options) {
		o.Method = &method.PPALA{Primal: step.Settings{Kind: step.Gradient, Eta: 0.05, Fixed: true}}
		o.Settings.Iterations, o.Settings.RecordEvery, o.Device.Dtype = 100, 50, tensor.Float64
	}
	runs := sharedRuns(t)
	runs["fixed"] = onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, fixed)
	differences := map[string]float64{"fixed": 1e-12, "float64": 1e-9, "parity": 1e-8, "decisions": 1e-6}
	for name, o := range runs {
		if name != "float32" && name != "digits" { // rounding in float32 moves the later steps of a long run
			o.Device.Dtype = tensor.Float64
		}
		if name == "decisions" { // in the last rounds of a longer run, rounding grows a thousandfold
			o.Settings.Iterations = 45
		}
		t.Run(name, func(t *testing.T) {
			difference, known := differences[name]
			if !known {
				difference = 2e-3
			}
			one, three := traceOn(t, o, 1), traceOver(t, 3, o)
			if name == "impossible" { // the search for a proof leaves the weights far apart
				if one.Status != trainer.Infeasible || three.Status != one.Status {
					t.Errorf("one process ends %q, three end %q", one.Status, three.Status)
				}
				return
			}
			if diff := cmp.Diff(one, three, within(difference)); diff != "" {
				t.Errorf("(-1 process +3 processes): %s", diff)
			}
			if name != "fixed" {
				return
			}
			if diff := cmp.Diff(three, traceOver(t, 3, o)); diff != "" {
				t.Errorf("(-3 processes +3 processes again): %s", diff)
			}
			if v := three.Records[len(three.Records)-1].Multipliers; len(v) == 0 || math.Abs(v[0]) == 0 {
				t.Error("no bound is active: the test needs an active bound")
			}
		})
	}
}

// If one process cannot build the run, process 0 says which, and that process gives the reason.
func TestProcessFails(t *testing.T) {
	o := onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, nil)
	for failing := range 3 {
		var all sync.WaitGroup
		for _, c := range ranks.Goroutines(3) {
			own := o
			own.Device.Ranks, own.Device.Threads = c, 1
			if c.Rank() == failing {
				own.Data = Table{Dataset: "no such table"}
			}
			all.Go(func() {
				var err error
				if c.Rank() > 0 {
					err = Serve(t.Context(), own, nil)
				} else {
					_, err = New(t.Context(), own)
				}
				switch {
				case err == nil:
					t.Errorf("process %d of 3, of which %d fails: no error", c.Rank(), failing)
				case c.Rank() == failing:
					if errors.Is(err, ranks.ErrElsewhere) || Reported(err) {
						t.Errorf("process %d: %v", failing, err)
					}
				case c.Rank() == 0:
					if !errors.Is(err, ranks.ErrElsewhere) || !strings.Contains(err.Error(), "process "+string(rune('0'+failing))) {
						t.Errorf("process 0, where %d fails: %v", failing, err)
					}
				case !Reported(err):
					t.Errorf("process %d, where %d fails, reports: %v", c.Rank(), failing, err)
				}
			})
		}
		all.Wait()
	}
}

// Several processes need the plan.
func TestProcessesRefuse(t *testing.T) {
	for name, change := range map[string]func(*Device){
		"gorgonia": func(d *Device) { d.Engine = Gorgonia },
	} {
		o := onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, nil)
		change(&o.Device)
		var all sync.WaitGroup
		for _, c := range ranks.Goroutines(2) {
			own := o
			own.Device.Ranks = c
			all.Go(func() {
				err := error(nil)
				if c.Rank() > 0 {
					err = Serve(t.Context(), own, nil)
				} else {
					_, err = New(t.Context(), own)
				}
				bad := new(OptionError)
				if c.Rank() > 0 && !Reported(err) || c.Rank() == 0 && (!errors.As(err, &bad) || bad.Option != "engine") {
					t.Errorf("%s, process %d: %v", name, c.Rank(), err)
				}
			})
		}
		all.Wait()
	}
}

// eachFails opens a run in several processes, whose options change gives, and returns the errors.
func eachFails(t *testing.T, processes int, change func(rank int, o *Options)) []error {
	t.Helper()
	errs := make([]error, processes)
	var all sync.WaitGroup
	for _, c := range ranks.Goroutines(processes) {
		o := onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, nil)
		o.Device.Ranks, o.Device.Threads = c, 1
		change(c.Rank(), &o)
		all.Go(func() {
			if c.Rank() > 0 {
				errs[c.Rank()] = Serve(t.Context(), o, nil)
				return
			}
			s, err := New(t.Context(), o)
			if errs[0] = err; err == nil {
				s.Close()
			}
		})
	}
	all.Wait()
	return errs
}

// A process of another program, or with other rows, kernels or products, ends the run, because the
// sums would be wrong.
func TestProcessesDiffer(t *testing.T) {
	dir := t.TempDir()
	table := func(name string, x int) Table {
		text := strings.Builder{}
		text.WriteString("x,z,g,y\n")
		for i := range 120 {
			fmt.Fprintf(&text, "%d,%d,%d,%d\n", i%7+x, i%5, i%2, i/3%2)
		}
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
		s := CSV(path, "y=1", "g=1")
		return s
	}
	one, other := table("one.csv", 0), table("other.csv", 1)
	for name, c := range map[string]struct {
		change func(o *Options)
		want   string
	}{
		"rows":    {func(o *Options) { o.Data = other }, "process 2 reads other rows of csv than process 0"},
		"seed":    {func(o *Options) { o.Settings.Seed = 7 }, "process 2 reads other rows of csv than process 0"},
		"version": {func(o *Options) { o.Files.Version = "2" }, "process 2 runs version 2 of ppal and process 0 another one"},
		"kernels": {func(o *Options) { o.Device.SIMD = NoSIMD }, "gives go kernels in process 2 and others in process 0"},
		"type":    {func(o *Options) { o.Device.Dtype = tensor.Float64 }, "products are float64 in process 2 but differ in process 0"},
	} {
		if name == "kernels" && !kernel.AVX2.Supported() {
			continue // all processes have the portable kernels
		}
		errs := eachFails(t, 3, func(rank int, o *Options) {
			if o.Data = one; rank == 2 {
				c.change(o)
			}
		})
		if !errors.Is(errs[0], ranks.ErrElsewhere) || !Reported(errs[1]) || errs[2] == nil || !strings.Contains(errs[2].Error(), c.want) {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// Several processes cannot read one pipe.
func TestProcessesRefusePipes(t *testing.T) {
	for _, errs := range [][]error{
		eachFails(t, 2, func(_ int, o *Options) { o.Data = CSV(recordio.StandardInput, "y=1") }),
		eachFails(t, 2, func(_ int, o *Options) { o.Data = CSV(os.DevNull, "y=1") }),
	} {
		bad := new(OptionError)
		if !errors.As(errs[0], &bad) || bad.Option != "file" || !Reported(errs[1]) {
			t.Errorf("%v", errs)
		}
	}
}

// Processes on one machine share the memory that the machine leaves.
func TestNeighboursShareMemory(t *testing.T) {
	alone, ok := (Device{}).resolved().Free()
	if !ok {
		t.Skip("the system does not say how much memory is free")
	}
	if each, _ := (Device{neighbours: 1000}).resolved().Free(); each == 0 || each > alone/500 {
		t.Errorf("one of 1000 processes may take %d bytes of %d", each, alone)
	}
	if each, _ := (Device{neighbours: 1000, MemoryLimit: 1 << 40}).resolved().Free(); each < 1<<39 {
		t.Errorf("the user's limit is for each process, and leaves %d bytes", each)
	}
	shared(t, 3, onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, nil), func(o Options) {
		s, err := New(t.Context(), o)
		if err != nil {
			t.Error(err)
			return
		}
		if n := s.pipeline.(*assembly).devices.Options.Neighbours; n != 3 {
			t.Errorf("%d neighbours, want 3", n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// salaries is the user's file of a few thousand rows, with categories and missing numbers.
func salaries(t *testing.T, rows int) Table {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	text.WriteString("age,job,score,sex,paid\n")
	for range rows {
		age, score, paid := 20+rng.IntN(50), fmt.Sprintf("%.4f", rng.NormFloat64()), rng.IntN(2)
		if rng.IntN(40) == 0 {
			score = ""
		}
		if rng.IntN(3) > 0 {
			paid = age / 45
		}
		fmt.Fprintf(&text, "%d,%s,%s,%c,%d\n", age, []string{"nurse", "cook", "smith"}[rng.IntN(3)], score, "FM"[rng.IntN(2)], paid)
	}
	path := filepath.Join(t.TempDir(), "salaries.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	s := CSV(path, "paid", "sex=F")
	s.Missing = tabular.MissingImputed
	return s
}

// Each process keeps the features of its own rows of a user's file, and the run, with its examples
// of held-out rows, is that of one process. Mini-batches need all rows.
func TestProcessesKeepTheirRows(t *testing.T) {
	require.NoRace(t, "internal/cpu and internal/ranks run the same goroutines")
	for name, c := range map[string]struct {
		rows, batch int
		task        Task
	}{
		"surrogates": {3000, 0, DemographicParity{}},
		"decisions":  {3000, 0, Decisions{SubjectTo: subject(t, "gap(tpr, sex) <= 0.1", "fpr <= 0.3")}},
		"few rows":   {90, 0, DemographicParity{}}, // less than a unit for each process
		"batches":    {3000, 500, DemographicParity{}},
	} {
		t.Run(name, func(t *testing.T) {
			o := onTable(c.task, salaries(t, c.rows), func(o *Options) {
				o.Method = &method.PPALA{Primal: step.Settings{Kind: step.Gradient, Eta: 0.05, Fixed: true}}
				o.Settings.Iterations, o.Settings.RecordEvery, o.Device.Dtype, o.BatchSize = 60, 20, tensor.Float64, c.batch
			})
			one, three := traceOn(t, o, 1), traceOver(t, 3, o)
			if diff := cmp.Diff(one, three, within(1e-9)); diff != "" {
				t.Errorf("(-1 process +3 processes): %s", diff)
			}
			if one.Result.Examples == nil || len(one.Result.Examples.Classes[0].List) == 0 {
				t.Error("no examples are compared")
			}
			alone := buildOptions(t, o)
			if alone.builder.Scales == nil {
				t.Error("a linear model has no scales")
			}
			onEach(t, o, 3, func(r ranks.Collective, a *assembly) {
				if diff := cmp.Diff(scaledOnes(alone.builder.Scales), scaledOnes(a.builder.Scales), within(1e-9)); diff != "" {
					t.Errorf("scales of process %d (-alone +own): %s", r.Rank(), diff)
				}
				for _, s := range a.splits {
					part, divided := s.Data.(*matrix.Part)
					if divided != (c.batch == 0) {
						t.Errorf("process %d has the %s rows as %T", r.Rank(), s.Name, s.Data)
					}
					if from, to := cpu.OwnRows(s.Len(), r.Rank(), 3); divided {
						if n, _ := part.Own.Dims(); n != to-from || n > part.Rows/2 && part.Rows > 1000 {
							t.Errorf("process %d has %d of %d %s rows", r.Rank(), n, part.Rows, s.Name)
						}
					}
				}
				a.devices.Served = false
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			})
			if err := alone.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A process that cannot read the file ends the run in all processes, whether the others have begun
// to read or not.
func TestProcessCannotRead(t *testing.T) {
	good := salaries(t, 500)
	missing, device := good, good
	missing.File = filepath.Join(t.TempDir(), "none.csv")
	for bad := range 3 {
		for name, change := range map[string]func(o *Options){
			"file":   func(o *Options) { o.Data = missing },
			"device": func(o *Options) { o.Data, o.Device.SIMD = device, "none" },
			"model":  func(o *Options) { o.Data, o.Init = device, "none.safetensors" },
		} {
			errs := eachFails(t, 3, func(rank int, o *Options) {
				if o.Data = good; rank == bad {
					change(o)
				}
			})
			for rank, err := range errs {
				switch {
				case rank == bad && (err == nil || errors.Is(err, ranks.ErrElsewhere) || Reported(err)),
					rank != bad && rank > 0 && !Reported(err), rank != bad && rank == 0 && !errors.Is(err, ranks.ErrElsewhere):
					t.Errorf("%s of process %d: process %d: %v", name, bad, rank, err)
				}
			}
		}
	}
}
