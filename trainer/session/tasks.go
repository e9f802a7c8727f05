package session

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// TaskDescription describes a task that has a name on the command line: `ppal train --problem
// NAME`.
type TaskDescription struct {
	Name     string
	Summary  string // what the task bounds, for the help
	Rows     RowKind
	Defaults Defaults
	Suits    Suiting
	// New returns the task with its defaults. The tasks of this package are pointers, whose fields
	// are the flags of ppal train. A task of another package has flags if it is Flagged.
	New func() Task
}

// Suiting has the settings with which a task meets the needs of special methods, in words for
// messages. "": the task never meets the need, or meets it with all settings.
type Suiting struct {
	Drawn  string // an iteration draws one group or query
	Convex string // the functions are smooth, and convex in the scores
	Smooth string // no constraint is the largest of several, with a kink
}

// RowKind is the kind of data sets on which a task is defined.
type RowKind int

// The kinds.
const (
	TableRows   RowKind = iota // tables
	PictureRows                // pictures
	ClassRows                  // pictures, and the user's own tables
)

// Accepts reports whether the task is defined on the data set.
func (k RowKind) Accepts(d datasets.Dataset) bool {
	switch k {
	case TableRows:
		return d.Tabular()
	case PictureRows:
		return !d.Tabular()
	}
	return !d.Tabular() || d.Own
}

// String returns the data sets in words.
func (k RowKind) String() string {
	return [...]string{"a table", "pictures", "pictures or your own table"}[k]
}

// Defaults are the options that a session chooses for a task if the caller leaves them zero.
type Defaults struct {
	Linear      bool              // the model is linear, not a network
	Hidden      []int             // widths of a network
	Activation  models.Activation // activation of a network
	Regularizer problem.Regularizer
	// OnDecisions is the regularizer with bounds on decisions; the zero value: Regularizer.
	OnDecisions problem.Regularizer
}

// DefaultTask is the name of the task of a run whose settings imply no other.
const DefaultTask = NameNeymanPearson

// described are the registered tasks, in the order of their names.
var described []TaskDescription

// Tasks describes all tasks with names, in the order of the names.
func Tasks() []TaskDescription { return slices.Clone(described) }

// LookupTask returns the description of the named task. The error wraps ErrOptions.
func LookupTask(name string) (TaskDescription, error) {
	for _, d := range described {
		if d.Name == name {
			return d, nil
		}
	}
	return TaskDescription{}, fmt.Errorf("session: %w: no task %q", ErrOptions, name)
}

