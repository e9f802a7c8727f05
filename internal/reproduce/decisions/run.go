package decisions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ppal/internal/study"
)

// The name and the title of the experiment.
const (
	Name  = "decisions"
	Title = "constraints that hold on decisions"
)

// Options describes a comparison.
type Options struct {
	Problems   []Problem   // nil: Problems()
	Contenders []Contender // nil: Contenders()
	Splits     int         // the seeds of the splits are 1 to Splits
	Threads    int         // number of threads of every contender
	DataDir    string      // directory of the data sets' files
	Out        string      // directory of the results
	// Python is the environment of the other libraries. If it is nil, only ppal runs.
	Python   *study.Python
	Progress study.Progress // may be nil
}

// ownRepeats is the number of runs of ppal on each split, spread over the turn of the others. ppal
// is fast, and a single time would be noisy.
const ownRepeats = 3

// comparison is a running comparison.
type comparison struct {
	Options
	journal   *study.Journal[Fit]
	study     study.Study[Fit]
	libraries map[string]*library
	rows      *Rows // rows of the current data set and split
	folder    string
}

// Run measures every run that the directory of the results lacks: the search on the first split,
// then all contenders in turns on every split. Only one process computes at a time.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	if o.Problems == nil {
		o.Problems = problems()
	}
	if o.Contenders == nil {
		o.Contenders = contenders()
	}
	if o.Python == nil {
		o.Contenders = nil
		o.Problems = slices.DeleteFunc(slices.Clone(o.Problems), func(p Problem) bool { return p.Scores })
	}
	j, err := openJournal(o.Out)
	if err != nil {
		return nil, err
	}
	c := &comparison{Options: o, journal: j, libraries: map[string]*library{}}
	c.study = study.Study[Fit]{Store: j, Total: c.count(), Progress: o.Progress}
	defer c.close()
	for _, d := range tableSets(o.Problems) {
		if err := c.search(ctx, d); err != nil {
			return nil, err
		}
	}
	for split := range uint64(o.Splits) {
		for _, d := range tableSets(o.Problems) {
			if err := c.turns(ctx, d, split+1); err != nil {
				return nil, err
			}
		}
	}
	return &Outcome{Options: o, Fits: j.Records(), Versions: c.versions()}, nil
}

// count returns the number of runs.
func (c *comparison) count() int {
	n := 0
	for _, p := range c.Problems {
		n += ownRepeats * c.Splits
		for _, contender := range c.Contenders {
			grid := contender.Grid(p)
			if len(grid) == 0 {
				continue
			}
			n += c.Splits * len(contender.final(p, grid[0]))
			if p.Bound == p.searched().Bound {
				n += len(grid)
			}
		}
	}
	return n
}

// close ends the processes of the libraries.
func (c *comparison) close() {
	for _, l := range c.libraries {
		l.Close()
	}
}

// versions returns the versions of all libraries.
func (c *comparison) versions() map[string]string {
	all := map[string]string{}
	for _, l := range c.libraries {
		for name, version := range l.versions {
			all[name] = version
		}
	}
	return all
}

// load loads the rows of a split and writes the rows for the libraries. If a problem has given
// scores, trees then score the rows.
func (c *comparison) load(ctx context.Context, d Dataset, split uint64) error {
	rows, err := loadRows(c.DataDir, d, split)
	if err != nil {
		return err
	}
	c.rows, c.folder = rows, filepath.Join(c.Out, "rows", fmt.Sprintf("%s-%d", d.Name, split))
	if c.Python == nil {
		return nil
	}
	if c.folder, err = filepath.Abs(c.folder); err != nil {
		return err
	}
	if err := rows.Write(c.folder); err != nil {
		return err
	}
	if !slices.ContainsFunc(c.Problems, func(p Problem) bool { return p.Scores && p.Data.Name == d.Name }) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(c.folder, scoresFile)); errors.Is(err, fs.ErrNotExist) {
		l, err := c.library(ctx, "trees")
		if err == nil {
			err = l.score(c.folder)
		}
		if err != nil {
			return err
		}
	}
	return rows.readScores(c.folder)
}

// library returns the process of a library, which lives until ctx is cancelled.
func (c *comparison) library(ctx context.Context, name string) (*library, error) {
	if l := c.libraries[name]; l != nil {
		return l, nil
	}
	l, err := startLibrary(ctx, c.Python, name)
	if err == nil {
		c.libraries[name] = l
	}
	return l, err
}

