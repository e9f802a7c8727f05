package decide_test

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// percent matches a percentage in a note.
var percent = regexp.MustCompile(`([0-9.]+)%`)

// history keeps the iteration and the largest violation of every record.
type history struct {
	iterations []int
	seconds    []float64
	ticks      int
}

func (h *history) Record(r *trainer.Record) error {
	h.iterations, h.seconds = append(h.iterations, r.Iteration), append(h.seconds, r.Seconds)
	return nil
}

func (h *history) Tick(*problem.Point) { h.ticks++ }

// TestTrainMeetsTheBound trains with PPALA and PLADA, for two to five groups. The decisions meet
// the bound within one row, and the error is close to the best error of a grid of linear models.
func TestTrainMeetsTheBound(t *testing.T) {
	require.NoRace(t, "the rounds start no goroutine on the host's problem")
	halvings := 0
	defer func() {
		if halvings == 0 {
			t.Error("no run halves the step of the feedback: the test covers too little")
		}
	}()
	for _, groups := range []int{2, 3, 5} {
		const bound = 0.02
		for name, m := range map[string]func() trainer.Method{
			"ppala": func() trainer.Method { return &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}} },
			"plada": func() trainer.Method { return &method.PLADA{Primal: step.Settings{Kind: step.Nesterov}} },
		} {
			l := newLending(t, 1200, groups, bound)
			h := &history{}
			r := require.Value(decide.Train(t.Context(), l.problem, m(), trainer.Settings{Iterations: 1500, Recorder: h}, l.feedback))(t)
			l.check(t, name, r)
			halvings += l.halvings(t, name, r)
			best := r.Rounds[r.Best].Exact
			if best.Violation > 0 {
				t.Errorf("%s, %d groups: the violation is %v", name, groups, best.Violation)
			}
			if grid := l.grid(t); best.After > grid+0.02 {
				t.Errorf("%s, %d groups: the error is %v; a grid of models has %v", name, groups, best.After, grid)
			}
			if !slices.IsSorted(h.iterations) || len(slices.Compact(slices.Clone(h.iterations))) != len(h.iterations) {
				t.Errorf("%s: the records' iterations do not increase: %v", name, h.iterations)
			}
			if !slices.IsSorted(h.seconds) || h.ticks != r.Iterations || h.iterations[len(h.iterations)-1] != r.Iterations || r.Iterations > 1500 {
				t.Errorf("%s: seconds %v, %d ticks, %d iterations", name, h.seconds, h.ticks, r.Iterations)
			}
			for _, note := range r.Notes { // notes about the iterations of one round
				if share := percent.FindStringSubmatch(note); share != nil {
					if v, err := strconv.ParseFloat(share[1], 64); err != nil || v > 100 {
						t.Errorf("%s: %s", name, note)
					}
				}
			}
			if c := r.Certificate; math.IsNaN(c.Epsilon) || c.Infeasibility > 0.01 {
				t.Errorf("%s: the certificate is %+v", name, c)
			}
		}
	}
}

// TestFeedbackMovesTheBound checks one round by hand: the shift is the difference between the
// smooth and the counted rates at the end of the first solution.
func TestFeedbackMovesTheBound(t *testing.T) {
	l := newLending(t, 600, 2, 0.02)
	m := &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}
	r := require.Value(decide.Train(t.Context(), l.problem, m, trainer.Settings{Iterations: 60}, l.feedback))(t)
	if len(r.Rounds) < 2 {
		t.Fatalf("%d rounds, want the decisions of 20 iterations to need another", len(r.Rounds))
	}
	first, second := r.Rounds[0], r.Rounds[1]
	for j := range first.Shifts {
		if first.Shifts[j] != 0 || second.Shifts[j] != first.Smooth[j]-first.Decisions[j] || second.Theta != 1 {
			t.Errorf("bound %d: shifts %v and %v, want 0 and %v (theta %v)", j, first.Shifts[j], second.Shifts[j], first.Smooth[j]-first.Decisions[j], second.Theta)
		}
	}
	if first.Iteration != 20 {
		t.Errorf("the first round ends at iteration %d, want a third of 60", first.Iteration)
	}
	if r.Status != trainer.IterationLimit || r.Iterations != 60 || r.Rounds[len(r.Rounds)-1].Iteration != 60 {
		t.Errorf("%s after %d iterations, the last round ends at %d", r.Status, r.Iterations, r.Rounds[len(r.Rounds)-1].Iteration)
	}
}

