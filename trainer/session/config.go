package session

import (
	"cmp"
	"math"
	"slices"

	"ppal/constraints"
	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/certify/near"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// Config returns the contents of config.yaml: every option under the name of its flag, with the
// defaults filled in, and the provenance. `ppal train --config` repeats the run. The key
// only-in-program lists the parts of the run that no flag expresses, such as a task of the
// caller's own. `ppal train` refuses a file with this key.
func (o Options) Config(p Provenance) ([]byte, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return describe(o).file(p)
}

// configuration collects the settings of a run for config.yaml.
type configuration struct {
	group    string // the group of the next settings
	settings []rundir.Setting
	beyond   []string // the parts that no flag expresses
	// method is called when the file is written, and its settings come before settings[at]: the choice
	// of the primal step needs the problem.
	method func(c *configuration)
	at     int
}

// describe returns the configuration of complete options.
func describe(o Options) *configuration {
	c := &configuration{}
	c.group = "Data"
	task, ok := o.Task.(interface {
		settings(c *configuration, smooth bool)
	})
	if ok {
		c.put(option.NameProblem, o.taskName())
	} else {
		c.own("the task", "own-task", o.Task)
	}
	if o.Data == nil {
		c.cannot("the rows")
	} else {
		c.part("the rows", "own-source", o.Data, o.Settings.Seed)
	}
	c.group = "Model"
	if o.Model != nil {
		c.model(o.Model)
	}
	c.group = "Problem"
	if ok {
		task.settings(c, method.Smooth(o.Method))
	}
	if o.Regularizer != nil {
		c.regularizer(*o.Regularizer)
	}
	m, s := o.Method, o.Settings
	c.method, c.at = func(c *configuration) { c.ofMethod(m, s) }, len(c.settings)
	c.group = "Run"
	c.run(o)
	c.group = "Device"
	c.device(o.Device)
	return c
}

// file returns the contents of config.yaml.
func (c *configuration) file(p Provenance) ([]byte, error) {
	m := &configuration{group: "Method", settings: slices.Clone(c.settings[:c.at]), beyond: slices.Clone(c.beyond)}
	c.method(m)
	settings := slices.Concat(m.settings, c.settings[c.at:])
	if m.beyond != nil {
		settings = slices.Concat([]rundir.Setting{{Name: rundir.ProgramKey, Value: m.beyond}}, settings)
	}
	return rundir.ConfigFile(settings, p)
}

// put adds a setting. value is a text, a path or a list.
func (c *configuration) put(name string, value any) {
	c.settings = append(c.settings, rundir.Setting{Name: name, Value: value, Group: c.group})
}

// options adds the settings that the run has, and those that the caller gives in vain.
func (c *configuration) options(list []*option.Option) {
	for _, o := range list {
		text := o.Text()
		if _, unmet := o.Unmet(c.text); text == "" || unmet && o.Idle() {
			continue
		}
		s := rundir.SettingOf(o, text)
		s.Group = c.group
		c.settings = append(c.settings, s)
	}
}

// cannot records a part of the run that no flag expresses.
func (c *configuration) cannot(part string) { c.beyond = append(c.beyond, part) }

// numbers adds a list of numbers; other replaces an empty list.
func (c *configuration) numbers(name string, list []float64) {
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = option.Float(x)
	}
	c.put(name, texts)
}

func (c *configuration) number(name string, x float64) { c.put(name, option.Float(x)) }

// Described is a part of a run whose settings are flags of ppal train.
type Described interface {
	// Settings returns the flags with the values of the part, and names what no flag expresses. seed
	// is the seed of the run.
	Settings(seed uint64) (flags []*option.Option, beyond []string)
}

// Setting is a name and a value in config.yaml.
type Setting struct{ Name, Value string }

// Configured is a Source, a Model or a Task of a program's own that states its settings. They are
// in config.yaml under own-source, own-model or own-task, as a list of NAME=VALUE.
type Configured interface {
	Configuration() []Setting
}

// own records that no flag expresses a part of the run, with the settings that the part states.
func (c *configuration) own(name, key string, part any) {
	c.cannot(name)
	of, ok := part.(Configured)
	if !ok {
		return
	}
	var list []string
	for _, s := range of.Configuration() {
		list = append(list, s.Name+"="+s.Value)
	}
	c.put(key, list)
}

// part adds the settings of a part of the run, or records that no flag expresses the part.
func (c *configuration) part(name, key string, of any, seed uint64) {
	d, ok := of.(Described)
	if !ok {
		c.own(name, key, of)
		return
	}
	flags, beyond := d.Settings(seed)
	c.options(flags)
	c.beyond = append(c.beyond, beyond...)
}

