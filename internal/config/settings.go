package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session"
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

// everyday are the settings of the short help.
var everyday = []string{
	"problem", "dataset", "data-dir", "file", "label", "group", "drop-sensitive", "split", "rows-per-class",
	"model", "hidden",
	"minimize", "subject-to", "bounds-on", "confidence", "classes", "kappa", "epsilon", "regularizer",
	"method", "preset", "eta",
	"iterations", "time-limit", "tolerance", "batch-size", "seed", "select", "patience", "out", "init", "quiet",
	"device", "products",
}

// group is the settings under one heading, bound to a configuration.
type group struct {
	name    string
	options []*option.Option
}

// ofTask sets the default of an option that the problem decides. text returns the default of a
// problem of the list; the help shows the first problem's as the usual default.
func ofTask(o *option.Option, text func(d session.Defaults) string, problems []string) *option.Option {
	first := text(session.DefaultsOf(problems[0]))
	o.Or(first)
	var others []string // defaults that differ from the first
	names := map[string][]string{}
	for _, p := range problems[1:] {
		d := text(session.DefaultsOf(p))
		if d != first && names[d] == nil {
			others = append(others, d)
		}
		names[d] = append(names[d], p)
	}
	for _, d := range others {
		o.For(d, option.Problem(names[d]...))
	}
	return o
}

// counts returns whole numbers as the text of an option.
func counts(list []int) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

// none is the default of a text that the program replaces where it uses the text.
func none() string { return "" }

func (t *Train) groups() []group {
	return []group{
		{GroupData, t.Data.options()},
		{GroupModel, t.Model.options()},
		{GroupProblem, t.Problem.options()},
		{GroupMethod, t.Method.options()},
		{GroupRun, t.Run.options()},
		{GroupDevice, t.Device.options()},
	}
}

func (m *Model) options() []*option.Option {
	layers := option.If("model", string(Network))
	return []*option.Option{
		ofTask(option.Choice("model", &m.Model, "choose linear scores or a network of hidden layers", Linear, Network),
			func(d session.Defaults) string {
				if d.Linear {
					return string(Linear)
				}
				return string(Network)
			}, option.Problems()),
		ofTask(option.Counts("hidden", &m.Hidden, option.AtLeast(1), "N[,N...]", "set the number of units of each hidden layer, per head"),
			func(d session.Defaults) string { return counts(d.Hidden) }, option.Problems()).With(layers),
		ofTask(option.Choice("activation", &m.Activation, "choose the function between the layers", models.Sigmoid, models.ReLU, models.Tanh),
			func(d session.Defaults) string { return string(d.Activation) }, option.Problems()).With(layers),
		option.Choice("heads", &m.Heads, "train one shared network for all classes, or a separate one for each class",
			models.Shared, models.Separate).
			For("separate", option.Paper()).With(layers, option.OnImages()),
	}
}

