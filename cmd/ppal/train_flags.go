package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ppal/internal/config"
)

// helpWidth is the column at which the flags' descriptions are wrapped.
const helpWidth = 118

// comparisonGroup is the heading of the flags that compare has beside train's.
const comparisonGroup = "Comparison"

// groupAnnotation is a flag's annotation with the heading under which the help lists it.
const groupAnnotation = "group"

func (a *app) trainCommand() *cobra.Command {
	values := config.Values{}
	var file string
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train a model and certify the result",
		Long: `Train trains a model under constraints and writes a directory with the weights (model.safetensors), the resolved settings
(config.yaml), the records (metrics.jsonl), pictures (plots) and a summary with the KKT certificate (summary.json).
With no flags: Neyman-Pearson classification by PPALA of the built-in pictures.

Ctrl-C stops the run and writes what was reached; a second Ctrl-C stops at once.`,
		Example: `  ppal train
  ppal train --dataset fashion-mnist --rows-per-class 1000 --hidden 64 --iterations 300
  ppal train --dataset cifar10 --kappa 0.6,0.6,0.5 --heads separate
  ppal train --method gdpa --gdpa-step 0.01
  ppal train --preset paper --dataset fashion-mnist
  ppal train --config runs/20260101-120000-mnpc-ppala/config.yaml --seed 2`,
		Args: noArguments,
		RunE: a.command(func(cmd *cobra.Command, _ []string) error { return a.train(cmd.Context(), values, file) }),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var((*path)(&file), "config", "settings in YAML: keys are the flags' names; flags win")
	for _, k := range config.Keys() {
		f := cmd.Flags().VarPF(&setting{k, values}, k.Name, "", k.Usage)
		f.Annotations = map[string][]string{groupAnnotation: {k.Group}}
		if k.Boolean() {
			f.NoOptDefVal = "true"
		}
		if choices := k.Choices(); choices != nil {
			complete(cmd, k.Name, choices)
		}
	}
	cmd.SetUsageFunc(trainUsage)
	return cmd
}

// complete tells the shell's completion the values of a flag.
func complete(cmd *cobra.Command, flag string, choices []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // a flag of that name was just made
	}
}

// setting is a flag that keeps its text for config.Resolve.
type setting struct {
	key    *config.Key
	values config.Values
}

var _ pflag.Value = (*setting)(nil)

func (s *setting) String() string { return s.values[s.key.Name] }
func (s *setting) Type() string {
	if s.key.Boolean() {
		return "bool" // the help shows no value then
	}
	return s.key.Value
}
func (s *setting) Set(text string) error {
	s.values[s.key.Name] = text
	return nil
}

// path is a flag with a file's name.
type path string

func (p *path) String() string        { return string(*p) }
func (p *path) Type() string          { return "FILE" }
func (p *path) Set(text string) error { *p = path(text); return nil }

// trainUsage prints the flags under their groups' headings.
func trainUsage(cmd *cobra.Command) error {
	out := cmd.OutOrStderr()
	fmt.Fprintf(out, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
	groups := map[string]*pflag.FlagSet{}
	section := func(name string) *pflag.FlagSet {
		if groups[name] == nil {
			groups[name] = pflag.NewFlagSet(name, pflag.ContinueOnError)
			groups[name].SortFlags = false
		}
		return groups[name]
	}
	const other = "Other"
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		group := other
		if g := f.Annotations[groupAnnotation]; g != nil {
			group = g[0]
		}
		section(group).AddFlag(f)
	})
	for _, name := range slices.Concat([]string{comparisonGroup}, config.Groups(), []string{other}) {
		if groups[name] == nil {
			continue
		}
		fmt.Fprintf(out, "\n%s:\n%s\n", name, strings.TrimRight(section(name).FlagUsagesWrapped(helpWidth), "\n"))
	}
	return nil
}
