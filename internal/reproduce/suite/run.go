package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ppal/internal/relay"
)

// The name and the title of the experiment, and its number of evaluations.
const (
	Name        = "suite"
	Title       = "ppal and other optimisers on a suite of problems"
	Evaluations = 1000
	// QuickEvaluations is the number of evaluations of the short form.
	QuickEvaluations = 300
)

// DefaultRunLimit is the default of Options.RunLimit.
const DefaultRunLimit = time.Minute

// Options describes a comparison.
type Options struct {
	Problems    []Problem // nil: Problems()
	Contenders  []string  // names of the contenders; nil: all
	Evaluations int       // largest number of evaluations of a run; 0: Evaluations
	Workers     int       // number of parallel runs, each on one thread; 0: 1
	// RunLimit is the longest time of another optimiser on a problem; 0: DefaultRunLimit. An
	// optimiser that takes longer keeps its evaluations up to then.
	RunLimit time.Duration
	DataDir  string // directory of the data sets' files
	Out      string // directory of the results
	// Python is the environment of the other optimisers. If it is nil, only ppal runs.
	Python *Python
	// Progress is called before each run.
	Progress func(done, total int, running string)
}

// job is a run of the comparison.
type job struct {
	problem Problem
	own     *Own // nil: another optimiser
	run     *Run // the result, or the identity of the run before it is done
}

// comparison is a running comparison.
type comparison struct {
	Options
	journal *journal
	jobs    []*job
	mu      sync.Mutex
	next    int
	missing map[string]bool // contenders whose library is not installed
}

// Compare measures every run that the directory of the results lacks. A run computes on one thread.
func Compare(ctx context.Context, o Options) (*Outcome, error) {
	if o.Problems == nil {
		o.Problems = Problems()
	}
	o.Evaluations, o.Workers = cmp.Or(o.Evaluations, Evaluations), max(1, o.Workers)
	j, err := openJournal(o.Out)
	if err != nil {
		return nil, err
	}
	c := &comparison{Options: o, journal: j, missing: map[string]bool{}}
	if err := c.plan(ctx); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	var panics relay.Relay
	for number := range o.Workers {
		workers.Go(func() {
			python := &worker{python: c.Python, limit: cmp.Or(c.RunLimit, DefaultRunLimit)}
			defer python.close()
			for j := c.take(); j != nil && ctx.Err() == nil; j = c.take() {
				if err := panics.Do(func() error { return c.do(ctx, j, python, number) }); err != nil {
					stop(err)
				}
			}
		})
	}
	workers.Wait()
	panics.Throw()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return c.outcome(), nil
}

// plan lists the runs: problem by problem, ppal before the other optimisers.
func (c *comparison) plan(ctx context.Context) error {
	settings := map[string][]string{}
	if c.Python != nil {
		var err error
		if settings, err = c.Python.settings(ctx); err != nil {
			return err
		}
	}
	known := slices.Sorted(maps.Keys(settings))
	for _, own := range Owns() {
		known = append(known, own.Name)
	}
	for _, name := range c.Contenders {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%w %q (choose from %q)", ErrContender, name, known)
		}
	}
	wanted := func(name string) bool { return c.Contenders == nil || slices.Contains(c.Contenders, name) }
	for _, p := range c.Problems {
		add := func(own *Own, contender, setting string) {
			if wanted(contender) {
				r := &Run{Problem: p.Name, Contender: contender, Setting: setting, Limit: c.Evaluations}
				c.jobs = append(c.jobs, &job{p, own, r})
			}
		}
		for _, own := range Owns() {
			add(&own, own.Name, "")
		}
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			for _, s := range settings[name] {
				add(nil, name, s)
			}
		}
	}
	return nil
}

// ErrContender marks an unknown contender.
var ErrContender = errors.New("suite: no such contender")

// take returns the next run, or nil.
func (c *comparison) take() *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == len(c.jobs) {
		return nil
	}
	j := c.jobs[c.next]
	c.next++
	if c.Progress != nil {
		c.Progress(c.next, len(c.jobs), j.run.Problem+", "+j.run.Contender)
	}
	return j
}

// do executes a run, unless the journal has the run.
func (c *comparison) do(ctx context.Context, j *job, python *worker, number int) error {
	if done := c.journal.find(j.run); done != nil {
		j.run = done
		return nil
	}
	if err := c.execute(ctx, j, python, number); err != nil {
		if errors.Is(err, errNotInstalled) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.missing[j.run.Contender] = true
			return nil
		}
		return err
	}
	return c.journal.add(j.run)
}

// execute executes a run: ppal's own here, and any other in the Python process. number is different
// for runs at the same time.
func (c *comparison) execute(ctx context.Context, j *job, python *worker, number int) error {
	if j.own == nil {
		trace, err := filepath.Abs(filepath.Join(c.Out, fmt.Sprintf("trace-%d.jsonl", number)))
		if err != nil {
			return err
		}
		return python.run(ctx, c.DataDir, trace, j.run)
	}
	b, err := Build(ctx, j.problem, c.DataDir, 0, 1)
	if err != nil {
		return err
	}
	return errors.Join(j.own.train(ctx, b, j.problem.taskName(), j.run), b.Close())
}

// outcome collects the results of the plan.
func (c *comparison) outcome() *Outcome {
	o := &Outcome{Options: c.Options, Missing: slices.Sorted(maps.Keys(c.missing))}
	for _, j := range c.jobs {
		if !c.missing[j.run.Contender] {
			o.Runs = append(o.Runs, j.run)
		}
	}
	return o
}
