package study

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// bound is a constraint of an outcome "at most 0.1", or "at least 0.8" for a ratio.
type bound struct {
	unmet    bool // in training
	value    float64
	interval *[2]float64
	ratio    bool
	noRow    bool // no validation row counts
}

// trained returns the result of a training.
func trained(objective float64, gradients int, bounds ...bound) *session.Result {
	o := &results.Outcome{GradientEvaluations: gradients, Objective: results.ObjectiveOutcome{Name: "error"}}
	o.Objective.Set(results.Validation, objective)
	for j, b := range bounds {
		c := results.ConstraintOutcome{Constraint: fmt.Sprintf("fpr[%d] <= 0.1", j), Bound: 0.1, ValidationInterval: b.interval}
		if b.ratio {
			c.Constraint, c.Bound, c.AtLeast = fmt.Sprintf("ratio(tpr, %d) >= 0.8", j), 0.8, true
		}
		if !b.noRow {
			c.Set(results.Validation, b.value)
		}
		c.Judge(constraints.Judgement{State: constraints.Met})
		if b.unmet {
			c.Judge(constraints.Judgement{State: constraints.NotMet})
		}
		o.Constraints = append(o.Constraints, c)
	}
	return &session.Result{Training: &trainer.Result{State: &trainer.State{}}, Outcome: o}
}

// choice returns a choice among results, [candidate][fold], and the names of its candidates.
func choice(folds int, follows bool, all ...[]*session.Result) *Choice {
	c := &Choice{Folds: folds}
	for k := range all {
		c.Candidates, c.Follows = append(c.Candidates, string(rune('a'+k))), append(c.Follows, follows && k > 0)
	}
	var next *session.Result
	c.Options = func(k, fold int) (o session.Options, err error) {
		next = all[k][max(0, fold-1)]
		return o, nil
	}
	c.Train = func(context.Context, session.Options) (*session.Result, error) { return next, nil }
	return c
}

// chosen returns the name of the chosen candidate; all chosen, if there are several.
func chosen(tried []Tried) (names string) {
	for _, t := range tried {
		if t.Chosen {
			names += t.Settings
		}
	}
	return names
}

// The bounds that training meets come first, then the distance of the validation intervals beyond
// the bounds, and then the objective on the validation rows.
func TestJudge(t *testing.T) {
	interval := func(low, high float64) *[2]float64 { return &[2]float64{low, high} }
	for _, c := range []struct {
		name, want, why string
		all             []*session.Result
	}{
		{"no bounds: the objective", "b", "chose b of 3 settings: the smallest error on the validation rows", []*session.Result{trained(0.3, 1), trained(0.1, 1), trained(0.2, 1)}},
		{"equal: the first", "a", "chose a of 2 settings: the smallest error", []*session.Result{trained(0.1, 1), trained(0.1, 1)}},
		{"met in training, before validation and objective", "b", "among settings that meet all bounds in training and, within their intervals,",
			[]*session.Result{trained(0.1, 1, bound{unmet: true, value: 0.05}), trained(0.3, 1, bound{value: 0.09, interval: interval(0.05, 0.2)})}},
		{"the fewer unmet bounds", "b", "chose b of 2 settings: none meets all bounds, and this one is the nearest on the validation rows",
			[]*session.Result{trained(0.1, 1, bound{unmet: true}, bound{unmet: true}), trained(0.2, 1, bound{unmet: true, value: 0.9}, bound{value: 0.9})}},
		{"unmet on fewer validation rows is no excuse", "a", "", []*session.Result{trained(0.3, 1, bound{value: 0.3}), trained(0.1, 1, bound{unmet: true, noRow: true})}},
		{"an interval with the bound is within", "b", "among settings", []*session.Result{trained(0.2, 1, bound{value: 0.05}), trained(0.1, 1, bound{value: 0.3, interval: interval(0.1, 0.5)})}},
		{"an interval beyond the bound, before the objective", "a", "among settings", []*session.Result{trained(0.2, 1, bound{value: 0.05}), trained(0.1, 1, bound{value: 0.3, interval: interval(0.101, 0.5)})}},
		{"at least: the upper end", "b", "among settings", []*session.Result{trained(0.2, 1, bound{ratio: true, value: 0.9}), trained(0.1, 1, bound{ratio: true, value: 0.5, interval: interval(0.3, 0.8)})}},
		{"at least: beyond", "a", "among settings", []*session.Result{trained(0.2, 1, bound{ratio: true, value: 0.9}), trained(0.1, 1, bound{ratio: true, value: 0.5, interval: interval(0.3, 0.79)})}},
		{"without an interval: the value", "a", "none meets", []*session.Result{trained(0.2, 1, bound{value: 0.12}), trained(0.1, 1, bound{value: 0.13})}},
		{"the largest distance of a candidate, not the sum", "b", "none meets",
			[]*session.Result{trained(0.1, 1, bound{value: 0.14}, bound{}), trained(0.2, 1, bound{value: 0.13}, bound{value: 0.13})}},
		{"a bound that no validation row counts", "b", "among settings", []*session.Result{trained(0.2, 1, bound{}), trained(0.1, 1, bound{noRow: true})}},
	} {
		all := make([][]*session.Result, len(c.all))
		for k := range all {
			all[k] = c.all[k : k+1]
		}
		tried, err := choice(0, false, all...).Do(t.Context())
		if err != nil || len(tried) != len(all) || chosen(tried) != c.want || !strings.Contains(WhyChosen(tried), c.why) {
			t.Errorf("%s: %q is chosen, want %q; %v, %s", c.name, chosen(tried), c.want, err, WhyChosen(tried))
		}
	}
}

