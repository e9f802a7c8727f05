package method

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
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

// A method begins with a larger penalty, not with a smaller one, and its state keeps the penalty.
// Steps of a fixed size have no other penalty.
func TestPenalizers(t *testing.T) {
	momentum, fixed := step.Settings{Kind: step.Nesterov}, step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.01}
	for name, c := range map[string]struct {
		make  func() trainer.Method
		first float64 // penalty; 0: the method cannot begin with another
	}{
		"alm":           {func() trainer.Method { return &ALM{} }, 10},
		"alm, nesterov": {func() trainer.Method { return &ALM{Primal: momentum} }, 10},
		"alm, fixed":    {func() trainer.Method { return &ALM{Primal: fixed} }, 0},
		"ppala":         {func() trainer.Method { return &PPALA{} }, 5},
		"ppala, fixed":  {func() trainer.Method { return &PPALA{Primal: fixed} }, 0},
		"plada":         {func() trainer.Method { return &PLADA{} }, 5},
		"plada, fixed":  {func() trainer.Method { return &PLADA{Primal: fixed} }, 0},
		"penalty":       {func() trainer.Method { return &Penalty{} }, 10},
		"gdpa":          {func() trainer.Method { return &GDPA{Primal: &momentum, Automatic: true} }, 1},
		"gdpa, alpha":   {func() trainer.Method { return &GDPA{} }, 0},
	} {
		p, at := begun(t, scaled(1, 1), 3)
		m := c.make()
		require.NoError(t, m.Init(p, at))
		weighs := m.(trainer.Penalizer)
		if got := weighs.CurrentPenalty(); got != c.first {
			t.Errorf("%s: the penalty is %v, want %v", name, got, c.first)
		}
		if c.first == 0 {
			continue
		}
		weighs.BeginWith(1000)
		weighs.BeginWith(20)
		again := c.make()
		require.NoError(t, again.Init(p, at))
		require.NoError(t, trainer.Capture(p, m).Restore(p, again))
		if got := again.(trainer.Penalizer).CurrentPenalty(); got != 1000 {
			t.Errorf("%s: the penalty is %v after a resume, want 1000", name, got)
		}
		tauRho, want := 0.0, 0.0
		switch m := again.(type) {
		case *PPALA:
			tauRho, want = m.dual.tau*m.dual.rho, DefaultPPALASlackRatio
		case *PLADA:
			tauRho, want = m.dual.tau*m.dual.rho, DefaultPLADASlackRatio
		}
		if math.Abs(tauRho-want) > 1e-12 {
			t.Errorf("%s: tau rho is %v, want %v", name, tauRho, want)
		}
	}
}

// offSample is a problem whose samples have another bound. Both have the same one, so that no
// sampling error shows.
type offSample struct {
	problem.Problem
	grade int
}

func (s *offSample) Grades() []problem.Grade {
	return []problem.Grade{{Share: 0.25}, {Share: 0.5}, {Share: 1}}
}
func (s *offSample) SetGrade(k int) { s.grade = k }
func (s *offSample) Grade() int     { return s.grade }

func (s *offSample) Forward(g []float64) (float64, error) {
	f, err := s.Problem.Forward(g)
	if s.grade < 2 {
		g[0] += 0.5
	}
	return f, err
}

// While the passes see a sample, multipliers and penalty rest. An update that falls due there ends
// the sample, so that the multipliers are those of all rows.
func TestMultipliersRestOnSamples(t *testing.T) {
	p := &offSample{testkit.Start(t, testkit.Line(), -5), 2}
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	m := &ALM{}
	require.NoError(t, m.Init(p, &at))
	penalty, sampled := m.augmented().Penalty, 0
	for range 200 {
		require.NoError(t, m.Iterate(p, &at))
		if p.grade < 2 {
			sampled++
			if lambda := m.Report().Multipliers[0]; lambda != 0 || m.augmented().Penalty != penalty {
				t.Fatalf("on the sample, lambda = %v and the penalty is %v", lambda, m.augmented().Penalty)
			}
		}
	}
	if x := testkit.Iterate(p)[0]; sampled == 0 || math.Abs(x-1) > 1e-9 || math.Abs(m.Report().Multipliers[0]-2) > 1e-9 {
		t.Errorf("%d iterations on the sample; x = %v, lambda = %v, want 1 and 2", sampled, x, m.Report().Multipliers)
	}
}

// A method is at rest if its steps are below rounding and nothing has moved since the last
// comparison of the violation: before, the multipliers may still change.
func TestRestingByHand(t *testing.T) {
	flat := problem.Functions{N: 1, F: func([]float64) float64 { return 0 }, Gradient: func(dst, _ []float64) { dst[0] = 0 }}
	p := testkit.Start(t, flat, 1)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	q := require.Value(step.NewQuasiNewton(p))(t)
	for _, exhausted := range []bool{false, true} {
		if exhausted {
			if _, _, err := q.Predict(p, &at, step.Augmented{}); err != nil {
				t.Fatal(err)
			}
			if moved, err := q.Try(p, &at, step.Augmented{}); err != nil || moved {
				t.Fatal(moved, err)
			}
		}
		for _, moved := range []bool{false, true} {
			s := &secondOrder{step: q, moved: moved}
			if got := s.resting(); got != (exhausted && !moved) {
				t.Errorf("exhausted %v, moved %v: at rest %v", exhausted, moved, got)
			}
		}
	}
}
