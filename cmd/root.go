package cmd

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ppal/internal/config"
	"ppal/internal/option"
)

// thirdParty has the licences and notices of the modules that the program links, and of Go's
// standard library: a section for each licence, with the modules under this licence, then its text.
// The texts are collected from the modules by
//
//	go test ./cmd -run Licenses -update
//
//go:embed third-party.txt.gz
var thirdParty []byte

// rootCommand returns the command line for the arguments. If the first argument is a command's
// name, the command line has only this command: the flags of all commands take milliseconds.
// Otherwise it has all commands.
func (a *app) rootCommand(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "ppal",
		Short: "Train models under constraints",
		Long: `Ppal trains models under constraints. For example, it minimises the error and keeps the difference between the positive
rates of two groups below a bound. It uses proximal-perturbed Lagrangian methods (Moon et al.) or rival methods. Every run
ends with the values of the constraints on counted decisions, and with a KKT certificate, which measures how close the
result is to optimality.

` + exitText,
		Example: `  ppal train                                          train on built-in data
  ppal data fetch fashion-mnist                       download a data set
  ppal train --dataset fashion-mnist --method gdpa    use another data set and method`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	commands := a.commands()
	if len(args) > 0 && commands[args[0]] != nil {
		root.AddCommand(commands[args[0]]())
	} else {
		for _, command := range commands {
			root.AddCommand(command())
		}
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = knownCommand(root)
		case "completion": // cobra prints its help for any argument and succeeds
			c.Args = cobra.NoArgs
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	return root
}

// commands returns the functions that make the commands, by the commands' names.
func (a *app) commands() map[string]func() *cobra.Command {
	return map[string]func() *cobra.Command{
		"train": a.trainCommand, "watch": a.watchCommand, "predict": a.predictCommand, "evaluate": a.evaluateCommand, "diff": a.diffCommand,
		"verify": a.verifyCommand, "export": a.exportCommand, "report": a.reportCommand, "methods": a.methodsCommand,
		"compare": a.compareCommand, "sweep": a.sweepCommand, "reproduce": a.reproduceCommand, "data": a.dataCommand,
		"bench": a.benchCommand, "devices": a.devicesCommand, "gpu-check": a.gpuCheckCommand, "man": a.manCommand, "version": a.versionCommand,
	}
}

// command wraps a command's own work and records that it has begun.
func (a *app) command(do func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := refuseEmpty(cmd, args); err != nil {
			return err
		}
		a.started = true
		return do(cmd, args)
	}
}

// refuseEmpty refuses empty arguments and empty names of files, as from a variable of the shell
// that is not set: the command would do something else without a word.
func refuseEmpty(cmd *cobra.Command, args []string) error {
	var empty string
	if slices.Contains(args, "") {
		empty = "an argument"
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if kind, _ := pflag.UnquoteUsage(f); namesFile.MatchString(kind) && (len(values) == 0 || slices.Contains(values, "")) {
			empty = "--" + f.Name
		}
	})
	if empty == "" {
		return nil
	}
	return &config.Error{Where: empty, Problem: "is empty; is a variable of the shell not set?"}
}

// namesFile matches the placeholders of flags whose value is the name of a file or a directory.
var namesFile = regexp.MustCompile("FILE|DIR")

// knownCommand refuses arguments that do not name a command.
func knownCommand(root *cobra.Command) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if c, rest, err := root.Find(args); c == nil || err != nil || len(rest) > 0 {
			return fmt.Errorf("unknown command %q", strings.Join(args, " "))
		}
		return nil
	}
}

// flagError says in plain words that a switch has a wrong value, or that a setting does not exist.
func flagError(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) && bad.GetFlag().Value.Type() == "bool" {
		return fmt.Errorf("--%s %s: must be true or false", bad.GetFlag().Name, bad.GetValue())
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && cmd.Flags().Lookup("method") != nil {
		return config.Unknown(unknown.GetSpecifiedName(), cmd.CommandPath())
	}
	return err
}

// asFile returns the advice to give an argument that names a file as the value of a flag; "" if the
// argument does not look like a file, or the command reads no file.
func asFile(cmd *cobra.Command, argument string) string {
	flags := []string{"file", "input"}
	if strings.HasSuffix(argument, ".yaml") || strings.HasSuffix(argument, ".yml") {
		flags = []string{"config"}
	}
	if info, err := os.Stat(argument); (err != nil || info.IsDir()) && !strings.ContainsAny(argument, "./") {
		return ""
	}
	for _, name := range flags {
		if cmd.Flags().Lookup(name) != nil {
			return fmt.Sprintf("; did you mean --%s %s?", name, option.ShellWord(argument))
		}
	}
	return ""
}

// noArguments refuses arguments that are not flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := asFile(cmd, args[0])
	if args[0] == "true" || args[0] == "false" {
		hint = "; write the value of a boolean flag after =, as in --quiet=false"
	}
	return fmt.Errorf("unexpected argument %q%s", args[0], hint)
}

func (a *app) versionCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print version information",
		Example: "  ppal version\n  ppal version --licenses",
		Args:    noArguments,
		RunE: a.command(func(*cobra.Command, []string) error {
			if all {
				text, err := gzip.NewReader(bytes.NewReader(thirdParty))
				if err != nil {
					return err
				}
				_, err = io.Copy(a.stdout, text)
				return err
			}
			fmt.Fprintf(a.stdout, "ppal %s\n%s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			for _, module := range []string{"gorgonia.org/gorgonia", "gorgonia.org/tensor", "gonum.org/v1/gonum"} {
				fmt.Fprintf(a.stdout, "%s %s\n", module, moduleVersion(module))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&all, "licenses", false, "print the licences and notices of the software that the program links")
	return cmd
}

// release is the version of the Python package that carries the program; "" elsewhere. The build of
// the package sets it.
var release string

// version returns the release or the module's version, with the commit if it is known.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	if revision := set["vcs.revision"]; len(revision) >= 12 && v == "(devel)" {
		v += " " + revision[:12]
		if day, _, found := strings.Cut(set["vcs.time"], "T"); found {
			v += " of " + day
		}
		if set["vcs.modified"] == "true" {
			v += " modified"
		}
	}
	return v
}

// moduleVersion returns the version of a module in this program.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}

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
