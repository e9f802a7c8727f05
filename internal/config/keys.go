package config

import (
	"fmt"
	"strconv"
	"time"

	"ppal/datasets"
)

// The groups of the help.
const (
	GroupData    = "Data"
	GroupModel   = "Model"
	GroupProblem = "Problem"
	GroupMethod  = "Method"
	GroupRun     = "Run"
	GroupDevice  = "Device"
)

// Groups returns the headings of the help in order.
func Groups() []string {
	return []string{GroupData, GroupModel, GroupProblem, GroupMethod, GroupRun, GroupDevice}
}

func always(text string) func(*Train) string { return func(*Train) string { return text } }

// presets is a default that depends on the preset alone.
func presets(practical, paper string) func(*Train) string {
	return func(t *Train) string {
		if t.Preset == "paper" {
			return paper
		}
		return practical
	}
}

func dataKeys() []*Key {
	return []*Key{
		{Name: "problem", Group: GroupData, Value: "mnpc",
			Usage:   "multi-class Neyman-Pearson: the first class's loss is minimised, the others' are bounded",
			choices: []string{"mnpc"}, later: []string{"dp", "eo", "if", "ranking"},
			field: func(t *Train) any { return &t.Data.Problem }, preset: always("mnpc")},
		{Name: "dataset", Group: GroupData, Value: "NAME", Usage: datasetUsage(),
			choices: datasetNames(), later: []string{"adult", "bank", "compas", "communities", "mslr", "mq2008", "csv", "libsvm"},
			field: func(t *Train) any { return &t.Dataset }, preset: always("synthetic")},
		{Name: "data-dir", Group: GroupData, Value: "DIR",
			Usage: "where the data sets' files are (default $PPAL_DATA, else the user's cache directory)",
			field: func(t *Train) any { return &t.DataDir }, preset: always("")},
		{Name: "rows-per-class", Group: GroupData, Value: "N", Usage: "train on the first N rows of each class; 0 is all (default 0)",
			interval: atLeast(0), field: func(t *Train) any { return &t.RowsPerClass }, preset: always("0")},
		{Name: "normalize", Group: GroupData, Value: "none|center|standardize", Usage: "of the pixels (default standardize; paper: none)",
			choices: []string{"none", "center", "standardize"},
			field:   func(t *Train) any { return &t.Normalize }, preset: presets("standardize", "none")},
	}
}

func datasetNames() []string {
	var names []string
	for _, d := range datasets.All() {
		if !d.Tabular() { // the one problem there is has pictures
			names = append(names, d.Name)
		}
	}
	return names
}

func datasetUsage() string {
	return oneOf(datasetNames()) + " (default synthetic, which needs no files)"
}

func modelKeys() []*Key {
	network := []condition{{"model", []string{"mlp"}, "a network's"}}
	return []*Key{
		{Name: "model", Group: GroupModel, Value: "linear|mlp", Usage: "linear scores or a network (default mlp)",
			choices: []string{"linear", "mlp"}, field: func(t *Train) any { return &t.Model.Model }, preset: always("mlp")},
		{Name: "hidden", Group: GroupModel, Value: "256[,128...]", Usage: "units of each hidden layer, per head (default 256)",
			interval: atLeast(1), when: network, field: func(t *Train) any { return &t.Hidden }, preset: always("256")},
		{Name: "activation", Group: GroupModel, Value: "sigmoid|relu|tanh", Usage: "between the layers (default sigmoid)",
			choices: []string{"sigmoid", "relu", "tanh"}, when: network,
			field: func(t *Train) any { return &t.Activation }, preset: always("sigmoid")},
		{Name: "heads", Group: GroupModel, Value: "shared|separate",
			Usage:   "one network for all classes, or one for each (default shared; paper: separate)",
			choices: []string{"shared", "separate"}, when: network,
			field: func(t *Train) any { return &t.Heads }, preset: presets("shared", "separate")},
	}
}

func problemKeys() []*Key {
	regularizer := func(owner string, kinds ...string) []condition { return []condition{{"regularizer", kinds, owner}} }
	return []*Key{
		{Name: "classes", Group: GroupProblem, Value: "0,1,2,3", Usage: "the classes by number, the objective's first (default 0,1,2,3)",
			interval: atLeast(0), field: func(t *Train) any { return &t.Classes }, preset: always("0,1,2,3")},
		{Name: "kappa", Group: GroupProblem, Value: "X[,X...]",
			Usage:    "bound on each other class's loss: one value, or one per constraint (default 0.2; cifar10: 0.6; paper: 1, cifar10: 2)",
			interval: atLeast(0), field: func(t *Train) any { return &t.Kappa }, preset: defaultKappa},
		{Name: "phi", Group: GroupProblem, Value: "sigmoid|logistic|hinge", Usage: "surrogate of the error (default sigmoid)",
			choices: []string{"sigmoid", "logistic", "hinge"}, field: func(t *Train) any { return &t.Phi }, preset: always("sigmoid")},
		{Name: "regularizer", Group: GroupProblem, Value: "none|ball|box|l1|l2|group-l1", Usage: "convex term r on the weights (default ball)",
			choices: []string{"none", "ball", "box", "l1", "l2", "group-l1"},
			field:   func(t *Train) any { return &t.Problem.Regularizer }, preset: always("ball")},
		{Name: "theta", Group: GroupProblem, Value: "X", Usage: "radius of the ball (default 40; paper: 1)",
			interval: positive(), when: regularizer("the ball's", "ball"),
			field: func(t *Train) any { return &t.Theta }, preset: presets("40", "1")},
		{Name: "regularizer-weight", Group: GroupProblem, Value: "X", Usage: "weight of l1, l2 or group-l1; they need it",
			interval: positive(), when: regularizer("that of l1, l2 and group-l1", "l1", "l2", "group-l1"),
			field: func(t *Train) any { return &t.RegularizerWeight }},
		{Name: "box", Group: GroupProblem, Value: "LO,HI", Usage: "bounds of every weight; the box needs them",
			when: regularizer("the box's", "box"), field: func(t *Train) any { return &t.Box }},
	}
}

