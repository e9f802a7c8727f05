package method

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/step"
)

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
