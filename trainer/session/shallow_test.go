package session

import (
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/problem"
)

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
