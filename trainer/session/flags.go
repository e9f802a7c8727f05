package session

import (
	"fmt"
	"slices"
	"strings"

	"ppal/internal/option"
	"ppal/models"
	"ppal/trainer/method"
)

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
