package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"ppal/datasets"
	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/models"
	"ppal/trainer/method"
	"ppal/trainer/session"
)

// Values holds settings as text, by name, as given on a command line.
type Values map[string]string

// setting is a given value and the place where it was given.
type setting struct {
	text string
	place
}

// place is where a setting was given: a flag, or a key in a line of a file.
type place struct{ name, line string }

// String returns "--alpha" or "run.yaml:3: alpha".
func (p place) String() string { return cmp.Or(p.line, "--") + p.name }

// flag returns the name of the flag; "" for a key of a file.
func (p place) flag() string {
	if p.line != "" {
		return ""
	}
	return p.name
}

// Resolve completes the given settings to a whole configuration. A flag overrides the file, and the
// file overrides the defaults. file may be nil. Errors are *Error, and name the flag or the file's
// line.
func Resolve(flags Values, file *File) (Train, error) {
	given := map[string]setting{}
	if file != nil {
		for name, v := range file.values {
			given[name] = setting{v.text, place{name, fmt.Sprintf("%s:%d: ", file.Path, v.line)}}
		}
	}
	for name, text := range flags {
		given[name] = setting{text, place{name: name}}
	}
	r, err := newResolver(given, false)
	if err != nil {
		return Train{}, err
	}
	if err := r.all(); err != nil {
		return Train{}, err
	}
	return *r.train, r.consistent()
}

// ResolveWith does the same as Resolve, with additional settings of the run's method, each in the
// form "method.setting=value".
func ResolveWith(flags Values, sets []string, file *File) (Train, error) {
	all, owners := Values{}, map[string]string{}
	maps.Copy(all, flags)
	for _, text := range sets {
		method, name, value, err := ParseSetting(text)
		if err != nil {
			return Train{}, err
		}
		all[name], owners[text] = value, method
	}
	t, err := Resolve(all, file)
	if err != nil {
		return Train{}, err
	}
	for _, text := range sets {
		if owners[text] != t.Method.Name {
			return Train{}, &Error{Where: "--set " + text + ":", Problem: fmt.Sprintf("the run's method is %s; give --method %s", t.Method.Name, owners[text])}
		}
	}
	return t, nil
}

// Applicable splits the given settings. own are the settings that the configuration has. others are
// the names of the settings that it does not have. A comparison gives all settings to each method,
// and each method takes its own. Errors are those of Resolve, except errors for settings that do
// not apply.
func Applicable(all Values) (own Values, others []string, err error) {
	given := map[string]setting{}
	for name, text := range all {
		given[name] = setting{text, place{name: name}}
	}
	r, err := newResolver(given, true)
	if err != nil {
		return nil, nil, err
	}
	if err := r.all(); err != nil {
		return nil, nil, err
	}
	own = maps.Clone(all)
	for _, name := range r.others {
		delete(own, name)
	}
	return own, r.others, nil
}

// resolver gives each setting of a configuration its value. It first resolves the settings that the
// setting's existence and default depend on.
type resolver struct {
	*bound
	given   map[string]setting
	foreign map[string]*Key // other methods' settings
	lenient bool            // lists settings that do not apply in others, instead of an error
	others  []string
	method  []*option.Option
	done    map[string]bool // false while the setting is being resolved
	err     error           // the first error
}

func newResolver(given map[string]setting, lenient bool) (*resolver, error) {
	implyDataset(given)
	implyProblem(given)
	r := &resolver{bound: new(Train).bind(), given: given, foreign: map[string]*Key{}, lenient: lenient, done: map[string]bool{}}
	for _, k := range append(methodKeys(), taskKeys()...) {
		r.foreign[k.Name] = k
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if r.options[name] == nil && r.foreign[name] == nil {
			return nil, Unknown(name, "ppal train")
		}
	}
	if err := r.settle(r.options[option.NameProblem]); err != nil {
		return nil, err
	}
	task, err := session.LookupTask(r.train.Data.Problem)
	if err != nil {
		return nil, err
	}
	r.train.Task = task.New()
	r.adopt(option.Of(r.train.Task))
	if err := r.settle(r.options[option.NameMethod]); err != nil {
		return nil, err
	}
	if r.text(nameModel) == models.KindScores {
		r.train.Method.Name = thresholds
		return r, nil
	}
	if r.train.Method.Name == auto {
		if err := r.chooseMethod(); err != nil {
			return nil, err
		}
	}
	d, err := method.Lookup(r.train.Method.Name)
	if err != nil {
		return nil, err
	}
	r.method = option.Of(d.New())
	r.adopt(r.method)
	return r, r.implyPrimal()
}

// adopt adds settings of the run's task or method, with the defaults of the presets.
func (r *resolver) adopt(options []*option.Option) {
	for _, o := range preset.Apply(options) {
		r.options[o.Name] = o
		delete(r.foreign, o.Name)
	}
}

