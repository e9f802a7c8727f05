package config

import (
	"strings"
	"testing"

	"ppal/trainer/method"
	"ppal/trainer/session"
	"ppal/trainer/step"
)

// Settings that only first-order steps use decide an automatic choice. The paper's preset and
// methods without quasi-Newton steps have no choice. A given step stays.
func TestAutomaticPrimal(t *testing.T) {
	for _, tc := range []struct{ flags, primal string }{
		{"", "auto"},
		{"method=plada", "auto"},
		{"method=alm alm-penalty=3", "auto"},
		{"primal=auto", "auto"},
		{"activation=relu", "auto"}, // the problem decides
		{"batch-size=8", "auto"},
		{"preset=paper", "gradient"},
		{"preset=paper alpha=3", "gradient"},
		{"method=gda", "nesterov"},
		{"method=gdpa", "gradient"},
		{"alpha=3", "nesterov"},
		{"eta=0.1", "nesterov"},
		{"momentum=0.9", "nesterov"},
		{"primal=auto delta=harmonic", "nesterov"},
		{"method=plada x-step=subgradient", "nesterov"},
		{"method=plada x-step=inner:4", "gradient"},
		{"method=alm alm-inner=3", "nesterov"},
		{"primal=lbfgs", "lbfgs"},
		{"primal=nesterov alpha=3", "nesterov"},
	} {
		cfg, err := Resolve(set(strings.Fields(tc.flags)...), nil)
		if err != nil || cfg.Options["primal"] != tc.primal {
			t.Errorf("%q: %s, %v; want %s", tc.flags, cfg.Options["primal"], err, tc.primal)
		}
	}
	if _, err := Resolve(set("primal=lbfgs", "alpha=3"), nil); err == nil {
		t.Error("lbfgs with alpha is not refused")
	}
}

// A run's config.yaml names the primal step that the run takes, with the settings of this step
// only, and repeats the run.
func TestConfigNamesThePrimalStep(t *testing.T) {
	for kind, other := range map[step.Kind]string{step.LBFGS: "", step.Nesterov: "10"} {
		cfg, err := Resolve(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := cfg.SessionOptions("")
		if err != nil {
			t.Fatal(err)
		}
		o.Method.(*method.PPALA).Primal.Kind = kind
		data, err := o.Files.Config(session.Provenance{})
		if err != nil {
			t.Fatal(err)
		}
		file, err := ParseFile("config.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		if file.Value("primal") != kind.String() || file.Value("alpha") != other {
			t.Errorf("%v: primal %q, alpha %q", kind, file.Value("primal"), file.Value("alpha"))
		}
		if again, err := Resolve(nil, file); err != nil || again.Options["primal"] != kind.String() {
			t.Errorf("%v: %v, %v", kind, again.Options, err)
		}
	}
}
