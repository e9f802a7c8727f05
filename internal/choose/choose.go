// Package choose trains with several settings, judges each by the counted decisions and bounds on
// rows that do not train, and chooses one. It runs on package study. Test rows are not read.
//
// A candidate that differs from the one before only in the weight of the regularizer may start from
// the weights and multipliers of that one. Only the first training of such a path is a whole one:
// all others together take at most 3/4 of its gradients. With the training of the choice, which
// begins anew, the run thus takes about 3 times as long as one with the first weight.
package choose

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"ppal/internal/decide"
	"ppal/internal/study"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// Choice describes a choice.
type Choice struct {
	// Candidates are the names of the settings that are tried, in the order of the trainings.
	Candidates []string
	// Follows says for each candidate whether it starts from the one before.
	Follows []bool
	// Folds is the number of parts of the training rows, each of which judges the models of the
	// others; 0: the validation rows judge.
	Folds int
	// Options returns the options of a candidate, on a fold from 1; fold is 0 without folds. The
	// options of a fold have the same Data.
	Options func(candidate, fold int) (session.Options, error)
	// Train trains with the options.
	Train func(ctx context.Context, o session.Options) (*session.Result, error)
	// Progress is called after each training; nil: nothing.
	Progress func(done, total int, t *Tried)
}

// Tried is a candidate with its values on the rows that judge, as in choice.jsonl. With folds, a
// value is the mean over the folds, and its spread their standard deviation.
type Tried struct {
	Settings  string  `json:"settings"`
	Fold      int     `json:"fold,omitempty"`
	Objective string  `json:"objective"` // its name
	Value     float64 `json:"value"`
	Spread    float64 `json:"spread,omitempty"`
	Bounds    []Bound `json:"bounds,omitempty"`
	Unmet     int     `json:"unmet,omitempty"` // bounds that the training decisions do not meet
	Gradients int     `json:"gradient_evaluations"`
	Chosen    bool    `json:"chosen,omitempty"`
}

// Bound is the value of a constraint.
type Bound struct {
	Constraint string   `json:"constraint"`
	Value      *float64 `json:"value"` // nil: the constraint counts no row that judges
	Spread     float64  `json:"spread,omitempty"`
	// Beyond is the distance of the interval of the value beyond the bound; 0: new rows may meet it.
	Beyond float64 `json:"beyond,omitempty"`
}

// ErrNoRows is the error of a choice without rows that judge.
var ErrNoRows = errors.New("choose: no rows judge the settings")

const (
	// looseEpsilon ends the training of a candidate that follows: a choice needs no more digits.
	looseEpsilon = 1e-3
	pathShare    = 0.75 // of the gradients of the first training, for all that follow it
)