// objectives keeps the objective of every record by iteration.
type objectives struct {
	of   map[int]float64
	true func() float64  // the objective at the iterate
	off  map[int]float64 // the distance of each record's objective from the objective
}

func (o *objectives) Record(r *trainer.Record) error {
	o.of[r.Iteration], o.off[r.Iteration] = r.Objective, math.Abs(r.Objective-o.true())
	return nil
}

// TestStart minimises a term in the first round and the objective afterwards. The result is that of
// the objective, even if the first round is the best.
func TestStart(t *testing.T) {
	for _, iterations := range []int{0, 90} {
		l := newLending(t, 600, 2, 0.02)
		l.feedback.Start = []float64{0, 3}
		o := &objectives{of: map[int]float64{}, off: map[int]float64{}, true: func() float64 {
			sum := 0.0
			for i, s := range l.scores() {
				sum += sigmoid(-l.sign(i) * s)
			}
			return sum/float64(len(l.x)) + l.smooth.Space().Regularizer.Value(l.weights())
		}}
		r := require.Value(decide.Train(t.Context(), l.problem, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}},
			trainer.Settings{Iterations: iterations, RecordEvery: 1, Recorder: o}, l.feedback))(t)
		l.check(t, "start", r)
		if len(r.Rounds) > 1 {
			if second := r.Rounds[1]; slices.ContainsFunc(second.Shifts, func(c float64) bool { return c != 0 }) || second.Theta != 1 {
				t.Errorf("the round after the term has the shifts %v and theta %v, want 0 and 1", second.Shifts, second.Theta)
			}
		}
		if math.Abs(o.of[0]-1.5) > 1e-12 { // three times the sigmoid of 0
			t.Errorf("the first record has the objective %v, want the term, 1.5", o.of[0])
		}
		for k, off := range o.off { // the first of the rounds ends at iteration 30
			if k > 30 && off > 1e-12 {
				t.Errorf("the record of iteration %d is %v off the objective", k, off)
			}
		}
		g := make([]float64, problem.Constraints(l.smooth))
		f := require.Value(l.smooth.Forward(g))(t)
		if want := f + l.smooth.Space().Regularizer.Value(l.weights()); math.Abs(r.Objective-want) > 1e-12 || r.Point.Objective != f {
			t.Errorf("%d iterations: the result has the objectives %v and %v, the weights %v and %v", iterations, r.Objective, r.Point.Objective, want, f)
		}
	}
}

// TestInfeasibleStart starts from weights that violate the bounds. No round warns about its
// infeasible start, because every round after a shift has one.
func TestInfeasibleStart(t *testing.T) {
	l := newLending(t, 600, 2, 0.02)
	l.problem.Space().Write(problem.Iterate, []float64{3, 3, 0})
	g := make([]float64, problem.Constraints(l.smooth))
	require.Value(l.smooth.Forward(g))(t)
	if problem.MaxViolation(g) < 0.1 {
		t.Fatalf("the start meets the bounds: %v", g)
	}
	var told trainer.Warnings
	r := require.Value(decide.Train(t.Context(), l.problem, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}},
		trainer.Settings{Iterations: 90, Warn: func(w trainer.Warning) { told = append(told, w) }}, l.feedback))(t)
	for _, w := range slices.Concat(told, r.Warnings) {
		if w.Code == trainer.WarnInfeasibleStart {
			t.Error(w)
		}
	}
}

