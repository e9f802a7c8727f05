package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"ppal/internal/study"
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
	Python   *study.Python
	Program  string         // this program, which serves the oracles of the other optimisers
	Progress study.Progress // may be nil
}

// comparison is a running comparison.
type comparison struct {
	Options
	jobs   []study.Job[Run]
	runs   []Run    // the identities of the jobs' runs
	rivals []*rival // one for each worker
}

// Compare measures every run that the directory of the results lacks. A run computes on one thread.
func Compare(ctx context.Context, o Options) (*Outcome, error) {
	if o.Problems == nil {
		o.Problems = problems()
	}
	o.Evaluations, o.Workers = cmp.Or(o.Evaluations, Evaluations), max(1, o.Workers)
	j, err := openJournal(o.Out)
	if err != nil {
		return nil, err
	}
	c := &comparison{Options: o}
	for range o.Workers {
		r := &rival{python: o.Python, program: o.Program, limit: cmp.Or(o.RunLimit, DefaultRunLimit)}
		defer r.close()
		c.rivals = append(c.rivals, r)
	}
	if err := c.plan(ctx); err != nil {
		return nil, err
	}
	s := study.Study[Run]{Store: j, Workers: o.Workers, Total: len(c.jobs), Progress: o.Progress}
	runs, err := s.Run(ctx, c.jobs)
	if err != nil {
		return nil, err
	}
	return c.outcome(runs), nil
}

// plan lists the runs: problem by problem, ppal before the other optimisers.
func (c *comparison) plan(ctx context.Context) error {
	grids := map[string][]string{}
	if c.Python != nil {
		var err error
		if grids, err = settings(ctx, c.Python); err != nil {
			return err
		}
	}
	known := slices.Sorted(maps.Keys(grids))
	for _, own := range owns() {
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
				c.add(p, own, Run{Problem: p.Name, Contender: contender, Setting: setting, Limit: c.Evaluations})
			}
		}
		for _, own := range owns() {
			add(&own, own.Name, "")
		}
		for _, name := range slices.Sorted(maps.Keys(grids)) {
			for _, s := range grids[name] {
				add(nil, name, s)
			}
		}
	}
	return nil
}

// ErrContender marks an unknown contender.
var ErrContender = errors.New("suite: no such contender")

// add adds a run to the plan; own is nil for another optimiser.
func (c *comparison) add(p Problem, own *Own, r Run) {
	c.runs = append(c.runs, r)
	c.jobs = append(c.jobs, study.Job[Run]{
		Key: r.key(), Name: r.Problem + ", " + r.Contender,
		Do: func(ctx context.Context, worker int) (Run, error) {
			err := c.execute(ctx, p, own, &r, worker)
			return r, err
		},
	})
}

// execute executes a run: ppal's own here, and any other in the Python process of the worker.
func (c *comparison) execute(ctx context.Context, p Problem, own *Own, r *Run, worker int) error {
	if own == nil {
		trace, err := filepath.Abs(filepath.Join(c.Out, fmt.Sprintf("trace-%d.jsonl", worker)))
		if err != nil {
			return err
		}
		return c.rivals[worker].run(ctx, c.DataDir, trace, r)
	}
	b, err := Build(ctx, p, c.DataDir, 0, 1)
	if err != nil {
		return err
	}
	return errors.Join(own.train(ctx, b, r), b.Close())
}

// outcome collects the results of the plan. A run without a record is one of a contender whose
// library is not installed.
func (c *comparison) outcome(runs []Run) *Outcome {
	missing := map[string]bool{}
	for i := range runs {
		if runs[i].Contender == "" {
			missing[c.runs[i].Contender] = true
		}
	}
	o := &Outcome{Options: c.Options, Missing: slices.Sorted(maps.Keys(missing))}
	for i := range runs {
		if !missing[c.runs[i].Contender] {
			o.Runs = append(o.Runs, &runs[i])
		}
	}
	return o
}
