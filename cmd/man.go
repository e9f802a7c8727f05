package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "Print the manual page, which make install installs",
		Example: "  ppal man > ppal.1\n  man -l ppal.1",
		Args:    noArguments,
		RunE: a.command(func(*cobra.Command, []string) error {
			out := &failOnce{out: a.stdout}
			printManual(out, a.rootCommand(nil))
			return out.err
		}),
	}
}

// printManual writes the manual page of all commands and flags in the man macros of roff. The other
// commands list the flags that train does not have.
func printManual(out io.Writer, root *cobra.Command) {
	text := func(s string) { fmt.Fprintln(out, roff(strings.TrimSpace(s))) }
	literal := func(s string) {
		fmt.Fprintf(out, ".PP\n.nf\n%s\n.fi\n", roff(strings.Trim(s, "\n")))
	}
	about, exit, _ := strings.Cut(root.Long, exitText)
	fmt.Fprintf(out, ".TH PPAL 1 \"\" \"%s\" \"ppal\"\n.SH NAME\nppal \\- %s\n.SH SYNOPSIS\n\\fBppal\\fR \\fICOMMAND\\fR [flags]\n.SH DESCRIPTION\n",
		roff("ppal "+root.Version), roff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	text(about + exit)
	literal(root.Example)
	fmt.Fprintln(out, ".SH COMMANDS")
	train, _, _ := root.Find([]string{"train"})
	var describe func(c *cobra.Command)
	describe = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		fmt.Fprintf(out, ".SS %s\n", roff(c.UseLine()))
		long, _, _ := strings.Cut(c.Long, exitText)
		if long == "" {
			long = c.Short + "."
		}
		for k, part := range strings.Split(strings.TrimSpace(long), "\n\n") {
			if k > 0 {
				fmt.Fprintln(out, ".PP")
			}
			text(part)
		}
		if c.Example != "" {
			literal(c.Example)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || c != train && train.Flags().Lookup(f.Name) != nil {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(out, ".TP\n\\fB\\-\\-%s\\fR", roff(f.Name))
			if value != "" {
				fmt.Fprintf(out, " \\fI%s\\fR", roff(value))
			}
			fmt.Fprintln(out)
			text(usage)
		})
		for _, sub := range c.Commands() {
			describe(sub)
		}
	}
	for _, c := range root.Commands() {
		describe(c)
	}
	fmt.Fprintln(out, ".SH EXIT STATUS")
	text(strings.TrimPrefix(exitText, "Exit status: "))
}

// roff escapes a text: a backslash, a hyphen, and a dot or quote that would begin a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
