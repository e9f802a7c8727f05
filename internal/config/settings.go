package config

import (
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
	groupData    = "Data"
	groupModel   = "Model"
	groupProblem = "Problem"
	GroupMethod  = "Method"
	GroupRun     = "Run"
	groupDevice  = "Device"
)

// Groups returns the headings of the help in order.
func Groups() []string {
	return []string{groupData, groupModel, groupProblem, GroupMethod, GroupRun, groupDevice}
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

// group is the settings under one heading, bound to a configuration. A heading may have several
// groups.
type group struct {
	name    string
	options []*option.Option
	shared  func() []*Key // the settings of all methods or tasks that follow; nil: none
}

// ofTask sets the default of an option that the problem decides. text returns the default of a
// task; the help shows that of session.DefaultTask as the usual default.
func ofTask(o *option.Option, text func(d session.Defaults) string) {
	usual := ""
	var others []string // defaults that differ from the usual one
	names := map[string][]string{}
	for _, d := range session.Tasks() {
		own := text(d.Defaults)
		if d.Name == session.DefaultTask {
			usual = own
		}
		if names[own] == nil {
			others = append(others, own)
		}
		names[own] = append(names[own], d.Name)
	}
	for _, other := range others {
		if other != usual {
			o.For(other, onProblem(names[other]...))
		}
	}
	o.Or(usual)
}

// onProblem is the condition that the run's problem is one of the names.
func onProblem(names ...string) option.Condition { return option.If(option.NameProblem, names...) }

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
// presets.
func (t *Train) groups() []group {
	return []group{
		{groupData, preset.Apply(t.Data.options()), nil},
		{groupModel, preset.Apply(t.Model.options()), nil},
		{groupProblem, append([]*option.Option{t.Data.classes()}, preset.Apply(option.Of(t.Task))...), taskKeys},
		{groupProblem, preset.Apply(t.Problem.regularizer()), nil},
		{GroupMethod, preset.Apply(t.Method.options()), methodKeys},
		{GroupRun, preset.Apply(insert(option.Of(&t.Session), "record-every", t.Run.options()...)), nil},
		{groupDevice, preset.Apply(insert(option.Of(&t.Session.Device), "dtype", t.Run.deviceOptions()...)), nil},
	}
}

// program returns the settings that a session does not have, under their headings.
func (t *Train) program() []group {
	return []group{
		{GroupMethod, t.Method.options(), nil},
		{GroupRun, t.Run.options(), nil},
		{groupDevice, t.Run.deviceOptions(), nil},
	}
}

// options returns the settings of the model with the defaults of the tasks.
func (m *Model) options() []*option.Option {
	list := option.Of(&m.Shape)
	ofTask(find(list, "model"), func(d session.Defaults) string {
		s, _ := models.ShapeOf(d.Spec())
		return s.Model
	})
	ofTask(find(list, "hidden"), func(d session.Defaults) string { return counts(d.Hidden) })
	ofTask(find(list, "activation"), func(d session.Defaults) string { return string(d.Activation) })
	return list
}

// regularizer returns the settings of the regularizer with the program's defaults.
func (p *Problem) regularizer() []*option.Option {
	list := option.Of(&p.Regularizer)
	for _, o := range list {
		o.With(option.Trained())
	}
	kind, l2 := find(list, "regularizer"), option.If("regularizer", problem.SquaredL2.String())
	var ridge []string // the problems with another regularizer of bounds on decisions
	for _, d := range session.Tasks() {
		if d.Defaults.OnDecisions.Kind == problem.SquaredL2 {
			ridge = append(ridge, d.Name)
		}
		if r := d.Defaults.Regularizer; r.Kind == problem.Ball {
			find(list, "theta").Or(option.Float(r.Radius))
		}
	}
	kind.For(problem.SquaredL2.String(), onProblem(ridge...), option.If("bounds-on", string(constraints.OnDecisions)))
	ofTask(kind, func(d session.Defaults) string { return d.Regularizer.Kind.String() })
	find(list, "regularizer-weight").For(option.Float(session.DefaultRidge), l2)
	return list
}

func (m *Method) options() []*option.Option {
	return []*option.Option{
		option.Choice(option.NameMethod, &m.Name, "choose the method (ppal methods marks those for comparisons); auto: alm, with quasi-Newton steps, for smooth functions on all rows; else ppala, or plada for a constraint with a kink; unconstrained without a bound", append([]string{auto}, method.Names()...)...).As("NAME").And(option.Trained()),
		option.Choice(option.NamePreset, &m.Preset, "take the defaults that work well in practice, or the values of the paper by Moon et al.",
			preset.Practical, preset.Paper).And(option.Trained()),
	}
}

// options returns the program's settings of the run.
func (r *Run) options() []*option.Option {
	return []*option.Option{
		option.Text("out", &r.Out, "DIR", "write the run to this new directory").OrRule("runs/<time>-<problem>-<method>", none),
		option.Choice("log-format", &r.LogFormat, "write log lines as text or as JSON when stderr is not a terminal", "text", "json"),
		option.Switch("quiet", &r.Quiet, "print errors and the final table only"),
	}
}

// deviceOptions returns the program's settings of the device.
func (r *Run) deviceOptions() []*option.Option {
	return []*option.Option{
		option.Switch("explain", &r.Explain, "print the plan of the computation before training").With(option.OnPlan()),
	}
}

// insert adds options before the named option.
func insert(list []*option.Option, before string, more ...*option.Option) []*option.Option {
	return slices.Insert(list, slices.IndexFunc(list, func(o *option.Option) bool { return o.Name == before }), more...)
}