// Folds are judged by their means, with the worst training. A constraint counts in the folds with
// its rows.
func TestFolds(t *testing.T) {
	c := choice(3, false,
		[]*session.Result{trained(0.1, 5, bound{noRow: true}, bound{value: 0.2}), trained(0.3, 7, bound{value: 0.5}, bound{value: 0.1}), trained(0.2, 9, bound{value: 0.7}, bound{value: 0.3})},
		[]*session.Result{trained(0.0, 1, bound{}, bound{}), trained(0.0, 1, bound{unmet: true}, bound{}), trained(0.0, 1, bound{}, bound{noRow: true})},
		[]*session.Result{trained(0.4, 1, bound{noRow: true}, bound{}), trained(0.4, 1, bound{noRow: true}, bound{}), trained(0.4, 1, bound{noRow: true}, bound{value: 0.4})})
	tried, err := c.Do(t.Context())
	if err != nil || len(tried) != 3 || chosen(tried) != "c" {
		t.Fatalf("%+v, %v", tried, err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if d := got - want; d > 1e-12 || d < -1e-12 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	a := tried[0]
	near("the mean", a.Value, 0.2)
	near("the spread", a.Spread, 0.1)
	near("the first bound", *a.Bounds[0].Value, 0.6)
	near("its distance", a.Bounds[0].Beyond, 0.5)
	near("the second bound", *a.Bounds[1].Value, 0.2)
	near("its spread", a.Bounds[1].Spread, 0.1)
	near("its distance", a.Bounds[1].Beyond, 0.1)
	if a.Gradients != 21 || a.Folds != 3 || tried[1].Unmet != 1 || tried[2].Bounds[0].Value != nil {
		t.Errorf("%+v", tried)
	}
	if why := WhyChosen(tried); !strings.Contains(why, "this one is the nearest on 3 folds of the training rows") {
		t.Error(why)
	}
}

// The candidates that follow the first of a path take at most 3/4 of its gradients together: the
// path then ends. It starts anew in each fold, and with a candidate that does not follow.
func TestBudget(t *testing.T) {
	var given []int
	for _, folds := range []int{0, 2} {
		one := func(gradients ...int) []*session.Result {
			return []*session.Result{trained(0.1, gradients[0]), trained(0.1, gradients[len(gradients)-1])}
		}
		c := choice(folds, true, one(1000, 400), one(400, 100), one(349, 200), one(1), one(1), one(8), one(6), one(1))
		c.Follows[5] = false // f
		given = nil
		loose, train := looseEpsilon*float64(max(1, folds)), c.Train // the user may ask for a looser tolerance
		c.Train = func(ctx context.Context, o session.Options) (*session.Result, error) {
			if given = append(given, o.Settings.Gradients); (o.Settings.Gradients > 0) != (o.Settings.Resume != nil) || o.Settings.Resume != nil && o.Settings.Tolerance != loose {
				t.Errorf("a training resumes %v with the tolerance %v", o.Settings.Resume, o.Settings.Tolerance)
			}
			return train(ctx, o)
		}
		options := c.Options
		c.Options = func(k, fold int) (session.Options, error) {
			o, err := options(k, fold)
			o.Settings.Tolerance = loose * float64(folds) / 2
			return o, err
		}
		done := 0
		c.Progress = func(n, total int, _ *Tried) {
			if done++; n != done || total != 8*max(1, folds) {
				t.Errorf("progress %d of %d, want %d", n, total, done)
			}
		}
		tried := require.Value(c.Do(t.Context()))(t)
		names := ""
		for _, t := range tried {
			names += t.Settings
		}
		first := []int{0, 750, 350, 1, 0, 6}
		want, wantNames := first, "abcdfg" // e and h find no gradients left
		if folds == 2 {                    // the second fold ends its path with c
			want, wantNames = append(slices.Clone(first), 0, 300, 200, 0, 6), "abcfg"
		}
		if !slices.Equal(given, want) || names != wantNames || done != len(want) {
			t.Errorf("%d folds: the trainings have %v gradients, want %v; tried %s, want %s", folds, given, want, names, wantNames)
		}
	}
}

// The later candidates of a path may always take Least gradients.
func TestLeast(t *testing.T) {
	c := choice(0, true, []*session.Result{trained(0.1, 10)}, []*session.Result{trained(0.1, 30)}, []*session.Result{trained(0.1, 20)}, []*session.Result{trained(0.1, 1)})
	c.Least = 50
	tried, err := c.Do(t.Context())
	if err != nil || len(tried) != 3 || tried[0].Warm || !tried[1].Warm {
		t.Errorf("%+v, %v", tried, err)
	}
}

// A candidate that was trained from the start may be better than the run with the chosen settings.
func TestBetter(t *testing.T) {
	try := func(value float64, warm, chosen bool) Tried {
		return Tried{Settings: fmt.Sprint(value), Value: value, Warm: warm, Chosen: chosen}
	}
	run := trained(0.25, 1).Outcome
	for _, c := range []struct {
		tried []Tried
		want  string
	}{
		{[]Tried{try(0.3, false, false), try(0.1, true, true)}, ""},
		{[]Tried{try(0.2, false, false), try(0.1, true, true), try(0.15, true, false)}, "0.2"},
		{[]Tried{try(0.2, false, false), try(0.19, false, false), try(0.1, true, true)}, "0.19"},
		{[]Tried{try(0.2, false, true)}, ""}, // the run itself
	} {
		got := ""
		if b := BetterTried(c.tried, run); b != nil {
			got = b.Settings
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.tried, got, c.want)
		}
	}
	folds := []Tried{try(0.2, false, false)}
	folds[0].Folds = 5
	if BetterTried(folds, run) != nil || BetterTried([]Tried{try(0.2, false, false)}, nil) != nil {
		t.Error("compared with folds, or without an outcome")
	}
}

// A training that fails or is interrupted, or that no row judges, ends the choice.
func TestFailures(t *testing.T) {
	fault, stop := errors.New("out of memory"), errors.New("stopped")
	unjudged, own, interrupted := trained(0.1, 1), trained(0.1, 1), trained(0.1, 1)
	unjudged.Outcome.Objective.Validation, own.Outcome = nil, nil
	interrupted.Training.Status = trainer.Interrupted
	for _, c := range []struct {
		result    *session.Result
		err, want error
	}{{trained(0.1, 1), fault, fault}, {unjudged, nil, ErrNoRows}, {own, nil, ErrNoRows}, {interrupted, nil, stop}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		bad := choice(0, false, []*session.Result{trained(0.2, 1)}, []*session.Result{c.result}, []*session.Result{trained(0.3, 1)})
		trainings, train := 0, bad.Train
		bad.Train = func(ctx context.Context, o session.Options) (*session.Result, error) {
			if trainings++; trainings == 1 {
				return train(ctx, o)
			}
			if c.want == stop {
				cancel(stop)
			}
			result, _ := train(ctx, o)
			return result, c.err
		}
		if tried, err := bad.Do(ctx); !errors.Is(err, c.want) || tried != nil || trainings != 2 {
			t.Errorf("%v: %v after %d trainings, %v", c.want, err, trainings, tried)
		}
		cancel(nil)
	}
	none := choice(0, false, []*session.Result{trained(0.2, 1)})
	none.Options = func(int, int) (session.Options, error) { return session.Options{}, fault }
	if _, err := none.Do(t.Context()); !errors.Is(err, fault) {
		t.Error(err)
	}
}
