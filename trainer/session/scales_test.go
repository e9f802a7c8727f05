package session

import (
	"slices"
	"testing"

	"ppal/models"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/step"
)

// Only quasi-Newton steps read the rows for scales: from the first iteration on, or after batches.
func TestScalesOfOtherSteps(t *testing.T) {
	for _, c := range []struct {
		kind    step.Kind
		batches *build.Batches
		want    bool
	}{{step.LBFGS, nil, true}, {step.Nesterov, nil, false}, {step.Nesterov, &build.Batches{}, true}} {
		e := &assembly{options: Options{Method: &method.PPALA{Primal: step.Settings{Kind: c.kind}}}, batches: c.batches, builder: &builder{Builder: &build.Builder{Scales: problem.NewScales(1)}}}
		if e.usesScales() != c.want {
			t.Errorf("%v: scales %v", c.kind, !c.want)
		}
	}
}

// The problem has the scales of its model, with all rows and where the last iterations of
// mini-batches begin.
func TestProblemsHaveScales(t *testing.T) {
	integers := CSV(integersFile(t, "2"), "y", "sex=a")
	sigmoids := &models.Spec{Hidden: []int{3}, Activation: models.Sigmoid}
	for name, c := range map[string]struct {
		data     Table
		model    *models.Spec
		batch    int
		whitened bool
		identity bool
	}{
		"linear":            {data: integers},
		"linear, batches":   {data: integers, batch: 2},
		"network":           {data: salaries(t, 3000), model: sigmoids, whitened: true},
		"network, batches":  {data: salaries(t, 3000), model: sigmoids, batch: 500, whitened: true},
		"network, few rows": {data: integers, model: sigmoids, identity: true},
		"few rows, batches": {data: integers, model: sigmoids, batch: 100, identity: true},
		"linear, many rows": {data: salaries(t, 3000), whitened: true},
	} {
		s := buildOptions(t, onTable(DemographicParity{}, c.data, func(o *Options) { o.Model, o.BatchSize = c.model, c.batch }))
		p := s.Problem()
		if c.batch > 0 {
			p = s.batches.Full
		}
		got := problem.FeaturesOf(p).Scales
		if got == nil || got.Len() != s.parameters || got.Whitened() != c.whitened || got.Identity() != c.identity {
			t.Errorf("%s: scales %+v of %d parameters", name, got, s.parameters)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// scaledOnes returns T times the vector of ones: the numbers of a diagonal T.
func scaledOnes(scales *problem.Scales) []float64 {
	v := slices.Repeat([]float64{1}, scales.Len())
	scales.Multiply(v)
	return v
}