// implyDataset sets the data set of the user's own file if a file is given without a data set.
func implyDataset(given map[string]setting) {
	file, stated := given["file"]
	if _, explicit := given[option.NameDataset]; !stated || explicit {
		return
	}
	name := datasets.CSV
	if _, column := given["picture"]; column || datasets.HasPictures(file.text) {
		name = datasets.Pictures
	}
	given[option.NameDataset] = setting{name, file.place}
}

// implyProblem sets the problem if it is not given: a task in words, for a table, and for
// constraints or an objective in words.
func implyProblem(given map[string]setting) {
	if _, explicit := given[option.NameProblem]; explicit {
		return
	}
	const words = "subject-to"
	data, stated := given[option.NameDataset]
	set, err := datasets.Lookup(data.text)
	pictures := err == nil && !set.Tabular()
	names := []string{words, "minimize"}
	if stated && err == nil && !pictures {
		names = append(names, option.NameDataset)
	}
	for _, d := range session.Tasks() {
		if find(option.Of(d.New()), words) == nil || pictures != (d.Rows == session.PictureRows) {
			continue
		}
		for _, name := range names {
			if s, stated := given[name]; stated {
				given[option.NameProblem] = setting{d.Name, s.place}
				return
			}
		}
	}
}

// all resolves every setting.
func (r *resolver) all() error {
	for _, k := range Keys() {
		if o := r.options[k.Name]; o != nil {
			if err := r.settle(o); err != nil {
				return err
			}
		} else if err := r.refuseForeign(k.Name); err != nil {
			return err
		}
	}
	r.train.Options = map[string]string{}
	for _, o := range r.method {
		if text := r.text(o.Name); text != "" {
			r.train.Options[o.Name] = text
		}
	}
	return nil
}

// refuseForeign returns the error for a given setting of another method.
func (r *resolver) refuseForeign(name string) error {
	if s, explicit := r.given[name]; explicit {
		c, _ := r.foreign[name].Unmet(r.text)
		return r.inapplicable(name, s, c)
	}
	return nil
}

// inapplicable returns the error for a given setting that the run does not have.
func (r *resolver) inapplicable(name string, s setting, c option.Condition) error {
	if r.lenient {
		r.others = append(r.others, name)
		return nil
	}
	current, advice := r.text(c.Name), ""
	if c.Name == option.NameDataset && name != "picture" && current == datasets.CSV && c.Holds(datasets.Pictures) {
		advice = "; name the column of the pictures' paths with --picture COLUMN"
		if _, err := os.Stat(r.text("file")); errors.Is(err, fs.ErrNotExist) && r.text("file") != "-" {
			advice = fmt.Sprintf("; there is no file or folder %s", shown(r.text("file")))
		}
	}
	return s.refuse("used only with %v%s%s", c, now(current), advice)
}

func (s setting) refuse(format string, args ...any) error {
	return &Error{Where: fmt.Sprintf("%v %s:", s.place, shown(s.text)), Problem: fmt.Sprintf(format, args...), Flag: s.flag()}
}

// text resolves a setting if necessary and returns its text. It returns "" if the run does not have
// the setting.
func (r *resolver) text(name string) string {
	o := r.options[name]
	if o == nil {
		return ""
	}
	if err := r.settle(o); err != nil {
		r.err = cmp.Or(r.err, err)
		return ""
	}
	if _, unmet := o.Unmet(r.text); unmet {
		return ""
	}
	return o.Text()
}

// settle gives the option its value.
func (r *resolver) settle(o *option.Option) error {
	if finished, begun := r.done[o.Name]; finished {
		return nil
	} else if begun {
		panic("config: the default of " + o.Name + " depends on itself")
	}
	r.done[o.Name] = false
	defer func() { r.done[o.Name] = true }()
	s, explicit := r.given[o.Name]
	c, unmet := o.Unmet(r.text)
	switch {
	case r.err != nil:
		return r.err
	case unmet && explicit:
		return r.inapplicable(o.Name, s, c)
	case unmet:
		return nil
	case explicit:
		if err := o.Set(s.text); err != nil {
			return s.refuse("%v", err)
		}
		return nil
	}
	text, ok := o.Default(r.text)
	switch {
	case r.err != nil:
		return r.err
	case !ok:
		return r.missing(o)
	}
	if err := o.SetDefault(text); err != nil {
		panic(fmt.Sprintf("config: the default of %s, %s, %v", o.Name, text, err))
	}
	return nil
}

// missing returns the error for an option without a default that is not given.
func (r *resolver) missing(o *option.Option) error {
	needs := o.Needs()
	last := needs[len(needs)-1].Name
	if file := r.given["file"]; last == option.NameDataset && r.given[last].place == file.place {
		last = "file" // it made the rows those of a table
	}
	return &Error{Where: "--" + o.Name + ":", Problem: fmt.Sprintf("missing; --%s %s needs it", last, r.text(last))}
}

// shown puts a text in quotes if it would not stand out in a sentence.
func shown(text string) string {
	if text == "" || slices.ContainsFunc([]rune(text), func(c rune) bool { return c <= ' ' || c == '"' }) {
		return fmt.Sprintf("%q", text)
	}
	return text
}
