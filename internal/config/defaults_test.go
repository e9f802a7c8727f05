package config

import (
	"math"
	"testing"

	"ppal/trainer"
)

// What the practical preset resolves is the library's default, but for beta, which the preset sets for its problem.
func TestDefaultsAreTheLibrarys(t *testing.T) {
	resolved := func(args ...string) Train {
		t.Helper()
		c, err := Resolve(set(args...), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	nesterov, fixed := trainer.PrimalSettings{}, trainer.PrimalSettings{Kind: trainer.Gradient, Fixed: true, Eta: 1}
	gradient, adam := trainer.PrimalSettings{Kind: trainer.Gradient}, trainer.PrimalSettings{Kind: trainer.Adam}
	ppala, plada, gdpa := resolved(), resolved("method=plada"), resolved("method=gdpa")
	penalty, gda, alm := resolved("method=penalty"), resolved("method=gda"), resolved("method=alm")
	rho := trainer.Perturbation{Alpha: ppala.Alpha, Beta: ppala.Beta}.Rho()
	for _, c := range []struct {
		key       string
		got, want float64
	}{
		{"alpha", ppala.Alpha, trainer.DefaultAlpha},
		{"momentum", ppala.Momentum, trainer.DefaultMomentum},
		{"tau", ppala.Tau, trainer.DefaultPPALASlackRatio / rho},
		{"tau of plada", plada.Tau, trainer.DefaultPLADASlackRatio / rho},
		{"delta-q", ppala.DeltaQ, trainer.DefaultDeltaQ},
		{"delta0", resolved("delta=harmonic").Delta0, trainer.DefaultDelta0},
		{"delta-p", ppala.DeltaP, trainer.DefaultDeltaP(nesterov)},
		{"delta-p of gradient", resolved("primal=gradient").DeltaP, trainer.DefaultDeltaP(gradient)},
		{"delta-p of a fixed step", resolved("primal=gradient", "eta=1", "eta-scale=fixed").DeltaP, trainer.DefaultDeltaP(fixed)},
		{"delta-p of adam", resolved("primal=adam").DeltaP, trainer.DefaultDeltaP(adam)},
		{"gdpa-penalty", gdpa.GDPAPenalty, trainer.DefaultGDPAPenalty},
		{"gdpa-perturbation", gdpa.GDPAPerturbation, trainer.DefaultGDPAPerturbation},
		{"penalty-coefficient", penalty.PenaltyCoefficient, trainer.DefaultPenaltyCoefficient},
		{"penalty-growth", penalty.PenaltyGrowth, trainer.DefaultPenaltyGrowth},
		{"penalty-period", float64(penalty.PenaltyPeriod), trainer.DefaultPenaltyPeriod},
		{"gda-dual-step", gda.GDADualStep, trainer.DefaultGDADualStep},
		{"alm-penalty", alm.ALMPenalty, trainer.DefaultALMPenalty},
		{"alm-inner", float64(alm.ALMInner), trainer.DefaultALMInner},
		{"feasibility-tolerance", ppala.FeasibilityTolerance, trainer.DefaultFeasibilityTolerance},
	} {
		if math.Abs(c.got-c.want) > 1e-12*math.Abs(c.want) {
			t.Errorf("%s resolves to %v, the library's default is %v", c.key, c.got, c.want)
		}
	}
	for key, c := range map[string]struct{ got, want float64 }{
		"gdpa-step":   {stepOf(t, gdpa.GDPAStep), trainer.DefaultGDPAStep},
		"eta of adam": {stepOf(t, resolved("primal=adam").Eta), trainer.DefaultAdamStep},
	} {
		if c.got != c.want {
			t.Errorf("%s resolves to %v, the library's default is %v", key, c.got, c.want)
		}
	}
}

func stepOf(t *testing.T, text string) float64 {
	t.Helper()
	x, err := stepSize(text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
