package measure

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppal/trainer"
	"ppal/trainer/session/results"
)

// everyCircumstance calls do for all combinations of the circumstances of ended runs.
func everyCircumstance(do func(c Circumstances)) {
	for _, status := range []trainer.Status{trainer.IterationLimit, trainer.TimeLimit, trainer.GradientLimit, trainer.Converged, trainer.AtRest,
		trainer.RoundsEnded, trainer.NoImprovement, trainer.Infeasible, trainer.Interrupted} {
		for bits := range 1 << 13 {
			on := func(k int) bool { return bits>>k&1 == 1 }
			c := Circumstances{Status: status, unconverged: on(0), Unmet: on(1), Costly: on(2), Constant: on(3), Overfitted: on(4), AtRounding: on(5),
				Float32: on(6), Batches: on(7), Promises: on(8), Weighted: on(9), Convex: on(10), Selected: on(11), Unscaled: on(12)}
			for _, patience := range []int{0, 20} {
				for _, tolerance := range []float64{0, 1e-3, 0.1} {
					c.Patience, c.Tolerance = patience, tolerance
					if patience > 0 && c.Promises || patience == 0 && status == trainer.NoImprovement {
						continue // a run refuses both, and has no such end
					}
					do(c)
				}
			}
		}
	}
}

// No two pieces of advice of a run contradict each other, and none names a setting that is at its
// limit, that the run does not have, or that cannot matter.
func TestAdviceNeverContradicts(t *testing.T) {
	given := map[string]int{}
	everyCircumstance(func(c Circumstances) {
		list := c.about()
		for i, a := range list {
			given[a.flag]++
			for _, b := range list[:i] {
				if a.flag == b.flag || a.change == longer && b.change == stops || a.change == stops && b.change == longer {
					t.Errorf("%+v: %q and %q", c, a.phrase, b.phrase)
				}
			}
			limit := map[string]trainer.Status{"iterations": trainer.IterationLimit, "time-limit": trainer.TimeLimit,
				"gradients": trainer.GradientLimit, "resume": trainer.Interrupted}[a.flag]
			switch {
			case limit != "" && (c.Status != limit || c.Overfitted && !c.Unmet && !c.Costly),
				a.flag == "tolerance" && (c.Tolerance == 0 || c.Status != trainer.Converged),
				a.flag == "patience" && (c.Patience > 0 || c.Promises || c.Status == trainer.NoImprovement),
				a.flag == "dtype" && !c.Float32,
				a.flag == "columns" && !c.Unscaled,
				a.flag == "batch-size" && !c.Batches,
				a.flag == "seed" && c.Convex,
				limit != "" && c.Selected, // the saved iterate would not change
				a.flag == "select" && !c.Selected,
				a.flag == "regularizer-weight" && !c.Weighted,
				a.flag == "subject-to" && !c.Unmet && !c.Costly && !c.Constant:
				t.Errorf("%+v: %q", c, a.phrase)
			}
		}
		for _, flags := range [][]string{toConverge, toMeet, toFitLess} {
			if text := c.use(flags); text != "" && (!strings.HasPrefix(text, "Use ") || !strings.HasSuffix(text, ".")) {
				t.Errorf("%+v: %q", c, text)
			}
		}
	})
	for _, a := range advices {
		if given[a.flag] == 0 {
			t.Errorf("no circumstances lead to %q", a.phrase)
		}
		if !slices.Contains(toConverge, a.flag) && !slices.Contains(toMeet, a.flag) && !slices.Contains(toFitLess, a.flag) {
			t.Errorf("no text gives %q", a.phrase)
		}
	}
	if len(given) != len(advices) {
		t.Errorf("advice about %v, want %d", given, len(advices))
	}
}

// The note about an overfitted model by hand.
func TestOverfitting(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	interval := &[2]float64{0.18, 0.2}
	for name, tc := range map[string]struct {
		train, validation *float64
		interval          *[2]float64
		want              bool
	}{
		"far below":            {number(0.12), number(0.19), interval, true},
		"a tenth below":        {number(0.17), number(0.19), interval, true},
		"less than a tenth":    {number(0.1720), number(0.19), interval, false},
		"inside the interval":  {number(0.18), number(0.21), interval, false},
		"above":                {number(0.2), number(0.19), interval, false},
		"no interval":          {number(0.12), number(0.19), nil, false},
		"no validation rows":   {number(0.12), nil, nil, false},
		"no value on training": {nil, number(0.19), interval, false},
	} {
		o := results.ObjectiveOutcome{Name: "error", SplitValues: results.SplitValues{Train: tc.train, Validation: tc.validation}, ValidationInterval: tc.interval}
		c := Circumstances{Status: trainer.IterationLimit, unconverged: true, Overfitted: Overfits(&o)}
		got := c.Overfitting(&o)
		if (got != "") != tc.want {
			t.Errorf("%s: %q", name, got)
		}
		if want := fmt.Sprintf("the error is %.4f on the training rows, and 0.1900 on the validation rows. Use --patience N,", *orZero(tc.train)); tc.want && !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	o := results.ObjectiveOutcome{Name: "error", SplitValues: results.SplitValues{Train: number(0.1), Validation: number(0.2)}, ValidationInterval: interval}
	for want, c := range map[string]Circumstances{
		"The saved weights are the best on the validation rows.": {Overfitted: true, Patience: 3},
		"Use a larger --regularizer-weight.":                     {Overfitted: true, Promises: true, Weighted: true},
		"0.2000 on the validation rows.":                         {Overfitted: true, Promises: true},
	} {
		if got := c.Overfitting(&o); !strings.HasSuffix(got, want) {
			t.Errorf("%q does not end with %q", got, want)
		}
	}
}

func orZero(x *float64) *float64 {
	if x == nil {
		return new(float64)
	}
	return x
}
