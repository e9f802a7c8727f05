package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/disk"
	"ppal/internal/option"
	"ppal/internal/oracle"
	"ppal/internal/recordio"
	"ppal/internal/report"
	"ppal/internal/rundir"
	"ppal/internal/study"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// train runs the command.
func (a *app) train(ctx context.Context, values config.Values, f trainFlags) (failure error) {
	requests, answers := a.stdin, a.stdout
	if f.oracle {
		values, a.stdout = maps.Clone(values), a.stderr
		values[option.NameMethod] = oracle.Name
	}
	cfg, file, before, err := trainConfig(values, f)
	if err != nil {
		return err
	}
	if f.resume != "" && before == nil {
		if status := finished(f.resume); status != "" {
			tidy(f.resume, status)
			advice := goOn(f.resume)
			if session.Extendable(trainer.Status(status)) {
				advice = "to extend it, give more --iterations or a longer --time-limit"
			}
			fmt.Fprintf(printing{a.stdout}, "%s is finished (%s): there is nothing to resume; %s\n", f.resume, status, advice)
			return nil
		}
	}
	dataDir, err := datasets.DirOf(cfg.Dataset, cfg.DataDir, a.getenv)
	if err != nil {
		return err
	}
	if cfg.Out != "" && f.resume == "" {
		if err := rundir.Check(cfg.Out); err != nil {
			return err
		}
	}
	choice := &choosing{values: values, flags: f, file: file, cfg: cfg, dir: dataDir}
	if choice.asks() {
		if err := choice.prepare(); err != nil {
			return err
		}
	}
	choice.amend = func(o *session.Options) {
		if m, ok := trainer.Unwrap(o.Method).(*oracle.Method); ok && f.oracle {
			m.In, m.Out = requests, answers
		}
	}
	setThreads(cfg)
	setHeap(cfg)
	report := a.newReporter(cfg)
	defer announceStop(ctx, report)()
	defer report.close()
	source := cmp.Or(cfg.Table.File, cfg.Dataset)
	if source == standard {
		source = standardInput
	}
	reading := fmt.Sprintf("reading %s and building the problem", source)
	report.info(reading)
	report.Stage(reading)
	s, tried, err := a.openChosen(ctx, choice, report)
	if s != nil {
		limitGarbage(cfg)
		defer func() {
			if closeErr := s.Close(); failure == nil {
				failure = closeErr
			}
		}()
	}
	if ctx.Err() != nil {
		return errors.New("interrupted before the first iteration; the run has no files")
	}
	if err != nil {
		return config.NameFlags(err)
	}
	cfg = choice.cfg
	if f.resume != "" {
		var notes []string
		if before == nil {
			notes, err = s.Resume(cfg.Out)
		} else {
			notes, err = s.Extend(cfg.Out, before.Iterations())
		}
		if err != nil {
			return err
		}
		for _, n := range notes {
			report.info(n)
		}
		if tried, err = readChoice(s.Dir()); err != nil {
			return err
		}
	} else if err := s.Open(cfg.Out); err != nil {
		return err
	} else if tried != nil {
		if err := writeChoice(s.Dir(), tried); err != nil {
			return err
		}
	}
	report.limit(s.Iterations())
	a.training = s.Dir()
	for _, w := range changedFiles(file, s.Describe()) {
		report.warn(w)
	}
	r := &trainRun{app: a, cfg: cfg, flags: f, session: s, report: report, tried: tried}
	return r.run(ctx)
}

// trainConfig resolves the settings of a new run, or of a run that continues. before are the
// settings of a finished run that continues with longer limits.
func trainConfig(values config.Values, f trainFlags) (cfg config.Train, file *config.File, before *config.Train, err error) {
	if f.resume != "" {
		return resumeConfig(values, f)
	}
	if file, err = readConfig(f.config); err != nil {
		return cfg, nil, nil, err
	}
	cfg, err = config.ResolveWith(values, f.set, file)
	return cfg, file, nil, err
}

