package session

import (
	"math"
	"slices"
	"testing"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/racing"
	"ppal/internal/require"
	"ppal/internal/statistics"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/session/results"
)

// The outcome of a published problem lists what its constraints stand for. Each gap occurs once, in
// every form in which the method states the gap. The value on decisions stands beside the value of
// the surrogate.
func TestSurrogateOutcome(t *testing.T) {
	notUnderRace(t)
	compas := func() Source {
		return Table{Dataset: "synthetic-compas", TableOptions: tabular.TableOptions{Split: tabular.DefaultSplit}}
	}
	for _, c := range []struct {
		name    string
		options Options
		want    []string // texts of the constraints
		kinds   []string // kinds of the rates in the gaps
		minimum string
	}{
		{"split", Options{Data: compas(), Task: EqualizedOdds{Epsilon: []float64{0.01, 0.02}}}, // PPALA needs two smooth constraints for each gap
			[]string{`gap(tpr, "race=African-American") <= 0.01`, `gap(fpr, "race=African-American") <= 0.02`}, []string{"tpr", "fpr"}, "error"},
		{"absolute", Options{Data: compas(), Task: DemographicParity{}, Method: &method.PLADA{}},
			[]string{`gap(positive_rate, "race=African-American") <= 0.01`}, []string{"positive_rate"}, "error"},
		{"largest", Options{Data: compas(), Task: EqualizedOdds{Gaps: constraints.Maximum}, Method: &method.PLADA{}},
			[]string{`gap(tpr, "race=African-American") <= 0.01`, `gap(fpr, "race=African-American") <= 0.01`}, []string{"tpr", "fpr"}, "error"},
		{"classes", Options{Data: Images{Dataset: "synthetic", RowsPerClass: 20}, Task: NeymanPearson{}},
			[]string{"error[C] <= 0.2", "error[S] <= 0.2", "error[3] <= 0.2"}, nil, "error[O]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Settings = trainer.Settings{Iterations: 20}
			s := require.Value(New(t.Context(), c.options))(t)
			defer s.Close()
			r := require.Value(s.Train(t.Context()))(t)
			o := r.Outcome
			if o == nil || o.BoundsOn != constraints.OnSurrogate || len(o.Constraints) != len(c.want) || o.Objective.Name != c.minimum || o.GradientEvaluations < 20 {
				t.Fatalf("%+v", o)
			}
			worst := math.Inf(-1)
			for j, got := range o.Constraints {
				if got.Constraint != c.want[j] {
					t.Errorf("%s, want %s", got.Constraint, c.want[j])
				}
				if got.Train == nil || got.Test == nil || got.Interval == nil || !(got.Interval[0] <= *got.Test && *got.Test <= got.Interval[1]) {
					t.Errorf("%s: test %v, interval %v", got.Constraint, got.Test, got.Interval)
				}
				worst = max(worst, *got.Surrogate-got.Bound)
				if *got.SurrogateMet != (*got.Surrogate-got.Bound <= 1e-3) || got.Met != got.State.Holds() || got.Met && *got.Train > got.Bound+got.Tolerance+1e-12 {
					t.Errorf("%+v", got)
				}
			}
			if v := max(0, worst); math.Abs(v-maxViolation(r.Constraints)) > 1e-12 {
				t.Errorf("the largest violation of the outcome is %v, of the constraints %v", v, maxViolation(r.Constraints))
			}
			for j, kind := range c.kinds {
				test := r.Splits[len(r.Splits)-1].Rates.ByGroup
				a, b := test[0].Rates[kind], test[1].Rates[kind]
				if d := math.Abs(math.Abs(a.Value-b.Value) - *o.Constraints[j].Test); d > 1e-12 {
					t.Errorf("%s: the gap differs by %v from the rates", c.want[j], d)
				}
				want := hits(a).Estimate(0.025).Plus(hits(b).Estimate(0.025).Times(-1)).Interval()
				want = statistics.Interval{Low: max(0, want.Low, -want.High), High: max(want.High, -want.Low)}
				if got := o.Constraints[j].Interval; math.Abs(got[0]-want.Low) > 1e-15 || math.Abs(got[1]-want.High) > 1e-15 {
					t.Errorf("%s: interval %v, want %v", c.want[j], got, want)
				}
			}
		})
	}
}

// maxViolation returns the largest positive element, or 0.
func maxViolation(g []float64) (v float64) {
	for _, x := range g {
		v = max(v, x)
	}
	return v
}

// The intersectional problem compares each group's error with the error of all rows. If the groups
// share a bound, and with bounds on decisions, the outcome has the largest excess.
func TestIntersectionalOutcome(t *testing.T) {
	racing.Skip(t, "TestDecisionsTrain runs the same goroutines")
	overlapping := []string{"sex=Female", "race=African-American", "age<30"}
	source := Table{Dataset: "synthetic-compas", TableOptions: tabular.TableOptions{Split: tabular.DefaultSplit, Groups: overlapping}}
	own := Intersectional{Epsilon: slices.Repeat([]float64{0.02}, len(overlapping))}
	for _, task := range []Task{Intersectional{}, own, Intersectional{BoundsOn: constraints.OnDecisions}} {
		s := require.Value(New(t.Context(), Options{Data: source, Task: task, Settings: trainer.Settings{Iterations: 5, Seed: 1}}))(t)
		r := require.Value(s.Train(t.Context()))(t)
		train := r.Splits[0].Rates
		largest := math.Inf(-1)
		for k, g := range train.ByGroup[:len(overlapping)] {
			want := g.Rates["error"].Value - train.Overall["error"].Value
			largest = max(largest, want)
			if len(r.Outcome.Constraints) > 1 && math.Abs(*r.Outcome.Constraints[k].Train-want) > 1e-12 {
				t.Fatalf("%s: %v, want %v", r.Outcome.Constraints[k].Constraint, *r.Outcome.Constraints[k].Train, want)
			}
		}
		switch list := r.Outcome.Constraints; {
		case list[0].Interval == nil:
			t.Errorf("%T: no interval", task)
		case len(list) == len(own.Epsilon):
		case len(list) != 1 || list[0].Constraint != "excess(error, groups) <= 0.01" || math.Abs(*list[0].Train-largest) > 1e-12:
			t.Errorf("%T: %+v, want the value %v", task, list[0], largest)
		}
		_ = s.Close()
	}
}

// hits returns a rate as a number of hits among rows.
func hits(r results.Rate) statistics.Count {
	return statistics.Count{Hits: int(math.Round(r.Value * float64(r.Rows))), Rows: r.Rows}
}