// TestLimits checks the limits on gradients and time, and that a cancelled context ends the rounds.
func TestLimits(t *testing.T) {
	l := newLending(t, 600, 2, 0.02)
	r, err := decide.Train(t.Context(), l.problem, &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}, trainer.Settings{Iterations: 100000, Gradients: 70}, l.feedback)
	if err != nil || r.Status != trainer.GradientLimit || r.Point.GradientEvaluations > 72 || len(r.Rounds) < 2 {
		t.Errorf("%v after %d gradients and %d rounds, %v", r.Status, r.Point.GradientEvaluations, len(r.Rounds), err)
	}
	l = newLending(t, 600, 2, 0.02)
	r, err = decide.Train(t.Context(), l.problem, &method.ALM{}, trainer.Settings{Iterations: 1 << 30, TimeLimit: 200e6}, l.feedback)
	if err != nil || r.Status != trainer.TimeLimit && r.Status != trainer.RoundsEnded || r.Seconds > 2 {
		t.Errorf("%v after %v seconds, %v", r.Status, r.Seconds, err)
	}
	l.check(t, "time", r)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l = newLending(t, 600, 2, 0.02)
	r, err = decide.Train(ctx, l.problem, &method.ALM{}, trainer.Settings{Iterations: 100}, l.feedback)
	if err != nil || r.Status != trainer.Interrupted || len(r.Rounds) != 1 || r.Iterations != 0 {
		t.Errorf("a cancelled context: %v, %v", r, err)
	}
}

// TestEveryMethodSolvesOrRefuses runs every method as the inner solver. A method trains, or returns
// an error that names its requirement.
func TestEveryMethodSolvesOrRefuses(t *testing.T) {
	for _, name := range method.Names() {
		m := require.Value(method.New(name))(t)
		l := newLending(t, 400, 2, 0.02)
		r, err := decide.Train(t.Context(), l.problem, m, trainer.Settings{Iterations: 150}, l.feedback)
		if err != nil {
			if !errors.Is(err, problem.ErrSettings) {
				t.Errorf("%s: %v", name, err)
			}
			t.Logf("%s is refused: %v", name, err)
			continue
		}
		l.check(t, name, r)
		t.Logf("%s: %s, violation %v, error %v", name, r.Status, r.Rounds[r.Best].Exact.Violation, r.Rounds[r.Best].Exact.After)
	}
}

// TestTighten trains with tightened bounds. The decisions keep the requested margin to the bounds
// within one row. The target and its bounds do not change.
func TestTighten(t *testing.T) {
	const bound, amount = 0.05, 0.03
	l := newLending(t, 1200, 2, bound)
	calls := 0
	l.feedback.Tighten = func(d []float64) []float64 {
		if calls++; len(d) != 2 {
			t.Fatalf("%d rates, want those of the two groups", len(d))
		}
		return []float64{amount, amount}
	}
	m := &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}}
	r := require.Value(decide.Train(t.Context(), l.problem, m, trainer.Settings{Iterations: 1500}, l.feedback))(t)
	best := r.Rounds[r.Best]
	d, g := make([]float64, l.feedback.Rates.Len()), make([]float64, 2)
	decisions := make([]int32, len(l.x))
	decide.Decide(decisions, l.scores(), best.Exact.Offsets)
	l.feedback.Rates.(*decide.Rates).Count(d, decisions)
	l.feedback.Target.Excess(g, d)
	slack := l.feedback.Target.Bounds[0].Slack
	for j, v := range g {
		if v > -amount+slack+1e-9 {
			t.Errorf("bound %d: the decisions exceed it by %v, want at most %v and one row, %v", j, v, -amount, slack)
		}
		if b := l.feedback.Target.Bounds[j].Bound; b != bound {
			t.Errorf("bound %d of the target is now %v", j, b)
		}
	}
	if calls != len(r.Rounds) || best.Exact.Violation > 0 {
		t.Errorf("%d calls in %d rounds, violation %v", calls, len(r.Rounds), best.Exact.Violation)
	}
}