func (p *Problem) options() []*option.Option {
	paper, cifar := option.Paper(), option.If(option.NameDataset, "cifar10")
	regularizer := func(kinds ...string) option.Condition { return option.If("regularizer", kinds...) }
	onSurrogate := option.If("bounds-on", string(session.OnSurrogate))
	onDecisions := option.If("bounds-on", string(session.OnDecisions))
	fairness := option.Problem(option.DemographicParity, option.EqualizedOdds, option.Intersectional)
	rates, plain := option.OnRates(), noBound()
	return []*option.Option{
		option.Custom("minimize", "RATE", p.setMinimize, func() string { return p.Minimize },
			"minimize this rate of the decisions: "+option.List(constraints.Objectives(), "or")+", of all rows or, as in fnr[Female], of some").
			Or(constraints.Error().String()).For(constraints.Loss().String(), plain).With(rates),
		option.Statements("subject-to", &p.SubjectTo, "CONSTRAINT",
			"bound a rate of the decisions, as in \"fpr <= 5%\", \"recall[shirt] >= 0.9\", \"gap(tpr, race) <= 0.02\"; may be repeated;"+
				" see docs/reference/language.md; without a bound, ppal trains a plain model", readConstraint).Or("").With(rates),
		option.Choice("bounds-on", &p.BoundsOn, "let the bounds hold for the counted decisions, or for the smooth surrogates as in the published problems",
			session.OnDecisions, session.OnSurrogate).
			Or(string(session.OnSurrogate)).For(string(session.OnDecisions), rates),
		option.Number("confidence", &p.Confidence, option.Within(0, 1),
			"let the bounds hold on new rows with this probability, as in 0.95: the validation rows choose the threshold; 0: on the training rows;"+
				" see docs/reference/confidence.md").Or("0").With(onDecisions),
		option.Names("classes", &p.ClassNames, "NAME,NAME[,...]", "take these classes, in this order: names or numbers of pictures' classes, or values of your"+
			" own table's label, without the rows of other classes; mnpc minimises the loss of the first").
			OrRule("all", none).
			For("0,1,2,3,4,5,6,7,8,9", option.Problem(option.ClassRates), option.If(option.NameDataset, "fashion-mnist", "cifar10")).
			For(counts(session.DefaultClasses()), onPictures()).
			With(option.If(option.NameDataset, namesOf(func(d datasets.Dataset) bool { return d.Own || !d.Tabular() })...).Called("pictures or your own table")),
		option.Numbers("kappa", &p.Kappa, option.AtLeast(0), "X[,X...]", "bound the loss of each other class, by one value or one for each").
			Or(option.Float(session.DefaultKappa)).For("2", paper, cifar).For("1", paper).For("0.6", cifar).With(option.Problem(option.NeymanPearson)),
		option.Numbers("epsilon", &p.Epsilon, option.AtLeast(0), "X[,X]", "bound each gap; eo takes one value or two").
			Or(option.Float(session.DefaultEpsilon)).With(fairness),
		ofTask(option.Choice("phi", &p.Phi, "choose the surrogate of the error in the objective", session.Sigmoid, session.Logistic, session.Hinge),
			func(d session.Defaults) string { return string(d.Phi) }, option.Published()).With(option.Problem(option.Published()...), onSurrogate),
		ofTask(option.Choice("psi", &p.Psi, "choose the surrogate of the error in the constraints", session.Sigmoid, session.Hinge),
			func(d session.Defaults) string { return string(d.Psi) }, fairness.Values).With(fairness, onSurrogate),
		option.Words("eo-form", p.eoForm, p.setEOForm,
			"two: bound the gaps of the true and of the false positive rates; max: bound the larger gap", "two", string(session.LargestGap)).
			With(option.Problem(option.EqualizedOdds), onSurrogate),
		option.Choice("if-form", &p.IFForm, "each: bound each group; expectation: bound the mean over the groups; sampled: the same, by one group drawn at each step",
			session.EachGroup, session.AverageGroup, session.SampledGroup).
			For("sampled", option.If(option.NameMethod, "multiplier-model")).For("expectation", paper).
			With(option.Problem(option.Intersectional)),
		ofTask(option.Enum("regularizer", &p.Regularizer, "choose the convex term r on the weights", problem.RegularizerNames()...),
			func(d session.Defaults) string { return d.Regularizer.Kind.String() }, append(option.OnTables().Values, option.NeymanPearson, option.ClassRates)).
			For(problem.SquaredL2.String(), fairness, onDecisions),
		option.Number("theta", &p.Theta, option.Positive, "set the radius of the ball").
			Or(option.Float(session.DefaultsOf(option.NeymanPearson).Regularizer.Radius)).For("1", paper).With(regularizer("ball")),
		option.Number("regularizer-weight", &p.RegularizerWeight, option.Positive, "set the factor of the regularizer").
			For(option.Float(session.DefaultRidge), option.OnRates(), regularizer("l2")).
			For(option.Float(session.DefaultRidge), fairness, onDecisions, regularizer("l2")).
			With(regularizer("l1", "l2", "group-l1")),
		option.Numbers("box", &p.Box, option.Interval{}, "LO,HI", "set the bounds of every weight").With(regularizer("box")),
	}
}

// noBound is the condition that a problem in the language of constraints has no bound.
func noBound() option.Condition { return option.If("subject-to", "").Called("without --subject-to") }

// readConstraint returns the canonical text of a constraint.
func readConstraint(text string) (string, error) {
	c, err := constraints.Parse(text)
	return c.String(), place(err, text)
}

// place shortens an error of the constraint language, whose text the flag's error repeats.
func place(err error, text string) error {
	var e *constraints.SyntaxError
	if errors.As(err, &e) && e.Text == text {
		return errors.New(e.Detail())
	}
	return err
}

func (p *Problem) setMinimize(text string) error {
	r, err := constraints.ParseRate(text)
	if err != nil {
		return place(err, text)
	}
	if !slices.Contains(constraints.Objectives(), r.Name()) {
		return fmt.Errorf("must be one of %s, with or without a class or group", option.List(constraints.Objectives(), "or"))
	}
	p.Minimize = r.String()
	return nil
}

// eoForm returns the word of --eo-form.
func (p *Problem) eoForm() string { return cmp.Or(string(p.EOForm), "two") }

func (p *Problem) setEOForm(word string) {
	if p.EOForm = ""; word == string(session.LargestGap) {
		p.EOForm = session.LargestGap
	}
}

