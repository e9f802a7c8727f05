package session

import (
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
)

// The measures and the graphs of a split of a table share one sample. Another split and the rows of
// a mini-batch have their own samples.
func TestSamplesAreShared(t *testing.T) {
	table := func() Rows {
		return Rows{Labels: []int{-1, 1, 1}, Classes: []Class{{Name: "no", Label: -1}, {Name: "yes", Label: 1}}, Tabular: true}
	}
	r := table()
	p := require.Value(r.population())(t)
	system := require.Value(constraints.NewSystem(constraints.Error(), nil, p))(t)
	shared := &samples{system: system, samples: map[*int]*constraints.Sample{}}
	of := func(r Rows) *constraints.Sample {
		return require.Value(shared.sample(r))(t)
	}
	first := of(r)
	if of(r) != first {
		t.Error("the second use makes a sample")
	}
	if of(table()) == first {
		t.Error("another split gets the sample of the first")
	}
	r.Tabular = false
	if of(r) == first {
		t.Error("rows of a mini-batch get the sample of a split")
	}
}