// RegisterTask adds a task: in a program that calls cmd.Main, all commands know it as --problem
// NAME. RegisterTask is for initialisation, before Main. The error wraps ErrOptions: the name is
// empty or taken, New does not make a task, or a flag is not valid.
func RegisterTask(d TaskDescription) error {
	if _, err := LookupTask(d.Name); err == nil || d.Name == "" {
		return fmt.Errorf("session: %w: a task needs a name of its own, not %q", ErrOptions, d.Name)
	}
	if d.New == nil || d.New() == nil {
		return fmt.Errorf("session: %w: the description of the task %s makes no task", ErrOptions, d.Name)
	}
	if t, ok := d.New().(Flagged); ok {
		if err := checkFlags(d.Name, t.Flags()); err != nil {
			return fmt.Errorf("session: %w: the task %s: %w", ErrOptions, d.Name, err)
		}
	}
	if _, ok := d.New().(Flagged); ok {
		option.DescribeLike(d.New(), func(t any) []*option.Option { return taskOptions(t.(Task)) })
	}
	described = append(described, d)
	slices.SortFunc(described, func(a, b TaskDescription) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// configurable is a task that describes its settings, bound to its fields.
type configurable interface{ options() []*option.Option }

// register adds a task of this package.
func register(d TaskDescription) {
	option.DescribeLike(d.New(), func(t any) []*option.Option { return t.(configurable).options() })
	if err := RegisterTask(d); err != nil {
		panic(err) // a mistake of this package
	}
}

// Traits are the properties of a task that decide which methods and settings suit it.
type Traits struct {
	Unbounded   bool // no constraint
	OnDecisions bool // the bounds are on decisions
	Gaps        bool // the constraints are gaps |h| <= eps
	Largest     bool // a constraint is the largest of several, with a kink
	Kinks       bool // the functions have kinks
	Convex      bool // the functions are smooth, and convex in the scores
	Sampled     bool // each iteration draws a group
	Pairs       bool // the constraints count pairs of documents, so that an iteration can draw a query
	Overlap     bool // groups may overlap, so that mini-batches cannot keep their shares
}

// TraitsOf returns the traits of a task; the zero value for a task that states none.
func TraitsOf(t Task) Traits {
	if s, ok := t.(interface{ Traits() Traits }); ok {
		return s.Traits()
	}
	return Traits{}
}

// CheckTask returns an error for settings of a task that no rows suit. State returns the same
// errors.
func CheckTask(t Task) error {
	if s, ok := t.(interface{ check() error }); ok {
		return s.check()
	}
	return nil
}

// taskOptions returns the settings of a task, bound to its fields: flags of ppal train. The task is
// a pointer, as TaskDescription.New returns. taskOptions returns nil for a task without flags.
func taskOptions(t Task) []*option.Option {
	if t, ok := t.(Flagged); ok {
		list, _ := flagOptions(t.Flags()) // RegisterTask has refused invalid flags
		return list
	}
	return option.Of(t)
}

// settingsOf returns the settings of a task of this package with their defaults, and nil for other
// values.
func settingsOf(task any) []*option.Option {
	if v := reflect.Indirect(reflect.ValueOf(task)); v.IsValid() {
		own := reflect.New(v.Type())
		own.Elem().Set(v)
		if t, ok := own.Interface().(configurable); ok {
			list := t.options()
			complete(list)
			return list
		}
	}
	return nil
}

// complete gives the settings of a task that are not set their defaults.
func complete(list []*option.Option) {
	given := map[string]bool{}
	for _, o := range list {
		given[o.Name] = o.Text() != ""
	}
	err := option.Complete(list, func(name string) bool { return given[name] }, func(string) string { return "" })
	if err != nil {
		panic(err) // a default that its own option refuses; a test completes every task
	}
}

// description returns the description of the session's task. Of several names of a type, the rows
// decide. ok is false for a task without a name.
func (o *Options) description() (_ TaskDescription, ok bool) {
	if o.Task == nil {
		return TaskDescription{}, false
	}
	pictures := false
	if s, ok := readFrom(o.Data).(PictureSource); ok {
		pictures = s.HoldsPictures()
	}
	typeOf := func(t Task) reflect.Type { return reflect.Indirect(reflect.ValueOf(t)).Type() }
	var found []TaskDescription
	for _, d := range described {
		if typeOf(d.New()) == typeOf(o.Task) {
			found = append(found, d)
		}
	}
	for _, d := range found {
		if len(found) == 1 || pictures == (d.Rows == PictureRows) {
			return d, true
		}
	}
	return TaskDescription{}, false
}

// defaults returns the defaults of the session's task. For a task without a name, the model is
// linear and has no regularizer.
func (o *Options) defaults() Defaults {
	d, ok := o.description()
	if !ok {
		return Defaults{Linear: true}
	}
	if d.Defaults.OnDecisions.Kind != problem.NoRegularizer && TraitsOf(o.Task).OnDecisions {
		d.Defaults.Regularizer = d.Defaults.OnDecisions
	}
	return d.Defaults
}

// Spec returns the default model.
func (d Defaults) Spec() models.Spec {
	if d.Linear {
		return models.Spec{}
	}
	return models.Spec{Hidden: d.Hidden, Activation: d.Activation}
}

// The defaults that do not depend on the task.
const (
	// DefaultIterations is the default limit on iterations.
	DefaultIterations = 1000
	// DefaultPictureBatch is the program's default number of rows of a batch for convolutional
	// networks.
	DefaultPictureBatch = 128
	// DefaultPasses is the default number of passes over the rows for convolutional networks on
	// mini-batches (Options.setIterations).
	DefaultPasses = 15
	// DefaultRidge is the default weight of the regularizer l2 of a Decisions task. The sigmoid of
	// the scores in the objective does not determine the scale of the weights. The ridge determines
	// the scale. Measured on Adult, Bank and COMPAS: without a ridge the scores can saturate before
	// the model has learnt, and a ridge of 1e-4 adds 0.3 to 1 points of error.
	DefaultRidge = 1e-5
	// DefaultNormalize is the default normalisation of pictures.
	DefaultNormalize = models.NormalizeStandardize
)

// DefaultClasses returns the default classes of Images.
func DefaultClasses() []int { return []int{0, 1, 2, 3} }

// ridge returns the default regularizer of bounds on decisions.
func ridge() problem.Regularizer {
	return problem.Regularizer{Kind: problem.SquaredL2, Weight: DefaultRidge}
}

// defaultMethod returns ALM, which chooseSteps replaces if quasi-Newton steps do not suit the
// problem, and Unconstrained for a task without constraints.
func defaultMethod(t Task) trainer.Method {
	if TraitsOf(t).Unbounded {
		return &method.Unconstrained{}
	}
	return &method.ALM{}
}

// firstOrderMethod returns PPALA with the practical settings for the task.
func firstOrderMethod(task string) (trainer.Method, error) {
	m := &method.PPALA{}
	return m, preset.SetDefaults(option.Of(m), task)
}

// boundsOn is the condition that bounds apply to the values.
func boundsOn(on constraints.BoundsOn) option.Condition { return option.If("bounds-on", string(on)) }

// boundsOptions returns the settings that say what bounds apply to.
func boundsOptions(on *constraints.BoundsOn, standard constraints.BoundsOn, confidence *float64) []*option.Option {
	return []*option.Option{
		option.Choice("bounds-on", on, "let the bounds hold for the counted decisions, or for the smooth surrogates as in the published problems",
			constraints.OnDecisions, constraints.OnSurrogate).Or(string(standard)),
		option.Number("confidence", confidence, option.Within(0, 1),
			"let the bounds hold on new rows with this probability, as in 0.95: the validation rows choose the threshold; 0: on the training rows;"+
				" see docs/reference/confidence.md").Or("0").With(boundsOn(constraints.OnDecisions)),
	}
}

// epsilonOption returns the setting of the bounds of gaps and groups.
func epsilonOption(epsilon *[]float64) *option.Option {
	return option.Numbers("epsilon", epsilon, option.AtLeast(0), "X[,X]", "bound each gap; eo takes one value or two").Or("0.01")
}

// phiOption returns the setting of the surrogate in the objective.
func phiOption(phi *constraints.Phi, standard constraints.Phi) *option.Option {
	return option.Choice("phi", phi, "choose the surrogate of the error in the objective", constraints.Sigmoid, constraints.Logistic, constraints.Hinge).
		Or(string(standard)).With(boundsOn(constraints.OnSurrogate))
}

// psiOption returns the setting of the surrogate in the constraints.
func psiOption(psi *constraints.Phi, standard constraints.Phi) *option.Option {
	return option.Choice("psi", psi, "choose the surrogate of the error in the constraints", constraints.Sigmoid, constraints.Hinge).
		Or(string(standard)).With(boundsOn(constraints.OnSurrogate))
}

// boundsOf returns one bound for each of n constraints of a task, or an *OptionError. name is the
// name of the option that holds the bounds.
func boundsOf(name string, values []float64, n int) ([]float64, error) {
	bounds, err := constraints.Bounds(values, n)
	if err != nil {
		return nil, &OptionError{Option: name, Problem: "has " + err.Error()}
	}
	return bounds, nil
}

// Flag is a setting of a task of a program's own: a flag of ppal train and of the other commands
// that train, a key of config.yaml, and a line of the help. The default, the range and the unit
// follow in the help, and errors name them.
type Flag struct {
	Name    string // of the flag and of the key: the task's name, a hyphen, and more
	Help    string // an imperative sentence without the default
	Unit    string // of the value, such as "rows"; "": a pure number, or no number
	Default string // as the flag takes it, such as "0.5"; a *bool is off by default: ""
	// Value is the field of the task for the value: a *float64, *int, *bool or *string.
	Value any
	// Low and High are the least and the largest number, math.Inf(1) for no largest; both 0: all
	// finite numbers.
	Low, High float64
	Words     []string // the values of a *string; nil: any text
}

// Flagged is a Task with flags. TaskDescription.New returns a pointer to such a task, and Flags
// returns the flags bound to its fields. In a program that calls cmd.Main, the commands set the
// fields, first to the defaults.
type Flagged interface {
	Task
	Flags() []Flag
}

// option returns the description of the flag. The error says what is wrong with the flag.
func (f *Flag) option() (*option.Option, error) {
	in := option.Interval{}
	if f.Low != 0 || f.High != 0 {
		in = option.Inside(f.Low, f.High)
	}
	var o *option.Option
	switch v := f.Value.(type) {
	case *float64:
		o = option.Number(f.Name, v, in, f.Help)
	case *int:
		o = option.Count(f.Name, v, in, f.Help)
	case *bool:
		if f.Default != "" {
			return nil, fmt.Errorf("is off by default, not %q", f.Default)
		}
		return option.Switch(f.Name, v, f.Help), nil
	case *string:
		if o = option.Text(f.Name, v, "TEXT", f.Help); f.Words != nil {
			o = option.Choice(f.Name, v, f.Help, f.Words...)
		}
	default:
		return nil, fmt.Errorf("has a value of type %T, want *float64, *int, *bool or *string", f.Value)
	}
	return o.Or(f.Default).In(f.Unit), nil
}

// flagOptions returns the descriptions of the flags of a task, as the task's values are.
func flagOptions(flags []Flag) (list []*option.Option, err error) {
	for i := range flags {
		o, err := flags[i].option()
		if err != nil {
			return nil, fmt.Errorf("flag %q %w", flags[i].Name, err)
		}
		list = append(list, o)
	}
	return list, nil
}

// checkFlags sets the flags of the task of the given name to their defaults, and says what is wrong
// with a flag.
func checkFlags(name string, flags []Flag) error {
	list, err := flagOptions(flags)
	if err != nil {
		return err
	}
	taken := slices.Concat((&Options{}).runOptions(), (&Device{}).options(), option.Of(&models.Shape{}))
	for _, d := range method.All() {
		taken = append(taken, option.Of(d.New())...)
	}
	for _, o := range list {
		rest, own := strings.CutPrefix(o.Name, name+"-")
		switch {
		case !own || rest == "" || strings.ToLower(rest) != rest || strings.ContainsAny(rest, " =_,"):
			return fmt.Errorf("flag %q needs a name of small letters that begins with %s-", o.Name, name)
		case slices.ContainsFunc(taken, func(other *option.Option) bool { return other.Name == o.Name }):
			return fmt.Errorf("flag %q has the name of another flag", o.Name)
		case o.Help == "":
			return fmt.Errorf("flag %q needs a help", o.Name)
		}
		if text, _ := o.Default(func(string) string { return "" }); o.Set(text) != nil {
			return fmt.Errorf("flag %q has the default %q, which %w", o.Name, text, o.Set(text))
		}
		taken = append(taken, o)
	}
	return nil
}
