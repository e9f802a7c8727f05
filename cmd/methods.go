package cmd

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ppal/internal/config"
	"ppal/internal/option"
	"ppal/internal/preset"
	"ppal/trainer/method"
)

func (a *app) methodsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "methods [NAME]",
		Short: "List the methods, or describe one and its settings",
		Long: `Methods lists the methods that ppal train and ppal compare take. With a name it describes the method: the idea, the publication
that has the equations, and the settings with their defaults, ranges and units.`,
		Example: `  ppal methods
  ppal methods gdpa`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(method.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: a.command(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listMethods()
			}
			return a.describeMethod(args[0])
		}),
	}
}

// rivalLimits says what the methods for comparisons lack.
const rivalLimits = "not a choice of --method auto; runs on mini-batches do not end with steps on all rows."

func (a *app) listMethods() error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	rivals := false
	for _, d := range method.All() {
		switch {
		case d.Rival && !rivals:
			fmt.Fprintln(w, "\nFor comparisons: "+rivalLimits)
		case rivals && !d.Rival:
			fmt.Fprintln(w)
		}
		rivals = d.Rival
		fmt.Fprintf(w, "%s\t%s\n", d.Name, d.Summary)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.stdout, "\nppal methods NAME describes a method and its settings.")
	return err
}

func (a *app) describeMethod(name string) error {
	d, err := method.Lookup(name)
	if err != nil {
		return usage{errors.New(config.UnknownMethod(name))}
	}
	options := preset.Apply(option.Of(d.New()))
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SortFlags = false
	for _, o := range options {
		f := flags.VarPF(described{o}, o.Name, "", o.Sentence())
		if o.Switch() {
			f.NoOptDefVal = "true"
		}
	}
	text := fmt.Sprintf("%s: %s\n", d.Name, d.Summary)
	if d.About != "" {
		text += "\n" + wrapped(d.About, helpWidth) + "\n"
	}
	if d.Rival {
		text += "For comparisons: " + rivalLimits + "\n"
	}
	if problems := config.SuitableProblems(d.New().Needs()); problems != "" {
		text += wrapped("Needs "+problems+".", helpWidth)
	}
	if d.Source != "" {
		text += "Source: " + strings.TrimSuffix(d.Source, ".") + ".\n"
	}
	_, err = io.WriteString(a.stdout, text)
	if err != nil || len(options) == 0 {
		return err
	}
	first := options[len(options)-1].Name
	_, err = fmt.Fprintf(a.stdout, "\nSettings, as flags of ppal train or as --set %s.SETTING=VALUE (--set %[1]s.%s=...):\n%s",
		d.Name, strings.TrimPrefix(first, d.Name+"-"), flags.FlagUsagesWrapped(helpWidth))
	return err
}

// described is an option as a flag of a help text.
type described struct{ *option.Option }

func (d described) String() string { return "" }
func (d described) Type() string {
	if d.Switch() {
		return "bool"
	}
	return d.Placeholder()
}

// wrapped breaks a text into lines of at most width columns.
func wrapped(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteByte('\n')
	return b.String()
}
