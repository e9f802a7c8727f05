package config

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
	"ppal/trainer/step"
)

// The number of threads of another machine is accepted, and a number that only uses memory is not.
func TestThreads(t *testing.T) {
	most := max(256, 8*runtime.NumCPU())
	if _, err := Resolve(set(fmt.Sprintf("threads=%d", most)), nil); err != nil {
		t.Error(err)
	}
	_, err := Resolve(set("threads=9999999"), nil)
	want := fmt.Sprintf("--threads 9999999: must be at most %d, or 0, all cores", most)
	if err == nil || err.Error() != want || !errors.Is(err, ErrUsage) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A GPU has a number. The default number is 0.
func TestDevices(t *testing.T) {
	for text, want := range map[string]struct {
		kind    session.DeviceKind
		ordinal int
		written string
	}{
		"auto": {written: "auto"}, "cpu": {kind: session.CPU, written: "cpu"}, "cuda": {kind: session.CUDA, written: "cuda"},
		"cuda:0": {kind: session.CUDA, written: "cuda"}, "cuda:3": {kind: session.CUDA, ordinal: 3, written: "cuda:3"},
	} {
		cfg := require.Value(Resolve(set("device="+text), nil))(t)
		if cfg.Session.Device.Kind != want.kind || cfg.Session.Device.Ordinal != want.ordinal || cfg.Text("device") != want.written {
			t.Errorf("%s: %q number %d, written %s", text, cfg.Session.Device.Kind, cfg.Session.Device.Ordinal, cfg.Text("device"))
		}
	}
}

// TestSelection checks which iterate --output, --select and --patience choose together.
func TestSelection(t *testing.T) {
	for _, c := range []struct {
		flags    Values
		output   trainer.Output
		patience int
	}{
		{nil, trainer.OutputLast, 0},
		{Values{"output": "random"}, trainer.OutputRandom, 0},
		{Values{"select": "best-train"}, trainer.OutputBestTrain, 0},
		{Values{"patience": "5"}, trainer.OutputBestValidation, 5},
		{Values{"patience": "5", "select": "last"}, trainer.OutputLast, 5},
		{Values{"patience": "5", "output": "best"}, trainer.OutputBest, 5},
	} {
		cfg := require.Value(Resolve(c.flags, nil))(t)
		if s := cfg.Session.Settings; s.Output != c.output || s.Patience != c.patience {
			t.Errorf("%v: output %s and patience %d, want %s and %d", c.flags, s.Output, s.Patience, c.output, c.patience)
		}
	}
}

func TestMemory(t *testing.T) {
	for text, want := range map[string]int64{"all": 0, "2GiB": 2 << 30, "64MiB": 64 << 20} {
		got, err := Resolve(Values{"memory": text}, nil)
		if err != nil || got.Session.Device.Memory != want {
			t.Errorf("%s: %d, %v, want %d", text, got.Session.Device.Memory, err, want)
		}
	}
	for _, text := range []string{"63MiB", "none", "2", "-1GB", ""} {
		if _, err := Resolve(Values{"memory": text}, nil); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, other := range []Values{{"memory": "2GiB", "device": "cuda"}, {"memory": "2GiB", "engine": "gorgonia"}} {
		if _, err := Resolve(other, nil); !errors.Is(err, ErrUsage) {
			t.Errorf("%v: %v", other, err)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	for text, want := range map[string]int64{
		"auto": 0, "none": session.NoMemoryLimit, "3GB": 3e9, "800MiB": 800 << 20, "1.5 GiB": 3 << 29, "100 kB": 100_000, "7B": 7,
	} {
		got, err := Resolve(Values{"memory-limit": text}, nil)
		if err != nil || got.Session.Device.MemoryLimit != want {
			t.Errorf("%s: %d, %v, want %d", text, got.Session.Device.MemoryLimit, err, want)
		}
	}
	for _, text := range []string{"", "3", "GB", "-1GB", "0B", "NaNGB", "1e300GB", "3 apples"} {
		if _, err := Resolve(Values{"memory-limit": text}, nil); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

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

// Bounds on decisions need a ridge: without a ridge the scores saturate (session.DefaultRidge).
func TestDecisionsHaveARidge(t *testing.T) {
	for _, problem := range []string{"dp", "eo", "if"} {
		for boundsOn, kind := range map[string]string{"decisions": "l2", "surrogate": "none"} {
			cfg := require.Value(Resolve(Values{"problem": problem, "bounds-on": boundsOn}, nil))(t)
			if got := cfg.Problem.Regularizer; got.Kind.String() != kind || kind == "l2" && got.Weight != session.DefaultRidge {
				t.Errorf("%s, bounds on %s: %+v, want %s", problem, boundsOn, got, kind)
			}
		}
	}
}
