package compare

import (
	"slices"
	"strings"
	"testing"

	"ppal/internal/config"
	"ppal/internal/option"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// TestEqualSteps checks that every method with a choice of primal steps takes the automatic
// first-order step, and that the summary names the other methods.
func TestEqualSteps(t *testing.T) {
	var own []string
	s := &Study{}
	for _, d := range method.All() {
		values := config.Values{"method": d.Name}
		switch d.Name {
		case "multiplier-model":
			values["problem"], values["if-form"] = "if", "sampled"
		case "nl-iapial":
			values["model"], values["phi"] = "linear", "logistic"
		}
		s.Contenders = append(s.Contenders, Contender{Name: d.Name, Values: values})
		cfg, err := resolve(values)
		if err != nil {
			t.Fatal(d.Name, err)
		}
		m, err := cfg.TrainerMethod()
		if err != nil {
			t.Fatal(d.Name, err)
		}
		if !slices.ContainsFunc(option.Of(d.New()), func(o *option.Option) bool { return o.Name == "primal" }) {
			own = append(own, d.Name)
			continue
		}
		rule, ok := m.(interface{ PrimalStep() step.Settings })
		if !ok {
			t.Fatalf("%s has --primal and no primal step", d.Name)
		}
		if p := rule.PrimalStep(); p.Kind != step.Nesterov || p.Fixed || p.Eta != 0 {
			t.Errorf("%s takes the step %+v", d.Name, p)
		}
		if g, ok := m.(*method.GDPA); ok && !g.Automatic {
			t.Error("the step size of gdpa has the published limit")
		}
	}
	got := (&Outcome{Study: s}).steps()
	if want := strings.Join(own, ", ") + ": steps and step sizes of their own"; len(own) == 0 || !strings.Contains(got, want) || strings.Count(got, ";") != 1 {
		t.Errorf("steps: %s; want two kinds, one of them %s", got, want)
	}
}

// TestPublishedSteps checks the settings that give GDPA its published step.
func TestPublishedSteps(t *testing.T) {
	for text, given := range map[string]config.Values{
		"gradient with gdpa-step 0.001":    {"preset": "paper"},
		"gradient with gdpa-step 0.01":     {"gdpa-step": "0.01"},
		"gradient with gdpa-step 0.002":    {"primal": "gradient", "gdpa-step": "0.002"},
		"nesterov with the automatic size": {"primal": "nesterov"},
	} {
		s := &Study{Contenders: []Contender{{Name: "gdpa", Values: merged(config.Values{"method": "gdpa"}, given)}}}
		if got := (&Outcome{Study: s}).steps(); got != "gdpa: "+text {
			t.Errorf("%v: %s, want %s", given, got, text)
		}
		s.Contenders[0].Values = config.Values{"method": "gdpa"} // the search has chosen the settings
		o := &Outcome{Study: s, Search: []Trying{{Contender: "gdpa", Settings: config.Values{"gdpa-step": "7"}}, {Contender: "gdpa", Settings: given, Chosen: true}}}
		if got := o.steps(); got != "gdpa: "+text {
			t.Errorf("%v chosen: %s, want %s", given, got, text)
		}
	}
}
