package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ppal/internal/config"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
)

// ErrComparison says that the settings of a comparison contradict each other or its folder.
var ErrComparison = errors.New("invalid comparison")

// Comparison runs several methods from equal starts under the same budget and summarises the
// results: every record of every run in one file, means and ranges over the seeds as plots and as a
// table.
//
// A comparison is fair only if every method has the same start, the same budget and the same search
// for its settings. A seed gives every contender the same rows and initial weights. The budget
// counts iterations, training seconds or gradient evaluations. The search tries all points of each
// contender's grid on the first seed, and the best points on the second seed too. It ranks feasible
// results before infeasible results, and then by objective. The search is saved beside the results.
type Comparison struct {
	Title      string
	Contenders []Contender
	Seeds      []uint64
	Budget     Budget
	Measures   []string // names of the measures for the plots and the table
	Overview   []string // quantities of the overview plot; nil: the first four
	Records    int      // approximate number of records of a run; 0: defaultRecords
	// Workers is the number of parallel runs, each on Threads threads. With a budget in seconds,
	// runs are executed one after the other, so that no run slows another down.
	Workers, Threads int
	// Version is the version of the program, and Data identifies the files of the data. A comparison
	// continues only with the same version and the same files.
	Version string
	Data    []results.DataFile
}

// Contender is a method with its settings.
type Contender struct {
	Name   string
	Values config.Values   // the given settings; the preset determines the others
	Grid   []config.Values // points of the search; nil: no search
	// Program is the command of another program (package oracle), "" for ppal's methods.
	Program string
}

// BudgetKind is the unit of a budget.
type BudgetKind string

// The budgets.
const (
	Iterations BudgetKind = "iterations"
	Seconds    BudgetKind = "seconds"
	Gradients  BudgetKind = "gradients"
)

// Budget is the length of every run.
type Budget struct {
	Kind   BudgetKind
	Amount float64
}

// ParseBudget parses "iterations", "seconds" or "gradients", optionally followed by a colon and the
// amount.
func ParseBudget(text string, iterations int) (Budget, error) {
	kind, amount, given := strings.Cut(text, ":")
	b := Budget{Kind: BudgetKind(kind), Amount: float64(iterations)}
	if !slices.Contains([]BudgetKind{Iterations, Seconds, Gradients}, b.Kind) {
		return b, fmt.Errorf("compare: %w: unknown budget; choose iterations, seconds or gradients, as in seconds:10", ErrComparison)
	}
	if !given {
		if b.Kind == Seconds {
			return b, fmt.Errorf("compare: %w: give the seconds of a run, as in seconds:10", ErrComparison)
		}
		return b, nil
	}
	var err error
	if b.Amount, err = strconv.ParseFloat(amount, 64); err != nil || !(b.Amount > 0) || math.IsInf(b.Amount, 1) {
		return b, fmt.Errorf("compare: %w: the amount after the colon must be positive", ErrComparison)
	}
	return b, nil
}

// String returns the budget in the form "gradients:300".
func (b Budget) String() string { return fmt.Sprintf("%s:%g", b.Kind, b.Amount) }

// unlimited is the iteration limit if the budget has another unit.
const unlimited = 1 << 40

// Approximate number of records of a run, and of a run of the search.
const (
	defaultRecords = 200
	searchRecords  = 40
)

// records returns the approximate number of records of a run.
func (s *Comparison) records() int { return cmp.Or(s.Records, defaultRecords) }

// limit sets the budget in a run's settings, and the interval that gives about records records. The
// checks take place at the records.
func (b Budget) limit(s *trainer.Settings, records int) {
	switch b.Kind {
	case Iterations:
		s.Iterations = int(b.Amount)
	case Seconds:
		s.Iterations, s.TimeLimit = unlimited, time.Duration(b.Amount*float64(time.Second))
	case Gradients:
		s.Iterations, s.Gradients = unlimited, int(b.Amount)
	}
	s.RecordEvery = 0
	if b.Kind != Seconds {
		s.RecordEvery = max(1, int(b.Amount)/records)
	}
	s.CheckEvery = s.RecordEvery
}