// Do trains the candidates and returns those that it tried, in their order, with one chosen.
func (c *Choice) Do(ctx context.Context) ([]Tried, error) {
	r := &runner{Choice: c}
	var jobs []study.Job[Tried]
	for fold := range max(1, c.Folds) {
		if c.Folds > 0 {
			fold++
		}
		for k, name := range c.Candidates {
			jobs = append(jobs, study.Job[Tried]{Key: fmt.Sprintf("%d %s", fold, name), Name: name,
				Do: func(ctx context.Context, _ int) (Tried, error) { return r.try(ctx, k, fold) }})
		}
	}
	store, err := study.OpenJournal[Tried]("", nil)
	if err != nil {
		return nil, err
	}
	runs := study.Study[Tried]{Store: store, Total: len(jobs)}
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
		if len(folds) == max(1, c.Folds) { // a path may end before in some folds
			tried = append(tried, mean(folds))
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

// runner holds the path at work.
type runner struct {
	*Choice
	done   int
	state  *trainer.State // of the candidate before
	budget int            // the gradients that are left to the path
}

// try trains a candidate.
func (r *runner) try(ctx context.Context, k, fold int) (Tried, error) {
	follows := r.Follows[k] && r.state != nil
	if !follows {
		r.state = nil
	} else if r.budget <= 0 {
		return Tried{}, study.ErrNoRecord
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
		r.budget = int(pathShare * float64(g))
	}
	t := newTried(r.Candidates[k], fold, result)
	if r.done++; r.Progress != nil {
		r.Progress(r.done, max(1, r.Folds)*len(r.Candidates), &t)
	}
	return t, nil
}

// newTried returns the values of a training on its validation rows.
func newTried(name string, fold int, r *session.Result) Tried {
	o := r.Outcome
	t := Tried{Settings: name, Fold: fold, Objective: o.Objective.Name, Value: *o.Objective.Validation, Unmet: len(o.Unmet()), Gradients: o.GradientEvaluations}
	for j := range o.Constraints {
		c := &o.Constraints[j]
		b := Bound{Constraint: c.Constraint, Value: c.Of(results.Validation)}
		if i := c.ValidationInterval; b.Value != nil && i != nil {
			b.Beyond = max(0, min(c.Over(i[0]), c.Over(i[1])))
		} else if b.Value != nil {
			b.Beyond = max(0, c.Over(*b.Value))
		}
		t.Bounds = append(t.Bounds, b)
	}
	return t
}

// better reports whether t is better than the other: fewer bounds that training does not meet, a
// smaller distance of the intervals beyond the bounds, and then the smaller objective.
func (t *Tried) better(other *Tried) bool {
	if t.Unmet != other.Unmet {
		return t.Unmet < other.Unmet
	}
	if a, b := t.Beyond(), other.Beyond(); a != b {
		return a < b
	}
	return t.Value < other.Value
}

// Beyond returns the largest distance of an interval beyond its bound.
func (t *Tried) Beyond() (largest float64) {
	for _, b := range t.Bounds {
		largest = max(largest, b.Beyond)
	}
	return largest
}

// mean joins the values of a candidate's folds.
func mean(folds []Tried) Tried {
	all := folds[0]
	if len(folds) == 1 {
		return all
	}
	all.Fold, all.Bounds = 0, slices.Clone(all.Bounds)
	var values []float64
	for k := range folds {
		values = append(values, folds[k].Value)
		if k > 0 {
			all.Unmet, all.Gradients = max(all.Unmet, folds[k].Unmet), all.Gradients+folds[k].Gradients
		}
	}
	all.Value, all.Spread = meanOf(values)
	for j := range all.Bounds {
		var values, beyond []float64 // of the folds that have the constraint's rows
		for k := range folds {
			if b := &folds[k].Bounds[j]; b.Value != nil {
				values, beyond = append(values, *b.Value), append(beyond, b.Beyond)
			}
		}
		if len(values) > 0 {
			b := &all.Bounds[j]
			value, spread := meanOf(values)
			b.Value, b.Spread = &value, spread
			b.Beyond, _ = meanOf(beyond)
		}
	}
	return all
}

// meanOf returns the mean of values and their standard deviation, which is 0 for one value.
func meanOf(values []float64) (mean, spread float64) {
	if len(values) == 1 {
		return values[0], 0
	}
	return stat.MeanStdDev(values, nil)
}

// Why says why the candidate was chosen, with the rows that judged.
func Why(tried []Tried, folds int) string {
	rows := "the validation rows"
	if folds > 0 {
		rows = fmt.Sprintf("%d folds of the training rows", folds)
	}
	at := slices.IndexFunc(tried, func(t Tried) bool { return t.Chosen })
	t := &tried[at]
	text := fmt.Sprintf("%s: the smallest %s on %s of %d tried", t.Settings, t.Objective, rows, len(tried))
	if len(t.Bounds) > 0 {
		text += ", among those that meet the bounds in training and within their intervals on these rows"
		if t.Unmet > 0 || t.Beyond() > 0 {
			text = fmt.Sprintf("%s: the nearest to the bounds on %s of %d tried, none of which meets them", t.Settings, rows, len(tried))
		}
	}
	return text
}
