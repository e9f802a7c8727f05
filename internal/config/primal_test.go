package config

import (
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/method"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
	"ppal/trainer/step"
)

// Settings that only first-order steps use decide an automatic choice. The paper's preset and
// methods without quasi-Newton steps have no choice. A given step stays.
func TestAutomaticPrimal(t *testing.T) {
	for _, tc := range []struct{ flags, primal string }{
		{"", "auto"}, // the problem decides
		{"method=alm alm-penalty=3", "auto"},
		{"primal=auto", "auto"},
		{"method=ppala", "nesterov"},
		{"method=plada", "nesterov"},
		{"activation=relu", "nesterov"},
		{"batch-size=8", "nesterov"},
		{"preset=paper", "gradient"},
		{"preset=paper alpha=3", "gradient"},
		{"method=gda", "nesterov"},
		{"method=gdpa", "gradient"},
		{"alpha=3", "nesterov"},
		{"eta=0.1", "nesterov"},
		{"momentum=0.9", "nesterov"},
		{"method=plada x-step=subgradient", "nesterov"},
		{"method=plada x-step=inner:4", "gradient"},
		{"method=alm alm-inner=3", "nesterov"},
		{"primal=lbfgs", "lbfgs"},
		{"primal=nesterov alpha=3", "nesterov"},
		{"model=conv", "adam"},
		{"model=conv eta=0.01 batch-size=64", "adam"},
		{"model=conv method=ppala", "nesterov"},
		{"model=conv method=unconstrained", "adam"},
		{"model=conv primal=nesterov", "nesterov"},
	} {
		cfg, err := Resolve(set(strings.Fields(tc.flags)...), nil)
		if err != nil || cfg.Options["primal"] != tc.primal {
			t.Errorf("%q: %s, %v; want %s", tc.flags, cfg.Options["primal"], err, tc.primal)
		}
	}
	for _, flags := range []string{"primal=lbfgs alpha=3", "method=ppala primal=lbfgs", "method=plada primal=lbfgs", "method=gda primal=lbfgs"} {
		if _, err := Resolve(set(strings.Fields(flags)...), nil); err == nil || !strings.Contains(err.Error(), "alm") {
			t.Errorf("%q: %v", flags, err)
		}
	}
}

// A convolutional network trains by alm on mini-batches.
func TestAutomaticForConv(t *testing.T) {
	cfg, err := Resolve(set("model=conv", "eta=0.01"), nil)
	if err != nil || cfg.Method.Name != multipliers || cfg.Session.BatchSize != session.DefaultPictureBatch || cfg.Options["eta"] != "0.01" || cfg.Text("iterations") != "auto" {
		t.Errorf("%s, batches of %d, %v, %v", cfg.Method.Name, cfg.Session.BatchSize, cfg.Options, err)
	}
}

// A run's config.yaml names the primal step that the run takes, with the settings of this step
// only, and repeats the run.
func TestConfigNamesThePrimalStep(t *testing.T) {
	for kind, other := range map[step.Kind]string{step.LBFGS: "", step.Nesterov: "20"} {
		cfg := require.Value(Resolve(nil, nil))(t)
		o := require.Value(cfg.SessionOptions(""))(t)
		o.Method.(*method.ALM).Primal.Kind = kind
		data := require.Value(o.Config(results.Provenance{}))(t)
		file := require.Value(ParseFile("config.yaml", data))(t)
		if file.Value("primal") != kind.String() || file.Value("alm-inner") != other {
			t.Errorf("%v: primal %q, alm-inner %q", kind, file.Value("primal"), file.Value("alm-inner"))
		}
		if again, err := Resolve(nil, file); err != nil || again.Options["primal"] != kind.String() {
			t.Errorf("%v: %v, %v", kind, again.Options, err)
		}
	}
}

// auto is alm for smooth functions on all rows, and a method with first-order steps otherwise. A
// setting chooses the method that has it.
func TestAutomaticMethod(t *testing.T) {
	const table = "dataset=synthetic-compas "
	for _, tc := range []struct{ flags, method, reason string }{
		{"", "alm", "the functions are smooth, and each step sees all rows"},
		{"method=auto", "alm", "the functions are smooth, and each step sees all rows"},
		{"method=alm", "alm", ""},
		{table + "problem=dp", "alm", "the functions are smooth, and each step sees all rows"},
		{table + "subject-to=fpr<=0.1", "alm", "the functions are smooth, and each step sees all rows"},
		{table + "subject-to=fpr<=0.1 model=mlp activation=relu", "ppala", "the functions have kinks"},
		{table, "unconstrained", "there is no bound"},
		{table + "alpha=3", "unconstrained", ""},
		{"activation=relu", "ppala", "the functions have kinks"},
		{"activation=relu model=linear", "", ""},
		{"phi=hinge", "ppala", "the functions have kinks"},
		{"psi=hinge problem=dp", "ppala", "the functions have kinks"},
		{"batch-size=8", "ppala", "the steps see a sample of the rows"},
		{"regularizer=l1 regularizer-weight=1", "ppala", "the regularizer is l1"},
		{"regularizer=ball", "alm", "the functions are smooth, and each step sees all rows"},
		{"preset=paper", "ppala", "of --preset paper"},
		{"problem=eo eo-form=max", "plada", "the largest gap has a kink"},
		{"alpha=3", "ppala", "of --alpha"},
		{"eta=0.1", "ppala", "of --eta"},
		{"primal=adam", "ppala", "of --primal"},
		{"primal=lbfgs", "alm", "of --primal"},
		{"primal=lbfgs batch-size=8", "alm", "of --primal"},
		{"alm-penalty=2", "alm", "of --alm-penalty"},
		{"alm-inner=2", "alm", "of --alm-inner"},
		{"sigma0=1", "plada", "of --sigma0"},
		{"sigma0=1 eta=0.1", "plada", "of --sigma0"},
	} {
		cfg, err := Resolve(set(strings.Fields(tc.flags)...), nil)
		if tc.method == "" || tc.method == "unconstrained" && tc.reason == "" {
			if err == nil {
				t.Errorf("%q: accepted as %s", tc.flags, cfg.Method.Name)
			}
			continue
		}
		if err != nil || cfg.Method.Name != tc.method || cfg.Method.Reason != tc.reason {
			t.Errorf("%q: %s, because %s, %v; want %s, because %s", tc.flags, cfg.Method.Name, cfg.Method.Reason, err, tc.method, tc.reason)
		}
	}
}
