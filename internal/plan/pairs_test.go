package plan_test

import (
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph"
)

// The plans of problems on pairs give the values of Gorgonia's machine, without opaque steps. Their
// rows cannot be divided among processes that have only their own rows.
func TestPairs(t *testing.T) {
	for i, c := range graphcases.Ranked() {
		r := graphcases.Rankings()[i]
		t.Run(c.Name, func(t *testing.T) {
			var l *graph.Lagrangian
			problem := require.Value(c.Problem(tensor.Float64, capture{halves: &l}))(t)
			p := require.Value(graphcases.Lower(l))(t)
			if err := p.Check(); err != nil {
				t.Fatalf("%v\n%v", err, p)
			}
			_, m := problem.Dims()
			weights := weightsOf(m)
			want := tape(t, problem, weights)
			for _, block := range []int{0, 4} {
				compare(t, reference[float64](t, p, block, weights), want, 1e-12, p)
			}
			means, slopes := 0, 0
			each(p, func(s plan.Step) {
				switch s.(type) {
				case *plan.PairMeans:
					means++
				case *plan.PairMeansGrad:
					slopes++
				case *plan.Opaque:
					t.Errorf("opaque: %v", s)
				}
			})
			if surrogates := map[bool]int{true: 1, false: 2}[r.Objective == r.Constraints]; means != surrogates || slopes != surrogates {
				t.Errorf("%d means and %d derivatives for %d surrogates\n%v", means, slopes, surrogates, p)
			}
			if _, err := p.Divide(2, 0); err == nil || !strings.Contains(err.Error(), "reads all rows of") {
				t.Errorf("divided: %v", err)
			}
		})
	}
}
