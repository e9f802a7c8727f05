package suite

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/chart"
)

var inf = math.Inf(1)

// run returns a run with feasible points: evaluations and f, without violation.
func run(problem, contender, setting string, points ...float64) *Run {
	r := &Run{Problem: problem, Contender: contender, Setting: setting, Limit: 1000, Start: 10}
	for i := 0; i < len(points); i += 2 {
		r.Points = append(r.Points, Point{Evaluations: int(points[i]), Seconds: number(points[i] / 100), F: number(points[i+1])})
	}
	return r
}

// f* = 2 and f_0 = 10, so that the scale is 8.
func TestSolved(t *testing.T) {
	r := run("p", "a", "", 1, 10, 5, 2.8, 20, 2.008, 70, 2)
	goal, ok := newTarget([]*Run{r, run("p", "b", ""), run("p", "c", "", 9, 3)}, inf)
	if !ok || goal != (target{2, 8}) {
		t.Fatalf("%+v, %v", goal, ok)
	}
	for tau, want := range map[float64]float64{0.1: 5, 1e-3: 20, 1e-5: 70} {
		if got := goal.solved(r, tau, inEvaluations); got != want {
			t.Errorf("tau %v: %v evaluations, want %v", tau, got, want)
		}
		if got := goal.solved(r, tau, inSeconds); got != want/100 {
			t.Errorf("tau %v: %v seconds, want %v", tau, got, want/100)
		}
	}
	if got := goal.solved(run("p", "b", "", 50, 3), 0.1, inEvaluations); got != inf {
		t.Errorf("f = 3 is solved after %v", got)
	}
	if _, ok := newTarget([]*Run{run("p", "a", "")}, 1); ok {
		t.Error("a target without a feasible point")
	}
	if goal, _ := newTarget([]*Run{r}, 1); goal != (target{1, 9}) {
		t.Errorf("with the optimum 1: %+v", goal)
	}
	if goal, _ := newTarget([]*Run{run("p", "a", "", 1, 10)}, inf); goal != (target{10, 11e-3}) {
		t.Errorf("a start that is optimal: %+v", goal)
	}
}

// A violation within the tolerance does not lower f*: the multiplier 3 times 1e-3 is added.
func TestTargetOfInfeasiblePoint(t *testing.T) {
	exact, slight := run("p", "a", "", 1, 10, 50, 2), run("p", "b", "", 1, 10, 40, 1.998)
	slight.Points[1].Violation = 1e-3
	slight.Checkpoints = []Checkpoint{{Checkpoint: 100, Epsilon: 0.5, Multipliers: 0}, {Checkpoint: 200, Epsilon: 1e-3, Multipliers: 3}}
	exact.Checkpoints = []Checkpoint{{Checkpoint: 200, Epsilon: 0.1, Multipliers: 1}}
	goal, _ := newTarget([]*Run{exact, slight}, inf)
	if goal.best != 2 {
		t.Errorf("f* is %v, want 2", goal.best)
	}
	if got := goal.solved(exact, 1e-5, inEvaluations); got != 50 {
		t.Errorf("the exact run is solved after %v", got)
	}
}

// Three solvers on four problems. The second solver fails on one problem, and nobody solves the
// last.
func TestRatios(t *testing.T) {
	got := ratios([][]float64{
		{10, 30, 0, inf},
		{20, 10, 0, inf},
		{40, 15, inf, inf},
	})
	want := [][]float64{{1, 1, 3}, {1, 1, 2}, {1.5, 4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestScore(t *testing.T) {
	if got, want := score([]float64{10, 1000, inf}, 1e5), (math.Log(10)+math.Log(1000)+math.Log(1e5))/3; math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := score(nil, 10); got != inf {
		t.Errorf("no cost has the score %v", got)
	}
}

func TestDuel(t *testing.T) {
	var d Duel
	for _, pair := range [][2]float64{{1, 2}, {1, inf}, {2, 2}, {inf, inf}, {inf, 3}} {
		d.add(pair[0], pair[1])
	}
	if d != (Duel{2, 2, 1}) || d.Count() != 5 || d.String() != "2, 2, 1 (40%)" {
		t.Errorf("%+v, %s", d, d)
	}
}

// outcome is a comparison on three problems: setting x of the rival is the best on the tuning
// problems, and setting y on the held-out problem.
func outcome() *Outcome {
	o := &Outcome{Options: Options{Problems: []Problem{{Name: "p"}, {Name: "q"}, {Name: "r", HeldOut: true}}, Evaluations: 1000}}
	for _, p := range []string{"p", "q", "r"} {
		x, y := 20.0, 80.0
		if p == "r" {
			x, y = 900, 2
		}
		o.Runs = append(o.Runs, run(p, Default, "", 1, 10, 40, 2), run(p, "rival", "x", 1, 10, x, 2), run(p, "rival", "y", 1, 10, y, 2))
	}
	o.Runs[0].Checkpoints = []Checkpoint{{Checkpoint: 1000, Epsilon: 1e-3}}
	return o
}

// The held-out problem does not choose the rival's single setting.
func TestSingle(t *testing.T) {
	o := outcome()
	targets := o.targets()
	s := o.single("rival", targets)
	if s.setting != "x" {
		t.Errorf("the single setting is %q, want x", s.setting)
	}
	own := o.with(Default, "")
	for _, c := range []struct {
		heldOut bool
		other   solver
		want    Duel
	}{
		{false, s, Duel{0, 0, 2}}, {true, s, Duel{1, 0, 0}},
		{false, o.perProblem("rival"), Duel{0, 0, 2}}, {true, o.perProblem("rival"), Duel{0, 0, 1}},
	} {
		if got := duel(o.problems(c.heldOut), targets, 1e-3, inEvaluations, own, c.other); got != c.want {
			t.Errorf("held out %v, %s %q: %+v, want %+v", c.heldOut, c.other.name, c.other.setting, got, c.want)
		}
	}
	if got := own.stationary(o.Options.Problems); got != 1 {
		t.Errorf("%d stationary, want 1", got)
	}
}

// An end is worse with a larger f, without a feasible point, and without a certificate that the
// other run has.
func TestWorseThan(t *testing.T) {
	good := ending{2, 0, 1e-3}
	for _, c := range []struct {
		end  ending
		want bool
	}{
		{ending{2, 9e-4, 1e-4}, false}, {ending{2.1, 2e-3, 1e-4}, true}, {ending{math.NaN(), inf, inf}, true}, {ending{1, -1, 2e-3}, true},
	} {
		if got := c.end.worseThan(good); got != c.want {
			t.Errorf("%+v: %v", c.end, got)
		}
	}
	none := ending{math.NaN(), inf, inf}
	if none.worseThan(none) {
		t.Error("two runs without a feasible point differ")
	}
	o := outcome()
	if e := o.perProblem("rival").end(target{1, 2}, "p"); e.best != 2 || e.gap != 0.5 || e.epsilon != inf {
		t.Errorf("%+v", e)
	}
}

// The curve rises by the share of a problem at each ratio, and ends at the picture's right end.
func TestStaircase(t *testing.T) {
	got := staircase([]float64{1, 2, 500}, 4)
	want := chart.Curve{X: []float64{1, 1, 1, 2, 2, 128}, Y: []float64{0, 0, 0.25, 0.25, 0.5, 0.5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