// ModelOptions returns the settings of a model's shape, bound to the fields of s. Only the classes
// of pictures may have separate heads.
func ModelOptions(s *models.Spec) []*option.Option {
	list := s.Options()
	for _, o := range list {
		if o.Name == "heads" {
			o.And(option.If(option.NameProblem, NameNeymanPearson, NameClassRates))
		}
	}
	return list
}

// model adds the model's shape.
func (c *configuration) model(m Model) {
	s, ours := m.(models.Spec)
	if !ours {
		c.put("model", m.Kind())
		c.own("the model", "own-model", m)
		return
	}
	if s = s.WithDefaults(); len(s.Hidden) == 0 {
		s = models.Spec{} // ignores the other fields
	}
	c.options(ModelOptions(&s))
}

func (t Decisions) settings(c *configuration, _ bool) {
	c.put("minimize", t.minimize().String())
	var list []string
	for _, s := range t.SubjectTo {
		list = append(list, s.String())
	}
	if list != nil { // nil: a table without a bound
		c.put("subject-to", list)
	}
	c.put("bounds-on", string(cmp.Or(t.BoundsOn, OnDecisions)))
	if t.BoundsOn != OnSurrogate {
		c.number("confidence", t.Confidence)
	}
	if t.Margins != nil {
		c.cannot("the surrogates of margins")
	}
	if t.Objective != nil {
		c.cannot("the objective")
	}
}

// boundsOn adds the values that the bounds of a published problem apply to; "" means OnSurrogate.
func (c *configuration) boundsOn(on BoundsOn, confidence float64) {
	if c.put("bounds-on", string(cmp.Or(on, OnSurrogate))); on == OnDecisions || confidence != 0 {
		c.number("confidence", confidence)
	}
}

// fairness adds the settings that the tasks of two classes share.
func (c *configuration) fairness(on BoundsOn, confidence float64, epsilon []float64, phi, psi constraints.Phi) {
	c.boundsOn(on, confidence)
	if c.numbers("epsilon", epsilon); on != OnDecisions {
		c.put("phi", string(phi))
		c.put("psi", string(psi))
	}
}

// regularizer adds the settings of r.
func (c *configuration) regularizer(r problem.Regularizer) {
	list := r.Options()
	if math.IsInf(r.Lower, 0) || math.IsInf(r.Upper, 0) {
		list = slices.DeleteFunc(list, func(o *option.Option) bool { return o.Name == "box" })
		c.cannot("the box with an infinite bound")
	}
	c.options(list)
	if r.Groups != nil {
		c.cannot("the groups of the regularizer")
	}
}

// ofMethod adds the method and its settings.
func (c *configuration) ofMethod(m trainer.Method, s trainer.Settings) {
	if m == nil {
		c.cannot("the method")
		return
	}
	texts, beyond, ok := method.Texts(m, s.FeasibilityTolerance, s.Seed, c.text)
	if !ok {
		c.cannot("the method")
		return
	}
	c.put(option.NameMethod, m.Name())
	for _, t := range texts {
		c.put(t.Name, t.Value)
	}
	for _, field := range beyond {
		c.cannot("the method's field " + field)
	}
}

// text returns the text of a setting that is already in the configuration, or "".
func (c *configuration) text(name string) string {
	for _, s := range c.settings {
		if text, ok := s.Value.(string); ok && s.Name == name {
			return text
		}
	}
	return ""
}

// run adds the settings of the training loop and of the run.
func (c *configuration) run(o Options) {
	s := o.Settings
	c.options(o.RunOptions())
	if s.TimeLimit > 0 {
		c.cannot("the limit on the training time")
	}
	if s.CheckEvery > 0 {
		c.cannot("the interval of the checks")
	}
	if !s.Deadline.IsZero() {
		c.cannot("the deadline")
	}
	if s.Gradients > 0 {
		c.cannot("the limit on gradient evaluations")
	}
	if s.Resume != nil {
		c.cannot("the state that the run resumes")
	}
	if s.Certificate != (certify.Settings{}) {
		c.cannot("the tolerances of the certificate")
	}
	if s.IgnoreConflict {
		c.cannot("that the run goes on although its bounds cannot be met")
	}
	if s.Near != (near.Settings{}) {
		c.cannot("the settings of near stationarity")
	}
}

// device adds the settings of the device.
func (c *configuration) device(d Device) {
	if d.Kind == "" && d.Ordinal > 0 {
		c.cannot("the number of a GPU with automatic devices")
	}
	d.Engine = cmp.Or(d.Engine, Plan)
	c.options(d.Options())
	if d.OpenGPU != nil {
		c.cannot("the GPU that the program opens")
	}
}
