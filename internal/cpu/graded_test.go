package cpu_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// The coarse passes of int8 give the bits of two digits, and its accurate passes the bits of three,
// in any order.
func TestGradedProducts(t *testing.T) {
	for _, level := range levels() {
		if level == kernel.Go {
			continue
		}
		three, two := sliced(t, level, 2, plan.Int8x3), sliced(t, level, 2, plan.Int8x2)
		for _, p := range albums() {
			want := map[bool][][]float64{
				false: numbers(t, p.problem(t, tensor.Float32, graph.On(three))),
				true:  numbers(t, p.problem(t, tensor.Float32, graph.On(two))),
			}
			device := sliced(t, level, 2, plan.Int8)
			if p.spec.Hidden == nil {
				device = sliced(t, level, 2, plan.AutoProducts).Graded()
			}
			made := p.problem(t, tensor.Float32, graph.On(device))
			graded := problem.FeaturesOf(made).Graded
			if graded == nil || problem.Coarse(graded) {
				t.Fatalf("%v: %+v: no coarse products, or coarse ones at first", level, p.spec)
			}
			for _, coarse := range []bool{false, true, false, true} {
				graded.SetGrade(map[bool]int{true: 0, false: 1}[coarse])
				if problem.Coarse(graded) != coarse {
					t.Errorf("coarse: %v, want %v", problem.Coarse(graded), coarse)
				}
				if diff := cmp.Diff(want[coarse], numbers(t, made)); diff != "" {
					t.Errorf("%v: %+v, coarse %v: %s", level, p.spec, coarse, diff)
				}
			}
		}
	}
}

// Other kinds of products, and automatic ones of a device that was not asked for int8, have no
// coarse passes.
func TestProductsWithoutGrades(t *testing.T) {
	p := albums()[1]
	auto := sliced(t, kernel.Best(), 1, plan.AutoProducts)
	for name, c := range map[string]struct {
		device *cpu.Device
		dtype  tensor.Dtype
	}{
		"not asked for": {auto, tensor.Float32},
		"float64":       {auto.Graded(), tensor.Float64},
		"processes":     {sliced(t, kernel.Best(), 1, plan.Int8).Among(alone{}), tensor.Float32},
		"float32":       {sliced(t, kernel.Best(), 1, plan.Float32).Graded(), tensor.Float32},
		"int8x3":        {sliced(t, kernel.Best(), 1, plan.Int8x3).Graded(), tensor.Float32},
		"int8x2":        {sliced(t, kernel.Best(), 1, plan.Int8x2).Graded(), tensor.Float32},
	} {
		if problem.FeaturesOf(p.problem(t, c.dtype, graph.On(c.device))).Graded != nil {
			t.Errorf("%s: the problem has coarse passes", name)
		}
	}
}

// alone is the only process of a run.
type alone struct{}

func (alone) Rank() int                  { return 0 }
func (alone) Size() int                  { return 1 }
func (alone) Sum([]float64) error        { return nil }
func (alone) SumFloat32([]float32) error { return nil }
