package method

import (
	"math"
	"testing"

	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// layered hides that functions have no hidden layers.
type layered struct{ problem.Problem }

// The first penalty is 10 without hidden layers, and 1 for other problems. tau rho keeps its value.
func TestFirstPenalty(t *testing.T) {
	for _, hides := range []bool{false, true} {
		p, at := begun(t, scaled(1, 1), 3)
		want := 10.0
		if hides {
			p, want = layered{p}, 1
		}
		m := &PPALA{Primal: step.Settings{Kind: step.LBFGS}}
		if err := m.Init(p, at); err != nil {
			t.Fatal(err)
		}
		if ratio := m.dual.tau * m.dual.rho; m.dual.rho != want || math.Abs(ratio-DefaultPPALASlackRatio) > 1e-15 {
			t.Errorf("hides %v: rho %v, want %v, and tau rho %v, want %v", hides, m.dual.rho, want, ratio, DefaultPPALASlackRatio)
		}
	}
}

// penalised is a problem.StateVisitor that restores rho alone.
type penalised struct {
	kept
	rho float64
}

func (s *penalised) Number(name string, x *float64) {
	if name == "dual.rho" {
		*x = s.rho
	}
}

// A restored rho keeps tau rho, too.
func TestRestoredPenalty(t *testing.T) {
	d := perturbed{rho: 5, tau: 0.08}
	d.VisitDual(&penalised{kept{numbers: map[string][]float64{}, counts: map[string]int{}}, 20})
	if d.rho != 20 || math.Abs(d.tau*d.rho-0.4) > 1e-15 {
		t.Errorf("rho %v and tau %v, want 20 and 0.02", d.rho, d.tau)
	}
}