// search runs all settings of the other libraries on the first split.
func (c *comparison) search(ctx context.Context, d Dataset) error {
	if len(c.Contenders) == 0 {
		return nil
	}
	if err := c.load(ctx, d, 1); err != nil {
		return err
	}
	var jobs []study.Job[Fit]
	for _, p := range c.Problems {
		if p.Data.Name != d.Name || p.Bound != p.searched().Bound {
			continue
		}
		for _, contender := range c.Contenders {
			for _, s := range contender.Grid(p) {
				jobs = append(jobs, c.fit(ctx, p, contender, s, 1, 0))
			}
		}
	}
	_, err := c.study.Run(ctx, jobs)
	return err
}

// turns runs all contenders on a split. ppal runs before, between and after the others.
func (c *comparison) turns(ctx context.Context, d Dataset, split uint64) error {
	if err := c.load(ctx, d, split); err != nil {
		return err
	}
	var jobs []study.Job[Fit]
	for _, p := range c.Problems {
		if p.Data.Name != d.Name {
			continue
		}
		own := 0
		ppal := func() {
			own++
			jobs = append(jobs, c.own(p, split, own))
		}
		ppal()
		for i, contender := range c.Contenders {
			best, ok := chosen(p, contender, c.journal.Records())
			if !ok {
				continue
			}
			for _, s := range contender.final(p, best) {
				jobs = append(jobs, c.fit(ctx, p, contender, s, split, 1))
			}
			if i == 0 {
				ppal()
			}
		}
		for own < ownRepeats {
			ppal()
		}
	}
	_, err := c.study.Run(ctx, jobs)
	return err
}

// fit returns the run of another library.
func (c *comparison) fit(ctx context.Context, p Problem, contender Contender, s Setting, split uint64, repeat int) study.Job[Fit] {
	f := Fit{Kind: p.Kind, Dataset: p.Data.Name, Bound: p.Bound, Scores: p.Scores, Split: split, Contender: contender.Name, Setting: s, Repeat: repeat}
	return c.job(f, func(_ context.Context, f *Fit) error {
		l, err := c.library(ctx, contender.Worker)
		if err != nil {
			return err
		}
		return l.fit(contender.Call, c.folder, f)
	})
}

// own returns a run of ppal.
func (c *comparison) own(p Problem, split uint64, repeat int) study.Job[Fit] {
	f := Fit{Kind: p.Kind, Dataset: p.Data.Name, Bound: p.Bound, Scores: p.Scores, Split: split, Contender: Own, Repeat: repeat}
	return c.job(f, func(ctx context.Context, f *Fit) error {
		_, err := train(ctx, p, c.rows, c.Threads, f)
		return err
	})
}

// job returns a run on the rows of the current split. do completes the fit.
func (c *comparison) job(f Fit, do func(ctx context.Context, f *Fit) error) study.Job[Fit] {
	name := fmt.Sprintf("%s on %s, split %d, %s", f.Kind, f.Dataset, f.Split, f.Contender)
	return study.Job[Fit]{Key: f.key(), Name: name, Do: func(ctx context.Context, _ int) (Fit, error) {
		f.Totals = c.rows.Totals()
		err := do(ctx, &f)
		return f, err
	}}
}

// indifferent is a difference of training errors: half a tenth of a point. Up to this difference,
// a setting inside the grid is preferred to a setting at an end of the grid.
const indifferent = 5e-4

// chosen returns the setting of the search with the best training decisions on the first split.
// Chosen returns false if the contender does not support the problem, or if all runs of the
// contender failed.
func chosen(p Problem, c Contender, fits []Fit) (Setting, bool) {
	p = p.searched()
	grid := map[string]bool{}
	for _, s := range c.Grid(p) {
		grid[s.Key()] = true
	}
	var best, inner *Fit
	counts := func(f *Fit) Counts {
		point, _ := f.best(p)
		return point.Accepted
	}
	for i := range fits {
		f := &fits[i]
		if !f.solves(p) || f.Contender != c.Name || f.Repeat != 0 || len(f.Points) == 0 || !grid[f.Setting.Key()] {
			continue
		}
		if best == nil || better(p, f.Totals, counts(f), counts(best)) {
			best = f
		}
		if len(c.atEdge(p, f.Setting)) == 0 && (inner == nil || better(p, f.Totals, counts(f), counts(inner))) {
			inner = f
		}
	}
	if best == nil {
		return nil, false
	}
	if inner != nil {
		a, b := measure(p.Kind, best.Totals, counts(inner), 0), measure(p.Kind, best.Totals, counts(best), 0)
		if p.met(best.Totals, counts(inner)) == p.met(best.Totals, counts(best)) && a.Error <= b.Error+indifferent {
			best = inner
		}
	}
	return best.Setting, true
}
