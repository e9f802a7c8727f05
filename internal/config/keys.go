package config

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

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

// The conditions under which keys exist.
func images() condition {
	return condition{"problem", []string{"mnpc"}, "that of mnpc, on pictures"}
}

func tables() condition {
	return condition{"problem", []string{"dp", "eo", "if"}, "that of dp, eo and if, on tables"}
}

func dataKeys() []*Key {
	files := condition{"dataset", []string{"csv", "libsvm"}, "that of your own files, csv and libsvm"}
	csv := condition{"dataset", []string{"csv"}, "csv's"}
	table := func(k Key, when ...condition) *Key {
		k.Group, k.when = GroupData, append([]condition{tables()}, when...)
		return &k
	}
	return []*Key{
		{Name: "problem", Group: GroupData, Value: "mnpc|dp|eo|if",
			Usage: "mnpc: multi-class Neyman-Pearson, the first class's loss is minimised, the others' are bounded; dp, eo: demographic parity and" +
				" equalized odds, gaps between two groups' rates are bounded; if: no group may fare much worse than all rows do (default mnpc)",
			choices: []string{"mnpc", "dp", "eo", "if"}, later: []string{"ranking"},
			field: func(t *Train) any { return &t.Data.Problem }, preset: always("mnpc")},
		{Name: "dataset", Group: GroupData, Value: "NAME", Usage: datasetUsage(),
			choices: datasetNames(), later: []string{"mslr", "mq2008"},
			field: func(t *Train) any { return &t.Dataset }, preset: defaultDataset},
		{Name: "data-dir", Group: GroupData, Value: "DIR",
			Usage: "where the data sets' files are (default $PPAL_DATA, else the user's cache directory)",
			field: func(t *Train) any { return &t.DataDir }, preset: always("")},
		table(Key{Name: "file", Value: "FILE", Usage: "csv, libsvm: your file; they need it",
			field: func(t *Train) any { return &t.File }}, files),
		table(Key{Name: "label", Value: "COLUMN[=VALUE]", Usage: "csv: the label's column, with the value that is positive; it needs it",
			field: func(t *Train) any { return &t.Label }}, csv),
		table(Key{Name: "group", Value: "CONDITION[,...]",
			Usage: "groups by columns: race=White against the rest, 25<=age<60, or a column alone, each of its values (libsvm: a feature's" +
				" number; default the data set's own)",
			field: func(t *Train) any { return &t.Group }, preset: always("")}),
		table(Key{Name: "categorical", Value: "COLUMN[,...]", Usage: "csv: columns of categories that look like numbers",
			field: func(t *Train) any { return &t.Categorical }, preset: always("")}, csv),
		table(Key{Name: "ignore", Value: "COLUMN[,...]", Usage: "columns that are to be no features",
			field: func(t *Train) any { return &t.Ignore }, preset: always("")}),
		table(Key{Name: "missing", Value: "refuse|impute", Usage: "csv: missing values are refused, or become the mean with a flag beside (default refuse)",
			choices: []string{"refuse", "impute"}, field: func(t *Train) any { return &t.Missing }, preset: always("refuse")}, csv),
		table(Key{Name: "separator", Value: "CHAR", Usage: "csv: between fields, one character or tab (default auto: told from the file)",
			check: checkSeparator, field: func(t *Train) any { return &t.Separator }, preset: always("auto")}, csv),
		table(Key{Name: "drop-sensitive", Usage: "leave the columns that determine the groups out of the features",
			field: func(t *Train) any { return &t.DropSensitive }, preset: always("false")}),
		table(Key{Name: "split", Value: "70/15/15", Usage: "percentages of training, validation and test rows (default 70/15/15)",
			check: checkSplit, field: func(t *Train) any { return &t.Split }, preset: always(datasets.DefaultSplit.String())}),
		{Name: "rows-per-class", Group: GroupData, Value: "N", Usage: "train on the first N rows of each class; 0 is all (default 0)",
			interval: atLeast(0), when: []condition{images()}, field: func(t *Train) any { return &t.RowsPerClass }, preset: always("0")},
		{Name: "normalize", Group: GroupData, Value: "none|center|standardize", Usage: "of the pixels (default standardize; paper: none)",
			choices: []string{"none", "center", "standardize"}, when: []condition{images()},
			field: func(t *Train) any { return &t.Normalize }, preset: presets("standardize", "none")},
	}
}

func checkSeparator(text string) error {
	if text != "auto" && text != "tab" && utf8.RuneCountInString(text) != 1 {
		return fmt.Errorf("is %q, want one character, tab or auto", text)
	}
	return nil
}

// SeparatorRune is the separator, 0 for auto.
func (t *Train) SeparatorRune() rune {
	switch t.Separator {
	case "", "auto":
		return 0
	case "tab":
		return '\t'
	}
	r, _ := utf8.DecodeRuneInString(t.Separator)
	return r
}

func checkSplit(text string) error {
	if _, err := datasets.ParseSplit(text); err != nil {
		return fmt.Errorf("is %q, want percentages that add up to 100, the first above 0, as in 70/15/15", text)
	}
	return nil
}

// defaultDataset needs no files.
func defaultDataset(t *Train) string {
	switch t.Data.Problem {
	case "dp", "eo":
		return "synthetic-adult"
	case "if":
		return "synthetic-communities"
	}
	return "synthetic"
}

func datasetNames() []string {
	var names []string
	for _, d := range datasets.All() {
		names = append(names, d.Name)
	}
	return names
}

func datasetUsage() string {
	return oneOf(datasetNames()) + " (default synthetic, synthetic-adult for dp and eo, synthetic-communities for if: they need no files)"
}

