package session

import (
	"fmt"
	"strings"
	"testing"

	"ppal/internal/rundir"
	"ppal/trainer"
)

// everyCircumstance calls do for all combinations of the circumstances of ended runs.
func everyCircumstance(do func(c circumstances)) {
	for _, status := range []trainer.Status{trainer.IterationLimit, trainer.TimeLimit, trainer.GradientLimit, trainer.Converged, trainer.AtRest,
		trainer.NoImprovement, trainer.Infeasible, trainer.Interrupted} {
		for bits := range 1 << 12 {
			on := func(k int) bool { return bits>>k&1 == 1 }
			c := circumstances{status: status, unconverged: on(0), unmet: on(1), costly: on(2), constant: on(3), overfitted: on(4), atRounding: on(5),
				float32: on(6), batches: on(7), promises: on(8), weighted: on(9), convex: on(10), selected: on(11)}
			for _, patience := range []int{0, 20} {
				for _, tolerance := range []float64{0, 1e-3, 0.1} {
					c.patience, c.tolerance = patience, tolerance
					if patience > 0 && c.promises || patience == 0 && status == trainer.NoImprovement {
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
	everyCircumstance(func(c circumstances) {
		list := c.given()
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
			case limit != "" && (c.status != limit || c.overfitted && !c.unmet && !c.costly),
				a.flag == "tolerance" && (c.tolerance == 0 || c.status != trainer.Converged),
				a.flag == "patience" && (c.patience > 0 || c.promises || c.status == trainer.NoImprovement),
				a.flag == "dtype" && !c.float32,
				a.flag == "batch-size" && !c.batches,
				a.flag == "seed" && c.convex,
				limit != "" && c.selected, // the saved iterate would not change
				a.flag == "select" && !c.selected,
				a.flag == "regularizer-weight" && !c.weighted,
				a.flag == "subject-to" && !c.unmet && !c.costly && !c.constant:
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
		if !contains(toConverge, a.flag) && !contains(toMeet, a.flag) && !contains(toFitLess, a.flag) {
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
		o := rundir.ObjectiveOutcome{Name: "error", SplitValues: rundir.SplitValues{Train: tc.train, Validation: tc.validation}, ValidationInterval: tc.interval}
		c := circumstances{status: trainer.IterationLimit, unconverged: true, overfitted: overfits(&o)}
		got := c.overfitting(&o)
		if (got != "") != tc.want {
			t.Errorf("%s: %q", name, got)
		}
		if want := fmt.Sprintf("the error is %.4f on the training rows, and 0.1900 on the validation rows. Use --patience N,", *orZero(tc.train)); tc.want && !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	o := rundir.ObjectiveOutcome{Name: "error", SplitValues: rundir.SplitValues{Train: number(0.1), Validation: number(0.2)}, ValidationInterval: interval}
	for want, c := range map[string]circumstances{
		"The saved weights are the best on the validation rows.": {overfitted: true, patience: 3},
		"Use a larger --regularizer-weight.":                     {overfitted: true, promises: true, weighted: true},
		"0.2000 on the validation rows.":                         {overfitted: true, promises: true},
	} {
		if got := c.overfitting(&o); !strings.HasSuffix(got, want) {
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
