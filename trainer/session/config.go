package session

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
)

// Config returns the contents of config.yaml: every option under the name of its flag, with the
// defaults filled in, and the provenance unless it is zero. `ppal train --config` repeats the run.
// The key only-in-program lists the parts of the run that no flag expresses, such as a task of the
// caller's own. `ppal train` refuses a file with this key.
func (o Options) Config(p results.Provenance) ([]byte, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return o.configFile(p)
}

// configFile returns the contents of config.yaml of complete options. The method may have been
// chosen, and its primal step settled, since the options were completed.
func (o *Options) configFile(p results.Provenance) ([]byte, error) {
	return o.configuration.file(o.Method, o.Settings, o.Files.Settings, p)
}

// withFlags is a source whose settings are flags of ppal train: flagSettings returns them with
// their values.
type withFlags interface{ flagSettings() []*option.Option }

// beyondFlags is a part of a run, such as a source or a task, with fields that no flag expresses:
// beyond names those that are set. seed is the seed of the run.
type beyondFlags interface{ beyond(seed uint64) []string }

// Setting is a line of config.yaml.
type Setting struct {
	Name  string
	Value any    // a string, or a []string for a list
	Group string // heading of the setting, such as "Run"
	Note  string // a remark behind the value, or ""
}

// Configured is a Source, a Model or a Task of a program's own that states its settings. They are
// in config.yaml under own-source, own-model or own-task, as a list of NAME=VALUE.
type Configured interface {
	Configuration() []Setting
}

// The headings of config.yaml.
const (
	groupData    = "Data"
	groupModel   = "Model"
	groupProblem = "Problem"
	groupMethod  = "Method"
	groupRun     = "Run"
	groupDevice  = "Device"
)

// configuration collects the settings of a run for config.yaml.
type configuration struct {
	group    string // the group of the next settings
	settings []rundir.Setting
	beyond   []string // the parts that no flag expresses
}

// describe returns the configuration of complete options, without the method.
func describe(o Options) *configuration {
	c, seed := &configuration{}, o.Settings.Seed
	c.group = groupData
	d, named := o.description()
	if named {
		c.put(option.NameProblem, d.Name)
	}
	c.part("the rows", "own-source", readFrom(o.Data), seed)
	c.group = groupModel
	if o.Model != nil {
		c.model(o.Model, seed)
	}
	c.group = groupProblem
	_, flags := o.Task.(Flagged)
	switch {
	case settingsOf(o.Task) != nil, !named, !flags && taskOptions(d.New()) != nil: // the fields of a copy of a Flagged task have no flags
		c.part("the task", "own-task", o.Task, seed)
	case flags:
		c.add(taskOptions(o.Task), nil)
	}
	if o.Regularizer != nil && c.text("model") != models.KindScores {
		c.add(regularizerSettings(*o.Regularizer))
	}
	c.group = groupRun
	c.add(o.runSettings())
	c.group = groupDevice
	c.add(o.Device.settings())
	return c
}

// file returns the contents of config.yaml with the settings of the method and of the program.
func (c *configuration) file(m trainer.Method, s trainer.Settings, program []Setting, p results.Provenance) ([]byte, error) {
	at := slices.IndexFunc(c.settings, func(s rundir.Setting) bool { return s.Group == groupRun })
	own := &configuration{group: groupMethod, settings: slices.Clone(c.settings[:at]), beyond: slices.Clone(c.beyond)}
	own.ofMethod(m, s)
	own.settings = append(own.settings, c.settings[at:]...)
	if own.text("iterations") == automatic && s.Iterations > 0 { // the data decided the number
		program = append(slices.Clip(program), Setting{Name: "iterations", Value: strconv.Itoa(s.Iterations)})
	}
	if own.beyond != nil {
		own.settings = slices.Insert(own.settings, 0, rundir.Setting{Name: rundir.ProgramKey, Value: own.beyond})
	}
	for _, line := range program {
		own.replace(rundir.Setting(line))
	}
	if reflect.ValueOf(p).IsZero() {
		return rundir.ConfigFile(own.settings, nil)
	}
	return rundir.ConfigFile(own.settings, p)
}