// spent returns the used share of the budget.
func (b Budget) spent(at *problem.Point, seconds float64) float64 {
	switch b.Kind {
	case Seconds:
		return min(1, seconds/b.Amount)
	case Gradients:
		return min(1, float64(at.GradientEvaluations)/b.Amount)
	}
	return min(1, float64(at.Iteration)/b.Amount)
}

func (s *Comparison) validate() error {
	if len(s.Contenders) == 0 || len(s.Seeds) == 0 {
		return fmt.Errorf("compare: %w: %d methods and %d seeds, want at least one of each", ErrComparison, len(s.Contenders), len(s.Seeds))
	}
	for i, c := range s.Contenders {
		if slices.ContainsFunc(s.Contenders[:i], func(d Contender) bool { return d.Name == c.Name }) {
			return fmt.Errorf("compare: %w: method %s is given twice", ErrComparison, c.Name)
		}
	}
	return nil
}

// plannedRun is one run.
type plannedRun struct {
	contender string
	seed      uint64
	values    config.Values // all given settings
	part      string        // file name of the records, without the extension
	point     int           // index in the grid; -1: a run of the comparison itself
}

// plan returns the run of a contender, with the settings of a grid point unless point is -1.
func (s *Comparison) plan(c Contender, seed uint64, point int) plannedRun {
	values := merged(c.Values, nil)
	part := fmt.Sprintf("%s-seed%d", c.Name, seed)
	if point >= 0 {
		part = fmt.Sprintf("%s-point%d-seed%d", c.Name, point, seed)
		maps.Copy(values, c.Grid[point])
	}
	values["seed"] = fmt.Sprint(seed)
	values["threads"] = fmt.Sprint(s.threads())
	return plannedRun{contender: c.Name, seed: seed, values: values, part: part, point: point}
}

// workers returns the number of parallel runs; threads, the number of threads of each run.
func (s *Comparison) workers() int {
	if s.Budget.Kind == Seconds {
		return 1
	}
	return max(1, s.Workers)
}

func (s *Comparison) threads() int { return max(1, s.Threads) }

// comparisonDescription is the contents of study.yaml: what the results of a comparison depend on.
// The number of parallel runs is not part of the description, because each run has its own threads.
type comparisonDescription struct {
	Version    string                 `yaml:"version"`
	Title      string                 `yaml:"title"`
	Budget     string                 `yaml:"budget"`
	Seeds      []uint64               `yaml:"seeds,flow"`
	Threads    int                    `yaml:"threads"` // of each run
	Contenders []contenderDescription `yaml:"contenders"`
	Data       []results.DataFile     `yaml:"data,omitempty"`
}

// contenderDescription describes a method of a comparison.
type contenderDescription struct {
	Name     string            `yaml:"name"`
	Program  string            `yaml:"program,omitempty"`
	Settings map[string]string `yaml:"settings"`
	Grid     []config.Values   `yaml:"grid,omitempty"`
}

// describe returns the description of the comparison.
func (s *Comparison) describe() comparisonDescription {
	d := comparisonDescription{Version: s.Version, Title: s.Title, Budget: s.Budget.String(), Seeds: s.Seeds, Threads: s.threads(), Data: s.Data}
	for _, c := range s.Contenders {
		d.Contenders = append(d.Contenders, contenderDescription{c.Name, c.Program, c.Values, c.Grid})
	}
	return d
}

// comparison returns the comparison that has the description.
func (d *comparisonDescription) comparison() (s *Comparison, err error) {
	s = &Comparison{Title: d.Title, Seeds: d.Seeds, Threads: d.Threads, Version: d.Version, Data: d.Data}
	for _, c := range d.Contenders {
		s.Contenders = append(s.Contenders, Contender{Name: c.Name, Program: c.Program, Values: c.Settings, Grid: c.Grid})
	}
	s.Budget, err = ParseBudget(d.Budget, 0)
	return s, err
}

// content returns the contents of study.yaml.
func (s *Comparison) content() ([]byte, error) {
	data, err := yaml.Marshal(s.describe())
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return data, nil
}
