package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// set makes Values of "key=value" texts.
func set(texts ...string) Values {
	v := Values{}
	for _, t := range texts {
		name, text, _ := strings.Cut(t, "=")
		v[name] = text
	}
	return v
}

// The resolved configuration of presets and mixes, as config.yaml; each reads back as itself.
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
			got, err := Resolve(flags, nil)
			if err != nil {
				t.Fatal(err)
			}
			data, err := got.YAML(nil)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".yaml", data)
			file, err := parseFile("again.yaml", data)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Resolve(nil, file)
			if err != nil {
				t.Fatal(err)
			}
			again.Out = got.Out // not in the file
			if diff := cmp.Diff(got, again); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// A flag wins over the file, the file over the preset.
func TestPrecedence(t *testing.T) {
	file, err := parseFile("run.yaml", []byte("preset: paper\nalpha: 5\nbeta: 0.3\nprovenance: {anything: [1, {two: 3}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Resolve(set("alpha=7"), file)
	if err != nil {
		t.Fatal(err)
	}
	if got.Alpha != 7 || got.Beta != 0.3 || got.Theta != 1 {
		t.Errorf("alpha %v, beta %v, theta %v, want 7 of the flag, 0.3 of the file, 1 of the preset", got.Alpha, got.Beta, got.Theta)
	}
}

func TestRefusedFlags(t *testing.T) {
	for _, tc := range []struct{ flags, want string }{
		{"method=ppala gdpa-step=1", "--gdpa-step is GDPA's; the method is ppala"},
		{"method=gdpa eta=0.1", "--eta is that of ppala, plada, gda, alm, penalty and unconstrained; the other methods have step sizes of their own; the method is gdpa"},
		{"method=gdpa alpha=2", "--alpha is PPALA's and PLADA's; the method is gdpa"},
		{"x-step=subgradient", "--x-step is PLADA's; the method is ppala"},
		{"delta0=0.5", "--delta0 is that of harmonic; the delta is power"},
		{"regularizer=none theta=2", "--theta is the ball's; the regularizer is none"},
		{"model=linear hidden=3", "--hidden is a network's; the model is linear"},
		{"primal=adam momentum=0.9", "--momentum is Nesterov's; the primal is adam"},
		{"primal=adam eta-scale=fixed", "--eta-scale is that of the nesterov and gradient steps; the primal is adam"},
		{"primal=adam eta=auto", "--eta is auto, which the adam step does not have; give a number"},
		{"primal=gradient eta-scale=fixed", "--eta is auto, which scales with the weights; --eta-scale fixed needs a number"},
		{"method=gdpa gdpa-step=auto", "--gdpa-step is auto, which needs --primal nesterov; the primal is gradient"},
		{"method=plada x-step=inner:3 primal=nesterov", "--primal is nesterov; --x-step inner:3 has gradient steps only"},
		{"method=plada x-step=inner:0", `--x-step is "inner:0", want subgradient, proxlinear, split, or inner:N with N of at least 1`},
		{"method=plada x-step=proxlinear", "--x-step is proxlinear, which is for gaps |h| <= eps; mnpc has none, want subgradient or inner:N"},
		{"regularizer=l1", "--regularizer-weight is missing; --regularizer l1 needs it"},
		{"regularizer=box", "--box is missing; --regularizer box needs it"},
		{"regularizer=box box=1", "--box is 1, want LO,HI with LO at most HI"},
		{"regularizer=box box=2,1", "--box is 2,1, want LO,HI with LO at most HI"},
		{"regularizer=box box=-Inf,1", `--box is "-Inf,1", want a finite number, or several separated by commas`},
		{"alpha=NaN", "--alpha is NaN, want a positive number"},
		{"alpha=Inf", "--alpha is Inf, want a positive number"},
		{"alpha=1e999", "--alpha is 1e999, which is out of range; want a positive number"},
		{"tau=-1", "--tau is -1, want a positive number"},
		{"tau=0", "--tau is 0, want a positive number"},
		{"eta=nan", "--eta is nan, want a positive number, or auto"},
		{"eta=fast", `--eta is "fast", want a positive number, or auto`},
		{"momentum=1", "--momentum is 1, want a number in (0, 1)"},
		{"delta-q=1.5", "--delta-q is 1.5, want a number in (0, 1]"},
		{"slack-cap=-2", "--slack-cap is -2, want a positive number, or none"},
		{"slack-cap=0", "--slack-cap is 0, want a positive number, or none"},
		{"iterations=-1", "--iterations is -1, want a whole number of at least 0"},
		{"iterations=1.5", "--iterations is 1.5, want a whole number of at least 0"},
		{"record-every=0", "--record-every is 0, want a whole number of at least 1"},
		{"seed=-1", "--seed is -1, want a whole number of at least 0"},
		{"hidden=4,0", `--hidden is "4,0", want a whole number of at least 1, or several separated by commas`},
		{"hidden=", `--hidden is "", want a whole number of at least 1, or several separated by commas`},
		{"kappa=0.1,0.2", "--kappa has 2 values, want 1 or 3, one for each constraint"},
		{"kappa=-0.1", "--kappa is -0.1, want a number of at least 0, or several separated by commas"},
		{"classes=0,0", "--classes names class 0 twice"},
		{"classes=1", "--classes is 1, want at least two classes"},
		{"batch-size=1", "--batch-size is 1, want at least 4, a row of each class, or 0, all rows"},
		{"batch-size=2 classes=1,2,3", "--batch-size is 2, want at least 3, a row of each class, or 0, all rows"},
		{"feasibility-tolerance=0", "--feasibility-tolerance is 0, want a positive number"},
		{"time-limit=-1s", `--time-limit is "-1s", want a positive duration such as 90s or 10m, or none`},
		{"time-limit=10", `--time-limit is "10", want a positive duration such as 90s or 10m, or none`},
		{"quiet=yes", `--quiet is "yes", want true or false`},
		{"problem=ranking", "--problem ranking is not in this version, want mnpc, dp, eo, if"},
		{"dataset=adult", "--dataset is adult, which has tables; the problem mnpc is about pictures"},
		{"problem=dp dataset=cifar10", "--dataset is cifar10, which has pictures; the problem dp is about tables"},
		{"problem=dp dataset=csv", "--file is missing; --dataset csv needs it"},
		{"problem=dp dataset=csv file=x.csv", "--label is missing; --dataset csv needs it"},
		{"problem=dp file=x.csv", "--file is that of your own files, csv and libsvm; the dataset is synthetic-adult"},
		{"problem=dp kappa=0.1", "--kappa is that of mnpc, on pictures; the problem is dp"},
		{"epsilon=0.1", "--epsilon is that of dp, eo and if, on tables; the problem is mnpc"},
		{"problem=dp epsilon=0.1,0.2", "--epsilon has 2 values, want one (eo: or two)"},
		{"problem=dp split=50/60/0", `--split is "50/60/0", want percentages that add up to 100, the first above 0, as in 70/15/15`},
		{"problem=dp split=0/50/50", `--split is "0/50/50", want percentages that add up to 100, the first above 0, as in 70/15/15`},
		{"iterations=99999999999999999999", "--iterations is 99999999999999999999, which is out of range; want a whole number of at least 0"},
		{"problem=dp eo-form=max", "--eo-form is that of eo; the problem is dp"},
		{"problem=eo eo-form=max", "--eo-form is max, a constraint with a kink; ppala takes the gaps apart, with --eo-form two"},
		{"problem=dp method=plada x-step=proxlinear regularizer=ball", "--x-step is proxlinear, which is for --regularizer none; it is ball"},
		{"problem=if method=plada x-step=split", "--x-step is split, which is for gaps |h| <= eps; if has none, want subgradient or inner:N"},
		{"problem=if batch-size=10", "--batch-size is 10; mini-batches cannot keep the shares of groups that overlap: take 0, all rows"},
		{"method=ssg primal=adam", "--primal is not that of the methods with a published step of their own; the method is ssg"},
		{"method=ssg ssg-violation-step=1", "--ssg-violation-step is that of the rules decay and constant; the ssg-violation-rule is polyak"},
		{"method=sgd", `--method is "sgd", want ppala, plada, gdpa, ssg, ipp-ssg, ipp-conex, multiplier-model, penalty, gda, alm or unconstrained`},
		{"method=multiplier-model", "--method is multiplier-model, which is for --problem if --if-form sampled"},
		{"device=gpu", `--device is "gpu", want auto, cpu or cuda`},
		{"device=cpu:1", `--device is "cpu:1", want auto, cpu or cuda`},
		{"device=cuda:x", `--device is "cuda:x", want auto, cpu or cuda`},
		{"device=cuda engine=gorgonia", "--engine is gorgonia, which computes on the CPU; the device is cuda"},
		{"device=cpu products=tf32", "--products is tf32, which the device cpu has not; want auto, float32, int8x3 or int8x2"},
		{"device=cpu products=bf16x3", "--products is bf16x3, which the device cpu has not; want auto, float32, int8x3 or int8x2"},
		{"device=cuda:1 products=int8x3 dtype=float64", "--products is int8x3; with --dtype float64 products are in float64, want auto"},
		{"device=cuda products=bf16x2 dtype=float64", "--products is bf16x2; with --dtype float64 products are in float64, want auto"},
		{"device=cuda products=tf32 dtype=float64", "--products is tf32; with --dtype float64 products are in float64, want auto"},
		{"device=cpu micro-batch=100", "--micro-batch is 100, which is for a GPU; the CPU works on blocks of rows as it is, want 0"},
		{"engine=tape", `--engine is "tape", want plan or gorgonia`},
		{"engine=gorgonia simd=go", "--simd is the plan's; the engine is gorgonia"},
		{"dtype=float16", `--dtype is "float16", want float32 or float64`},
		{"resume=x", "--resume is no key; see ppal train --help"},
	} {
		t.Run(tc.flags, func(t *testing.T) {
			_, err := Resolve(set(strings.Fields(tc.flags)...), nil)
			if err == nil || err.Error() != tc.want || !errors.Is(err, ErrUsage) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestRefusedFiles(t *testing.T) {
	for _, tc := range []struct{ content, want string }{
		{"alpha: 1\nlearning-rate: 3\n", "run.yaml:2: learning-rate is no key; the keys are the flags of ppal train --help"},
		{"alpha: 1\nalpha: 2\n", "run.yaml:2: alpha is given already in line 1"},
		{"alpha: ten\n", `run.yaml:1: alpha is "ten", want a positive number`},
		{"alpha: .nan\n", `run.yaml:1: alpha is ".nan", want a positive number`},
		{"alpha: {a: 1}\n", "run.yaml:1: alpha is a mapping, want one value or a list"},
		{"alpha: &x 1\nbeta: *x\n", "run.yaml:2: beta is an alias, want one value or a list"},
		{"alpha: 3\n---\nnonsense: 0.1\n", "run.yaml:2: begins a second document; want one, without a line --- between its keys"},
		{"alpha: 3\n---\n", "run.yaml:2: begins a second document; want one, without a line --- between its keys"},
		{"---\n---\nalpha: 3\n", "run.yaml:2: begins a second document; want one, without a line --- between its keys"},
		{"alpha: 3\n---\na: b: c\n", "run.yaml is no YAML: line 3: mapping values are not allowed in this context"},
		{"alpha: [1, 2]\n", `run.yaml:1: alpha is "1,2", want a positive number`},
		{"alpha:\n", "run.yaml:1: alpha has no value"},
		{"kappa: [[1]]\n", "run.yaml:1: kappa is a nested list, want plain values"},
		{"seed: 1\n\nquiet: 1\n", `run.yaml:3: quiet is "1", want true or false`},
		{"- 1\n", "run.yaml:1: want lines of the form key: value"},
		{"a: b: c\n", "run.yaml is no YAML: mapping values are not allowed in this context"},
		{"method: gdpa\nbeta: 0.5\n", "run.yaml:2: beta is PPALA's and PLADA's; the method is gdpa"},
		{"classes: [1, 1]\n", "run.yaml:1: classes names class 1 twice"},
	} {
		t.Run(tc.content, func(t *testing.T) {
			file, err := parseFile("run.yaml", []byte(tc.content))
			if err == nil {
				_, err = Resolve(nil, file)
			}
			if err == nil || err.Error() != tc.want || !errors.Is(err, ErrUsage) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
	if file, err := parseFile("run.yaml", nil); err != nil || len(file.values) > 0 {
		t.Errorf("an empty file: %v, %v", file, err)
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestTrainerMethod(t *testing.T) {
	practical := step.Settings{Momentum: 0.99}
	perturbation := method.Perturbation{Alpha: 10, Beta: 0.2, Tau: 0.135, DeltaP: 0.05, DeltaQ: 1}
	inner := perturbation
	inner.Tau, inner.DeltaP = 0.09, 0.1
	paper := perturbation
	paper.DeltaP = 1e-3
	for _, tc := range []struct {
		flags string
		want  trainer.Method
	}{
		{"method=ppala", &method.PPALA{Perturbation: perturbation, Primal: practical, Tolerance: 1e-3}},
		{"preset=paper", &method.PPALA{Perturbation: paper, Tolerance: 1e-3,
			Primal: step.Settings{Kind: step.Gradient, Eta: 1e-3, Fixed: true}}},
		{"method=plada x-step=inner:4 mu-step=box", &method.PLADA{Perturbation: inner, Primal: step.Settings{Kind: step.Gradient},
			XStep: method.Inner, InnerSteps: 4, BoxStep: true, Tolerance: 1e-3}},
		{"method=gdpa gdpa-step-decay=constant", &method.GDPA{Step: 1e-3, ConstantStep: true, Penalty: 1, Perturbation: 0.1}},
		{"method=gdpa primal=nesterov gdpa-step=auto", &method.GDPA{Automatic: true, Penalty: 1, Perturbation: 0.1, Primal: &practical}},
		{"method=penalty", &method.Penalty{Primal: practical, Coefficient: 10, Growth: 1, Period: 100}},
		{"method=gda primal=adam", &method.GDA{Primal: step.Settings{Kind: step.Adam, Eta: 3e-3}, DualStep: 0.05}},
		{"method=alm", &method.ALM{Primal: practical, Penalty: 10, Inner: 20}},
		{"method=unconstrained", &method.Unconstrained{Primal: practical}},
	} {
		t.Run(tc.flags, func(t *testing.T) {
			cfg, err := Resolve(set(strings.Fields(tc.flags)...), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := cfg.TrainerMethod()
			if err != nil {
				t.Fatal(err)
			}
			private := cmpopts.IgnoreUnexported(method.PPALA{}, method.PLADA{}, method.GDPA{}, method.Penalty{},
				method.GDA{}, method.ALM{}, method.Unconstrained{})
			if diff := cmp.Diff(tc.want, got, private, cmpopts.EquateApprox(1e-15, 0)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTrainerRegularizer(t *testing.T) {
	for flags, want := range map[string]problem.Regularizer{
		"theta=3":                               {Kind: problem.Ball, Radius: 3},
		"regularizer=none":                      {},
		"regularizer=box box=-1,2":              {Kind: problem.Box, Lower: -1, Upper: 2},
		"regularizer=l2 regularizer-weight=0.5": {Kind: problem.SquaredL2, Weight: 0.5},
	} {
		cfg, err := Resolve(set(strings.Fields(flags)...), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := cfg.TrainerRegularizer()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", flags, err, diff)
		}
	}
}

func TestNotes(t *testing.T) {
	cfg, err := Resolve(set("preset=paper", "dataset=fashion-mnist", "tau=0.1"), nil)
	if err != nil {
		t.Fatal(err)
	}
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

// Every key has a group, a description, and a default that it accepts itself.
func TestKeys(t *testing.T) {
	names := map[string]bool{}
	for _, k := range Keys() {
		if names[k.Name] {
			t.Errorf("%s is there twice", k.Name)
		}
		names[k.Name] = true
		if k.Group == "" || k.Usage == "" || k.Value == "" && !k.Boolean() {
			t.Errorf("%s lacks its help", k.Name)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte("alpha: 1\nkappa: [0.1, 0.2, 0.3]\nprovenance: {a: b}\n"))
	f.Add([]byte("a: &x [*x]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parseFile("f.yaml", data)
		if err == nil {
			_, err = Resolve(nil, file)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("not one line: %q", err)
		}
	})
}

// A number of threads that no machine runs well on is refused by the number of cores here.
func TestThreads(t *testing.T) {
	most := 8 * runtime.NumCPU()
	if _, err := Resolve(set(fmt.Sprintf("threads=%d", most)), nil); err != nil {
		t.Error(err)
	}
	_, err := Resolve(set("threads=9999999"), nil)
	want := fmt.Sprintf("--threads is 9999999, want at most %d, 8 for each core here, or 0, all cores", most)
	if err == nil || err.Error() != want || !errors.Is(err, ErrUsage) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A GPU has a number, 0 where none is given.
func TestDevices(t *testing.T) {
	for text, want := range map[string]struct {
		kind    string
		ordinal int
	}{"auto": {"auto", 0}, "cpu": {"cpu", 0}, "cuda": {"cuda", 0}, "cuda:3": {"cuda", 3}} {
		cfg, err := Resolve(set("device="+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Kind() != want.kind || cfg.Ordinal() != want.ordinal || cfg.Device.Device != text {
			t.Errorf("%s: %s number %d, written %s", text, cfg.Kind(), cfg.Ordinal(), cfg.Device.Device)
		}
	}
}