// setThreads bounds the threads of the process.
func setThreads(cfg config.Train) {
	if cfg.Session.Device.Threads > 0 {
		runtime.GOMAXPROCS(cfg.Session.Device.Threads)
	}
}

// changedFiles returns a warning for each data file, and for the file of initial weights, that has
// changed since the configuration was written.
func changedFiles(file *config.File, now session.Description) (warnings []string) {
	if file == nil {
		return nil
	}
	compare := func(before, now results.DataFile, other string) {
		if now.Name == before.Name && now.SHA256 != before.SHA256 {
			warnings = append(warnings, fmt.Sprintf("%s has changed since %s was written (%d bytes then, %d now; sha256 %.8s then, %.8s now): "+
				"this run has other %s than that run.", now.Name, file.Path, before.Bytes, now.Bytes, before.SHA256, now.SHA256, other))
		}
	}
	for _, before := range file.Data() {
		for _, f := range now.Data {
			if f.State != "" { // the rows of a built-in set depend on the seed
				compare(before, f, "data")
			}
		}
	}
	if before := file.Init(); before != nil && now.Init != nil {
		compare(*before, *now.Init, "initial weights")
	}
	return warnings
}

// announceStop shows a message when Ctrl-C is pressed, until the returned function is called.
func announceStop(ctx context.Context, report reporter) (end func()) {
	shown := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		report.stopping()
		close(shown)
	})
	return func() {
		if !stop() {
			<-shown
		}
	}
}

// trainRun is one run whose directory is open: its session, and how the terminal shows it.
type trainRun struct {
	*app
	cfg     config.Train
	flags   trainFlags
	session *session.Session
	report  reporter
	tried   []study.Tried // nil: the run chose nothing
}

