package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// ErrUsage marks unknown settings and settings that do not fit. The error is an *Error.
var ErrUsage = errors.New("invalid configuration")

// Error reports an invalid setting.
type Error struct {
	Where   string // "--alpha -1:", or "run.yaml:3: alpha -1:"
	Problem string // the problem and the remedy
	// Flag is the flag whose value is wrong, without hyphens; "": the value is no flag's.
	Flag string
}

// Error returns one line.
func (e *Error) Error() string { return e.Where + " " + e.Problem }

// Is reports whether target is ErrUsage.
func (e *Error) Is(target error) bool { return target == ErrUsage }

// Key is one setting of the command line: a flag and a key of the YAML file.
type Key struct {
	*option.Option
	Group    string   // the heading of the help
	Everyday bool     // the short help lists it
	Owners   []string // the methods or the problems that have the setting; nil: every run has the setting

	defaults map[string]string // defaults by owner, if no preset changes them
}

// Usage returns the setting's line of the help.
func (k *Key) Usage() string {
	var others []string // defaults that differ
	names := map[string][]string{}
	for _, name := range k.Owners {
		d := k.defaults[name]
		if d != k.PlainDefault() && names[d] == nil {
			others = append(others, d)
		}
		names[d] = append(names[d], name)
	}
	own := k.DefaultHelp()
	more := own
	for _, d := range others {
		more += "; " + strings.Join(names[d], "/") + ": " + d
	}
	return strings.Replace(k.Sentence(), own, more, 1)
}

// WhyShared returns why all methods of a comparison share the setting; "" if each method may have
// its own value. Methods may differ in their own settings, in the batch size and in the device. A
// setting of the data, the model or the problem would let the method with the easiest problem win.
func (k *Key) WhyShared() string {
	switch {
	case k.Name == option.NamePreset || k.Group == groupData || k.Group == groupModel || k.Group == groupProblem:
		return fmt.Sprintf("changes the problem, which all methods share; give --%s to the whole comparison", k.Name)
	case k.Name == "feasibility-tolerance":
		return "changes which runs count as feasible; give --feasibility-tolerance to the whole comparison"
	case k.Name == option.NameMethod, k.Name == "threads", k.Name == "explain", k.Group == GroupRun && k.Name != "batch-size":
		return "is the same for all methods of a comparison"
	}
	return ""
}

// Chosen reports whether rows that do not train may choose the setting: one of the model, the
// method or the regularizer, or of the batches. Other settings change the rows, the problem or the
// output.
func (k *Key) Chosen() bool {
	return k.Group == groupModel || k.Group == GroupMethod && k.Name != option.NamePreset || k.Name == "batch-size" || k.Name == "iterations" ||
		find(option.Of(&problem.Regularizer{}), k.Name) != nil
}

// Keys returns all settings in the order of the help.
func Keys() []*Key {
	var keys []*Key
	for _, g := range new(Train).groups() {
		for _, o := range g.options {
			keys = append(keys, &Key{Option: o, Group: g.name, Everyday: slices.Contains(everyday, o.Name)})
		}
		if g.shared != nil {
			keys = append(keys, g.shared()...)
		}
	}
	return keys
}

// owner is a method or a task with its settings.
type owner struct {
	name    string
	options []*option.Option
}

// methodKeys returns the settings of all methods, one for each name.
func methodKeys() []*Key {
	var owners []owner
	for _, d := range method.All() {
		owners = append(owners, owner{d.Name, option.Of(d.New())})
	}
	return sharedKeys(GroupMethod, option.NameMethod, owners, owners[0].name)
}

// taskKeys returns the settings of all tasks, one for each name.
func taskKeys() []*Key {
	var owners []owner
	for _, d := range session.Tasks() {
		owners = append(owners, owner{d.Name, option.Of(d.New())})
	}
	return sharedKeys(groupProblem, option.NameProblem, owners, session.DefaultTask)
}

// sharedKeys returns the settings of the owners, one for each name, for the runs in which the named
// setting chooses one of its owners. The help describes the setting of the usual owner, or else of
// the first.
func sharedKeys(group, setting string, owners []owner, usual string) []*Key {
	var keys []*Key
	byName := map[string]*Key{}
	for _, candidate := range owners {
		for _, o := range candidate.options {
			k := byName[o.Name]
			if k == nil {
				k = &Key{Option: o, Group: group, Everyday: slices.Contains(everyday, o.Name), defaults: map[string]string{}}
				byName[o.Name] = k
				keys = append(keys, k)
			}
			if candidate.name == usual {
				k.Option = o
			}
			k.Owners = append(k.Owners, candidate.name)
			k.defaults[candidate.name] = o.PlainDefault()
		}
	}
	for _, k := range keys {
		if len(k.Owners) < len(owners) {
			k.With(option.If(setting, k.Owners...))
		}
		preset.Apply([]*option.Option{k.Option})
	}
	return keys
}

