package session

import (
	"slices"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
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

// Linear models and pieces of them are shallow, and networks are not.
func TestShallow(t *testing.T) {
	for _, c := range []struct {
		hidden []int
		want   bool
	}{{nil, true}, {[]int{4}, false}} {
		s := buildOptions(t, onTable(DemographicParity{}, CSV(integersFile(t, "2"), "y", "sex=a"), func(o *Options) {
			o.Model = &models.Spec{Hidden: c.hidden, Activation: models.Sigmoid}
		}))
		if got := problem.FeaturesOf(s.Problem()).Shallow; got != c.want {
			t.Errorf("hidden layers %v: shallow %v, want %v", c.hidden, got, c.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The graph shows the kinks of relu, the hinge and the l1 norm, in training and in the certificate.
func TestKinks(t *testing.T) {
	rates := func(text string) Task {
		subject := require.Value(constraints.Parse(text))(t)
		return Decisions{Minimize: constraints.Error(), SubjectTo: []constraints.Constraint{subject}}
	}
	for name, c := range map[string]struct {
		task  Task
		model models.Spec
		want  bool
	}{
		"default":                {DemographicParity{}, models.Spec{}, false},
		"sigmoid":                {DemographicParity{Phi: "sigmoid"}, models.Spec{}, false},
		"hinge":                  {DemographicParity{Phi: "hinge"}, models.Spec{}, true},
		"tanh":                   {DemographicParity{}, models.Spec{Hidden: []int{3}, Activation: models.Tanh}, false},
		"relu":                   {DemographicParity{}, models.Spec{Hidden: []int{3}, Activation: models.ReLU}, true},
		"rates":                  {rates("fpr <= 0.5"), models.Spec{}, false},
		"a bound on the l1 norm": {rates("l1(weights) <= 5"), models.Spec{}, true},
	} {
		s := buildOptions(t, onTable(c.task, CSV(integersFile(t, "2"), "y", "sex=a"), func(o *Options) { o.Model = &c.model }))
		e := require.Value(s.builder.exact(s.splits[0], s.iterate()))(t)
		if got := problem.FeaturesOf(s.Problem()).Kinks; got != c.want || e.NonSmooth() != c.want {
			t.Errorf("%s: kinks %t in training, %t in the certificate, want %t", name, got, e.NonSmooth(), c.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
