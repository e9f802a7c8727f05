package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/models"
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
		o.For(d, onProblem(names[d]...))
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

// groups returns the settings of the run, without those of the method, with the defaults of the
// presets. The choice of the classes is a setting of the data under the heading of the problem.
func (t *Train) groups() []group {
	return []group{
		{GroupData, preset.Apply(t.Data.options())},
		{GroupModel, preset.Apply(t.Model.options())},
		{GroupProblem, insert(preset.Apply(t.Problem.options()), "kappa", t.Data.classes())},
		{GroupMethod, preset.Apply(t.Method.options())},
		{GroupRun, preset.Apply(t.Run.options())},
		{GroupDevice, preset.Apply(t.Run.deviceOptions())},
	}
}

// options returns the settings of the model with the defaults of the tasks.
func (m *Model) options() []*option.Option {
	list := session.ModelOptions(&m.Spec)
	ofTask(find(list, "model"), func(d session.Defaults) string {
		var s models.Spec
		if !d.Linear {
			s.Hidden = d.Hidden
		}
		return find(s.Options(), "model").Text()
	}, problems())
	ofTask(find(list, "hidden"), func(d session.Defaults) string { return counts(d.Hidden) }, problems())
	ofTask(find(list, "activation"), func(d session.Defaults) string { return string(d.Activation) }, problems())
	return list
}

func (p *Problem) options() []*option.Option {
	onSurrogate := option.If("bounds-on", string(session.OnSurrogate))
	onDecisions := option.If("bounds-on", string(session.OnDecisions))
	fairness := onProblem(fair()...)
	rates, plain := OnRates(), noBound()
	return append([]*option.Option{
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
		option.Numbers("kappa", &p.Kappa, option.AtLeast(0), "X[,X...]", "bound the loss of each other class, by one value or one for each").
			Or(option.Float(session.DefaultKappa)).With(onProblem(session.NameNeymanPearson)),
		option.Numbers("epsilon", &p.Epsilon, option.AtLeast(0), "X[,X]", "bound each gap; eo takes one value or two").
			Or(option.Float(session.DefaultEpsilon)).With(fairness),
		ofTask(option.Choice("phi", &p.Phi, "choose the surrogate of the error in the objective", constraints.Sigmoid, constraints.Logistic, constraints.Hinge),
			func(d session.Defaults) string { return string(d.Phi) }, published()).With(onProblem(published()...), onSurrogate),
		ofTask(option.Choice("psi", &p.Psi, "choose the surrogate of the error in the constraints", constraints.Sigmoid, constraints.Hinge),
			func(d session.Defaults) string { return string(d.Psi) }, fairness.Values).With(fairness, onSurrogate),
		option.Words("eo-form", p.eoForm, p.setEOForm,
			"two: bound the gaps of the true and of the false positive rates; max: bound the larger gap", "two", string(constraints.Maximum)).
			With(onProblem(session.NameEqualizedOdds), onSurrogate),
		option.Choice("if-form", &p.IFForm, "each: bound each group; expectation: bound the mean over the groups; sampled: the same, by one group drawn at each step",
			session.EachGroup, session.AverageGroup, session.SampledGroup).
			For("sampled", option.If(option.NameMethod, "multiplier-model")).
			With(onProblem(session.NameIntersectional)),
	}, p.regularizer(fairness, onDecisions)...)
}

// regularizer returns the settings of the regularizer with the program's defaults.
func (p *Problem) regularizer(fairness, onDecisions option.Condition) []*option.Option {
	list := p.Regularizer.Options()
	ridge, l2 := option.Float(session.DefaultRidge), option.If("regularizer", problem.SquaredL2.String())
	ofTask(find(list, "regularizer"), func(d session.Defaults) string { return d.Regularizer.Kind.String() },
		append(OnTables().Values, session.NameNeymanPearson, session.NameClassRates)).
		For(problem.SquaredL2.String(), fairness, onDecisions)
	find(list, "theta").Or(option.Float(session.DefaultsOf(session.NameNeymanPearson).Regularizer.Radius))
	find(list, "regularizer-weight").For(ridge, OnRates(), l2).For(ridge, fairness, onDecisions, l2)
	return list
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
	if p.EOForm = ""; word == string(constraints.Maximum) {
		p.EOForm = constraints.Maximum
	}
}

func (m *Method) options() []*option.Option {
	return []*option.Option{
		option.Choice(option.NameMethod, &m.Name, "choose the method (see ppal methods); auto: alm, with quasi-Newton steps, for smooth functions on all rows; else ppala, or plada for a constraint with a kink; unconstrained without a bound", append([]string{Auto}, method.Names()...)...).As("NAME"),
		option.Choice(option.NamePreset, &m.Preset, "take the defaults that work well in practice, or the values of the paper by Moon et al.",
			preset.Practical, preset.Paper),
	}
}

// options returns the session's options of the run, and those of the program between them.
func (r *Run) options() []*option.Option {
	list := insert(r.Session.RunOptions(), "record-every", option.Text("out", &r.Out, "DIR", "write the run to this new directory").
		OrRule("runs/<time>-<problem>-<method>", none))
	return append(list,
		option.Choice("log-format", &r.LogFormat, "write log lines as text or as JSON when stderr is not a terminal", "text", "json"),
		option.Switch("quiet", &r.Quiet, "print errors and the final table only"))
}

// deviceOptions returns the session's options of the device, and explain.
func (r *Run) deviceOptions() []*option.Option {
	return insert(r.Session.Device.Options(), "dtype",
		option.Switch("explain", &r.Explain, "print the plan of the computation before training").With(session.OnPlan()))
}

// insert adds an option before the named option.
func insert(list []*option.Option, before string, o *option.Option) []*option.Option {
	return slices.Insert(list, slices.IndexFunc(list, func(o *option.Option) bool { return o.Name == before }), o)
}
