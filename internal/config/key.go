package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppal/trainer/method"
	"ppal/trainer/option"
)

// ErrUsage marks settings that do not exist or do not fit. The error is an *Error.
var ErrUsage = errors.New("invalid configuration")

// Error is a refused setting.
type Error struct {
	Where   string // "--alpha -1:", or "run.yaml:3: alpha -1:"
	Problem string // what is wrong and what to do
}

// Error gives one line.
func (e *Error) Error() string { return e.Where + " " + e.Problem }

// Is reports whether target is ErrUsage.
func (e *Error) Is(target error) bool { return target == ErrUsage }

// Key is one setting as the command line knows it: a flag and a key of the YAML file.
type Key struct {
	*option.Option
	Group    string   // the heading of the help
	Everyday bool     // the short help lists it
	Methods  []string // the methods whose setting it is; nil: every run's

	defaults map[string]string // of the methods, where no preset or problem changes them
}

// Usage returns the setting's line of the help.
func (k *Key) Usage() string {
	others := ""
	for _, name := range k.Methods {
		if d := k.defaults[name]; d != k.PlainDefault() {
			others += "; " + name + ": " + d
		}
	}
	own := k.DefaultHelp()
	return strings.Replace(k.Sentence(), own, own+others, 1)
}

// WhyShared returns why all methods of a comparison share the setting; "" if each method may have
// its own value. Methods may differ in their own settings, in the batch size and in the device. A
// setting of the data, the model or the problem would let the method with the easiest problem win.
func (k *Key) WhyShared() string {
	switch {
	case k.Name == option.NamePreset || k.Group == GroupData || k.Group == GroupModel || k.Group == GroupProblem:
		return fmt.Sprintf("changes the problem, which all methods share; give --%s to the whole comparison", k.Name)
	case k.Name == "feasibility-tolerance":
		return "changes which runs count as feasible; give --feasibility-tolerance to the whole comparison"
	case k.Name == option.NameMethod, k.Name == "threads", k.Name == "explain", k.Group == GroupRun && k.Name != "batch-size":
		return "is the same for all methods of a comparison"
	}
	return ""
}

// Keys returns all settings in the order of the help.
func Keys() []*Key {
	var keys []*Key
	for _, g := range new(Train).groups() {
		for _, o := range g.options {
			keys = append(keys, &Key{Option: o, Group: g.name, Everyday: slices.Contains(everyday, o.Name)})
		}
		if g.name == GroupMethod {
			keys = append(keys, methodKeys()...)
		}
	}
	return keys
}

// methodKeys returns the settings of all methods, one for each name.
func methodKeys() []*Key {
	var keys []*Key
	byName := map[string]*Key{}
	for _, d := range method.All() {
		for _, o := range d.New().Options() {
			k := byName[o.Name]
			if k == nil {
				k = &Key{Option: o, Group: GroupMethod, Everyday: slices.Contains(everyday, o.Name), defaults: map[string]string{}}
				byName[o.Name] = k
				keys = append(keys, k)
			}
			k.Methods = append(k.Methods, d.Name)
			k.defaults[d.Name] = o.PlainDefault()
		}
	}
	for _, k := range keys {
		k.With(option.If(option.NameMethod, k.Methods...))
	}
	return keys
}

// Find returns a setting by its name; a method's own also without the method's prefix ("step" for
// gdpa's "gdpa-step"). It returns nil where the name is unknown.
func Find(owner, name string) *Key {
	keys := Keys()
	for _, full := range []string{name, owner + "-" + name} {
		if i := slices.IndexFunc(keys, func(k *Key) bool { return k.Name == full }); i >= 0 {
			return keys[i]
		}
	}
	return nil
}

// ParseSetting reads one method's setting, "method.setting=value"; owner is the method.
func ParseSetting(text string) (owner, name, value string, err error) {
	left, value, assigned := strings.Cut(text, "=")
	owner, short, dotted := strings.Cut(left, ".")
	if !assigned || !dotted {
		return "", "", "", &Error{"--set " + text + ":", "must be METHOD.SETTING=VALUE, as in plada.eta=0.1"}
	}
	if !slices.Contains(method.Names(), owner) {
		return "", "", "", &Error{"--set " + text + ":", UnknownMethod(owner)}
	}
	k := Find(owner, short)
	if k == nil {
		return "", "", "", &Error{"--set " + text + ":", unknown(short, "") + " (see ppal methods " + owner + ")"}
	}
	return owner, k.Name, value, nil
}

// UnknownMethod says that there is no method of the name, and which one may have been meant.
func UnknownMethod(name string) string {
	text := "unknown method " + name
	if near := option.Nearest(name, method.Names()); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text + " (see ppal methods)"
}

// unknown says that there is no setting of the name, and which one may have been meant. The prefix
// is that of flags, "--", or "".
func unknown(name, prefix string) string {
	text := "unknown setting " + prefix + name
	var names []string
	for _, k := range Keys() {
		names = append(names, k.Name)
	}
	if near := option.Nearest(name, names); near != "" {
		text += "; did you mean " + prefix + near + "?"
	}
	return text
}

// Unknown is the error for a flag or a key that does not exist.
func Unknown(flag string) error {
	return &Error{unknown(flag, "--"), "(see ppal train --help)"}
}

// bound is a configuration with its settings by name.
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

// lookup returns a resolved setting's text, "" where the run does not have the setting.
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

// Text returns a setting by its name, as a flag would give it; "" where the run does not have it.
func (t *Train) Text(name string) string { return t.bind().lookup(name) }

// now says in brackets what a setting is.
func now(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" (now %s)", text)
}
