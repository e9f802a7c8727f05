package study

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ppal/internal/decide"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// Choice describes a choice: it trains with several settings, judges each by the counted decisions
// and bounds on rows that do not train, and chooses one. Test rows are not read.
//
// A path is a list of candidates that differ only in the weight of the regularizer. Each candidate
// of a path may start from the weights and multipliers of the previous candidate. The first
// training of a path has the full budget; all later ones together take at most 3/4 of its
// gradients, or Choice.Least if that is more. The chosen settings are then trained from the start,
// so a run that chooses takes up to 3 times as long as a run with the first weight.
type Choice struct {
	// Candidates are the names of the settings to try, in the order of the trainings.
	Candidates []string
	// Follows says for each candidate whether it starts from the previous candidate.
	Follows []bool
	// Folds is the number of parts of the training rows. Each part judges models that the other
	// parts train. 0: the validation rows judge.
	Folds int
	// Options returns the options of a candidate (an index into Candidates) on a fold. Folds count
	// from 1; fold is 0 without folds. All candidates of a fold have the same Data.
	Options func(candidate, fold int) (session.Options, error)
	// Train trains with the options.
	Train func(ctx context.Context, o session.Options) (*session.Result, error)
	// Least is the number of gradients that the later candidates of a path may always take together.
	// Train may set Least.
	Least int
	// Progress is called after each training; nil: nothing.
	Progress func(done, total int, t *Tried)
}

// Tried is a candidate with its values on the rows that judge: a line of choice.jsonl. With folds,
// a value is the mean over the folds, and a spread is the sample standard deviation over the folds.
type Tried struct {
	Settings  string       `json:"settings"`
	Folds     int          `json:"folds,omitempty"` // 0: the validation rows judged
	Objective string       `json:"objective"`       // name of the objective
	Value     float64      `json:"value"`           // objective on the rows that judge
	Spread    float64      `json:"spread,omitempty"`
	Bounds    []TriedBound `json:"bounds,omitempty"`
	Unmet     int          `json:"unmet,omitempty"`      // bounds that the training decisions do not meet
	Gradients int          `json:"gradient_evaluations"` // of all folds
	Warm      bool         `json:"warm,omitempty"`       // the training began where that of the previous candidate ended
	Chosen    bool         `json:"chosen,omitempty"`
	Advice    string       `json:"advice,omitempty"` // if a setting that was not tried may be better
}

// TriedBound is the value of a constraint on the rows that judge.
type TriedBound struct {
	Constraint string   `json:"constraint"`
	Value      *float64 `json:"value"` // nil: the constraint counts no row that judges
	Spread     float64  `json:"spread,omitempty"`
	// Beyond is the distance from the bound to the value's confidence interval (to the value if it
	// has no interval); 0: the interval contains values that meet the bound.
	Beyond float64 `json:"beyond,omitempty"`
}

// ErrNoRows is the error of a choice without rows that judge.
var ErrNoRows = errors.New("choose: no rows judge the settings")

const (
	// looseEpsilon ends the training of a candidate that follows: a choice needs no more digits.
	looseEpsilon = 1e-3
	pathShare    = 0.75 // of the gradients of the first training, for all that follow it
)

// Do trains the candidates and returns the trained ones in their order, one of them with Chosen. A
// candidate that the budget of its path does not reach in every fold is left out. The error is
// ErrNoRows, the cause of ctx, or an error of Options or Train.
func (c *Choice) Do(ctx context.Context) ([]Tried, error) {
	r := &chooser{Choice: c}
	var jobs []Job[Tried]
	for fold := range max(1, c.Folds) {
		if c.Folds > 0 {
			fold++
		}
		for k, name := range c.Candidates {
			jobs = append(jobs, Job[Tried]{Key: fmt.Sprintf("%d %s", fold, name), Name: name,
				Do: func(ctx context.Context, _ int) (Tried, error) { return r.try(ctx, k, fold) }})
		}
	}
	store, err := OpenJournal[Tried]("", nil)
	if err != nil {
		return nil, err
	}
	runs := Study[Tried]{Store: store, Total: len(jobs)}
	all, err := runs.Run(ctx, jobs)
	if err != nil {
		return nil, err
	}
	var tried []Tried
	for k := range c.Candidates {
		var folds []Tried
		for at := k; at < len(all); at += len(c.Candidates) {
			if all[at].Settings != "" {
				folds = append(folds, all[at])
			}
		}
		if len(folds) == max(1, c.Folds) { // the budget of a path may end earlier in some folds
			tried = append(tried, meanTried(folds))
		}
	}
	best := 0
	for k := range tried {
		if tried[k].better(&tried[best]) {
			best = k
		}
	}
	tried[best].Chosen = true
	return tried, nil
}

// chooser holds the state of the current path.
type chooser struct {
	*Choice
	done   int            // finished trainings
	state  *trainer.State // end of the previous candidate's training
	budget int            // remaining gradients of the path
}

