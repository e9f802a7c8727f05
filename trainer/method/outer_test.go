package method

import (
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// dualRecord is an augmentedRule that counts the calls of secondOrder.
type dualRecord struct {
	augmentedRule
	changes, tightens bool // the results
	updated, raised   int
}

func (d *dualRecord) updateOuter([]float64) bool { d.updated++; return d.changes }
func (d *dualRecord) tighten() bool              { d.raised++; return d.tightens }

// bender is a problem.StateVisitor that sets QuasiNewton.Bent.
type bender struct{}

func (bender) Number(string, *float64)       {}
func (bender) Numbers(string, []float64)     {}
func (bender) Vector(string, problem.Vector) {}
func (bender) Count(name string, n *int) {
	if name == "quasi.bent" {
		*n = 1
	}
}

// The rules of secondOrder, one change from a case with an update at a time. With lambda = 0 and c
// = 1 the update of g = 2 predicts the change 2, and the violation is 2.
func TestOuterByHand(t *testing.T) {
	type state = secondOrder
	base := state{share: outerShare, steps: youth, moved: true, violation: 1, last: 1, tolerance: 1e-3}
	for name, c := range map[string]struct {
		change       func(s *state)
		g, decrease  float64
		cut, bent    bool
		still        bool // the update changes nothing
		fixed        bool // the penalty cannot rise
		want         bool
		updated      int
		raised       int
		waited, flee int
	}{
		"update":                       {g: 2, decrease: 0.2, want: true, updated: 1, raised: 1},
		"update without a change":      {g: 2, decrease: 0.2, still: true, fixed: true, updated: 1, raised: 1},
		"update that changes":          {g: 2, decrease: 0.2, fixed: true, want: true, updated: 1, raised: 1},
		"a larger penalty alone":       {g: 2, decrease: 0.2, still: true, want: true, updated: 1, raised: 1},
		"the step predicts more":       {g: 2, decrease: 0.21, waited: 1},
		"an update without a pass":     {change: func(s *state) { s.share = secantShare }, g: 2, decrease: 0.4, want: true, updated: 1, raised: 1},
		"a longer step":                {change: func(s *state) { s.share = secantShare }, g: 2, decrease: 0.41, waited: 1},
		"too young":                    {change: func(s *state) { s.steps-- }, g: 2, decrease: 0.2, waited: 1},
		"no move":                      {change: func(s *state) { s.moved = false; s.waited = 500 }, g: 2, decrease: 0.2, waited: 501},
		"cut":                          {g: 2, decrease: 0.2, cut: true, waited: 1},
		"no gain":                      {g: -1, decrease: 0, waited: 1},
		"patience":                     {change: func(s *state) { s.violation, s.waited = 3, 98 }, g: 2, decrease: 1, waited: 99},
		"no patience":                  {change: func(s *state) { s.violation, s.waited = 3, 99 }, g: 2, decrease: 1, want: true, raised: 1},
		"an equal violation waits":     {change: func(s *state) { s.violation, s.waited = 2, 98 }, g: 2, decrease: 1, waited: 99},
		"impatience":                   {change: func(s *state) { s.waited = 18 }, g: 2, decrease: 1, waited: 19},
		"the end of impatience":        {change: func(s *state) { s.waited = 19 }, g: 2, decrease: 1, want: true, raised: 1},
		"flight":                       {change: func(s *state) { s.fleeing = 2 }, g: 2, decrease: 1, cut: true, bent: true, want: true, raised: 1, flee: 3},
		"a short flight":               {change: func(s *state) { s.fleeing = 1 }, g: 2, decrease: 1, cut: true, bent: true, waited: 1, flee: 2},
		"a flight inside the region":   {change: func(s *state) { s.fleeing = 2 }, g: 2, decrease: 1, bent: true, waited: 1},
		"a flight without curvature":   {change: func(s *state) { s.fleeing = 2 }, g: 2, decrease: 1, cut: true, waited: 1},
		"a flight at rest":             {change: func(s *state) { s.fleeing, s.last = 2, 2 }, g: 2, decrease: 1, cut: true, bent: true, waited: 1},
		"a flight below the violation": {change: func(s *state) { s.fleeing, s.violation = 2, 2 }, g: 2, decrease: 1, cut: true, bent: true, waited: 1, flee: 3},
		"the violation has halved":     {change: func(s *state) { s.violation = 4 }, g: 2, decrease: 0.2, want: true, updated: 1},
		"the tolerance":                {change: func(s *state) { s.tolerance = 2 }, g: 2, decrease: 0.2, want: true, updated: 1},
		"overdue":                      {change: func(s *state) { s.overdue = true }, g: 2, decrease: 1, want: true, updated: 1, raised: 1},
		"overdue and cut":              {change: func(s *state) { s.overdue = true }, g: 2, decrease: 1, cut: true, want: true, updated: 1, raised: 1},
		"overdue and too young":        {change: func(s *state) { s.overdue, s.steps = true, youth-1 }, g: 2, decrease: 1, want: true, updated: 1, raised: 1},
		"overdue without a move":       {change: func(s *state) { s.overdue, s.moved = true, false }, g: 2, decrease: 1, want: true, updated: 1, raised: 1},
		"overdue within the tolerance": {change: func(s *state) { s.overdue, s.tolerance = true, 2 }, g: 2, decrease: 1, waited: 1},
	} {
		q := require.Value(step.NewQuasiNewton(func() problem.Problem { p, _ := begun(t, scaled(1, 1), 0); return p }()))(t)
		if c.bent {
			q.VisitState(bender{})
		}
		rule := &dualRecord{changes: !c.still, tightens: !c.fixed}
		s := base
		s.rule, s.step = rule, q
		if c.change != nil {
			c.change(&s)
		}
		before := s
		update, compare := s.due([]float64{c.g}, step.Augmented{Multipliers: []float64{0}, Penalty: 1}, c.decrease, c.cut)
		got := compare && s.outer([]float64{c.g}, update)
		if got != c.want || rule.updated != c.updated || rule.raised != c.raised || s.waited != c.waited || s.fleeing != c.flee || s.last != max(0, c.g) {
			t.Errorf("%s: %v, %d updates, %d tightened, waited %d, fleeing %d, last %v", name, got, rule.updated, rule.raised, s.waited, s.fleeing, s.last)
		}
		if compared := c.waited == 0; (s.violation == max(0, c.g)) != compared && before.violation != c.g || s.moved == (compared || !before.moved) {
			t.Errorf("%s: violation %v, moved %v", name, s.violation, s.moved)
		}
	}
}

// A step that does not move leaves the move of an earlier step.
func TestRejectedStepsByHand(t *testing.T) {
	for _, before := range []bool{false, true} {
		p, at := begun(t, scaled(1, 1), 0) // the minimum
		m := &ALM{}
		require.NoError(t, m.Init(p, at))
		m.second.moved = before
		if err := m.Iterate(p, at); err != nil || m.second.moved != before || iterateOf(p)[0] != 0 {
			t.Errorf("moved %v, x = %v, %v", m.second.moved, iterateOf(p), err)
		}
	}
}