func modelKeys() []*Key {
	network := []condition{{"model", []string{"mlp"}, "a network's"}}
	return []*Key{
		{Name: "model", Group: GroupModel, Value: "linear|mlp", Usage: "linear scores or a network (default mlp; dp, eo: linear)",
			choices: []string{"linear", "mlp"}, field: func(t *Train) any { return &t.Model.Model }, preset: defaultModel},
		{Name: "hidden", Group: GroupModel, Value: "256[,128...]", Usage: "units of each hidden layer, per head (default 256; tables: 64)",
			interval: atLeast(1), when: network, field: func(t *Train) any { return &t.Hidden }, preset: byProblem("256", "64")},
		{Name: "activation", Group: GroupModel, Value: "sigmoid|relu|tanh", Usage: "between the layers (default sigmoid; tables: relu)",
			choices: []string{"sigmoid", "relu", "tanh"}, when: network,
			field: func(t *Train) any { return &t.Activation }, preset: byProblem("sigmoid", "relu")},
		{Name: "heads", Group: GroupModel, Value: "shared|separate",
			Usage:   "one network for all classes, or one for each (default shared; paper: separate)",
			choices: []string{"shared", "separate"}, when: append(network, images()),
			field: func(t *Train) any { return &t.Heads }, preset: presets("shared", "separate")},
	}
}

func defaultModel(t *Train) string {
	if t.Data.Problem == "dp" || t.Data.Problem == "eo" {
		return "linear"
	}
	return "mlp"
}

// byProblem is a default that differs for tables.
func byProblem(mnpc, table string) func(*Train) string {
	return func(t *Train) string {
		if t.Data.Problem == "mnpc" {
			return mnpc
		}
		return table
	}
}

func problemKeys() []*Key {
	regularizer := func(owner string, kinds ...string) []condition { return []condition{{"regularizer", kinds, owner}} }
	return []*Key{
		{Name: "classes", Group: GroupProblem, Value: "0,1,2,3", Usage: "the classes by number, the objective's first (default 0,1,2,3)",
			interval: atLeast(0), when: []condition{images()}, field: func(t *Train) any { return &t.Classes }, preset: always("0,1,2,3")},
		{Name: "kappa", Group: GroupProblem, Value: "X[,X...]",
			Usage:    "bound on each other class's loss: one value, or one per constraint (default 0.2; cifar10: 0.6; paper: 1, cifar10: 2)",
			interval: atLeast(0), when: []condition{images()}, field: func(t *Train) any { return &t.Kappa }, preset: defaultKappa},
		{Name: "epsilon", Group: GroupProblem, Value: "X[,X]", Usage: "bound on each gap; eo: one for both, or one each (default 0.01)",
			interval: atLeast(0), when: []condition{tables()}, field: func(t *Train) any { return &t.Epsilon }, preset: always("0.01")},
		{Name: "phi", Group: GroupProblem, Value: "sigmoid|logistic|hinge",
			Usage:   "surrogate of the error, in the objective (default sigmoid; dp, eo: logistic; if: hinge)",
			choices: []string{"sigmoid", "logistic", "hinge"}, field: func(t *Train) any { return &t.Phi }, preset: defaultPhi},
		{Name: "psi", Group: GroupProblem, Value: "sigmoid|hinge", Usage: "surrogate in the constraints (default sigmoid; if: hinge)",
			choices: []string{"sigmoid", "hinge"}, when: []condition{tables()},
			field: func(t *Train) any { return &t.Psi }, preset: defaultPsi},
		{Name: "eo-form", Group: GroupProblem, Value: "two|max",
			Usage:   "the gaps of the true and of the false positive rates are two constraints, or one, the larger (default two)",
			choices: []string{"two", "max"}, when: []condition{{"problem", []string{"eo"}, "that of eo"}},
			field: func(t *Train) any { return &t.EOForm }, preset: always("two")},
		{Name: "if-form", Group: GroupProblem, Value: "each|expectation|sampled",
			Usage:   "a bound for each group, for the mean over the groups, or for that with one group drawn at each step (default each; paper: expectation; multiplier-model: sampled)",
			choices: []string{"each", "expectation", "sampled"}, when: []condition{{"problem", []string{"if"}, "that of if"}},
			field: func(t *Train) any { return &t.IFForm }, preset: defaultIFForm},
		{Name: "regularizer", Group: GroupProblem, Value: "none|ball|box|l1|l2|group-l1", Usage: "convex term r on the weights (default ball; tables: none)",
			choices: []string{"none", "ball", "box", "l1", "l2", "group-l1"},
			field:   func(t *Train) any { return &t.Problem.Regularizer }, preset: byProblem("ball", "none")},
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

func defaultPhi(t *Train) string {
	switch t.Data.Problem {
	case "dp", "eo":
		return "logistic"
	case "if":
		return "hinge"
	}
	return "sigmoid"
}

func defaultIFForm(t *Train) string {
	switch {
	case t.Method.Method == "multiplier-model":
		return "sampled"
	case t.Preset == "paper":
		return "expectation"
	}
	return "each"
}

func defaultPsi(t *Train) string {
	if t.Data.Problem == "if" {
		return "hinge"
	}
	return "sigmoid"
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
		{Name: "near-stationarity", Group: GroupRun, Value: "N",
			Usage: "every N-th record, the first and the last have the distance to the solution of the proximal problem; it costs some" +
				" hundred passes over the rows; 0 is never (default 0)",
			interval: atLeast(0), field: func(t *Train) any { return &t.NearStationarity }, preset: always("0")},
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
