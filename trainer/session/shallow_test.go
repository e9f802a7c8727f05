package session

import (
	"testing"

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
