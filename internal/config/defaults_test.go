package config

import (
	"math"
	"testing"

	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/step"
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
	nesterov, fixed := step.Settings{}, step.Settings{Kind: step.Gradient, Fixed: true, Eta: 1}
	gradient, adam := step.Settings{Kind: step.Gradient}, step.Settings{Kind: step.Adam}
	ppala, plada, gdpa := resolved(), resolved("method=plada"), resolved("method=gdpa")
	penalty, gda, alm := resolved("method=penalty"), resolved("method=gda"), resolved("method=alm")
	rho := method.Perturbation{Alpha: ppala.Alpha, Beta: ppala.Beta}.Rho()
	for _, c := range []struct {
		key       string
		got, want float64
	}{
		{"alpha", ppala.Alpha, method.DefaultAlpha},
		{"momentum", ppala.Momentum, step.DefaultMomentum},
		{"tau", ppala.Tau, method.DefaultPPALASlackRatio / rho},
		{"tau of plada", plada.Tau, method.DefaultPLADASlackRatio / rho},
		{"delta-q", ppala.DeltaQ, method.DefaultDeltaQ},
		{"delta0", resolved("delta=harmonic").Delta0, method.DefaultDelta0},
		{"delta-p", ppala.DeltaP, method.DefaultDeltaP(nesterov)},
		{"delta-p of gradient", resolved("primal=gradient").DeltaP, method.DefaultDeltaP(gradient)},
		{"delta-p of a fixed step", resolved("primal=gradient", "eta=1", "eta-scale=fixed").DeltaP, method.DefaultDeltaP(fixed)},
		{"delta-p of adam", resolved("primal=adam").DeltaP, method.DefaultDeltaP(adam)},
		{"gdpa-penalty", gdpa.GDPAPenalty, method.DefaultGDPAPenalty},
		{"gdpa-perturbation", gdpa.GDPAPerturbation, method.DefaultGDPAPerturbation},
		{"penalty-coefficient", penalty.PenaltyCoefficient, method.DefaultPenaltyCoefficient},
		{"penalty-growth", penalty.PenaltyGrowth, method.DefaultPenaltyGrowth},
		{"penalty-period", float64(penalty.PenaltyPeriod), method.DefaultPenaltyPeriod},
		{"gda-dual-step", gda.GDADualStep, method.DefaultGDADualStep},
		{"alm-penalty", alm.ALMPenalty, method.DefaultALMPenalty},
		{"alm-inner", float64(alm.ALMInner), method.DefaultALMInner},
		{"feasibility-tolerance", ppala.FeasibilityTolerance, trainer.DefaultFeasibilityTolerance},
	} {
		if math.Abs(c.got-c.want) > 1e-12*math.Abs(c.want) {
			t.Errorf("%s resolves to %v, the library's default is %v", c.key, c.got, c.want)
		}
	}
	for key, c := range map[string]struct{ got, want float64 }{
		"gdpa-step":   {stepOf(t, gdpa.GDPAStep), method.DefaultGDPAStep},
		"eta of adam": {stepOf(t, resolved("primal=adam").Eta), step.DefaultAdamStep},
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
