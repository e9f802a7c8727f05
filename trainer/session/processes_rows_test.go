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
	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/cpu"
	"ppal/internal/datatest"
	"ppal/internal/ranks"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/method"
	"ppal/trainer/session/internal/load"
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
		"floats": {split: tabular.Split{Train: 80, Validation: 20}, dtype: tensor.Float64}, "digits": {dtype: tensor.Float32},
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

// The pixels of own pictures are those of datasets.LoadTable. The first load keeps them, and later
// loads read the kept file, unless it is damaged or a picture has changed.
func TestPictureFiles(t *testing.T) {
	folder, dir, r := t.TempDir(), t.TempDir(), rand.New(rand.NewPCG(1, 2))
	for k, class := range []string{"across", "down"} {
		for i := range 20 {
			datatest.Write(t, folder, fmt.Sprintf("%s/%02d.png", class, i), datatest.PNG(t, datatest.Bars(r, k, 6, 5)))
		}
	}
	source := PictureFiles{Dir: dir, TableOptions: tabular.TableOptions{File: folder, Label: "class=down", Seed: 3, Split: tabular.Split{Train: 50, Validation: 25, Test: 25}}}
	read := func(note string) *load.Data {
		t.Helper()
		l := require.Value(source.Load(t.Context(), Request{load.Request{Dtype: tensor.Float64}}))(t)
		if notes := fmt.Sprint(l.rows.KeptNotes); !strings.Contains(notes, note) || note == "" && notes != "[]" {
			t.Errorf("notes %s, want %q", notes, note)
		}
		return l.rows
	}
	check := func(l *load.Data) {
		t.Helper()
		want := require.Value(datasets.LoadTable("", datasets.Pictures, source.TableOptions))(t)
		for k, p := range want.Parts() {
			if got := l.Splits[k].Data.(*matrix.Bytes); string(got.Data) != string(p.Features.(*matrix.Bytes).Data) || fmt.Sprint(l.Splits[k].Labels) != fmt.Sprint(p.Labels) {
				t.Errorf("the %s rows differ", p.Name)
			}
		}
	}
	first := read("are kept for later runs")
	check(first)
	if first.Shape.Height != 6 || first.Shape.Width != 5 || first.Shape.Channels != 1 || len(first.Center) != 30 || first.Normalization.Deviation == 0 {
		t.Errorf("shape %v, normalization %+v", first.Shape, first.Normalization)
	}
	check(read(""))
	kept, err := filepath.Glob(filepath.Join(dir, "pictures", "*.rows"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept files %v, %v", kept, err)
	}
	content := require.Value(os.ReadFile(kept[0]))(t)
	content[100]++
	require.NoError(t, os.Remove(kept[0]))
	require.NoError(t, os.WriteFile(kept[0], content, 0o400))
	check(read("cannot be used"))
	datatest.Write(t, folder, "down/03.png", datatest.PNG(t, datatest.Bars(r, 1, 6, 5)))
	changed := read("are kept for later runs")
	check(changed)
	if changed.Description.Data[0].SHA256 == first.Description.Data[0].SHA256 {
		t.Error("a changed picture has the same checksum")
	}
	source.Dir = datatest.Write(t, dir, "file", nil) // not a directory
	check(read("are not kept for later runs"))
}

// Processes that share the rows keep their own pixels, and the run is that of one process.
func TestProcessesKeepTheirPictureFiles(t *testing.T) {
	require.NoRace(t, "internal/cpu and internal/ranks run the same goroutines")
	folder, r := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	for k, class := range []string{"across", "down", "dark"} {
		for i := range 30 {
			datatest.Write(t, folder, fmt.Sprintf("%s/%02d.png", class, i), datatest.PNG(t, datatest.Bars(r, k, 6, 5)))
		}
	}
	o := Options{Data: PictureFiles{Dir: t.TempDir(), TableOptions: tabular.TableOptions{File: folder, Classes: []string{"down", "dark"}}}, Task: NeymanPearson{Kappa: []float64{0.3}},
		Model: &models.Spec{Hidden: []int{6}}, Device: Device{Kind: CPU, Dtype: tensor.Float64},
		Method: &method.PPALA{Primal: step.Settings{Kind: step.Gradient, Eta: 0.05, Fixed: true}}}
	o.Settings.Iterations, o.Settings.RecordEvery, o.Settings.Seed = 4, 2, 1
	one := traceOn(t, o, 1)
	if diff := cmp.Diff(one, traceOver(t, 3, o), within(1e-9)); diff != "" {
		t.Errorf("(-1 process +3 processes): %s", diff)
	}
	if e := one.Result.Examples; e == nil || len(e.Classes[0].List)+len(e.Classes[1].List) == 0 {
		t.Error("no examples are compared")
	}
}
