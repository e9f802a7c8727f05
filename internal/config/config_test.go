package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
	"ppal/trainer/step"
)

// The names of other programs lead to settings, and are not settings themselves.
func TestElsewhere(t *testing.T) {
	for name, own := range elsewhere {
		if Find("", name) != nil || Find("", own) == nil {
			t.Errorf("%s leads to %s", name, own)
		}
	}
}

// set returns Values from texts of the form key=value.
func set(texts ...string) Values {
	v := Values{}
	for _, t := range texts {
		name, text, _ := strings.Cut(t, "=")
		v[name] = text
	}
	return v
}

// Presets and combinations of settings resolve to the expected config.yaml. Each config.yaml
// resolves to itself.
func TestResolve(t *testing.T) {
	for name, flags := range map[string]Values{
		"default":           nil,
		"paper-fashion":     set("preset=paper", "dataset=fashion-mnist"),
		"paper-cifar10":     set("preset=paper", "dataset=cifar10"),
		"paper-gdpa":        set("preset=paper", "dataset=fashion-mnist", "method=gdpa"),
		"practical-cifar10": set("dataset=cifar10", "heads=separate", "kappa=0.6,0.6,0.5"),
		"gdpa":              set("method=gdpa", "dataset=fashion-mnist"),
		"gdpa-nesterov":     set("method=gdpa", "primal=nesterov", "gdpa-step=auto", "gdpa-ratio=1.01"),
		"plada-inner":       set("method=plada", "x-step=inner:5", "sigma0=0.5"),
		"adam":              set("primal=adam", "iterations=100000"),
		"third-row": set("dataset=fashion-mnist", "rows-per-class=1000", "hidden=64", "normalize=none", "primal=gradient",
			"eta-scale=fixed", "eta=0.05", "delta-p=1e-3", "iterations=4000"),
		"linear-l1": set("model=linear", "regularizer=l1", "regularizer-weight=1e-4", "phi=logistic", "method=unconstrained"),
		"box-harmonic": set("regularizer=box", "box=-1,1", "delta=harmonic", "slack-cap=3", "slack-start=zero",
			"out=12", "init=~", "quiet=true"),
	} {
		t.Run(name, func(t *testing.T) {
			got := require.Value(Resolve(flags, nil))(t)
			data := require.Value(got.YAML(results.Provenance{}))(t)
			require.Golden(t, "testdata/"+name+".yaml", data)
			file := require.Value(ParseFile("again.yaml", data))(t)
			again := require.Value(Resolve(nil, file))(t)
			again.Out = got.Out // config.yaml does not contain Out
			if diff := difference(got, again); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A flag overrides the file, and the file overrides the preset.
func TestPrecedence(t *testing.T) {
	file := require.Value(ParseFile("run.yaml", []byte("preset: paper\nalpha: 5\nbeta: 0.3\nprovenance: {anything: [1, {two: 3}]}\n")))(t)
	got := require.Value(Resolve(set("alpha=7"), file))(t)
	if got.Text("alpha") != "7" || got.Text("beta") != "0.3" || got.Problem.Regularizer.Radius != 1 {
		t.Errorf("alpha %s, beta %s, theta %v, want 7 of the flag, 0.3 of the file, 1 of the preset", got.Text("alpha"), got.Text("beta"), got.Problem.Regularizer.Radius)
	}
}

// TestRefused compares the errors of settings and of files with testdata/refused.txt.
func TestRefused(t *testing.T) {
	require.Cases(t, "testdata/refused.txt", func(t *testing.T, c *require.Case) string {
		var file *File
		var err error
		if c.Command == "file" {
			file, err = ParseFile("run.yaml", []byte(c.Input))
		}
		if err == nil {
			_, err = Resolve(set(c.Args...), file)
		}
		if !errors.Is(err, ErrUsage) {
			t.Errorf("the error is %v", err)
		}
		return fmt.Sprint(err)
	})
	if file, err := ParseFile("run.yaml", nil); err != nil || len(file.values) > 0 {
		t.Errorf("an empty file: %v, %v", file, err)
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestTrainerMethod(t *testing.T) {
	practical := step.Settings{Momentum: 0.99}
	nesterov := step.Settings{Kind: step.Nesterov, Momentum: 0.99}
	perturbation := method.Perturbation{Alpha: 10, Beta: 0.2, Tau: 0.135, DeltaP: 0.05, DeltaQ: 1}
	inner := perturbation
	inner.Tau, inner.DeltaP = 0.09, 0.1
	paper := perturbation
	paper.DeltaP = 1e-3
	for _, tc := range []struct {
		flags string
		want  trainer.Method
	}{
		{"method=ppala", &method.PPALA{Perturbation: perturbation, Primal: nesterov, Tolerance: 1e-3}},
		{"preset=paper", &method.PPALA{Perturbation: paper, Tolerance: 1e-3,
			Primal: step.Settings{Kind: step.Gradient, Eta: 1e-3, Fixed: true}}},
		{"method=plada x-step=inner:4 mu-step=box", &method.PLADA{Perturbation: inner, Primal: step.Settings{Kind: step.Gradient},
			XStep: method.Inner, InnerSteps: 4, BoxStep: true, Tolerance: 1e-3}},
		{"method=gdpa gdpa-step-decay=constant", &method.GDPA{Step: 1e-3, ConstantStep: true, Penalty: 1, Perturbation: 0.1}},
		{"primal=nesterov", &method.PPALA{Perturbation: perturbation, Primal: nesterov, Tolerance: 1e-3}},
		{"primal=lbfgs", &method.ALM{Primal: step.Settings{Kind: step.LBFGS}, Tolerance: 1e-3}},
		{"primal=lbfgs alm-penalty=3", &method.ALM{Primal: step.Settings{Kind: step.LBFGS}, Penalty: 3, Tolerance: 1e-3}},
		{"method=gdpa primal=nesterov gdpa-step=auto", &method.GDPA{Automatic: true, Penalty: 1, Perturbation: 0.1, Primal: &nesterov}},
		{"method=penalty", &method.Penalty{Primal: nesterov, Coefficient: 10, Growth: 1, Period: 100}},
		{"method=gda primal=adam", &method.GDA{Primal: step.Settings{Kind: step.Adam, Eta: 3e-3}, DualStep: 0.05}},
		{"method=alm", &method.ALM{Primal: practical, Inner: 20, Tolerance: 1e-3}},
		{"method=unconstrained", &method.Unconstrained{Primal: practical}},
		{"method=ssg", &method.SSG{Tolerance: 1e-3, StepRule: method.StepDecay, ViolationRule: method.StepPolyak}},
		{"method=ipp-ssg ipp-ssg-rho=2 ipp-ssg-bound=3", &method.IPPSSG{Tolerance: 1e-3, Bound: 3,
			ProximalPoint: method.ProximalPoint{RhoHat: 2, Inner: 10}}},
		{"method=ipp-conex ipp-conex-restart=true ipp-conex-t0=4", &method.IPPConEx{T0: 4, Restart: true,
			ProximalPoint: method.ProximalPoint{Inner: 10}}},
		{"problem=if method=multiplier-model seed=7", &method.MultiplierModel{Step: 0.1, NetworkStep: 0.1, Units: 50, Activation: method.MultiplierReLU, Factor: 0.01, Seed: 7}},
		{"method=nl-iapial model=linear phi=logistic nl-iapial-penalty=2", &method.NLIAPIAL{Penalty: 2, Sigma: 0.3, Tolerance: 1e-3, Inner: 100}},
	} {
		t.Run(tc.flags, func(t *testing.T) {
			cfg := require.Value(Resolve(set(strings.Fields(tc.flags)...), nil))(t)
			got := require.Value(cfg.TrainerMethod())(t)
			private := cmpopts.IgnoreUnexported(method.PPALA{}, method.PLADA{}, method.GDPA{}, method.Penalty{},
				method.GDA{}, method.ALM{}, method.Unconstrained{}, method.SSG{}, method.IPPSSG{}, method.IPPConEx{},
				method.MultiplierModel{}, method.NLIAPIAL{}, step.Settings{})
			if diff := cmp.Diff(tc.want, got, private, cmpopts.EquateApprox(1e-15, 0)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRegularizer(t *testing.T) {
	for flags, want := range map[string]problem.Regularizer{
		"theta=3":                               {Kind: problem.Ball, Radius: 3},
		"regularizer=none":                      {},
		"regularizer=box box=-1,2":              {Kind: problem.Box, Lower: -1, Upper: 2},
		"regularizer=l2 regularizer-weight=0.5": {Kind: problem.SquaredL2, Weight: 0.5},
	} {
		cfg := require.Value(Resolve(set(strings.Fields(flags)...), nil))(t)
		if diff := cmp.Diff(want, cfg.Problem.Regularizer); diff != "" {
			t.Errorf("%s: %s", flags, diff)
		}
	}
}

func TestNotes(t *testing.T) {
	cfg := require.Value(Resolve(set("preset=paper", "dataset=fashion-mnist", "tau=0.1"), nil))(t)
	var got []string
	for _, n := range cfg.Notes() {
		got = append(got, n.String())
	}
	want := []string{
		"hidden 256: not in the paper", "iterations 1000: not in the paper", "tau 0.1: not in the paper", "delta power: not in the paper",
		"delta-p 0.001: not in the paper", "delta-q 1: not in the paper", "slack-start residual: not in the paper",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every key has a group, a description and a valid default.
func TestKeys(t *testing.T) {
	names := map[string]bool{}
	for _, k := range Keys() {
		if names[k.Name] {
			t.Errorf("%s is there twice", k.Name)
		}
		names[k.Name] = true
		if k.Group == "" || k.Help == "" || k.Placeholder() == "" && !k.Switch() {
			t.Errorf("%s lacks its help", k.Name)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte("alpha: 1\nkappa: [0.1, 0.2, 0.3]\nprovenance: {a: b}\n"))
	f.Add([]byte("a: &x [*x]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ParseFile("f.yaml", data)
		if err == nil {
			_, err = Resolve(nil, file)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("not one line: %q", err)
		}
	})
}
