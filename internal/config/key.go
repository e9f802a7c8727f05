package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrUsage marks a configuration that asks for what does not exist or does not fit; the error is an *Error.
var ErrUsage = errors.New("bad configuration")

// Error is one refused key.
type Error struct {
	Where   string // "--alpha", or "run.yaml:3: alpha"
	Problem string // what is wrong and what to do
}

// Error gives one line.
func (e *Error) Error() string { return e.Where + " " + e.Problem }

// Is reports whether target is ErrUsage.
func (e *Error) Is(target error) bool { return target == ErrUsage }

// Key is one setting: a flag, and a key of the YAML file.
type Key struct {
	Name  string
	Group string // the heading of the help
	Value string // what stands for the value in the help
	Usage string

	choices  []string // the texts allowed; nil: any that parses
	numbered string   // the choice that may have a number: cuda:0
	later    []string // texts of other versions
	interval interval // of numbers
	none     bool     // the text none means the number 0, which the interval leaves out
	check    func(text string) error
	when     []condition
	field    func(*Train) any
	preset   func(*Train) string // the default, given the keys before; nil: a value must be given
}

// Choices are the texts that the key allows, for completion; nil: any.
func (k *Key) Choices() []string { return slices.Clone(k.choices) }

// Boolean says whether the key is a switch, whose flag needs no value.
func (k *Key) Boolean() bool {
	_, ok := k.field(new(Train)).(*bool)
	return ok
}

// condition says with which values of another key a key exists.
type condition struct {
	selector string
	values   []string
	owner    string // whose the key is: "GDPA's"
}

// unmet says why t does not have the key, "" where it has.
func (k *Key) unmet(t *Train, in table) string {
	for _, c := range k.when {
		if value := in.key(c.selector).text(t); !slices.Contains(c.values, value) {
			return fmt.Sprintf("is %s; the %s is %s", c.owner, c.selector, value)
		}
	}
	return ""
}

// set parses the text into t's field. The error says what is wrong, without the key's name.
func (k *Key) set(t *Train, text string) error {
	if slices.Contains(k.later, text) {
		return fmt.Errorf("%s is not in this version, want %s", text, strings.Join(k.choices, ", "))
	}
	if k.choices != nil && !slices.Contains(k.choices, k.withoutNumber(text)) {
		return fmt.Errorf("is %q, want %s", text, oneOf(k.choices))
	}
	if k.check != nil {
		if err := k.check(text); err != nil {
			return err
		}
	}
	if k.none && text == "none" {
		text = "0"
	} else if err := k.interval.check(k.field(new(Train)), text); err != nil {
		if k.none {
			return fmt.Errorf("%w, or none", err)
		}
		return err
	}
	return parse(k.field(t), text)
}

// withoutNumber is the choice in cuda:0; other texts stay.
func (k *Key) withoutNumber(text string) string {
	choice, number, found := strings.Cut(text, ":")
	if _, err := strconv.ParseUint(number, 10, 16); found && err == nil && choice == k.numbered {
		return choice
	}
	return text
}

// text is the value of t's field, as set reads it.
func (k *Key) text(t *Train) string {
	text := format(k.field(t))
	if k.none && text == "0" {
		return "none"
	}
	return text
}

func oneOf(choices []string) string {
	if len(choices) == 1 {
		return choices[0]
	}
	last := len(choices) - 1
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}

// Keys returns all keys in the order of the help.
func Keys() []*Key {
	return slices.Concat(dataKeys(), modelKeys(), problemKeys(), methodKeys(), perturbationKeys(), baselineKeys(), switchingKeys(), runKeys(), deviceKeys())
}

// table is all keys, in the order of the help and by name.
type table struct {
	keys   []*Key
	byName map[string]*Key
}

func newTable() table {
	t := table{keys: Keys(), byName: map[string]*Key{}}
	for _, k := range t.keys {
		t.byName[k.Name] = k
	}
	return t
}

// key returns a key by a name of the program's own.
func (t table) key(name string) *Key {
	if k := t.byName[name]; k != nil {
		return k
	}
	panic("config: no key " + name)
}
