package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ppal/datasets"
	"ppal/internal/chart"
	"ppal/internal/config"
	"ppal/internal/option"
	"ppal/internal/oracle"
	"ppal/internal/study"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// compareFlags are the flags of compare that train does not have.
type compareFlags struct {
	methods  []string
	seeds    string
	budget   string
	tune     string
	out      string
	merge    []string
	json     bool
	set      []string
	programs []string // the commands of --contender
	parallel int
	measures []string
	format   plotFormat
	all      bool // --help-all
}

// comparesItself lists the flags of train that a comparison replaces or does not support.
var comparesItself = []string{"method", "seed", "out", "record-every", "time-limit", "tolerance", "explain", "quiet", "log-format", "tensorboard", "threads", "output", "select", "patience", "examples"}

func (a *app) compareCommand() *cobra.Command {
	values := config.Values{}
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Compare methods with equal starts and equal budgets",
		Long: `Compare runs several methods with equal starts (a seed gives each method the same rows and initial weights) and equal
budgets. It writes every record of every run (results.jsonl), medians and ranges over the seeds (plots) and a
table (summary.md). Bounds are judged as by train, with the numbers of train's summary.json. Compare accepts the flags of
train; each method uses the flags that apply to it. Without --primal, all methods take first-order steps with the
automatic size, so that only the methods differ. The first line of the table names the methods with steps of their own.
--gdpa-step, --primal gradient and the preset paper give GDPA its published step. --set gives a setting to one method.
A search (--tune) tries a grid of settings for each method with the same budget: all points on the first seed, and the
best points on the second seed too. A grid grows where its best point lies on an edge. --set and --tune refuse settings
that change the problem, such as bounds.

Runs are executed in parallel, each on one thread. With a budget in seconds they are executed one after the other on all
threads, so that no run slows another down. To continue an interrupted comparison, repeat the command with its --out; more
seeds are added. Several processes with the same --out share the runs. --merge joins comparisons from several machines.`,
		Example: `  ppal compare --methods ppala,gdpa --seeds 5 --iterations 300
  ppal compare --methods ppala,gdpa,penalty --budget seconds:10 --dataset fashion-mnist --rows-per-class 1000 --hidden 64
  ppal compare --methods ppala,gdpa --set gdpa.step=0.01 --out runs/gdpa-step
  ppal compare --methods ppala,gdpa --seeds 11-20 --out b; ppal compare --out all --merge a b
  ppal compare --methods ppala,gdpa --tune grid.yaml        # gdpa: {step: [1e-3, 1e-2, 1e-1]}`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.merge != nil {
				return nil // more directories, as from a pattern of the shell
			}
			return noArguments(cmd, args)
		},
		RunE: a.inProcesses(func(cmd *cobra.Command, args []string) error {
			if f.all {
				return cmd.Help()
			}
			if f.merge != nil {
				return a.mergeComparisons(cmd, f, append(f.merge, args...))
			}
			return a.compare(cmd.Context(), values, f)
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.methods, "methods", []string{"ppala", "gdpa"}, "compare the methods `NAME,...`")
	flags.StringArrayVar(&f.programs, "contender", nil, "compare the program that this `COMMAND` starts too, as in \"python descent.py\": it asks for f, g and gradients (see ppal train --oracle); may be repeated")
	flags.StringVar(&f.seeds, "seeds", "5", "run each method with the seeds 1 to `N`, or with a list, as in 11-20 or 1,4,11-20")
	flags.StringVar(&f.budget, "budget", "iterations", "limit every run by this `BUDGET`: gradients:N, seconds:S, or iterations, which is the value of --iterations")
	flags.StringVar(&f.tune, "tune", "", "search the grid of settings for each method in this YAML `FILE`")
	flags.StringVar(&f.out, "out", "", "write to this directory `DIR` (default runs/<time>-compare)")
	flags.StringSliceVar(&f.merge, "merge", nil, "train nothing: join the finished runs of comparisons with other seeds in the directories `DIR...`, and write to --out")
	flags.IntVar(&f.parallel, "parallel", 0, "execute `N` runs in parallel, each on one thread; 0: one run for each core (default 0)")
	flags.StringSliceVar(&f.measures, "measures", []string{"test_error"}, "draw and tabulate the measures `NAME,...`")
	flags.Var(&f.format, "plot-format", plotFormatHelp)
	flags.BoolVar(&f.json, "json", false, "print the table as JSON, as in summary.json")
	flags.BoolVar(&a.quiet, "quiet", false, "print errors and the final table only")
	markOwn(cmd, comparisonGroup)
	addSet(cmd, &f.set, "give one method a setting, as in plada.eta=0.1; may be repeated")
	addSettings(cmd, values, comparesItself...)
	addHelpAll(cmd, &f.all)
	cmd.SetUsageFunc(trainUsage)
	return cmd
}

