package config

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"ppal/datasets"
)

// Values are settings as text, by key: what a command line gives explicitly.
type Values map[string]string

// Resolve completes what was given to a whole configuration: a flag wins over the file, which wins over the preset. file may be
// nil. Errors are *Error, and name the flag or the file's line.
func Resolve(flags Values, file *File) (Train, error) {
	given, in := map[string]setting{}, newTable()
	if file != nil {
		for name, v := range file.values {
			given[name] = setting{v.text, fmt.Sprintf("%s:%d: %s", file.Path, v.line, name)}
		}
	}
	for name, text := range flags {
		if in.byName[name] == nil {
			return Train{}, &Error{"--" + name, "is no key; see ppal train --help"}
		}
		given[name] = setting{text, "--" + name}
	}
	var t Train
	for _, k := range in.resolutionOrder() {
		if err := k.resolve(&t, given, in); err != nil {
			return Train{}, err
		}
	}
	return t, t.consistent(given)
}

// setting is a given value and where it was given.
type setting struct{ text, where string }

// resolutionOrder has the keys on which other keys' existence and defaults depend first.
func (t table) resolutionOrder() []*Key {
	var keys []*Key
	for _, name := range []string{"problem", "dataset", "method", "preset", "regularizer", "x-step", "primal"} {
		keys = append(keys, t.key(name))
	}
	for _, k := range t.keys {
		if !slices.ContainsFunc(keys, func(have *Key) bool { return have.Name == k.Name }) {
			keys = append(keys, k)
		}
	}
	return keys
}

func (k *Key) resolve(t *Train, given map[string]setting, in table) error {
	s, explicit := given[k.Name]
	reason := k.unmet(t, in)
	switch {
	case reason != "" && explicit:
		return &Error{s.where, reason}
	case reason != "":
		return nil
	case explicit:
		if err := k.set(t, s.text); err != nil {
			return &Error{s.where, err.Error()}
		}
		return nil
	case k.preset == nil:
		return &Error{"--" + k.Name, "is missing; " + k.needs(t)}
	}
	if err := k.set(t, k.preset(t)); err != nil {
		panic(fmt.Sprintf("config: the default of %s %v", k.Name, err))
	}
	return nil
}

// needs says why a key without a default must be given.
func (k *Key) needs(t *Train) string {
	if k.Group == GroupData {
		return fmt.Sprintf("--dataset %s needs it", t.Dataset)
	}
	return fmt.Sprintf("--regularizer %s needs it", t.Problem.Regularizer)
}

// threadsPerCore bounds --threads: more of them only cost memory.
const threadsPerCore = 8

// consistent refuses values that fit by themselves and not together.
func (t *Train) consistent(given map[string]setting) error {
	refuse := func(name, format string, args ...any) error {
		where := "--" + name
		if s, ok := given[name]; ok {
			where = s.where
		}
		return &Error{where, fmt.Sprintf(format, args...)}
	}
	mostThreads := threadsPerCore * runtime.NumCPU()
	if err := t.consistentProblem(refuse); err != nil {
		return err
	}
	if err := t.consistentDevice(refuse); err != nil {
		return err
	}
	switch {
	case t.Box != nil && (len(t.Box) != 2 || t.Box[0] > t.Box[1]):
		return refuse("box", "is %s, want LO,HI with LO at most HI", format(&t.Box))
	case t.Threads > mostThreads:
		return refuse("threads", "is %d, want at most %d, %d for each core here, or 0, all cores", t.Threads, mostThreads, threadsPerCore)
	case t.EtaScale == "fixed" && t.Eta == "auto":
		return refuse("eta", "is auto, which scales with the weights; --eta-scale fixed needs a number")
	case t.Primal == "adam" && t.Eta == "auto":
		return refuse("eta", "is auto, which the adam step does not have; give a number")
	case t.GDPAStep == "auto" && t.Primal != "nesterov":
		return refuse("gdpa-step", "is auto, which needs --primal nesterov; the primal is %s", t.Primal)
	case strings.HasPrefix(t.XStep, "inner:") && t.Primal != "gradient":
		return refuse("primal", "is %s; --x-step %s has gradient steps only", t.Primal, t.XStep)
	}
	return nil
}

