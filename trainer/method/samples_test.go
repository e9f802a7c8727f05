package method

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

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
