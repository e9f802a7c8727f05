package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ppal/internal/config"
	"ppal/internal/option"
	"ppal/trainer/method"
)

// helpWidth is the column at which the flags' descriptions are wrapped.
const helpWidth = 118

// comparisonGroup is the heading of the flags of compare that train does not have.
const comparisonGroup = "Comparison"

// The annotations of a flag: the heading under which the help lists it, and whether the short help
// omits it.
const (
	groupAnnotation = "group"
	rareAnnotation  = "rare"
)

// trainFlags are the flags of train that are not settings of the run.
type trainFlags struct {
	config string
	set    []string
	all    bool // --help-all
	// allowViolation makes the exit status 0 if a constraint is not met.
	allowViolation bool
	strict         bool // nearly met gives the exit status 3
	byGroup        bool // print the rates by group
	json           bool // print summary.json instead of the table
	oracle         bool // the method is another program on standard input and output
	// resume is the directory of a run that continues; "": a new run.
	resume          string
	choose          string // settings and their values, from which the validation rows choose
	folds           int    // number of parts of the training rows that judge instead of the validation rows; 0: no parts
	checkpointEvery time.Duration
}

func (a *app) trainCommand() *cobra.Command {
	values := config.Values{}
	var f trainFlags
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train a model and certify the result",
		Long: `Train trains a model under constraints and writes a directory with the weights (model.safetensors), the resolved settings
(config.yaml), the records (metrics.jsonl), plots and a summary with the KKT certificate (summary.json).
Without flags it trains a Neyman-Pearson classifier by the method of multipliers on the built-in pictures.

Ctrl-C stops the run and writes its files; a second Ctrl-C stops at once. --resume DIR continues an interrupted or
killed run.

` + exitText,
		Example: `  ppal train
  ppal train --dataset fashion-mnist --rows-per-class 1000 --hidden 64 --iterations 300
  ppal train --dataset adult --subject-to "gap(tpr, sex) <= 0.01" --subject-to "fpr <= 5%"
  ppal train --dataset cifar10 --kappa 0.6,0.6,0.5 --heads separate
  ppal train --method gdpa --set gdpa.step=0.01
  ppal train --preset paper --dataset fashion-mnist
  ppal train --config runs/20260101-120000-mnpc-alm/config.yaml --seed 2`,
		Args: noArguments,
		RunE: a.inProcesses(func(cmd *cobra.Command, _ []string) error {
			if f.all {
				return cmd.Help()
			}
			return a.train(cmd.Context(), values, f)
		}),
	}
	cmd.Flags().SortFlags = false
	addConfig(cmd, &f.config)
	addSettings(cmd, values)
	addSet(cmd, &f.set, "give the run's method a setting, as in gdpa.step=0.01; may be repeated")
	cmd.Flags().BoolVar(&f.oracle, "oracle", false, "let another program train: serve f, g and gradients to it on standard input and output, and count its evaluations (ppal reproduce suite --help has the protocol)")
	mark(cmd, config.GroupRun, rare, "oracle")
	addChoice(cmd, &f)
	addTrainOutput(cmd, &f)
	addResume(cmd, &f)
	addHelpAll(cmd, &f.all)
	cmd.SetUsageFunc(trainUsage)
	return cmd
}

// The short help lists everyday flags, and omits rare ones.
const (
	everyday = false
	rare     = true
)

// mark sets the heading under which the help lists the flags, and whether they are rare.
func mark(cmd *cobra.Command, group string, rare bool, names ...string) {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f.Annotations = map[string][]string{groupAnnotation: {group}}; rare {
			f.Annotations[rareAnnotation] = []string{"true"}
		}
	}
}

// markOwn sets the heading of all flags so far, which train does not have.
func markOwn(cmd *cobra.Command, group string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { mark(cmd, group, everyday, f.Name) })
}

// addConfig adds the flag --config.
func addConfig(cmd *cobra.Command, field *string) {
	cmd.Flags().Var(&path{field, "FILE"}, "config", "read settings from this YAML file, whose keys are the flags' names; flags win")
}

// readConfig reads the file of --config; nil without the flag.
func readConfig(name string) (*config.File, error) {
	if name == "" {
		return nil, nil
	}
	return config.ReadFile(name)
}

// addTrainOutput adds the flags that change the output of a command without changing the run.
func addTrainOutput(cmd *cobra.Command, f *trainFlags) {
	cmd.Flags().BoolVar(&f.byGroup, "by-group", false, "print the rates of decisions of every group, with intervals")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the summary of the run, as in summary.json, instead of the table")
	addAllowViolation(cmd, &f.allowViolation, "a constraint")
	addStrict(cmd, &f.strict)
	mark(cmd, config.GroupRun, everyday, "by-group")
	mark(cmd, config.GroupRun, rare, "json")
}

// addChoice adds the flags of the choice of settings.
func addChoice(cmd *cobra.Command, f *trainFlags) {
	cmd.Flags().StringVar(&f.choose, "choose", "", "train with each combination of these `VALUES`, and let the validation rows choose one, as in \"hidden=0,16,64x32; regularizer-weight=auto\"")
	cmd.Flags().IntVar(&f.folds, "folds", 0, "divide the training rows into `K` parts, which judge in turn instead of the validation rows (--choose, --regularizer-weight auto); 0: the validation rows judge")
	mark(cmd, config.GroupRun, rare, "choose", "folds")
}