// consistentProblem refuses what does not fit the problem.
func (t *Train) consistentProblem(refuse func(name, format string, args ...any) error) error {
	d, err := datasets.Lookup(t.Dataset)
	if err != nil {
		return err
	}
	if pictures := t.Data.Problem == "mnpc"; pictures == d.Tabular() {
		kind := map[bool]string{true: "pictures", false: "tables"}
		return refuse("dataset", "is %s, which has %s; the problem %s is about %s", t.Dataset, kind[!d.Tabular()], t.Data.Problem, kind[pictures])
	}
	gaps := t.Data.Problem == "dp" || t.Data.Problem == "eo"
	switch {
	case (t.XStep == "proxlinear" || t.XStep == "split") && !gaps:
		return refuse("x-step", "is %s, which is for gaps |h| <= eps; %s has none, want subgradient or inner:N", t.XStep, t.Data.Problem)
	case t.XStep == "proxlinear" && t.Problem.Regularizer != "none":
		return refuse("x-step", "is proxlinear, which is for --regularizer none; it is %s", t.Problem.Regularizer)
	case t.EOForm == "max" && t.SmoothMethod():
		return refuse("eo-form", "is max, a constraint with a kink; %s takes the gaps apart, with --eo-form two", t.Method.Method)
	case t.Method.Method == "multiplier-model" && t.IFForm != "sampled":
		return refuse("method", "is multiplier-model, which is for --problem if --if-form sampled")
	case t.Data.Problem == "mnpc":
		return t.consistentClasses(refuse)
	case len(t.Epsilon) > 2 || len(t.Epsilon) == 2 && t.Data.Problem != "eo":
		return refuse("epsilon", "has %d values, want one (eo: or two)", len(t.Epsilon))
	case t.BatchSize > 0 && t.Data.Problem == "if":
		return refuse("batch-size", "is %d; mini-batches cannot keep the shares of groups that overlap: take 0, all rows", t.BatchSize)
	}
	return nil
}

func (t *Train) consistentClasses(refuse func(name, format string, args ...any) error) error {
	for i, c := range t.Classes {
		if slices.Contains(t.Classes[:i], c) {
			return refuse("classes", "names class %d twice", c)
		}
	}
	constraints := len(t.Classes) - 1
	switch {
	case constraints < 1:
		return refuse("classes", "is %d, want at least two classes", t.Classes[0])
	case len(t.Kappa) != 1 && len(t.Kappa) != constraints:
		return refuse("kappa", "has %d values, want 1 or %d, one for each constraint", len(t.Kappa), constraints)
	case t.BatchSize > 0 && t.BatchSize < len(t.Classes):
		return refuse("batch-size", "is %d, want at least %d, a row of each class, or 0, all rows", t.BatchSize, len(t.Classes))
	}
	return nil
}

// SmoothMethod says whether the method is for smooth constraints: gaps |h| <= eps enter it as h <= eps and -h <= eps.
func (t *Train) SmoothMethod() bool {
	switch t.Method.Method {
	case "plada":
		return t.XStep == "split"
	case "ssg", "ipp-ssg", "ipp-conex", "multiplier-model":
		return false
	}
	return true
}

// Applicable splits what is given into the keys that the configuration has, given the others, and the names of those that it has not:
// settings for several methods at once, of which each takes its own. Errors are those of Resolve but for keys that do not apply.
func Applicable(given Values) (own Values, others []string, err error) {
	own = Values{}
	for name, text := range given {
		own[name] = text
	}
	in := newTable()
	var t Train
	for _, k := range in.resolutionOrder() {
		if _, explicit := own[k.Name]; explicit && k.unmet(&t, in) != "" {
			others = append(others, k.Name)
			delete(own, k.Name)
		}
		settings := map[string]setting{}
		if text, explicit := own[k.Name]; explicit {
			settings[k.Name] = setting{text, "--" + k.Name}
		}
		if err := k.resolve(&t, settings, in); err != nil {
			return nil, nil, err
		}
	}
	return own, others, nil
}
