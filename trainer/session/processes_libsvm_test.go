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

	"ppal/datasets/matrix"
	"ppal/internal/racing"
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
	racing.Skip(t, "internal/cpu and internal/ranks run the same goroutines")
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
