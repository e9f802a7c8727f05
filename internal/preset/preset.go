// Package preset holds the defaults that depend on the experiment, as embedded YAML files: one file
// for each experiment, in the folder paper for the values of Moon et al., and in the folder
// practical for the values of all other runs. The methods and the other settings have numbers only.
//
// A file is a list of rules. The key "with" holds the conditions of a rule: names of settings and
// their values. The other keys are defaults:
//
//   - with: {preset: paper, problem: if}
//     tau: 0.01
//
// The first rule that applies determines a default, in the order of the folders and of the files'
// names, which begin with numbers.
package preset

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"ppal/internal/option"
)

// The presets.
const (
	Practical = "practical" // works well in practice
	Paper     = "paper"     // the values of Moon et al.
)

// conditions is the key of a rule's conditions.
const conditions = "with"

//go:embed paper/*.yaml practical/*.yaml
var files embed.FS

// notesFile lists the settings whose values the paper does not give.
const notesFile = Paper + "/notes.yaml"

// rule is a default for the runs in which all conditions hold.
type rule struct {
	name  string // of the setting
	value string
	with  []option.Condition
}

// rules returns the rules of all files in order.
var rules = sync.OnceValue(func() []rule {
	var list []rule
	for _, folder := range []string{Paper, Practical} {
		paths, err := fs.Glob(files, folder+"/*.yaml")
		for _, path := range paths {
			if path != notesFile && err == nil {
				var more []rule
				more, err = read(path)
				list = append(list, more...)
			}
		}
		if err != nil {
			panic(err) // a file of this program; the tests read all
		}
	}
	return list
})

// read returns the rules of a file.
func read(path string) ([]rule, error) {
	data, err := files.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var blocks []yaml.Node
	if err := yaml.Unmarshal(data, &blocks); err != nil {
		return nil, fmt.Errorf("preset: %s: %w", path, err)
	}
	var list []rule
	for _, block := range blocks {
		var with []option.Condition
		for i := 0; i+1 < len(block.Content); i += 2 {
			name, value := block.Content[i].Value, block.Content[i+1]
			if name != conditions {
				list = append(list, rule{name, value.Value, with})
				continue
			}
			for j := 0; j+1 < len(value.Content); j += 2 {
				with = append(with, option.If(value.Content[j].Value, texts(value.Content[j+1])...))
			}
		}
	}
	return list, nil
}

// texts returns the items of a list, or the only value.
func texts(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var list []string
	for _, item := range n.Content {
		list = append(list, item.Value)
	}
	return list
}

// Apply adds the defaults of the presets to the options, after the options' own cases, and returns
// the options. Rules that differ only in the problem become one case.
func Apply(options []*option.Option) []*option.Option {
	for _, o := range options {
		var cases []rule
		for _, r := range rules() {
			if r.name == o.Name {
				cases = add(cases, r.within(o))
			}
		}
		for len(cases) > 0 && cases[len(cases)-1].value == o.PlainDefault() {
			cases = cases[:len(cases)-1] // says nothing new
		}
		for _, c := range cases {
			o.For(c.value, c.with...)
		}
	}
	return options
}

// within returns the rule without the conditions that the option itself has.
func (r rule) within(o *option.Option) rule {
	needs := o.Needs()
	r.with = slices.DeleteFunc(slices.Clone(r.with), func(c option.Condition) bool {
		return slices.ContainsFunc(needs, func(n option.Condition) bool { return n.Name == c.Name && slices.Equal(n.Values, c.Values) })
	})
	return r
}

// add appends a rule, or adds its problem to a rule that is otherwise equal.
func add(list []rule, r rule) []rule {
	for _, before := range list {
		if at, ok := before.joins(r); ok {
			before.with[at].Values = slices.Concat(before.with[at].Values, r.with[at].Values)
			return list
		}
	}
	r.with = slices.Clone(r.with)
	return append(list, r)
}

// joins reports whether two rules differ in the values of the problem only, and returns the place
// of the problem among the conditions.
func (r rule) joins(other rule) (at int, ok bool) {
	if r.value != other.value || len(r.with) != len(other.with) {
		return 0, false
	}
	at = slices.IndexFunc(r.with, func(c option.Condition) bool { return c.Name == option.NameProblem })
	for i, c := range r.with {
		d := other.with[i]
		if c.Name != d.Name || i != at && !slices.Equal(c.Values, d.Values) {
			return 0, false
		}
	}
	return at, at >= 0
}

// SetDefaults sets the options to the practical defaults for a problem.
func SetDefaults(options []*option.Option, problem string) error {
	run := map[string]string{option.NameProblem: problem, option.NamePreset: Practical}
	return option.SetDefaults(Apply(options), func(name string) string { return run[name] })
}

// unpublished is a setting whose values the paper gives for some runs, or for none.
type unpublished struct {
	Name      string
	Published []string // the values that the paper gives
}

// NotInPaper returns the settings whose values the paper does not give, in the order of the notes.
var NotInPaper = sync.OnceValue(func() []unpublished {
	data, err := files.ReadFile(notesFile)
	var list []unpublished
	if err == nil {
		err = yaml.Unmarshal(data, &list)
	}
	if err != nil {
		panic(strings.TrimSpace(err.Error())) // a file of this program; the tests read it
	}
	return list
})
