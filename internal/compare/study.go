package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ppal/internal/config"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// ErrStudy marks a comparison that does not fit together.
var ErrStudy = errors.New("bad comparison")

// Study is a comparison.
type Study struct {
	Title      string
	Contenders []Contender
	Seeds      []uint64
	Budget     Budget
	Measures   []string // of the records, for the pictures and the table
	Overview   []string // the quantities of the overview picture, nil: the first four
	Records    int      // about how many a run has, 0: a hundred
	// Workers is the number of runs side by side, each on Threads threads. A budget in seconds runs one at a time, so that no run
	// takes another's time.
	Workers, Threads int
}

// Contender is a method with its settings.
type Contender struct {
	Name   string
	Values config.Values   // what is given; the rest are the preset's
	Grid   []config.Values // the points of its search, nil: none
}

// BudgetKind is what a budget counts.
type BudgetKind string

// The budgets.
const (
	Iterations BudgetKind = "iterations"
	Seconds    BudgetKind = "seconds"
	Gradients  BudgetKind = "gradients"
)

// Budget is how far every run goes.
type Budget struct {
	Kind   BudgetKind
	Amount float64
}

// ParseBudget reads "iterations", "seconds" or "gradients", with the amount after a colon where it is not the default.
func ParseBudget(text string, iterations int) (Budget, error) {
	kind, amount, given := strings.Cut(text, ":")
	b := Budget{Kind: BudgetKind(kind), Amount: float64(iterations)}
	if !slices.Contains([]BudgetKind{Iterations, Seconds, Gradients}, b.Kind) {
		return b, fmt.Errorf("compare: %w: budget %q, want iterations, seconds or gradients, as in seconds:10", ErrStudy, text)
	}
	if !given {
		if b.Kind == Seconds {
			return b, fmt.Errorf("compare: %w: budget %q needs the seconds of a run, as in seconds:10", ErrStudy, text)
		}
		return b, nil
	}
	if _, err := fmt.Sscanf(amount, "%g", &b.Amount); err != nil || !(b.Amount > 0) {
		return b, fmt.Errorf("compare: %w: budget %q, want a positive number after the colon", ErrStudy, text)
	}
	return b, nil
}

// String gives "gradients:300".
func (b Budget) String() string { return fmt.Sprintf("%s:%g", b.Kind, b.Amount) }

// unlimited is the iteration limit where something else is the budget.
const unlimited = 1 << 40

// defaultRecords is about how many a run has, searchRecords one of the search.
const (
	defaultRecords = 200
	searchRecords  = 40
)

// records is about how many records a run has.
func (s *Study) records() int { return cmp.Or(s.Records, defaultRecords) }

// limit puts the budget into a run's settings, with about that many records.
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
}

// spent is the share of the budget that is used.
func (b Budget) spent(at *problem.Point, seconds float64) float64 {
	switch b.Kind {
	case Seconds:
		return min(1, seconds/b.Amount)
	case Gradients:
		return min(1, float64(at.GradientEvaluations)/b.Amount)
	}
	return min(1, float64(at.Iteration)/b.Amount)
}

func (s *Study) validate() error {
	if len(s.Contenders) == 0 || len(s.Seeds) == 0 {
		return fmt.Errorf("compare: %w: %d methods and %d seeds, want at least one of each", ErrStudy, len(s.Contenders), len(s.Seeds))
	}
	for i, c := range s.Contenders {
		if slices.ContainsFunc(s.Contenders[:i], func(d Contender) bool { return d.Name == c.Name }) {
			return fmt.Errorf("compare: %w: method %s is named twice", ErrStudy, c.Name)
		}
	}
	return nil
}

// job is one run.
type job struct {
	contender string
	seed      uint64
	values    config.Values // all that is given
	part      string        // the file of its records, without the ending
	point     int           // of the grid, -1: a run of the comparison itself
}

// job makes a run of a contender; extra is a point of the grid.
func (s *Study) job(c Contender, seed uint64, point int) job {
	values := config.Values{}
	for k, v := range c.Values {
		values[k] = v
	}
	part := fmt.Sprintf("%s-seed%d", c.Name, seed)
	if point >= 0 {
		part = fmt.Sprintf("%s-point%d-seed%d", c.Name, point, seed)
		for k, v := range c.Grid[point] {
			values[k] = v
		}
	}
	values["seed"] = fmt.Sprint(seed)
	values["threads"] = fmt.Sprint(s.threads())
	return job{contender: c.Name, seed: seed, values: values, part: part, point: point}
}

// workers is how many runs go on at a time, threads those of each.
func (s *Study) workers() int {
	if s.Budget.Kind == Seconds {
		return 1
	}
	return max(1, s.Workers)
}

func (s *Study) threads() int { return max(1, s.Threads) }

// description is what makes two studies the same: it is compared when one is continued.
func (s *Study) description() ([]byte, error) {
	type contender struct {
		Name     string            `yaml:"name"`
		Settings map[string]string `yaml:"settings"`
		Grid     []config.Values   `yaml:"grid,omitempty"`
	}
	text := struct {
		Title      string      `yaml:"title"`
		Budget     string      `yaml:"budget"`
		Seeds      []uint64    `yaml:"seeds,flow"`
		Workers    int         `yaml:"workers"`
		Threads    int         `yaml:"threads"`
		Contenders []contender `yaml:"contenders"`
	}{Title: s.Title, Budget: s.Budget.String(), Seeds: s.Seeds, Workers: s.workers(), Threads: s.threads()}
	for _, c := range s.Contenders {
		text.Contenders = append(text.Contenders, contender{c.Name, c.Values, c.Grid})
	}
	data, err := yaml.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return data, nil
}