// addResume adds the flags of checkpoints.
func addResume(cmd *cobra.Command, f *trainFlags) {
	cmd.Flags().Var(&path{&f.resume, "DIR"}, "resume", "continue the interrupted or killed run in this directory, to the same bits; with more --iterations or a longer --time-limit, extend a finished run")
	cmd.Flags().DurationVar(&f.checkpointEvery, "checkpoint-every", 30*time.Second,
		"write a checkpoint for --resume at this interval, at Ctrl-C and at a limit; checkpoints take at most 5% of the time; 0: never")
	mark(cmd, config.GroupRun, rare, "resume", "checkpoint-every")
}

// addAllowViolation adds the flag --allow-violation.
func addAllowViolation(cmd *cobra.Command, field *bool, what string) {
	cmd.Flags().BoolVar(field, "allow-violation", false, "end with exit status 0, instead of 3, if "+what+" is not met or cannot be judged")
	mark(cmd, config.GroupRun, everyday, "allow-violation")
}

// addStrict adds the flag --strict.
func addStrict(cmd *cobra.Command, field *bool) {
	cmd.Flags().BoolVar(field, "strict", false, "end with exit status 3 also if a constraint is met only to one row, or to 0.001")
	mark(cmd, config.GroupRun, rare, "strict")
}

// addSettings adds a flag for each setting of a run, without the ones in except.
func addSettings(cmd *cobra.Command, values config.Values, except ...string) {
	for _, k := range config.Keys() {
		if slices.Contains(except, k.Name) {
			continue
		}
		f := cmd.Flags().VarPF(&setting{key: k, values: values}, k.Name, "", k.Usage())
		mark(cmd, k.Group, !k.Everyday, k.Name)
		if k.Switch() {
			f.NoOptDefVal = "true"
		}
		if choices := k.Choices(); choices != nil {
			complete(cmd, k.Name, choices)
		}
	}
}

// addSet adds the flag --set with completion.
func addSet(cmd *cobra.Command, field *[]string, usage string) {
	cmd.Flags().Var((*assignments)(field), "set", usage)
	group := config.GroupMethod
	if cmd.Flags().Lookup("methods") != nil {
		group = comparisonGroup
	}
	mark(cmd, group, everyday, "set")
	err := cmd.RegisterFlagCompletionFunc("set", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		name, _, dotted := strings.Cut(typed, ".")
		var list []string
		for _, d := range method.All() {
			if !dotted {
				list = append(list, d.Name+".")
			} else if d.Name == name {
				for _, o := range option.Of(d.New()) {
					list = append(list, name+"."+strings.TrimPrefix(o.Name, name+"-")+"=")
				}
			}
		}
		return list, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // a flag of that name was just made
	}
}

// addHelpAll adds the flags --help and --help-all.
func addHelpAll(cmd *cobra.Command, field *bool) {
	cmd.Flags().BoolP("help", "h", false, "print the everyday flags")
	cmd.Flags().BoolVar(field, "help-all", false, "print all flags, with the methods' settings and the rare ones")
}

// complete registers the values of a flag for the shell's completion.
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
	given  bool
}

var _ pflag.Value = (*setting)(nil)

func (s *setting) String() string { return s.values[s.key.Name] }
func (s *setting) Type() string {
	if s.key.Switch() {
		return "bool" // the help then shows no value
	}
	return s.key.Placeholder()
}
func (s *setting) Set(text string) error {
	if s.given && s.key.Repeatable() {
		text = s.values[s.key.Name] + s.key.Separator() + text
	}
	s.values[s.key.Name], s.given = text, true
	return nil
}

// path is a flag with the name of a file or a directory. kind is the name of the value in the help.
type path struct {
	field *string
	kind  string
}

func (p *path) String() string        { return *p.field }
func (p *path) Type() string          { return p.kind }
func (p *path) Set(text string) error { *p.field = text; return nil }

// assignments is a flag that can be repeated.
type assignments []string

func (a *assignments) String() string        { return strings.Join(*a, " ") }
func (a *assignments) Type() string          { return "METHOD.SETTING=VALUE" }
func (a *assignments) Set(text string) error { *a = append(*a, text); return nil }

// trainUsage prints the flags under their groups' headings: the everyday ones, or all with
// --help-all.
func trainUsage(cmd *cobra.Command) error {
	out := cmd.OutOrStderr()
	all := cmd.Flags().Changed("help-all")
	fmt.Fprintf(out, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
	const other = "Other"
	groups := map[string]*pflag.FlagSet{}
	var own []string // the headings that train does not have
	section := func(name string) *pflag.FlagSet {
		if groups[name] == nil {
			groups[name] = pflag.NewFlagSet(name, pflag.ContinueOnError)
			groups[name].SortFlags = false
			if name != other && !slices.Contains(config.Groups(), name) {
				own = append(own, name)
			}
		}
		return groups[name]
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		group := other
		if g := f.Annotations[groupAnnotation]; g != nil {
			group = g[0]
		}
		if all || f.Annotations[rareAnnotation] == nil {
			section(group).AddFlag(f)
		}
	})
	for _, name := range slices.Concat(own, config.Groups(), []string{other}) {
		if groups[name] == nil {
			continue
		}
		fmt.Fprintf(out, "\n%s:\n%s\n", name, strings.TrimRight(section(name).FlagUsagesWrapped(helpWidth), "\n"))
	}
	if !all {
		fmt.Fprintf(out, "\nThe methods' settings: ppal methods NAME. All flags: %s --help-all.\n", cmd.CommandPath())
	}
	return nil
}
