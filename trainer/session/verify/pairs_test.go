package verify

import (
	"fmt"
	"testing"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer/session"
)

// documents returns rows of queries of ten documents. The last feature tells the groups apart, if
// grouped is true. Some of the documents are equal.
func documents(n int, grouped bool, seed uint64) *session.Matrix {
	m := rowsOf(n, 2, false, seed)
	m.Queries = &tabular.Queries{Grades: make([]uint8, n)}
	x := m.Features.(*matrix.Dense)
	for i := range n {
		if i%10 == 0 {
			m.Queries.Names = append(m.Queries.Names, fmt.Sprint(seed, " ", i/10))
		}
		m.Queries.Of = append(m.Queries.Of, int32(i/10))
		m.Queries.Grades[i] = uint8((m.Labels[i] + 1) / 2)
		if x.Data[4*i+3] = 0; i%10 > 7 {
			copy(x.Data[4*i:4*i+3], x.Data[4*i-4:])
		}
	}
	for _, i := range m.Groups[1].Rows {
		if grouped {
			x.Data[4*i+3] = 1
		}
	}
	return m
}

// ranked adds runs on rankings: with each kind of exact step, and with bounds on queries.
func ranked(t *testing.T, add func(name string, data session.Source, task session.Task, change func(o *session.Options))) {
	table := func(grouped bool) session.Matrices {
		return session.Matrices{Train: documents(200, grouped, 1), Validation: documents(60, grouped, 2), Test: documents(60, grouped, 3)}
	}
	task := func(on constraints.BoundsOn, texts ...string) session.Decisions {
		d := words(t, on, texts...)
		d.Minimize = constraints.PairError()
		return d
	}
	few := func(o *session.Options) { o.Settings.Iterations = 4 }
	add("pairs", table(true), task("", "gap(cross_pair_error, a) <= 0.02", "own_pair_error[a=1] <= 0.4", "distance(pair_error, sex) <= 0.1"), nil)
	add("pairs shifted", table(true), task("", "gap(cross_pair_error, a) <= 0.01"), few)
	add("pairs mixed", table(false), task("", "gap(cross_pair_error, a) <= 0.01"), func(o *session.Options) { o.Settings.Iterations = 6 })
	add("pairs of a network", table(true), task("", "gap(cross_pair_error, a) <= 0.02"), func(o *session.Options) { o.Model = &models.Spec{Hidden: []int{4}} })
	add("pairs of queries", table(true), task("", "gap(cross_pair_error[query=*], a, min 3) <= 0.3", "pair_error[query=*] <= 0.9"), nil)
	add("ranking", table(true), session.Ranking{}, nil)
	losses := task(constraints.OnSurrogate, "pair_loss[a=0] <= 0.6", "ratio(pair_error, a) >= 0.5", "excess(pair_error, a) <= 0.2")
	losses.Minimize = constraints.PairLoss()
	add("pairs by losses", table(true), losses, nil)
}

// TestPairSteps checks that the table has runs with the two kinds of exact steps.
func TestPairSteps(t *testing.T) {
	for name, mixed := range map[string]bool{"pairs shifted": false, "pairs mixed": true} {
		s := require.Value(rundir.ReadSummary(trained(t, runs(t)[name]()).Summary()))(t)
		if step := s.RankStep; step == nil || step.Mixed != mixed {
			t.Errorf("%s: the exact step is %+v", name, step)
		}
	}
}
