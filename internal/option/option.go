// Package option describes settings: an Option holds the name, the help, the default and the range
// of one setting, and is bound to the variable that holds its value. Flags, keys of files, help
// texts, defaults and errors are read off the options.
//
// A method lists its options beside its struct, bound to the struct's fields:
//
//	func (m *GDA) options() []*option.Option {
//		return []*option.Option{
//			option.Number("gda-dual-step", &m.DualStep, option.Positive,
//				"Set the step size gamma of the multipliers").
//				Or(option.Float(DefaultGDADualStep)),
//		}
//	}
package option

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Option describes one setting and is bound to the variable that holds its value.
type Option struct {
	Name string // name of the flag and of the key in a file, such as "gda-dual-step"
	Help string // an imperative sentence without the default
	Unit string // unit of the value, such as "iterations"; "" for a pure number

	placeholder string // the value's placeholder in the help; "" for a switch
	value       value
	fallback    string // the default if no case applies
	required    bool   // the option has no default
	rule        string // describes compute in the help
	compute     func() string
	computeFrom []string // the names of the settings that compute reads
	cases       []Case
	needs       []Condition
	check       func() string
	refuse      func(text string) error
}

// Condition requires that the setting Name has one of the Values. The value "inner" also matches
// "inner:5".
type Condition struct {
	Name   string
	Values []string
	title  string // replaces the values in texts; may be empty
	not    bool   // the setting must have another value instead
}

// If returns the condition that the setting has one of the values.
func If(name string, values ...string) Condition { return Condition{Name: name, Values: values} }

// IfNot returns the condition that the setting has none of the values.
func IfNot(name string, values ...string) Condition {
	return Condition{Name: name, Values: values, not: true}
}

// Trained is the condition that a run trains its model, and does not only choose thresholds on
// given scores.
func Trained() Condition { return IfNot("model", "scores").Called("a model that is trained") }

// Called returns the condition with a title, which replaces the values in help and errors.
func (c Condition) Called(title string) Condition {
	c.title = title
	return c
}

// Holds reports whether the condition holds for text, the value of the setting.
func (c Condition) Holds(text string) bool {
	return c.not != slices.ContainsFunc(c.Values, func(v string) bool { return text == v || strings.HasPrefix(text, v+":") })
}

// String returns the condition as flags, "--problem dp or eo", or its title.
func (c Condition) String() string {
	if c.title != "" {
		return c.title
	}
	return "--" + c.Name + " " + List(c.Values, "or")
}

// Case is a default for the runs in which all conditions hold.
type Case struct {
	Value string
	If    []Condition
}

// Lookup returns the value of a setting by its name. It returns "" if the run does not have the
// setting.
type Lookup func(name string) string

func (l Lookup) all(conditions []Condition) bool {
	return !slices.ContainsFunc(conditions, func(c Condition) bool { return !c.Holds(l(c.Name)) })
}

// Or sets the default for the runs to which no case applies.
func (o *Option) Or(text string) *Option {
	o.fallback, o.required = text, false
	return o
}

// Needed says that the option has no default, after a constructor that has set one.
func (o *Option) Needed() *Option {
	o.fallback, o.required = "", true
	return o
}

// OrRule sets a default that compute derives from other settings; from lists their names. The rule
// describes the default in the help: "0.9/(2 rho)".
func (o *Option) OrRule(rule string, compute func() string, from ...string) *Option {
	o.rule, o.compute, o.computeFrom, o.required = rule, compute, from, false
	return o
}

// OrMissing sets a default as OrRule does. The user must give the option if compute returns "".
func (o *Option) OrMissing(rule string, compute func() string, from ...string) *Option {
	o.OrRule(rule, compute, from...)
	o.required = true
	return o
}

// For adds a default for the runs in which all conditions hold. The first case that applies
// determines the default.
func (o *Option) For(text string, conditions ...Condition) *Option {
	o.cases = append(o.cases, Case{text, conditions})
	return o
}

// With restricts the option to the runs in which all conditions hold.
func (o *Option) With(conditions ...Condition) *Option {
	o.needs = append(slices.Clone(conditions), o.needs...)
	return o
}

