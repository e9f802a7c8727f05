package config

import (
	"errors"
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

func TestRefusedFlags(t *testing.T) {
	for _, tc := range []struct{ flags, want string }{
		{"method=ppala gdpa-step=1", "--gdpa-step 1: used only with --method gdpa (now ppala)"},
		{"method=gdpa eta=0.1", "--eta 0.1: used only with --method alm, plada, ppala, unconstrained, gda, nupi or penalty (now gdpa)"},
		{"method=gdpa alpha=2", "--alpha 2: used only with --method plada or ppala (now gdpa)"},
		{"method=ppala x-step=subgradient", "--x-step subgradient: used only with --method plada (now ppala)"},
		{"delta0=0.5", "--delta0 0.5: used only with --delta harmonic (now power)"},
		{"regularizer=none theta=2", "--theta 2: used only with --regularizer ball (now none)"},
		{"model=linear hidden=3", "--hidden 3: used only with --model mlp, conv or resnet (now linear)"},
		{"primal=adam momentum=0.9", "--momentum 0.9: used only with --primal auto or nesterov (now adam)"},
		{"primal=adam eta-scale=fixed", "--eta-scale fixed: used only with --primal auto, nesterov or gradient (now adam)"},
		{"primal=adam eta=auto", "--eta auto: the adam step does not support auto; give a number"},
		{"primal=gradient eta-scale=fixed", "--eta auto: --eta-scale fixed does not support auto; give a number"},
		{"method=gdpa gdpa-step=auto", "--gdpa-step auto: needs --primal nesterov"},
		{"method=plada x-step=inner:3 primal=nesterov", "--primal nesterov: --x-step inner needs --primal gradient"},
		{"method=plada x-step=inner:0", "--x-step inner:0: must be subgradient, proxlinear, split, auto, or inner:N with N at least 1"},
		{"method=plada x-step=proxlinear", "--x-step proxlinear: needs gaps |h| <= eps, which --problem mnpc does not have; choose subgradient or inner:N"},
		{"regularizer=l1", "--regularizer-weight: missing; --regularizer l1 needs it"},
		{"regularizer=box", "--box: missing; --regularizer box needs it"},
		{"regularizer=box box=1", "--box 1: must be LO,HI with LO at most HI"},
		{"regularizer=box box=2,1", "--box 2,1: must be LO,HI with LO at most HI"},
		{"regularizer=box box=-Inf,1", "--box -Inf,1: each value must be a finite number"},
		{"alpha=NaN", "--alpha NaN: must be a positive number"},
		{"alpha=Inf", "--alpha Inf: must be a positive number"},
		{"alpha=1e999", "--alpha 1e999: out of the range of a number"},
		{"tau=-1", "--tau -1: must be positive"},
		{"tau=0", "--tau 0: must be positive"},
		{"eta=nan", "--eta nan: must be a positive number, or auto"},
		{"eta=fast", "--eta fast: must be a positive number, or auto"},
		{"momentum=1", "--momentum 1: must be above 0 and below 1"},
		{"delta-q=1.5", "--delta-q 1.5: must be above 0 and at most 1"},
		{"slack-cap=-2", "--slack-cap -2: must be positive, or none"},
		{"slack-cap=0", "--slack-cap 0: must be positive, or none"},
		{"iterations=-1", "--iterations -1: must be at least 0, or auto"},
		{"iterations=1.5", "--iterations 1.5: must be a whole number, at least 0, or auto"},
		{"record-every=0", "--record-every 0: must be at least 1, or auto"},
		{"seed=-1", "--seed -1: must be at least 0"},
		{"hidden=4,0", "--hidden 4,0: each value must be at least 1"},
		{"hidden=", `--hidden "": must be a whole number, at least 1`},
		{"kappa=-0.1", "--kappa -0.1: must be at least 0"},
		{"classes=0,0", "--classes 0,0: names class 0 twice"},
		{"classes=1", "--classes 1: give at least two classes"},
		{"batch-size=1", "--batch-size 1: must be at least 4, a row of each class, or 0, all rows"},
		{"batch-size=2 classes=1,2,3", "--batch-size 2: must be at least 3, a row of each class, or 0, all rows"},
		{"feasibility-tolerance=0", "--feasibility-tolerance 0: must be positive"},
		{"time-limit=-1s", "--time-limit -1s: must be a positive duration such as 90s or 10m, or none"},
		{"time-limit=10", "--time-limit 10: must be a positive duration such as 90s or 10m, or none"},
		{"quiet=yes", "--quiet yes: must be true or false"},
		{"problem=ranking", "--dataset synthetic: holds pictures; --problem ranking needs a table; choose --problem class-rates or mnpc"},
		{"subject-to=gap(tprr,sex)<=0.1", `--subject-to gap(tprr,sex)<=0.1: column 5: unknown rate "tprr"; did you mean tpr?`},
		{"subject-to=fpr<=5%;fpr<=5", `--subject-to fpr<=5%;fpr<=5: "fpr<=5": column 6: the bound 5 is more than 1, the largest value of fpr; did you mean 5%?`},
		{"subject-to=fpr<=5% confidence=1", "--confidence 1: must be at least 0 and below 1"},
		{"subject-to=fpr<=5% confidence=95", "--confidence 95: must be at least 0 and below 1"},
		{"subject-to=fpr<=5% bounds-on=surrogate confidence=0.9", "--confidence 0.9: used only with --bounds-on decisions (now surrogate)"},
		{"subject-to=fpr<=5% kappa=0.1", "--kappa 0.1: used only with --problem mnpc (now rates)"},
		{"subject-to=fpr<=5% epsilon=0.1", "--epsilon 0.1: used only with --problem dp, eo, if or ranking (now rates)"},
		{"subject-to=error[*]<=5% dataset=fashion-mnist kappa=0.1", "--kappa 0.1: used only with --problem mnpc (now class-rates)"},
		{"subject-to=fpr<=5% phi=hinge", "--phi hinge: used only with --problem dp, eo, if or mnpc (now rates)"},
		{"problem=dp subject-to=fpr<=5%", "--subject-to fpr<=5%: used only with --problem class-rates or rates (now dp)"},
		{"problem=dp bounds-on=decisions psi=hinge", "--psi hinge: used only with --bounds-on surrogate (now decisions)"},
		{"problem=if bounds-on=decisions if-form=expectation", "--if-form expectation: used only with --bounds-on surrogate (now decisions)"},
		{"minimize=tpr subject-to=fpr<=5%", "--minimize tpr: must be one of balanced_error, error, fnr, fpr, loss, pair_error or pair_loss, with or without a class or group"},
		{"minimize=errr subject-to=fpr<=5%", `--minimize errr: column 1: unknown rate "errr"; did you mean error?`},
		{"dataset=adult confidence=0.9", "--confidence: promises bounds, and the run has none; add one (--subject-to)"},
		{"dataset=adult kappa=0.1", "--kappa 0.1: used only with --problem mnpc (now rates)"},
		{"subject-to=;", "--subject-to ;: is empty"},
		{"dataset=adult problem=mnpc", "--dataset adult: holds a table; --problem mnpc needs pictures or your own table; choose --problem dp, eo, if, ranking or rates"},
		{"problem=dp dataset=cifar10", "--dataset cifar10: holds pictures; --problem dp needs a table; choose --problem class-rates or mnpc"},
		{"problem=dp dataset=csv", "--file: missing; --dataset csv needs it"},
		{"problem=dp dataset=csv file=x.csv", "--label: missing; --dataset csv needs it"},
		{"problem=dp file=x.csv", "--label: missing; --file x.csv needs it"},
		{"file=x.csv label=y columns=a,y header=first", "--columns a,y: names the columns of a file without a line of names; to replace the names of the first line, give --skip 1 and no --header"},
		{"problem=rates subject-to=fpr<=5% file=config_test.go label=y size=8x8", "--size 8x8: used only with --dataset pictures (now csv); name the column of the pictures' paths with --picture COLUMN"},
		{"problem=rates subject-to=fpr<=5% file=nothing label=y size=8x8", "--size 8x8: used only with --dataset pictures (now csv); there is no file or folder nothing"},
		{"problem=rates subject-to=fpr<=5% file=config_test.go label=y color=rgb", "--color rgb: used only with --dataset pictures (now csv); name the column of the pictures' paths with --picture COLUMN"},
		{"problem=rates subject-to=fpr<=5% file=config_test.go label=y augment=flip", "--augment flip: used only with pictures (now csv); name the column of the pictures' paths with --picture COLUMN"},
		{"problem=rates subject-to=fpr<=5% file=config_test.go label=y normalize=center", "--normalize center: used only with pictures (now csv); name the column of the pictures' paths with --picture COLUMN"},
		{"file=x.csv label=y zero-based=true", "--zero-based true: used only with --dataset libsvm (now csv)"},
		{"dataset=libsvm file=x.csv problem=dp skip=1", "--skip 1: used only with --dataset csv or pictures (now libsvm)"},
		{"problem=dp dataset=adult file=x.csv", "--file x.csv: used only with --dataset csv, pictures or libsvm (now adult)"},
		{"rows-per-class=5 problem=dp", "--rows-per-class 5: used only with pictures (now synthetic-adult)"},
		{"group=a", "--group a: used only with tables (now synthetic)"},
		{"dataset=fashion-mnist classes=Trouser,pulover", `--classes Trouser,pulover: fashion-mnist has no class "pulover"; did you mean pullover?`},
		{"dataset=fashion-mnist classes=Trouser,1", "--classes Trouser,1: names class 1 twice"},
		{"dataset=cifar10 classes=ship,lorry", `--classes ship,lorry: cifar10 has no class "lorry"; the classes are airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck`},
		{"file=x.csv label=y problem=mnpc classes=a,b,a", "--classes a,b,a: names class a twice"},
		{"positive=a", "unknown setting --positive: --label names the positive class of two, as in species=Adelie; with three or more classes," +
			" a constraint names its class, as in fpr[Adelie] (see ppal train --help)"},
		{"problem=dp kappa=0.1", "--kappa 0.1: used only with --problem mnpc (now dp)"},
		{"epsilon=0.1", "--epsilon 0.1: used only with --problem dp, eo, if or ranking (now mnpc)"},
		{"problem=dp epsilon=0.1,0.2", "--epsilon: has 2 values; give one"},
		{"problem=dp split=50/60/0", "--split 50/60/0: must be percentages that add up to 100, the first above 0, as in 70/15/15"},
		{"problem=dp split=0/50/50", "--split 0/50/50: must be percentages that add up to 100, the first above 0, as in 70/15/15"},
		{"select=best-train output=best", "--select best-train: --output best chooses the saved weights too; give one of the two"},
		{"select=best", "--select best: unknown; did you mean last? (choose last, best-train or best-validation)"},
		{"patience=-1", "--patience -1: must be at least 0"},
		{"split=80/10/10", "--split 80/10/10: pictures have test rows of their own; the third percentage must be 0, as in 90/10/0"},
		{"iterations=99999999999999999999", "--iterations 99999999999999999999: out of the range of a whole number, or auto"},
		{"problem=dp eo-form=max", "--eo-form max: used only with --problem eo (now dp)"},
		{"problem=eo eo-form=max method=ppala", "--method ppala: needs smooth constraints, and the largest of several has a kink; use --eo-form two"},
		{"problem=dp method=plada x-step=proxlinear regularizer=ball", "--x-step proxlinear: needs --regularizer none (now ball)"},
		{"problem=if method=plada x-step=split", "--x-step split: needs gaps |h| <= eps, which --problem if does not have; choose subgradient or inner:N"},
		{"problem=if batch-size=10", "--batch-size 10: mini-batches cannot keep the shares of groups that overlap; use 0, all rows"},
		{"method=ssg primal=adam", "--primal adam: used only with --method alm, plada, ppala, unconstrained, gda, gdpa, nupi or penalty (now ssg)"},
		{"method=ssg ssg-violation-step=1", "--ssg-violation-step 1: used only with --ssg-violation-rule decay or constant (now polyak)"},
		{"method=sgd", "--method sgd: unknown; did you mean gda? (choose auto, alm, plada, ppala, unconstrained, extragradient, gda, gdpa, ipp-conex, ipp-ssg, multiplier-model, nl-iapial, nupi, penalty or ssg)"},
		{"method=multiplier-model", "--method multiplier-model: needs --problem if with --if-form sampled, or --problem rates with bounds on pairs, --bounds-on surrogate and --batch-size 1"},
		{"method=nl-iapial", "--method nl-iapial: needs smooth convex functions, as those of --problem mnpc with --phi logistic and --model linear; use another method"},
		{"method=nl-iapial model=linear phi=hinge",
			"--method nl-iapial: needs smooth convex functions, as those of --problem mnpc with --phi logistic and --model linear; use another method"},
		{"method=nl-iapial problem=dp", "--method nl-iapial: needs smooth convex functions, as those of --problem mnpc with --phi logistic and --model linear; use another method"},
		{"method=nl-iapial model=linear phi=logistic batch-size=8", "--batch-size 8: --method nl-iapial takes all rows in each iteration; use 0"},
		{"device=gpu", "--device gpu: must be auto, cpu, cuda, or the number of a GPU as in cuda:1"},
		{"device=cpu:1", "--device cpu:1: must be auto, cpu, cuda, or the number of a GPU as in cuda:1"},
		{"device=cuda:x", "--device cuda:x: must be auto, cpu, cuda, or the number of a GPU as in cuda:1"},
		{"device=cuda:0,1", "--device cuda:0,1: a process uses one GPU; for several, start one process for each: " +
			"mpirun -n 2 ppal-mpi-gpu train --device cuda (see docs/guides/processes.md)"},
		{"device=cuda:all", "--device cuda:all: a process uses one GPU; for several, start one process for each: " +
			"mpirun -n 2 ppal-mpi-gpu train --device cuda (see docs/guides/processes.md)"},
		{"device=cuda engine=gorgonia", "--engine gorgonia: computes on the CPU; use --engine plan with --device cuda"},
		{"device=cpu products=tf32", "--products tf32: the CPU device does not support it (supported: auto, float32, int8, int8x3, int8x2, bf16x3, bf16x2)"},
		{"device=cuda:1 products=int8x3 dtype=float64", "--products int8x3: with --dtype float64 products are in float64; use auto"},
		{"device=cuda products=bf16x2 dtype=float64", "--products bf16x2: with --dtype float64 products are in float64; use auto"},
		{"device=cuda products=tf32 dtype=float64", "--products tf32: with --dtype float64 products are in float64; use auto"},
		{"device=cpu micro-batch=100", "--micro-batch 100: the CPU device works on blocks of rows already; use 0"},
		{"engine=tape", "--engine tape: unknown; choose plan or gorgonia"},
		{"engine=gorgonia simd=go", "--simd go: used only with --engine plan (now gorgonia)"},
		{"dtype=float16", "--dtype float16: unknown; did you mean float32? (choose float32 or float64)"},
		{"target=y", "unknown setting --target; did you mean --label? (see ppal train --help)"},
		{"max_iter=3", "unknown setting --max_iter; did you mean --iterations? (see ppal train --help)"},
		{"bogus=3", "unknown setting --bogus (see ppal train --help)"},
		{"resume=x", "unknown setting --resume (see ppal train --help)"},
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
		{"alpha: 1\nlearning-rate: 3\n", "run.yaml:2: unknown setting learning-rate; did you mean eta? (the keys are the flags of ppal train --help-all)"},
		{"alpha: 1\nalpha: 2\n", "run.yaml:2: alpha: already given in line 1"},
		{"alpha: ten\n", "run.yaml:1: alpha ten: must be a positive number"},
		{"alpha: .nan\n", "run.yaml:1: alpha .nan: must be a positive number"},
		{"alpha: {a: 1}\n", "run.yaml:1: alpha: a mapping; use one value or a list"},
		{"alpha: &x 1\nbeta: *x\n", "run.yaml:2: beta: an alias; use one value or a list"},
		{"alpha: 3\n---\nnonsense: 0.1\n", "run.yaml:2: a second document begins; use one document, without a line --- between its keys"},
		{"alpha: 3\n---\n", "run.yaml:2: a second document begins; use one document, without a line --- between its keys"},
		{"---\n---\nalpha: 3\n", "run.yaml:2: a second document begins; use one document, without a line --- between its keys"},
		{"alpha: 3\n---\na: b: c\n", "run.yaml: not YAML: line 3: mapping values are not allowed in this context"},
		{"alpha: [1, 2]\n", "run.yaml:1: alpha 1,2: must be a positive number"},
		{"alpha:\n", "run.yaml:1: alpha: no value"},
		{"kappa: [[1]]\n", "run.yaml:1: kappa: a nested list; use plain values"},
		{"seed: 1\n\nquiet: 1\n", "run.yaml:3: quiet 1: must be true or false"},
		{"- 1\n", "run.yaml:1: use lines of the form key: value"},
		{"a: b: c\n", "run.yaml: not YAML: mapping values are not allowed in this context"},
		{"method: gdpa\nbeta: 0.5\n", "run.yaml:2: beta 0.5: used only with --method plada or ppala (now gdpa)"},
		{"classes: [1, 1]\n", "run.yaml:1: classes 1,1: names class 1 twice"},
	} {
		t.Run(tc.content, func(t *testing.T) {
			file, err := ParseFile("run.yaml", []byte(tc.content))
			if err == nil {
				_, err = Resolve(nil, file)
			}
			if err == nil || err.Error() != tc.want || !errors.Is(err, ErrUsage) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
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
