package session

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/racing"
	"ppal/models"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// As many rows as columns, hidden units or both, and fewer rows than the processes share: the
// results are those of one process.
func TestProcessesOnSmallShapes(t *testing.T) {
	racing.Skip(t, "internal/cpu and internal/ranks run the same goroutines")
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