// And restricts the option further, after its other conditions.
func (o *Option) And(conditions ...Condition) *Option {
	o.needs = append(o.needs, conditions...)
	return o
}

// In sets the unit.
func (o *Option) In(unit string) *Option {
	o.Unit = unit
	return o
}

// Check adds a test of the value against the other settings of the same struct. The test runs when
// all settings have values. It returns the problem and the remedy, or "" if the value fits.
func (o *Option) Check(test func() string) *Option {
	o.check = test
	return o
}

// Refuse adds a test of a text against the settings that have values before the option. The error
// says why the text does not fit.
func (o *Option) Refuse(test func(text string) error) *Option {
	o.refuse = test
	return o
}

// Set parses the text and stores the value. The error says what the value must be. It contains
// neither the option's name nor the text.
func (o *Option) Set(text string) error {
	if o.refuse != nil {
		if err := o.refuse(text); err != nil {
			return err
		}
	}
	return o.value.set(text)
}

// SetDefault stores a default. A list of statements or of numbers that is empty by default stays
// empty, although Set refuses an empty list.
func (o *Option) SetDefault(text string) error {
	_, numbers := o.value.(*numbersValue[int])
	if text == "" && (numbers || o.statements()) {
		return nil
	}
	return o.Set(text)
}

// Text returns the value in the form that Set reads, with every digit of a number.
func (o *Option) Text() string { return o.value.text() }

// Idle reports whether the value is 0, empty or the default without a case. An option that nobody
// sets has such a value.
func (o *Option) Idle() bool {
	text := o.Text()
	zero, ok := o.value.(interface{ zero() bool })
	return text == "" || text == o.fallback || text == o.PlainDefault() || o.compute != nil && text == o.compute() || ok && zero.zero()
}

// Conflict says why the value does not fit the other settings of the struct. It returns "" if the
// value fits.
func (o *Option) Conflict() string {
	if o.check == nil {
		return ""
	}
	return o.check()
}

// Unmet returns the first condition of the option that the run does not meet. ok is false if the
// run meets all conditions.
func (o *Option) Unmet(in Lookup) (c Condition, ok bool) {
	for _, c := range o.needs {
		if !c.Holds(in(c.Name)) {
			return c, true
		}
	}
	return Condition{}, false
}

// Default returns the default in a run. ok is false if the option has no default.
func (o *Option) Default(in Lookup) (text string, ok bool) {
	for _, c := range o.cases {
		if in.all(c.If) {
			return c.Value, true
		}
	}
	if o.compute != nil {
		for _, name := range o.computeFrom {
			in(name) // evaluates the setting
		}
		text = o.compute()
		return text, text != "" || !o.required
	}
	return o.fallback, !o.required
}

// SetDefaults sets each of a struct's options to its default. The function in returns the other
// settings of the run. Options that the run does not have keep their values. The error names the
// option.
func SetDefaults(options []*Option, in Lookup) error {
	return Complete(options, func(string) bool { return false }, in)
}

// Complete does the same as SetDefaults for the options that are not given. Given options keep
// their values.
func Complete(options []*Option, given func(name string) bool, in Lookup) error {
	done := map[string]bool{}
	var failure error
	var lookup Lookup
	settle := func(o *Option) {
		if done[o.Name] {
			return
		}
		done[o.Name] = true
		if _, unmet := o.Unmet(lookup); unmet || given(o.Name) {
			return
		}
		text, ok := o.Default(lookup)
		if !ok {
			failure = cmp.Or(failure, fmt.Errorf("option: %s has no default", o.Name))
		} else if err := o.SetDefault(text); err != nil {
			failure = cmp.Or(failure, fmt.Errorf("option: the default of %s, %s: %w", o.Name, text, err))
		}
	}
	lookup = func(name string) string {
		for _, o := range options {
			if o.Name == name {
				if settle(o); failure != nil {
					return ""
				}
				if _, unmet := o.Unmet(lookup); unmet {
					return ""
				}
				return o.Text()
			}
		}
		return in(name)
	}
	for _, o := range options {
		settle(o)
	}
	return failure
}

// DependsOn reports whether a condition of the option is about the named setting.
func (o *Option) DependsOn(name string) bool {
	return slices.ContainsFunc(o.needs, func(c Condition) bool { return c.Name == name })
}

