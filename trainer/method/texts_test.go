package method_test

import (
	"fmt"
	"slices"
	"testing"

	"ppal/internal/option"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// The settings of a method as texts, and the fields that no option expresses. A method that is
// built from the texts has the same texts.
func TestTextsByHand(t *testing.T) {
	const (
		rest   = " {delta power} {delta-p 0.05} {delta-q 1} {slack-cap none} {slack-start residual}"
		rule   = "{eta-scale weights} {eta auto}"
		gdpa   = " {gdpa-step-decay cubic} {gdpa-penalty 1} {gdpa-perturbation 0.1} {gdpa-ratio none}]"
		inner  = " {alpha 10} {beta 0.1} {tau 0.06} {delta power} {delta-p 0.1} {delta-q 1} {slack-cap none} {slack-start residual} {x-step inner:"
		shares = "} {mu-step analysed} {sigma0 none}]"
	)
	for i, c := range []struct {
		m      trainer.Method
		texts  string
		beyond []string
	}{
		{&method.PPALA{}, "[{primal nesterov} {momentum 0.99} " + rule + " {alpha 10} {beta 0.1} {tau 0.09}" + rest + "]", nil},
		{&method.ALM{}, "[{primal auto} {alm-penalty auto}]", nil},
		{&method.ALM{Tolerance: 0.25}, "[{primal auto} {alm-penalty auto}]", nil}, // the tolerance of the run
		{&method.PPALA{Perturbation: method.Perturbation{Tau: 0.5}}, "[{primal nesterov} {momentum 0.99} " + rule + " {alpha 10} {beta 0.1} {tau 0.5}" + rest + "]", nil},
		{&method.ALM{Primal: step.Settings{Kind: step.LBFGS}}, "[{primal lbfgs} {alm-penalty auto}]", nil},
		{&method.PLADA{XStep: method.Inner}, "[{primal gradient} " + rule + inner + "10" + shares, nil},
		{&method.PLADA{XStep: method.Inner, InnerSteps: 4, Tolerance: 0.5}, "[{primal gradient} " + rule + inner + "4" + shares, []string{"Tolerance"}},
		{&method.GDPA{}, "[{primal gradient} {gdpa-step 0.001}" + gdpa, nil},
		{&method.GDPA{Automatic: true}, "[{primal gradient} {gdpa-step 0.001}" + gdpa, []string{"Automatic"}}, // the settings exclude each other
		{&method.GDPA{Primal: &step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.1}}, "[{primal gradient} {gdpa-step 0.001}" + gdpa, []string{"Primal"}},
		{&method.GDPA{Primal: &step.Settings{Kind: step.Nesterov, Eta: 0.1}}, "[{primal nesterov} {momentum 0.99} {gdpa-step 0.001}" + gdpa, []string{"Eta"}},
		{&method.GDPA{Automatic: true, Primal: &step.Settings{}}, "[{primal nesterov} {momentum 0.99} {gdpa-step auto}" + gdpa, nil},
		{&method.GDA{}, "[{primal nesterov} {momentum 0.99} " + rule + " {gda-dual-step 0.05}]", nil},
		{&method.GDA{Primal: step.Settings{Kind: step.Adam}}, "[{primal adam} {eta 0.003} {gda-dual-step 0.05}]", nil},
		{&method.SSG{Step: 0.5}, "[{ssg-tolerance 0.001} {ssg-step 0.5} {ssg-step-rule decay} {ssg-violation-rule polyak}]", nil},
		{&method.MultiplierModel{Seed: 3}, "[{multiplier-model-step 0.1} {multiplier-model-network-step 0.1} {multiplier-model-units 50} {multiplier-model-activation relu} {multiplier-model-factor 0.01}]", []string{"Seed"}},
		{&method.MultiplierModel{Seed: 7, Units: 5}, "[{multiplier-model-step 0.1} {multiplier-model-network-step 0.1} {multiplier-model-units 5} {multiplier-model-activation relu} {multiplier-model-factor 0.01}]", nil},
		{&method.ALM{Penalty: 3, Primal: step.Settings{Kind: step.LBFGS}}, "[{primal lbfgs} {alm-penalty 3}]", nil},
		{&method.ALM{Penalty: 3}, "[{primal auto} {alm-penalty 3}]", nil},
		{&method.IPPSSG{ProximalPoint: method.ProximalPoint{Modulus: 1}}, "[{ipp-ssg-tolerance 0.001} {ipp-ssg-bound auto} {ipp-ssg-rho auto} {ipp-ssg-inner 10}]",
			[]string{"Modulus"}},
	} {
		outside := func(string) string { return "" }
		texts, beyond, ok := method.Texts(c.m, 0.25, 7, outside)
		if got := fmt.Sprint(texts); got != c.texts || !slices.Equal(beyond, c.beyond) || !ok {
			t.Errorf("case %d, %T: %v, beyond %v, %v; want %v, beyond %v", i, c.m, got, beyond, ok, c.texts, c.beyond)
		}
		again := require.Value(method.New(c.m.Name()))(t)
		for _, text := range texts {
			j := slices.IndexFunc(option.Of(again), func(o *option.Option) bool { return o.Name == text.Name })
			if err := option.Of(again)[j].Set(text.Value); err != nil {
				t.Errorf("case %d: %v: %v", i, text, err)
			}
		}
		if same, _, _ := method.Texts(again, 0.25, 7, outside); !slices.Equal(same, texts) {
			t.Errorf("case %d: %v, built from these texts %v", i, texts, same)
		}
	}
	for _, m := range []trainer.Method{foreign{&method.PLADA{}}, impostor{&method.PLADA{}}, nameless{}} {
		if texts, beyond, ok := method.Texts(m, 0.25, 7, nil); texts != nil || beyond != nil || ok {
			t.Errorf("%T: %v, %v, %v", m, texts, beyond, ok)
		}
	}
}

// impostor is a method of another package with the name of a method of this package.
type impostor struct{ *method.PLADA }

// nameless is a method without options.
type nameless struct{ trainer.Method }

func (nameless) Name() string { return "plada" }