// openChosen opens the session of a run, with the settings that validation rows choose.
func (a *app) openChosen(ctx context.Context, c *choosing, report reporter) (s *session.Session, tried []study.Tried, err error) {
	open := func(rows session.Source) (*session.Session, error) {
		options, err := c.cfg.SessionOptions(c.dir)
		if err != nil {
			return nil, err
		}
		if rows != nil {
			options.Data = rows
		}
		options.Settings.Recorder, options.Settings.Warn = report, func(w trainer.Warning) { report.warn(w.Text) }
		a.writes(&options.Files)
		c.amend(&options)
		if tried != nil {
			c.chosenNotes(&options, tried)
		}
		options.CheckpointEvery = c.flags.checkpointEvery
		options.Device.MemoryDir, options.Device.KeptDir = existingFolder(c.cfg.Out), filepath.Join(filepath.Dir(filepath.Clean(c.cfg.Out)), "ppal-rows")
		return a.open(ctx, options)
	}
	asks := c.asks()
	if !asks && !c.mayChoose() {
		s, err = open(nil)
		return s, nil, err
	}
	rows := session.Cached(c.cfg.Source(c.dir))
	if !asks {
		if s, err = open(rows); err != nil || !choosesByDefault(s.Describe()) {
			return s, nil, err
		}
		if err = s.Close(); err != nil {
			return nil, nil, err
		}
		report.info(defaultReason)
		c.values = maps.Clone(c.values)
		c.values[nameWeight] = automatic
		if c.cfg, err = c.resolve(nil); err == nil {
			err = c.prepare()
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if c.cfg, tried, err = a.choose(ctx, c, report, rows); err != nil {
		return nil, nil, err
	}
	s, err = open(rows)
	return s, tried, err
}

// run trains, writes the files and prints the table.
func (r *trainRun) run(ctx context.Context) error {
	r.announce()
	r.report.Stage("")
	training, err := r.session.Optimize(ctx)
	r.report.finish()
	if err != nil {
		return err
	}
	for _, n := range training.Notes {
		r.report.info(n)
	}
	measuring := "measuring the result in float64"
	r.report.info(measuring)
	r.report.Stage(measuring)
	result, err := r.session.Certify()
	if err != nil {
		return err
	}
	r.report.Stage("drawing the plots and writing the files")
	failure := r.session.Save("") // the result is printed even if the files cannot be written
	print := r.printTable
	if r.flags.json {
		print = r.printSummary
	}
	if err := print(result); err != nil {
		failure = cmp.Or(failure, err)
	}
	if failure != nil {
		return failure
	}
	if training.Status == trainer.Interrupted {
		return &interrupted{training.Iterations, r.session.Dir(), r.session.Resumable()}
	}
	if o := result.Outcome; o != nil && !r.flags.allowViolation {
		if list := report.Failing(o, r.flags.strict); list != nil {
			return &report.Unmet{Outcome: o, List: list}
		}
	}
	return nil
}

// announce prints a description of the run before it starts.
func (r *trainRun) announce() {
	d, limit := r.session.Describe(), fmt.Sprintf("at most %d iterations, ", r.session.Iterations())
	if d.Model.Kind == models.KindScores {
		limit = ""
	}
	r.report.info(fmt.Sprintf("%s by %s: %d rows, %d features, %d parameters, constraints: %d, %sfiles in %s",
		d.Task, r.method(d.PrimalStep), d.Rows.Train, d.Features, d.Parameters, len(d.Bounds), limit, d.Out))
	if r.cfg.Explain {
		fmt.Fprintln(r.stdout, r.session.Explain())
	}
	if (d.Dataset == datasets.CSV || d.Dataset == datasets.Pictures) && !r.cfg.Quiet {
		printUses(r.report.lines, d.Columns)
	}
	if len(d.Classes) > 0 {
		r.report.info(classCounts(d.Classes))
	}
	for _, n := range d.Notes {
		r.report.info(n)
	}
	for _, w := range d.Warnings {
		r.report.warn(w)
	}
}

// method names the method and its primal step, and says why the program chose the method.
func (r *trainRun) method(step string) string {
	text := r.cfg.Method.Name
	if step != "" {
		text += " with " + step + " steps"
	}
	if reason := r.cfg.Method.Reason; reason != "" {
		text += ", because " + reason
	}
	return text
}

// classCounts returns the numbers of rows of each class: a label that is read wrongly shows there.
func classCounts(classes []results.SplitSizes) string {
	var list []string
	for _, c := range classes[:min(len(classes), mostGroups)] {
		list = append(list, fmt.Sprintf("%s %d, %d, %d", c.Name, c.Train, c.Validation, c.Test))
	}
	if n := len(classes) - len(list); n > 0 {
		list = append(list, fmt.Sprintf("and %d more classes", n))
	}
	return "rows of each class for training, validation, test: " + strings.Join(list, "; ")
}

// existingFolder returns an existing directory beside or above a run's directory, for files of a
// run whose directory does not exist yet.
func existingFolder(out string) string {
	for dir := filepath.Dir(filepath.Clean(out)); ; dir = filepath.Dir(dir) {
		if recordio.IsFolder(dir) || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// resumeConfig resolves the settings of a run that continues: the settings of its config.yaml, and
// flags that do not change the result. extended are the settings of a finished run for which the
// flags have longer limits; nil: none.
func resumeConfig(values config.Values, f trainFlags) (cfg config.Train, file *config.File, extended *config.Train, err error) {
	refuse := func(format string, args ...any) (config.Train, *config.File, *config.Train, error) {
		return config.Train{}, nil, nil, &config.Error{Where: "--resume " + f.resume + ":", Problem: fmt.Sprintf(format, args...)}
	}
	if f.config != "" || len(f.set) > 0 || values["out"] != "" {
		return refuse("the run has its own settings and directory; leave out --config, --set and --out")
	}
	path := rundir.Dir(f.resume).Config()
	text, err := rundir.Seal{}.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("there is no %s, so the directory is not a run; name the directory of a run", path)
	}
	if err != nil {
		return cfg, nil, nil, err
	}
	if file, err = config.ParseFile(path, text); err != nil {
		return cfg, nil, nil, err
	}
	if err := summarised(f.resume); err != nil {
		return cfg, nil, nil, err
	}
	before, err := config.Resolve(nil, file)
	if err != nil {
		return cfg, nil, nil, err
	}
	if cfg, err = config.Resolve(values, file); err != nil {
		return cfg, nil, nil, err
	}
	if names := config.Changes(before, cfg); len(names) > 0 {
		status := finished(f.resume)
		if status == "" {
			return refuse("--%s differs from the run's; leave it out, or start a new run with --config %s", strings.Join(names, " and --"), path)
		}
		if problem := extension(f.resume, before, cfg, names, trainer.Status(status)); problem != "" {
			return refuse("the run is finished (%s)%s", status, problem)
		}
		extended = &before
	}
	cfg.Out = f.resume
	return cfg, file, extended, nil
}

// extension returns why the named changes do not extend the finished run in dir with the status; ""
// if they do.
func extension(dir string, before, now config.Train, names []string, status trainer.Status) string {
	if session.Extendable(status) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "iterations" || name == "time-limit" })
	}
	limit, limitBefore := now.Session.TimeLimit, before.Session.TimeLimit
	switch {
	case len(names) > 0:
		return fmt.Sprintf(" and keeps its --%s; %s", strings.Join(names, " and --"), goOn(dir))
	case now.Iterations() < before.Iterations() || now.Iterations() == before.Iterations() && status == trainer.IterationLimit:
		return fmt.Sprintf(" after %d iterations: give more --iterations", before.Iterations())
	case limit < limitBefore || limit == limitBefore && status == trainer.TimeLimit:
		return fmt.Sprintf(" with --time-limit %s: give a longer --time-limit", before.Text("time-limit"))
	case limitBefore == 0 && limit > 0:
		return " without a --time-limit: leave it out"
	}
	return ""
}