// Needs returns the conditions under which a run has the option.
func (o *Option) Needs() []Condition { return slices.Clone(o.needs) }

// Placeholder returns the name of the value in the help, or "" for a switch.
func (o *Option) Placeholder() string { return o.placeholder }

// Choices returns the words that the option allows, or nil if the values are not words of a list.
func (o *Option) Choices() []string {
	if c, ok := o.value.(interface{ choices() []string }); ok {
		return slices.Clone(c.choices())
	}
	return nil
}

// Switch reports whether the option is a switch, whose flag needs no value.
func (o *Option) Switch() bool {
	_, ok := o.value.(*switchValue)
	return ok
}

// Several reports whether the value is a list, separated by commas.
func (o *Option) Several() bool {
	_, ok := o.value.(interface{ several() })
	return ok
}

// Repeatable reports whether a repeated flag adds to the list, as for a list of texts.
func (o *Option) Repeatable() bool {
	return o.names() || o.statements()
}

// names reports whether the value is a list of texts.
func (o *Option) names() bool {
	_, ok := o.value.(*namesValue)
	return ok
}

// statements reports whether the value is a list of statements.
func (o *Option) statements() bool {
	_, ok := o.value.(statements)
	return ok
}

// Separator returns the text between the items of a list: a comma, or a semicolon for statements.
func (o *Option) Separator() string {
	if o.statements() {
		return StatementSeparator
	}
	return ","
}

// Items returns the items of a list.
func (o *Option) Items(text string) []string {
	switch {
	case o.statements():
		return SplitStatements(text)
	case o.names():
		return splitNames(text)
	}
	return split(text)
}

// Join returns the list that Items splits into the items.
func (o *Option) Join(items []string) string {
	if o.names() {
		return JoinNames(items)
	}
	return strings.Join(items, o.Separator())
}

// Free reports whether the value is any text, such as a path.
func (o *Option) Free() bool {
	_, ok := o.value.(*textValue)
	return ok
}

// bracket returns the text in round brackets at the end of the help: default, range, unit, and the
// settings that the option needs.
func (o *Option) bracket() string {
	var parts []string
	if d := o.DefaultHelp(); d != "" {
		parts = append(parts, d)
	} else if o.required {
		parts = append(parts, "required")
	}
	if r, ok := o.value.(interface{ limits() string }); ok && r.limits() != "" {
		parts = append(parts, r.limits())
	}
	if o.Unit != "" {
		parts = append(parts, "in "+o.Unit)
	}
	var needs []string
	for _, c := range o.needs {
		needs = append(needs, c.String())
	}
	if needs != nil {
		parts = append(parts, "with "+strings.Join(needs, " and "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, "; ") + ")"
}

// DefaultHelp describes the default: "default 0.1; mnpc: 0.2; if: 0.5". It returns "" if there is
// no default, or if the default is plain.
func (o *Option) DefaultHelp() string {
	var texts []string
	if plain := o.PlainDefault(); plain != "" {
		texts = append(texts, "default "+plain)
	}
	for _, c := range o.cases {
		var when []string
		for _, condition := range c.If {
			when = append(when, condition.short())
		}
		texts = append(texts, strings.Join(when, ", ")+": "+cmp.Or(c.Value, "none"))
	}
	return strings.Join(texts, "; ")
}

// PlainDefault describes the default if no case applies. It returns "" for a switch that is off.
func (o *Option) PlainDefault() string {
	switch {
	case o.rule != "":
		return o.rule
	case o.Switch() && o.fallback == "false":
		return ""
	}
	return o.fallback
}

// short describes the condition of a default. For the settings that most runs name, it returns only
// the value.
func (c Condition) short() string {
	if c.title != "" {
		return c.title
	}
	switch c.Name {
	case NameProblem, NamePreset, NameDataset, NameMethod:
		return strings.Join(c.Values, "/")
	}
	return c.String()
}

// Sentence returns the help with its bracket.
func (o *Option) Sentence() string { return strings.TrimSpace(o.Help + " " + o.bracket()) }

// List joins words with commas, the last one with the conjunction: "a, b or c".
func List(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// Float returns the shortest text that Set reads as x.
func Float(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
