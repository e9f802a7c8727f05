package config

import (
	"errors"
	"fmt"
	"runtime"
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

// TestAutomatic compares the automatic choices of the method and of its primal step with
// testdata/automatic.txt.
func TestAutomatic(t *testing.T) {
	require.Cases(t, "testdata/automatic.txt", func(t *testing.T, c *require.Case) string {
		cfg, err := Resolve(set(c.Args...), nil)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s (%s), primal %s", cfg.Method.Name, cfg.Method.Reason, cfg.Options["primal"])
	})
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