// summarised returns an error if a summary.json in dir cannot say whether the run is finished,
// because it is no regular file, or a file that cannot be read.
func summarised(dir string) error {
	path := rundir.Dir(dir).Summary()
	_, err := disk.Read(path)
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, disk.ErrKind) || errors.Is(err, disk.ErrSize):
		return &config.Error{Where: "--resume " + dir + ":", Problem: fmt.Sprintf("%v, so nobody knows whether the run is finished; move the file away to train again", err)}
	}
	return fmt.Errorf("--resume: %w", err)
}

// finished returns the status of a run that is complete; "" if the run can continue.
func finished(dir string) string {
	s, err := rundir.ReadSummary(rundir.Dir(dir).Summary())
	if err != nil && !errors.Is(err, disk.ErrChanged) || s.Status == string(trainer.Interrupted) || s.Status == string(trainer.Failed) {
		return ""
	}
	return s.Status
}

// tidy removes the lock of a finished run, and the checkpoint unless the run can be extended. A
// process that is killed after it has written the summary leaves both. tidy does nothing if another
// process still finishes the run, or if nobody may write to the directory.
func tidy(dir, status string) {
	extendable := session.Extendable(trainer.Status(status))
	left := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	if (extendable || !left(rundir.CheckpointName)) && !left(disk.LockName) {
		return
	}
	lock, err := disk.LockFolder(dir)
	if err != nil {
		return
	}
	if !extendable {
		_ = rundir.RemoveCheckpoint(dir)
	}
	_ = lock.Release()
}

// goOn says how to train on from the weights of a finished run.
func goOn(dir string) string {
	run := rundir.Dir(dir)
	return fmt.Sprintf("to train on from its weights, start a new run: ppal train --config %s --init %s --out NEW", option.ShellWord(run.Config()), option.ShellWord(run.Model()))
}

// resumeLine returns the command that continues a run.
func resumeLine(dir string) string { return "ppal train --resume " + option.ShellWord(dir) }
