package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/datasets/picture"
	"ppal/datasets/tabular"
	"ppal/internal/cpu"
	"ppal/internal/racing"
	"ppal/internal/ranks"
	"ppal/models"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// Each process keeps its own rows of pictures, also of validation and held-out rows, and the run,
// with its examples of pictures, is that of one process. Mini-batches and copies of pictures need
// all training rows.
func TestProcessesKeepTheirPictures(t *testing.T) {
	racing.Skip(t, "internal/cpu and internal/ranks run the same goroutines")
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