// compare runs the command.
func (a *app) compare(ctx context.Context, values config.Values, f compareFlags) error {
	comparison, err := newComparison(values, f)
	defer removeContenders(f.programs)
	if err != nil {
		return err
	}
	dir := f.out
	if dir == "" {
		dir = filepath.Join("runs", a.now().Format("20060102-150405")+"-compare")
	}
	outcome, err := a.runComparison(ctx, comparison, dir, dir)
	if err != nil {
		return err
	}
	return a.printComparison(outcome, dir, f)
}

// mergeComparisons joins the runs of comparisons with other seeds in the directories dirs.
func (a *app) mergeComparisons(cmd *cobra.Command, f compareFlags, dirs []string) error {
	var other string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"merge", "out", "measures", "plot-format", "quiet", "json"}, flag.Name) {
			other = flag.Name
		}
	})
	switch {
	case other != "":
		return &config.Error{Where: "--" + other + ":", Problem: "does not apply to --merge, which trains nothing"}
	case f.out == "":
		return &config.Error{Where: "--merge " + strings.Join(f.merge, ",") + ":", Problem: "needs --out, the directory of all runs"}
	}
	outcome, err := study.MergeComparisons(cmd.Context(), dirs, f.out, f.measures)
	if err != nil {
		return err
	}
	a.warnReport(f.out, study.ReportComparison(f.out))
	return a.printComparison(outcome, f.out, f)
}

// plotFormat is the value of --plot-format.
type plotFormat string

const plotFormatHelp = "write plots as SVG files, and with pdf or png also in this `FORMAT` (default svg)"

func (*plotFormat) Type() string { return "FORMAT" }

func (f *plotFormat) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *plotFormat) Set(name string) error {
	if !slices.Contains([]string{"svg", chart.PDF, chart.PNG}, name) {
		return errors.New("must be svg, pdf or png")
	}
	*f = plotFormat(name)
	return nil
}

// write adds the plots of a comparison in the format.
func (f plotFormat) write(dir string) error {
	if f == chart.PDF || f == chart.PNG {
		return chart.Convert(filepath.Join(dir, "plots"), string(f))
	}
	return nil
}

// printComparison writes the plots in the format, prints the tables, and names the files; with
// --json it prints summary.json alone.
func (a *app) printComparison(outcome *study.Compared, dir string, f compareFlags) error {
	if err := f.format.write(dir); err != nil {
		return err
	}
	if f.json {
		text, err := outcome.JSON()
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(text)
		return err
	}
	_, err := fmt.Fprintf(printing{a.stdout}, "%s\nFiles in %s: report.html, summary.md, summary.tex, summary.json, results.jsonl, curves.csv, plots\n", outcome.Text(), dir)
	return err
}