// Find returns a setting by its name. A method's own setting may be named without the method's
// prefix ("step" for gdpa's "gdpa-step"). It returns nil if the name is unknown.
func Find(owner, name string) *Key {
	keys := Keys()
	for _, full := range []string{name, owner + "-" + name} {
		if i := slices.IndexFunc(keys, func(k *Key) bool { return k.Name == full }); i >= 0 {
			return keys[i]
		}
	}
	return nil
}

// ParseSetting reads a setting of one method, "method.setting=value". owner is the method.
func ParseSetting(text string) (owner, name, value string, err error) {
	left, value, assigned := strings.Cut(text, "=")
	owner, short, dotted := strings.Cut(left, ".")
	if !assigned || !dotted {
		return "", "", "", &Error{Where: "--set " + text + ":", Problem: "must be METHOD.SETTING=VALUE, as in plada.eta=0.1"}
	}
	if !slices.Contains(method.Names(), owner) {
		return "", "", "", &Error{Where: "--set " + text + ":", Problem: UnknownMethod(owner)}
	}
	k := Find(owner, short)
	if k == nil {
		return "", "", "", &Error{Where: "--set " + text + ":", Problem: unknown(short, "") + " (see ppal methods " + owner + ")"}
	}
	return owner, k.Name, value, nil
}

// UnknownMethod returns the error text for an unknown method, with the most similar name.
func UnknownMethod(name string) string {
	text := "unknown method " + name
	if near := option.Nearest(name, method.Names()); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text + " (see ppal methods)"
}

// elsewhere has the settings that other programs call by other names.
var elsewhere = map[string]string{
	"target": "label", "y": "label", "outcome": "label", "response": "label", "label-column": "label", "class-column": "label",
	"data": "file", "input": "file", "csv": "file", "train-file": "file", "data-file": "file", "dataset-path": "file",
	"test-data": "test-file", "val-split": "split", "test-size": "split",
	"sensitive": "group", "protected": "group", "sensitive-features": "group", "sensitive-feature": "group", "groups": "group",
	"constraint": "subject-to", "constraints": "subject-to", "bound": "subject-to", "objective": "minimize", "loss": "minimize",
	"drop": "ignore", "exclude": "ignore", "drop-columns": "ignore", "columns-to-ignore": "ignore", "categories": "categorical", "cat": "categorical",
	"na-values": "missing-values", "na": "missing-values", "null": "missing-values", "sep": "separator", "delimiter": "separator",
	"no-header": "header", "skiprows": "skip", "skip-rows": "skip", "names": "columns", "quotechar": "quote", "quoting": "quote",
	"epochs": "iterations", "max-iter": "iterations", "steps": "iterations", "lr": "eta", "learning-rate": "eta",
	"l2": "regularizer-weight", "weight-decay": "regularizer-weight", "ridge": "regularizer-weight", "early-stopping": "patience",
	"layers": "hidden", "units": "hidden", "random-state": "seed", "output-dir": "out", "save": "out", "gpu": "device", "jobs": "threads", "n-jobs": "threads",
}

// unknown returns the error text for an unknown setting, with the most similar name. The prefix is
// "--" for flags, or "".
func unknown(name, prefix string) string {
	if name == "positive" {
		return "unknown setting " + prefix + "positive: " + prefix + "label names the positive class of two, as in species=Adelie; with three or more classes," +
			" a constraint names its class, as in fpr[Adelie]"
	}
	text := "unknown setting " + prefix + name
	if own := elsewhere[strings.ReplaceAll(name, "_", "-")]; own != "" {
		return text + "; did you mean " + prefix + own + "?"
	}
	var names []string
	for _, k := range Keys() {
		names = append(names, k.Name)
	}
	if near := option.Nearest(name, names); near != "" {
		text += "; did you mean " + prefix + near + "?"
	}
	return text
}

// Unknown returns the error for an unknown flag of a command, or an unknown key. The help of the
// command lists its flags.
func Unknown(flag, command string) error {
	return &Error{Where: unknown(flag, "--"), Problem: "(see " + command + " --help)"}
}

// bound is a configuration and its settings by name.
type bound struct {
	train   *Train
	options map[string]*option.Option // the run's own
}

func (t *Train) bind() *bound {
	b := &bound{t, map[string]*option.Option{}}
	for _, g := range t.groups() {
		for _, o := range g.options {
			b.options[o.Name] = o
		}
	}
	return b
}

// lookup returns the text of a resolved setting, or "" if the run does not have the setting.
func (b *bound) lookup(name string) string {
	o := b.options[name]
	if o == nil {
		return b.train.Options[name]
	}
	if _, unmet := o.Unmet(b.lookup); unmet {
		return ""
	}
	return o.Text()
}

// Text returns a setting by its name, in the form of a flag's value. It returns "" if the run does
// not have the setting.
func (t *Train) Text(name string) string { return t.bind().lookup(name) }

// now returns the setting's current value in brackets.
func now(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" (now %s)", text)
}