func defaultKappa(t *Train) string {
	paper, cifar := t.Preset == "paper", t.Dataset == "cifar10"
	switch {
	case paper && cifar:
		return "2"
	case paper:
		return "1"
	case cifar:
		return "0.6"
	}
	return "0.2"
}

func runKeys() []*Key {
	return []*Key{
		{Name: "iterations", Group: GroupRun, Value: "N", Usage: "at most; 0 writes the initial weights (default 1000)",
			interval: atLeast(0), field: func(t *Train) any { return &t.Iterations }, preset: always("1000")},
		{Name: "time-limit", Group: GroupRun, Value: "10m", Usage: "on the training time, or none (default none)", check: checkDuration,
			field: func(t *Train) any { return &t.TimeLimit }, preset: always("none")},
		{Name: "tolerance", Group: GroupRun, Value: "X",
			Usage:    "stop at the first record whose KKT certificate's epsilon is at most X; 0 is never (default 0)",
			interval: atLeast(0), field: func(t *Train) any { return &t.Tolerance }, preset: always("0")},
		{Name: "batch-size", Group: GroupRun, Value: "N",
			Usage:    "rows of a mini-batch, the same share of every class; 0 is all rows, what the methods' theory is about (default 0)",
			interval: atLeast(0), field: func(t *Train) any { return &t.BatchSize }, preset: always("0")},
		{Name: "seed", Group: GroupRun, Value: "N", Usage: "of the weights, the mini-batches and the built-in data (default 1)",
			interval: atLeast(0), field: func(t *Train) any { return &t.Seed }, preset: always("1")},
		{Name: "output", Group: GroupRun, Value: "last|best|random",
			Usage:   "the iterate that is saved; best: the feasible record with the smallest objective (default last)",
			choices: []string{"last", "best", "random"}, field: func(t *Train) any { return &t.Output }, preset: always("last")},
		{Name: "feasibility-tolerance", Group: GroupRun, Value: "X", Usage: "the violation up to which a bound counts as met (default 1e-3)",
			interval: positive(), field: func(t *Train) any { return &t.FeasibilityTolerance }, preset: always("0.001")},
		{Name: "out", Group: GroupRun, Value: "DIR", Usage: "the run's new directory (default runs/<time>-<problem>-<method>)",
			field: func(t *Train) any { return &t.Out }, preset: always("")},
		{Name: "record-every", Group: GroupRun, Value: "N", Usage: "iterations from record to record (default: about 200 records a run)",
			interval: atLeast(1), field: func(t *Train) any { return &t.RecordEvery },
			preset: func(t *Train) string { return strconv.Itoa(max(1, t.Iterations/200)) }},
		{Name: "init", Group: GroupRun, Value: "FILE", Usage: "start from these weights, a safetensors file",
			field: func(t *Train) any { return &t.Init }, preset: always("")},
		{Name: "log-format", Group: GroupRun, Value: "text|json",
			Usage:   "of the log lines, which stand for the progress bar where stderr is no terminal (default text)",
			choices: []string{"text", "json"}, field: func(t *Train) any { return &t.LogFormat }, preset: always("text")},
		{Name: "quiet", Group: GroupRun, Usage: "no progress, log lines or warnings on stderr: errors there, and the final table on stdout",
			field: func(t *Train) any { return &t.Quiet }, preset: always("false")},
	}
}

func checkDuration(text string) error {
	if text == "none" {
		return nil
	}
	if d, err := time.ParseDuration(text); err != nil || d <= 0 {
		return fmt.Errorf("is %q, want a positive duration such as 90s or 10m, or none", text)
	}
	return nil
}

func deviceKeys() []*Key {
	return []*Key{
		{Name: "device", Group: GroupDevice, Value: "auto|cpu", Usage: "what computes (default auto, the CPU)",
			choices: []string{"auto", "cpu"}, later: []string{"cuda"},
			field: func(t *Train) any { return &t.Device.Device }, preset: always("auto")},
		{Name: "engine", Group: GroupDevice, Value: "plan|gorgonia",
			Usage:   "own kernels, or Gorgonia's machine with gonum's products, the reference (default plan)",
			choices: []string{"plan", "gorgonia"}, field: func(t *Train) any { return &t.Engine }, preset: always("plan")},
		{Name: "simd", Group: GroupDevice, Value: "auto|avx512|avx2|go",
			Usage:   "instructions of the plan's kernels (default auto: the widest there are)",
			choices: []string{"auto", "avx512", "avx2", "go"}, when: []condition{{"engine", []string{"plan"}, "the plan's"}},
			field: func(t *Train) any { return &t.SIMD }, preset: always("auto")},
		{Name: "explain", Group: GroupDevice, Usage: "print the plan that the engine runs, step by step, before training",
			when: []condition{{"engine", []string{"plan"}, "the plan's"}}, field: func(t *Train) any { return &t.Explain }, preset: always("false")},
		{Name: "dtype", Group: GroupDevice, Value: "float32|float64",
			Usage:   "of the numbers; the final certificate is always in float64 (default float32)",
			choices: []string{"float32", "float64"}, field: func(t *Train) any { return &t.Dtype }, preset: always("float32")},
		{Name: "threads", Group: GroupDevice, Value: "N", Usage: "0 is all cores (default 0)",
			interval: atLeast(0), field: func(t *Train) any { return &t.Threads }, preset: always("0")},
	}
}