func (m *Method) options() []*option.Option {
	return []*option.Option{
		option.Choice(option.NameMethod, &m.Name, "choose the method (see ppal methods); auto: alm, with quasi-Newton steps, for smooth functions on all rows; else ppala, or plada for a constraint with a kink; unconstrained without a bound", append([]string{Auto}, method.Names()...)...).As("NAME"),
		option.Choice(option.NamePreset, &m.Preset, "take the defaults that work well in practice, or the values of the paper by Moon et al.",
			option.PresetPractical, option.PresetPaper),
	}
}

func (r *Run) options() []*option.Option {
	return []*option.Option{
		option.Count("iterations", &r.Iterations, option.AtLeast(0), "stop after N iterations; 0 writes the initial weights").
			Or(strconv.Itoa(session.DefaultIterations)),
		option.Custom("time-limit", "TIME|none", r.setTimeLimit, func() string { return r.TimeLimit }, "stop the training after this wall time of the run, such as 90s or 10m; reading and records count", "none").Or("none"),
		option.Number("tolerance", &r.Tolerance, option.AtLeast(0),
			"stop at the first record whose KKT certificate has an epsilon of at most X; 0: never").Or("0"),
		option.Count("batch-size", &r.BatchSize, option.AtLeast(0),
			"train on mini-batches with the same share of every class and group, and then on all rows; 0: all rows from the start, as the methods' theory assumes").Or("0").In("rows"),
		option.Either("samples", &r.AllRows, "auto", "none",
			"auto: the first quasi-Newton steps of a large problem on the CPU see a growing sample of the rows; none: every step sees all rows"),
		option.Seed("seed", &r.Seed, "seed the weights, the mini-batches and the built-in data").Or("1"),
		option.Choice("output", &r.Output, "save the last iterate, the feasible record with the smallest objective, or a random iterate",
			trainer.OutputLast, trainer.OutputBest, trainer.OutputRandom),
		option.Choice("select", &r.Select,
			"save the last iterate, or the record with the smallest violation, and then the smallest objective, on the training or validation rows",
			trainer.OutputLast, trainer.OutputBestTrain, trainer.OutputBestValidation).
			OrRule("last; with --patience: best-validation", r.defaultSelect, "patience", "output"),
		option.Count("patience", &r.Patience, option.AtLeast(0),
			"stop after N checks in a row without an improvement on the validation rows (a check follows each 1/200 of --iterations); 0: never").Or("0").In("checks"),
		option.Number("feasibility-tolerance", &r.FeasibilityTolerance, option.Positive, "count a constraint as met up to this violation").
			Or(option.Float(trainer.DefaultFeasibilityTolerance)),
		option.Text("out", &r.Out, "DIR", "write the run to this new directory").
			OrRule("runs/<time>-<problem>-<method>", none),
		option.Custom("record-every", "N|auto", r.setRecordEvery, r.recordEvery,
			"record every N iterations, which changes neither the weights nor the end of the run; auto: at most 200 records a run, which take at most a tenth of the training time if it exceeds 10 s", automatic).Or(automatic),
		option.Count("near-stationarity", &r.NearStationarity, option.AtLeast(0),
			"measure near stationarity at the first, the last and every N-th record, for some hundred passes over the rows each; 0: never").
			Or("0").In("records"),
		option.Count("examples", &r.Examples, option.AtLeast(0),
			"show the rows of N wrong decisions of each class in report.html; 0: none, so that the run's directory holds no rows of the data").
			Or(strconv.Itoa(session.DefaultExamples)),
		option.Text("init", &r.Init, "FILE", "start from the weights in this safetensors file").Or(""),
		option.Switch("tensorboard", &r.TensorBoard, "also write the records as event files for TensorBoard, which reads the directory with tensorboard --logdir DIR"),
		option.Choice("log-format", &r.LogFormat, "write log lines as text or as JSON when stderr is not a terminal", "text", "json"),
		option.Switch("quiet", &r.Quiet, "print errors and the final table only"),
	}
}

// defaultSelect is the choice of a run whose settings do not name one: early stopping returns to
// the best record, unless --output chooses.
func (r *Run) defaultSelect() string {
	if r.Patience > 0 && r.Output == trainer.OutputLast {
		return string(trainer.OutputBestValidation)
	}
	return string(trainer.OutputLast)
}

// options returns the session's options of the device, and explain behind micro-batch.
func (d *Device) options() []*option.Option {
	list := d.Options()
	at := 1 + slices.IndexFunc(list, func(o *option.Option) bool { return o.Name == "micro-batch" })
	return slices.Insert(list, at, option.Switch("explain", &d.Explain, "print the plan of the computation before training").With(session.OnPlan()))
}