// try trains a candidate. The error is ErrNoRecord if the path has no gradients left.
func (r *chooser) try(ctx context.Context, k, fold int) (Tried, error) {
	follows := r.Follows[k] && r.state != nil
	if !follows {
		r.state = nil
	} else if r.budget <= 0 {
		return Tried{}, ErrNoRecord
	}
	o, err := r.Options(k, fold)
	if err != nil {
		return Tried{}, err
	}
	if follows {
		o.Settings.Resume, o.Settings.Gradients = decide.Warm(r.state), r.budget
		o.Settings.Tolerance = max(o.Settings.Tolerance, looseEpsilon)
	}
	result, err := r.Train(ctx, o)
	switch {
	case err != nil:
		return Tried{}, err
	case result.Training.Status == trainer.Interrupted:
		return Tried{}, context.Cause(ctx)
	case result.Outcome == nil || result.Outcome.Objective.Validation == nil:
		return Tried{}, ErrNoRows
	}
	r.state = result.Training.State
	if g := result.Outcome.GradientEvaluations; follows {
		r.budget -= g
	} else {
		r.budget = max(r.Least, int(pathShare*float64(g)))
	}
	t := newTried(r.Candidates[k], result.Outcome)
	t.Folds, t.Warm = r.Folds, follows
	if r.done++; r.Progress != nil {
		r.Progress(r.done, max(1, r.Folds)*len(r.Candidates), &t)
	}
	return t, nil
}

// newTried returns the values of a trained candidate on its validation rows.
func newTried(name string, o *results.Outcome) Tried {
	t := Tried{Settings: name, Objective: o.Objective.Name, Value: *o.Objective.Validation, Unmet: len(o.Unmet()), Gradients: o.GradientEvaluations}
	for j := range o.Constraints {
		c := &o.Constraints[j]
		b := TriedBound{Constraint: c.Constraint, Value: c.Of(results.Validation)}
		if i := c.ValidationInterval; b.Value != nil && i != nil {
			b.Beyond = max(0, min(c.Over(i[0]), c.Over(i[1])))
		} else if b.Value != nil {
			b.Beyond = max(0, c.Over(*b.Value))
		}
		t.Bounds = append(t.Bounds, b)
	}
	return t
}

// better reports whether t is better than other: fewer bounds that the training decisions do not
// meet; with as many, a smaller Beyond; with an equal Beyond, a smaller objective.
func (t *Tried) better(other *Tried) bool {
	if t.Unmet != other.Unmet {
		return t.Unmet < other.Unmet
	}
	if a, b := t.Beyond(), other.Beyond(); a != b {
		return a < b
	}
	return t.Value < other.Value
}

// Beyond returns the largest TriedBound.Beyond.
func (t *Tried) Beyond() (largest float64) {
	for _, b := range t.Bounds {
		largest = max(largest, b.Beyond)
	}
	return largest
}

// meanTried joins the values of a candidate's folds.
func meanTried(folds []Tried) Tried {
	all := folds[0]
	if len(folds) == 1 {
		return all
	}
	all.Bounds = slices.Clone(all.Bounds)
	var values []float64
	for k := range folds {
		values = append(values, folds[k].Value)
		if k > 0 {
			all.Unmet, all.Gradients = max(all.Unmet, folds[k].Unmet), all.Gradients+folds[k].Gradients
		}
	}
	over := NewStatistic(values)
	all.Value, all.Spread = over.Mean, over.Deviation
	for j := range all.Bounds {
		var values, beyond []float64 // of the folds that have the constraint's rows
		for k := range folds {
			if b := &folds[k].Bounds[j]; b.Value != nil {
				values, beyond = append(values, *b.Value), append(beyond, b.Beyond)
			}
		}
		if len(values) > 0 {
			b := &all.Bounds[j]
			over := NewStatistic(values)
			b.Value, b.Spread = &over.Mean, over.Deviation
			b.Beyond = NewStatistic(beyond).Mean
		}
	}
	return all
}

// BetterTried returns the best candidate that is better on the validation rows than the run with
// the chosen settings; nil: none. A run can be worse than its own candidate: the run trains from
// the start, a candidate with Warm does not. BetterTried leaves out candidates with Warm. With
// folds, it returns nil, because the run and the candidates have different training rows.
func BetterTried(tried []Tried, run *results.Outcome) (best *Tried) {
	if tried[0].Folds > 0 || run == nil || run.Objective.Validation == nil {
		return nil
	}
	final := newTried("", run)
	for k := range tried {
		if t := &tried[k]; !t.Warm && !t.Chosen && t.better(&final) && (best == nil || t.better(best)) {
			best = t
		}
	}
	return best
}

// WhyChosen says why the candidate was chosen, with the rows that judged.
func WhyChosen(tried []Tried) string {
	rows := "the validation rows"
	if folds := tried[0].Folds; folds > 0 {
		rows = fmt.Sprintf("%d folds of the training rows", folds)
	}
	at := slices.IndexFunc(tried, func(t Tried) bool { return t.Chosen })
	t := &tried[at]
	switch {
	case t.Unmet > 0 || t.Beyond() > 0:
		return fmt.Sprintf("chose %s of %d settings: none meets all bounds, and this one is the nearest on %s", t.Settings, len(tried), rows)
	case len(t.Bounds) > 0:
		return fmt.Sprintf("chose %s of %d settings: the smallest %s on %s, among settings that meet all bounds in training and, within their intervals, on these rows",
			t.Settings, len(tried), t.Objective, rows)
	}
	return fmt.Sprintf("chose %s of %d settings: the smallest %s on %s", t.Settings, len(tried), t.Objective, rows)
}