// replace replaces the setting of the same name, or adds the setting at the end of its group. A nil
// value keeps the value and adds the note; an empty text removes the setting.
func (c *configuration) replace(s rundir.Setting) {
	at := slices.IndexFunc(c.settings, func(other rundir.Setting) bool { return other.Name == s.Name })
	switch {
	case at >= 0 && s.Value == "":
		c.settings = slices.Delete(c.settings, at, at+1)
	case at >= 0:
		if s.Value == nil {
			s.Value = c.settings[at].Value
		}
		s.Group = c.settings[at].Group
		c.settings[at] = s
	case s.Value != "" && s.Value != nil:
		end := len(c.settings)
		for end > 0 && c.settings[end-1].Group != s.Group {
			end--
		}
		if end == 0 {
			end = len(c.settings)
		}
		c.settings = slices.Insert(c.settings, end, s)
	}
}

// put adds a setting. value is a text, a path or a list.
func (c *configuration) put(name string, value any) {
	c.settings = append(c.settings, rundir.Setting{Name: name, Value: value, Group: c.group})
}

// add adds the settings that the run has, and those that the caller gives in vain, and what no flag
// expresses.
func (c *configuration) add(flags []*option.Option, beyond []string) {
	for _, o := range flags {
		text := o.Text()
		if _, unmet := o.Unmet(c.text); text == "" || unmet && o.Idle() {
			continue
		}
		s := rundir.SettingOf(o, text)
		s.Group = c.group
		c.settings = append(c.settings, s)
	}
	c.beyond = append(c.beyond, beyond...)
}

// part adds the settings of a part of the run. A part without flags is beyond the file, with the
// settings that it states.
func (c *configuration) part(name, key string, part any, seed uint64) {
	if d, ok := part.(beyondFlags); ok {
		c.beyond = append(c.beyond, d.beyond(seed)...)
	}
	list := settingsOf(part)
	if d, ok := part.(withFlags); ok {
		list = d.flagSettings()
	}
	if list != nil {
		c.add(list, nil)
		return
	}
	c.beyond = append(c.beyond, name)
	if configured, ok := part.(Configured); ok {
		var list []string
		for _, s := range configured.Configuration() {
			list = append(list, fmt.Sprintf("%s=%v", s.Name, s.Value))
		}
		c.put(key, list)
	}
}

func init() {
	option.Describe((*Options).runOptions)
	option.Describe((*Device).options)
	option.Describe((*Images).options)
	option.Amend[models.Shape](headsOfClasses)
}

// headsOfClasses lets only the classes of pictures have separate heads.
func headsOfClasses(list []*option.Option) {
	var classes []string
	for _, d := range Tasks() {
		if d.Rows != TableRows {
			classes = append(classes, d.Name)
		}
	}
	for _, o := range list {
		if o.Name == "heads" {
			o.And(option.If(option.NameProblem, classes...))
		}
	}
}

// model adds the model's shape.
func (c *configuration) model(m models.Architecture, seed uint64) {
	s, ours := models.ShapeOf(m)
	if !ours {
		c.put("model", m.Kind())
		c.part("the model", "own-model", m, seed)
		return
	}
	c.add(option.Of(&s), nil)
}

// regularizerSettings returns the settings of r, and what no flag expresses.
func regularizerSettings(r problem.Regularizer) (flags []*option.Option, beyond []string) {
	flags = option.Of(&r)
	if math.IsInf(r.Lower, 0) || math.IsInf(r.Upper, 0) {
		flags = slices.DeleteFunc(flags, func(o *option.Option) bool { return o.Name == "box" })
		beyond = append(beyond, "the box with an infinite bound")
	}
	if r.Groups != nil {
		beyond = append(beyond, "the groups of the regularizer")
	}
	return flags, beyond
}

// ofMethod adds the method and its settings.
func (c *configuration) ofMethod(m trainer.Method, s trainer.Settings) {
	if c.text("model") == models.KindScores {
		return
	}
	var texts []method.Text
	var fields []string
	known := false
	if m != nil {
		texts, fields, known = method.Texts(m, s.FeasibilityTolerance, s.Seed, c.text)
	}
	if !known {
		c.beyond = append(c.beyond, "the method")
		return
	}
	c.put(option.NameMethod, m.Name())
	for _, t := range texts {
		c.put(t.Name, t.Value)
	}
	for _, field := range fields {
		c.beyond = append(c.beyond, "the method's field "+field)
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