// runComparison executes the runs in the directory dir, with one progress bar for all of them. out
// is the command's --out.
func (a *app) runComparison(ctx context.Context, s *study.Comparison, dir, out string) (*study.Compared, error) {
	s.Version = version()
	if a.processes > 0 { // runs share all processes, one run after the other
		s.Workers, s.Threads = 1, runtime.GOMAXPROCS(0)
	}
	var err error
	if s.Data, err = a.comparedSums(ctx, s); err != nil {
		return nil, config.NameFlags(err)
	}
	open := func(ctx context.Context, cfg config.Train, set trainer.Settings) (study.Trial, error) {
		dataDir, err := datasets.DirOf(cfg.Dataset, cfg.DataDir, a.getenv)
		if err != nil {
			return nil, err
		}
		options, err := cfg.SessionOptions(dataDir)
		if err != nil {
			return nil, err
		}
		options.Settings = set
		if set.Iterations == 0 {
			options.Settings.Iterations = -1 // none, where 0 is the session's default
		}
		return a.openOneByOne(ctx, options, a.onGPU(cfg))
	}
	var outcome *study.Compared
	err = a.runJobs(ctx, s.Title, out, func(p study.Progress) (err error) {
		outcome, err = study.Compare(ctx, s, dir, open, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.warnReport(dir, study.ReportComparison(dir))
	return outcome, nil
}

// runJobs calls run, which executes the jobs of a study in the directory dir, and shows their
// progress.
func (a *app) runJobs(ctx context.Context, title, dir string, run func(p study.Progress) error) error {
	progress, finish := a.studyProgress(title)
	err := run(progress)
	finish()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted; the finished runs are in %s: repeat the command with --out %s to continue", dir, dir)
	}
	return err
}

// comparedSums returns the checksums of the files from which the methods of a study read their
// data.
func (a *app) comparedSums(ctx context.Context, study *study.Comparison) ([]results.DataFile, error) {
	var sums []results.DataFile
	var seen []string
	for _, c := range study.Contenders {
		cfg, err := config.Resolve(c.Values, nil)
		if err != nil {
			return nil, err
		}
		source := fmt.Sprintf("%q", []string{cfg.Dataset, cfg.DataDir, cfg.Table.File, cfg.Table.TestFile})
		if slices.Contains(seen, source) {
			continue
		}
		seen = append(seen, source)
		own, err := a.dataSums(ctx, cfg)
		if err != nil {
			return nil, err
		}
		sums = append(sums, own...)
	}
	return sums, nil
}

// openOneByOne opens a run of a comparison. Runs on a GPU wait for each other.
func (a *app) openOneByOne(ctx context.Context, o session.Options, onGPU bool) (study.Trial, error) {
	if onGPU {
		a.gpu.Lock()
	}
	s, err := a.open(ctx, o)
	switch {
	case err != nil && onGPU:
		a.gpu.Unlock()
		return nil, config.NameFlags(err)
	case err != nil:
		return nil, config.NameFlags(err)
	case onGPU:
		return &exclusive{s, &a.gpu}, nil
	}
	return s, nil
}

// onGPU reports whether a run uses a GPU: requested, or chosen automatically.
func (a *app) onGPU(cfg config.Train) bool {
	if cfg.Session.Device.Kind != "" || cfg.Session.Device.Engine == session.Gorgonia {
		return cfg.Session.Device.Kind == session.CUDA
	}
	list, err := a.gpus.list()
	return err == nil && len(list) > 0
}

// exclusive is a run that has the GPU to itself.
type exclusive struct {
	*session.Session
	gpu *sync.Mutex
}

// Close gives the GPU to the next run.
func (e *exclusive) Close() error {
	defer e.gpu.Unlock()
	return e.Session.Close()
}

// studyUnits is the number of steps of the bar for each run.
const studyUnits = 100

// studyProgress returns a progress bar on a terminal, and otherwise one line for each run.
func (a *app) studyProgress(title string) (progress study.Progress, finish func()) {
	if a.quiet {
		return func(float64, int, string) {}, func() {}
	}
	if !a.terminal {
		last := 0
		return func(done float64, total int, _ string) {
			if int(done) > last {
				last = int(done)
				fmt.Fprintf(a.stderr, "%s: %d of %d runs done\n", title, last, total)
			}
		}, func() {}
	}
	var bar *progressbar.ProgressBar
	return func(done float64, total int, running string) {
			if bar == nil {
				bar = progressbar.NewOptions(total*studyUnits, progressbar.OptionSetWriter(a.stderr), progressbar.OptionThrottle(barRefresh),
					progressbar.OptionSetWidth(barWidth))
			}
			bar.Describe(fmt.Sprintf("%s, %d of %d runs, %s", title, int(done), total, running))
			_ = bar.Set(int(done * studyUnits))
		}, func() {
			if bar != nil {
				_ = bar.Clear()
			}
		}
}

// newComparison builds the comparison from the flags.
func newComparison(values config.Values, f compareFlags) (*study.Comparison, error) {
	iterations, err := strconv.Atoi(cmp.Or(values["iterations"], "1000"))
	if err != nil {
		return nil, &config.Error{Where: "--iterations " + values["iterations"] + ":", Problem: "must be a whole number"}
	}
	budget, err := study.ParseBudget(f.budget, iterations)
	if err != nil {
		return nil, &config.Error{Where: "--budget " + f.budget + ":", Problem: err.Error()}
	}
	if err := checkParallel(f.parallel); err != nil {
		return nil, err
	}
	s := &study.Comparison{Budget: budget, Workers: f.parallel, Threads: 1, Measures: f.measures}
	if s.Seeds, err = parseSeeds(f.seeds); err != nil {
		return nil, err
	}
	if s.Workers == 0 {
		s.Workers = runtime.NumCPU()
	}
	if budget.Kind == study.Seconds {
		s.Threads = runtime.NumCPU()
	}
	if s.Contenders, err = contenders(values, f); err != nil {
		return nil, err
	}
	cfg, err := config.Resolve(s.Contenders[0].Values, nil)
	if err != nil {
		return nil, err
	}
	if session.TraitsOf(cfg.Task).Unbounded {
		return nil, &config.Error{Where: "--subject-to:", Problem: "missing; without a bound there is nothing to compare: all methods minimise the objective alone"}
	}
	s.Title = fmt.Sprintf("%s on %s", cfg.Data.Problem, results.DataName(cfg.Dataset, cfg.Table.File))
	return s, nil
}

// parseSeeds returns the seeds of the flag --seeds.
func parseSeeds(text string) ([]uint64, error) {
	seeds, err := study.ParseSeeds(text)
	if err != nil {
		return nil, &config.Error{Where: "--seeds " + text + ":", Problem: err.Error()}
	}
	return seeds, nil
}

// checkParallel checks the number of parallel runs.
func checkParallel(runs int) error {
	if runs < 0 {
		return &config.Error{Where: fmt.Sprintf("--parallel %d:", runs), Problem: "must be at least 0"}
	}
	return nil
}

// contenders returns the methods with their settings.
func contenders(values config.Values, f compareFlags) ([]study.Contender, error) {
	var grids map[string][]config.Values
	if f.tune != "" {
		var err error
		if grids, err = study.ReadGrid(f.tune); err != nil {
			return nil, err
		}
	}
	programs, err := addContenders(f.programs)
	if err != nil {
		return nil, err
	}
	names := slices.Concat(f.methods, programs)
	if len(names) == 0 {
		return nil, &config.Error{Where: "--methods:", Problem: "names no method"}
	}
	unused := map[string]int{} // for each flag, the number of methods that do not have it
	var list []study.Contender
	for _, name := range names {
		given := maps.Clone(values)
		given["method"] = name
		own, others, err := config.Applicable(given)
		if err != nil {
			return nil, inList(err)
		}
		for _, k := range others {
			unused[k]++
		}
		list = append(list, study.Contender{Name: name, Values: own, Grid: grids[name]})
		if at := slices.Index(programs, name); at >= 0 {
			list[len(list)-1].Program = f.programs[at]
		}
		delete(grids, name)
	}
	for k, n := range unused {
		if n == len(names) {
			return nil, &config.Error{Where: "--" + k + ":", Problem: "does not apply to any of the methods " + strings.Join(f.methods, ",")}
		}
	}
	for name := range grids {
		return nil, &config.Error{Where: "--tune " + f.tune + ":", Problem: fmt.Sprintf("has a grid for %s, which is not one of the methods %s", name, strings.Join(f.methods, ","))}
	}
	for _, text := range f.set {
		if err := setOne(list, text); err != nil {
			return nil, err
		}
	}
	for _, c := range list {
		if _, err := config.Resolve(c.Values, nil); err != nil {
			return nil, inList(err)
		}
	}
	return list, nil
}

// inList returns an error of the setting --method as one of the list --methods.
func inList(err error) error {
	var e *config.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Flag == option.NameMethod {
		return &config.Error{Where: strings.Replace(e.Where, option.NameMethod, "methods", 1), Problem: e.Problem, Flag: "methods"}
	}
	return err
}

// setOne applies the setting "method.setting=value" to its contender.
func setOne(list []study.Contender, text string) error {
	name, key, value, err := config.ParseSetting(text)
	if err != nil {
		return err
	}
	if why := config.Find(name, key).WhyShared(); why != "" {
		return &config.Error{Where: "--set " + text + ":", Problem: key + " " + why}
	}
	for i := range list {
		if list[i].Name == name {
			list[i].Values[key] = value
			return nil
		}
	}
	return &config.Error{Where: "--set " + text + ":", Problem: name + " is not one of the methods"}
}

// The method of ppal train --oracle is registered for every command, because later commands read
// the settings of its runs.
func init() {
	d := method.Description{Name: oracle.Name, Kinks: true, Summary: "another program's steps: ppal train --oracle, ppal compare --contender",
		About:  "Serves f, g and gradients on standard input and output, and counts the program's evaluations.",
		Source: "ppal reproduce suite --help describes the protocol"}
	if err := method.Register(d, func() trainer.Method { return &oracle.Method{} }); err != nil {
		panic(err)
	}
}

// other characters than those of names
var unnamed = regexp.MustCompile(`[^a-z0-9-]+`)

// addContenders makes each command a method, and returns the methods' names.
func addContenders(commands []string) (names []string, err error) {
	for _, command := range commands {
		name := contenderName(command)
		if name == "" || slices.Contains(method.Names(), name) {
			return nil, &config.Error{Where: "--contender " + command + ":",
				Problem: fmt.Sprintf("its name, %q, is that of a method or empty: give its file another name", name)}
		}
		d := method.Description{Name: name, Kinks: true, Summary: command}
		if err := method.Register(d, func() trainer.Method { return &oracle.Method{Program: name, Command: command} }); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// contenderName returns the name of the file that the command's last word with a dot names, without
// its ending.
func contenderName(command string) (name string) {
	for _, word := range strings.Fields(command) {
		if base := filepath.Base(word); name == "" || filepath.Ext(base) != "" {
			name = strings.Trim(unnamed.ReplaceAllString(strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base))), "-"), "-")
		}
	}
	return name
}

// removeContenders removes the methods of addContenders.
func removeContenders(commands []string) {
	for _, command := range commands {
		if d, err := method.Lookup(contenderName(command)); err == nil && d.Summary == command {
			method.Unregister(d.Name)
		}
	}
}
