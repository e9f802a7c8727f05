package session

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/cpu"
	"ppal/internal/ranks"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// entriesFile is a LIBSVM file of rows with 60 features. All values are 0.5, except in the first
// rows, so that some processes have equal values alone. Feature 3 makes groups.
func entriesFile(t *testing.T, rows int) string {
	rng := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	for i := range rows {
		var features strings.Builder
		score := rng.NormFloat64()
		for j := range 60 {
			if rng.Float64() > 0.1 {
				continue
			}
			value := 0.5
			if i < rows/20 {
				value = 1 + rng.Float64()
			}
			score += value * float64(j%5-2)
			fmt.Fprintf(&features, " %d:%v", j+1, value)
		}
		label := "-1"
		if score > 0 {
			label = "+1"
		}
		fmt.Fprintf(&text, "%s%s\n", label, &features)
	}
	path := filepath.Join(t.TempDir(), "entries")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	return path
}

// Each process keeps the entries of its own rows of a LIBSVM file, and the run, with its examples
// of held-out rows, is that of one process. Mini-batches need all rows.
func TestProcessesKeepTheirEntries(t *testing.T) {
	require.NoRace(t, "internal/cpu and internal/ranks run the same goroutines")
	for name, c := range map[string]struct {
		rows, batch int
		task        Task
		hidden      []int
	}{
		"surrogates": {2500, 0, DemographicParity{}, nil},
		"decisions":  {2500, 0, Decisions{SubjectTo: subject(t, "gap(tpr, 3) <= 0.1", "fpr <= 0.3")}, nil},
		"network":    {2500, 0, DemographicParity{}, []int{5}},
		"few rows":   {90, 0, DemographicParity{}, nil}, // less than a unit for each process
		"batches":    {2500, 500, DemographicParity{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := onTable(c.task, LIBSVM(entriesFile(t, c.rows), "3"), func(o *Options) {
				o.Method = &method.PPALA{Primal: step.Settings{Kind: step.Gradient, Eta: 0.05, Fixed: true}}
				o.Settings.Iterations, o.Settings.RecordEvery, o.Device.Dtype, o.BatchSize = 40, 20, tensor.Float64, c.batch
				if c.hidden != nil {
					o.Model = &models.Spec{Hidden: c.hidden}
				}
			})
			one, three := traceOn(t, o, 1), traceOver(t, 3, o)
			if diff := cmp.Diff(one, three, within(1e-9)); diff != "" {
				t.Errorf("(-1 process +3 processes): %s", diff)
			}
			if c.hidden == nil && (one.Result.Examples == nil || len(one.Result.Examples.Classes[0].List) == 0) {
				t.Error("no examples are compared")
			}
			onEach(t, o, 3, func(r ranks.Collective, a *assembly) {
				for _, s := range a.splits {
					part, divided := s.Data.(*matrix.SparsePart)
					if divided != (c.batch == 0) {
						t.Errorf("process %d has the %s rows as %T", r.Rank(), s.Name, s.Data)
					}
					if divided && len(part.Columns) > part.All/2 && part.Rows > 1000 {
						t.Errorf("process %d has %d of %d %s entries", r.Rank(), len(part.Columns), part.All, s.Name)
					}
				}
				a.devices.Served = false
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Each process keeps its own rows of pictures, also of validation and held-out rows, and the run,
// with its examples of pictures, is that of one process. Mini-batches and copies of pictures need
// all training rows.
func TestProcessesKeepTheirPictures(t *testing.T) {
	require.NoRace(t, "internal/cpu and internal/ranks run the same goroutines")
	for name, c := range map[string]struct {
		split  tabular.Split
		batch  int
		dtype  tensor.Dtype
		copies picture.Augmentation
		model  models.Architecture
	}{
		"floats": {dtype: tensor.Float64}, "digits": {dtype: tensor.Float32}, "validation": {split: tabular.Split{Train: 80, Validation: 20}, dtype: tensor.Float64},
		"batches": {batch: 120, dtype: tensor.Float64}, "copies": {dtype: tensor.Float32, copies: picture.AugmentFlip},
		"conv": {dtype: tensor.Float64, model: models.Conv{Channels: []int{2}}},
	} {
		t.Run(name, func(t *testing.T) {
			rows := 150
			if c.model != nil {
				rows = 30
			}
			o := Options{Data: Images{Dataset: "synthetic", Classes: []int{2, 0, 3}, RowsPerClass: rows, Split: c.split, Augment: c.copies}, Task: NeymanPearson{Kappa: []float64{0.3}},
				Model: c.model, Device: Device{Kind: CPU, Dtype: c.dtype}, BatchSize: c.batch,
				Method: &method.PPALA{Primal: step.Settings{Kind: step.Gradient, Eta: 0.05, Fixed: true}}}
			o.Settings.Iterations, o.Settings.RecordEvery, o.Settings.Seed = 4, 2, 1
			if c.model == nil {
				o.Model = &models.Spec{Hidden: []int{6}}
			} else {
				o.Settings.Iterations, o.Settings.RecordEvery = 1, 1
			}
			difference := 1e-9
			if c.dtype == tensor.Float32 {
				difference = 2e-3
			}
			one, three := traceOn(t, o, 1), traceOver(t, 3, o)
			if diff := cmp.Diff(one, three, within(difference)); diff != "" {
				t.Errorf("(-1 process +3 processes): %s", diff)
			}
			if e := one.Result.Examples; e == nil || len(e.Classes[0].List) == 0 || len(e.Classes[0].List[0].Picture) == 0 {
				t.Error("no pictures are compared")
			}
			onEach(t, o, 3, func(r ranks.Collective, a *assembly) {
				for _, s := range a.splits {
					part, divided := s.Data.(interface{ Has(i int) bool })
					if divided != (c.batch == 0 && c.copies == "") {
						t.Errorf("process %d has the %s rows as %T", r.Rank(), s.Name, s.Data)
					}
					from, to := cpu.OwnRows(s.Len(), r.Rank(), 3)
					for i := range s.Len() {
						if own := i >= from && i < to; divided && part.Has(i) != own {
							t.Errorf("process %d has row %d of the %s rows: %v, want %v", r.Rank(), i, s.Name, !own, own)
						}
					}
				}
				a.devices.Served = false
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// As many rows as columns, hidden units or both, and fewer rows than the processes share: the
// results are those of one process.
func TestProcessesOnSmallShapes(t *testing.T) {
	require.NoRace(t, "internal/cpu and internal/ranks run the same goroutines")
	rng := rand.New(rand.NewPCG(1, 2))
	rows := func(n, d int) *Matrix {
		x := &matrix.Dense{Rows: n, Cols: d, Data: make([]float64, n*d)}
		for i := range x.Data {
			x.Data[i] = rng.NormFloat64()
		}
		m := &Matrix{Features: x, Groups: []constraints.Group{{Name: "a"}, {Name: "b"}}}
		for i := range n {
			m.Labels = append(m.Labels, 2*(i/2%2)-1)
			m.Groups[i%2].Rows = append(m.Groups[i%2].Rows, i)
		}
		return m
	}
	for _, c := range []struct {
		n, d, hidden, held int
		text               string
	}{
		{60, 60, 0, 12, ""}, {60, 60, 60, 60, ""}, {60, 7, 60, 60, ""}, {8, 3, 0, 4, ""}, {8, 8, 8, 8, ""}, {30, 5, 4, 700, ""},
		{60, 60, 0, 12, "gap(tpr, a) <= 0.2; l1(weights) <= 3"}, {60, 60, 60, 60, "fpr <= 0.2"}, {1200, 3, 5, 1100, "fpr <= 0.2"},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			o := Options{Data: Matrices{Train: rows(c.n, c.d), Test: rows(c.held, c.d)}, Task: DemographicParity{}}
			o.Device.Dtype = tensor.Float64
			o.Method = &method.PPALA{Primal: step.Settings{Kind: step.Gradient, Eta: 0.05, Fixed: true}}
			o.Settings.Iterations, o.Settings.RecordEvery = 30, 10
			if c.hidden > 0 {
				o.Model = &models.Spec{Hidden: []int{c.hidden}}
			}
			if c.text != "" {
				o.Task = Decisions{SubjectTo: subject(t, strings.Split(c.text, "; ")...)}
			}
			one, three := traceOn(t, o, 1), traceOver(t, 3, o)
			if diff := cmp.Diff(one, three, within(1e-8)); diff != "" {
				t.Errorf("(-1 process +3 processes): %s", diff)
			}
		})
	}
}
