package cmd

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"ppal/constraints"
	"ppal/internal/rates"
	"ppal/internal/require"
	"ppal/trainer/certify"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// at returns the values of three splits.
func at(train, validation, test float64) results.SplitValues {
	return results.SplitValues{Train: &train, Validation: &validation, Test: &test}
}

// onDecisions returns an outcome with bounds on decisions.
func onDecisions() *results.Outcome {
	accepted := at(0.2011, 0.2023, 0.1999)
	return &results.Outcome{
		BoundsOn: constraints.OnDecisions,
		Constraints: []results.ConstraintOutcome{
			{Constraint: "gap(positive_rate, sex) <= 0.01", Bound: 0.01, SplitValues: at(0.0098, 0.0131, 0.0172), Interval: &[2]float64{0, 0.041}, Met: true},
			{Constraint: "tpr[sex=Female] >= 0.6", Bound: 0.6, AtLeast: true, SplitValues: at(0.5998, 0.58, 0.61), Interval: &[2]float64{0.55, 0.67}, Met: true},
		},
		Objective:      results.ObjectiveOutcome{Name: "error", SplitValues: at(0.1652, 0.1648, 0.1601)},
		AcceptanceRate: &accepted, Threshold: 0.01234567, ThresholdCost: 0.0002, BoundShifts: []float64{0.0011, -0.0032}, GradientEvaluations: 312,
	}
}

// onSurrogates returns an outcome with bounds on surrogates. The second bound is not met.
func onSurrogates() *results.Outcome {
	yes, no, first, second := true, false, 0.00993, 0.0234
	o := onDecisions()
	o.BoundsOn, o.Threshold, o.ThresholdCost, o.BoundShifts = constraints.OnSurrogate, 0, 0, nil
	o.Constraints = []results.ConstraintOutcome{
		{Constraint: "gap(tpr, race) <= 0.01", Bound: 0.01, SplitValues: at(0.019, 0.02, 0.042), Interval: &[2]float64{0, 0.196}, Surrogate: &first, SurrogateMet: &yes},
		{Constraint: "gap(fpr, race) <= 0.01", Bound: 0.01, SplitValues: at(0.07, 0.06, 0.066), Interval: &[2]float64{0, 0.193}, Surrogate: &second, SurrogateMet: &no},
	}
	return o
}

// classRates returns the rates of three classes. The model never decides for the last class.
func classRates(t *testing.T, trained bool) *results.RateTable {
	t.Helper()
	groups := []results.Group{{Name: "sex=Female", Rows: []int{0, 1, 2}}, {Name: "sex=Male", Rows: []int{3, 4, 5}}}
	return require.Value(rates.NewTable(rates.Rows{Labels: []int{0, 0, 1, 1, 1, 2}, Decisions: []int{0, 1, 1, 1, 0, 0}}, []string{"shirt", "trouser", "dress"}, groups, trained))(t)
}

// groupRates returns the rates of two classes and two groups.
func groupRates(t *testing.T, trained bool) *results.RateTable {
	t.Helper()
	groups := []results.Group{{Name: "sex=Female", Rows: []int{0, 1, 2, 3}}, {Name: "a group with a name that is too long for its column", Rows: []int{4, 5}}}
	return require.Value(rates.NewTable(rates.Rows{Labels: []int{0, 0, 0, 1, 1, 1}, Decisions: []int{0, 0, 1, 1, 1, 0}}, []string{"no", "yes"}, groups, trained))(t)
}

// tableOf trains the stub with an outcome and returns the result of the command.
func tableOf(t *testing.T, prepare func(s *stub), flags ...string) outcome {
	t.Helper()
	args := append([]string{"train", "--quiet", "--iterations", "5", "--primal", "nesterov", "--out", filepath.Join(t.TempDir(), "run")}, flags...)
	got := command(t.Context(), prepare, args...)
	for line := range strings.Lines(got.stdout) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > tableWidth && !strings.HasPrefix(line, "files") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	head, _, _ := strings.Cut(got.stdout, "memory") // without the name of the run's directory
	got.stdout = head
	return got
}

// The closing table of a run with bounds on decisions and the table of a run with bounds on
// surrogates equal golden files.
func TestTable(t *testing.T) {
	got := tableOf(t, func(s *stub) { s.outcome = onDecisions() })
	if got.status != exitDone {
		t.Errorf("%+v", got)
	}
	require.Golden(t, "testdata/table-decisions.txt", settled(got.stdout))
	got = tableOf(t, func(s *stub) { s.outcome = onSurrogates() })
	require.Golden(t, "testdata/table-surrogates.txt", settled(got.stdout))
	const want = "ppal: finished, but a constraint is not met: on the training rows the surrogate of gap(fpr, race) is 0.0234, want <= 0.01; " +
		"--allow-violation makes the exit status 0\n"
	if got.status != exitUnmet || got.stderr != want {
		t.Errorf("%d %s", got.status, got.stderr)
	}
}

// The exit status is 3 if a constraint is not met on decisions, and 0 with --allow-violation. The
// files are complete in both cases.
func TestExitUnmet(t *testing.T) {
	missed := func(s *stub) {
		s.outcome = onDecisions()
		s.outcome.Constraints[0].Met, s.outcome.Constraints[1].Met = false, false
	}
	got := tableOf(t, missed)
	const want = "ppal: finished, but 2 constraints are not met: on the training rows gap(positive_rate, sex) is 0.0098, want <= 0.01, and others; " +
		"--allow-violation makes the exit status 0\n"
	if got.status != exitUnmet || got.stderr != want || strings.Contains(got.stdout, "yes") {
		t.Errorf("%+v", got)
	}
	if got := tableOf(t, missed, "--allow-violation"); got.status != exitDone || got.stderr != "" {
		t.Errorf("--allow-violation: %+v", got)
	}
}

// TestStates trains with an outcome of each state. The table has its word, and the lines below
// explain it. The exit status is 3 if the constraint is not met or cannot be judged, and with
// --strict if it is met to one row. A value beside its bound has enough digits.
func TestStates(t *testing.T) {
	exceeded := &constraints.Exceeded{Groups: []string{"race=Other", "race=White"}, Rows: []int{7, 900}, Values: []float64{0.2857, 0.1}, By: 0.08, MinRows: 200}
	for _, test := range []struct {
		state            constraints.State
		train, test      float64
		word, line       string
		status, strictly int
		stderr           string
	}{
		{constraints.Met, 0.01, 0.0099, "yes", "", exitDone, exitDone, ""},
		{constraints.Met, 0.01, 0.010003, "training only", "missed on the test rows (0.010003).", exitDone, exitDone, ""},
		{constraints.MetToOneRow, 0.01002, 0.0099, "to one row", "", exitDone, exitUnmet,
			"finished, but a constraint is met to one row only (--strict): on the training rows gap(tpr, race) is 0.01002, want <= 0.01; "},
		{constraints.MetToOneRow, 0.01002, 0.02, "to one row", "is met to one row on the training rows, and missed on the test rows (0.0200).", exitDone, exitUnmet, "(--strict)"},
		{constraints.NotMet, 0.1957, 0.0099, "no", "is missed by race=Other (0.2857 of 7 rows) and race=White (0.1000 of 900 rows).", exitUnmet, exitUnmet,
			"finished, but a constraint is not met: on the training rows gap(tpr, race) is 0.1957, want <= 0.01; "},
		{constraints.NotJudged, 0.09, 0.0099, "cannot be judged", "cannot be judged: group race=Other has 7 rows; use min 200.", exitUnmet, exitUnmet,
			"finished, but a constraint cannot be judged: gap(tpr, race) <= 0.01: group race=Other has 7 rows; use min 200; "},
	} {
		prepare := func(s *stub) {
			s.outcome = onDecisions()
			c := results.ConstraintOutcome{Constraint: "gap(tpr, race) <= 0.01", Bound: 0.01, SplitValues: results.SplitValues{Train: &test.train, Test: &test.test},
				State: test.state, Met: test.state.Holds()}
			if test.state == constraints.NotMet || test.state == constraints.NotJudged {
				c.Exceeded = exceeded
			}
			s.outcome.Constraints = []results.ConstraintOutcome{c}
		}
		for _, strict := range []bool{false, true} {
			flags, status := []string(nil), test.status
			if strict {
				flags, status = []string{"--strict"}, test.strictly
			}
			got := tableOf(t, prepare, flags...)
			text := strings.Join(strings.Fields(got.stdout), " ")
			if got.status != status || !strings.Contains(got.stdout, "  "+test.word+"\n") || !strings.Contains(text, test.line) {
				t.Errorf("%s, strict %t: status %d, want %d, %q, %q in\n%s", test.state, strict, got.status, status, test.word, test.line, got.stdout)
			}
			if status == exitUnmet && !strings.Contains(got.stderr, test.stderr) || status == exitDone && got.stderr != "" {
				t.Errorf("%s, strict %t: %s", test.state, strict, got.stderr)
			}
		}
	}
}

// The table shows the epsilon of the method's own multipliers if this epsilon is much larger than
// the epsilon of the certificate.
func TestTableOwnMultipliers(t *testing.T) {
	const phrase = "; with the method's own multipliers epsilon is 0.00031"
	for epsilon, want := range map[float64]bool{3.1e-4: true, 2.9e-4: false} {
		got := tableOf(t, func(s *stub) {
			s.certificate = func(c *certify.Certificate) { c.Own = &certify.Own{Epsilon: epsilon} }
		})
		if is := strings.Contains(strings.Join(strings.Fields(got.stdout), " "), phrase); is != want {
			t.Errorf("epsilon %v: the table says so: %t\n%s", epsilon, is, got.stdout)
		}
	}
}

// The table says that the search for multipliers has not been resolved.
func TestTableNotResolved(t *testing.T) {
	for _, unresolved := range []bool{false, true} {
		got := tableOf(t, func(s *stub) {
			s.certificate = func(c *certify.Certificate) { c.NotResolved = unresolved }
		})
		text := strings.Join(strings.Fields(got.stdout), " ")
		if most, says := strings.Contains(text, "epsilon at most"), strings.Contains(text, "not resolved: other multipliers"); most != unresolved || says != unresolved {
			t.Errorf("not resolved: %t\n%s", unresolved, got.stdout)
		}
	}
}

// The first lines of the output say that a run has not converged.
func TestTableUnconverged(t *testing.T) {
	got := tableOf(t, func(s *stub) {
		s.outcome = onDecisions()
		s.certificate = func(c *certify.Certificate) { c.Epsilon, c.Complementarity = 0.8, 0.8 }
	})
	require.Golden(t, "testdata/table-unconverged.txt", settled(got.stdout))
	if converged := tableOf(t, func(s *stub) { s.outcome = onDecisions() }); !strings.HasPrefix(converged.stdout, "ppala on synthetic") {
		t.Errorf("a converged run begins with\n%s", converged.stdout)
	}
}

// A run whose bounds contradict each other stops early and says so first. The exit status is that
// of bounds that are not met.
func TestTableInfeasible(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	train := func(args ...string) outcome {
		return commandOn(t.Context(), func(a *app) { a.open = session.New }, append([]string{"train", "--dataset", "synthetic-compas", "--bounds-on", "surrogate",
			"--subject-to", "positive_rate <= 0.1; tpr >= 0.9", "--iterations", "600", "--quiet", "--out"}, args...)...)
	}
	got := train(dir)
	if got.status != exitUnmet || !strings.HasPrefix(got.stdout, "The bounds cannot be met together near these weights: ") ||
		!strings.Contains(got.stdout, " iterations (infeasible)\n") {
		t.Errorf("status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	if got := train(dir+"-2", "--allow-violation"); got.status != exitDone {
		t.Errorf("--allow-violation: status %d", got.status)
	}
}

// Notes name classes that the model never decides for, and an overfitted model.
func TestTableNotes(t *testing.T) {
	got := tableOf(t, func(s *stub) {
		s.outcome = onDecisions()
		o := &s.outcome.Objective
		train, validation := 0.1, 0.2
		o.Train, o.Validation, o.ValidationInterval = &train, &validation, &[2]float64{0.19, 0.21}
	})
	if !strings.Contains(got.stdout, "note         The model fits the training rows much more closely") {
		t.Errorf("no note of an overfitted model in\n%s", got.stdout)
	}
	got = tableOf(t, func(s *stub) {
		s.outcome = onDecisions()
		s.outcome.AcceptanceRate, s.rates, s.t = nil, classRates, t
	})
	if !strings.Contains(got.stdout, "The model decides no training row as dress.") || strings.Contains(got.stdout, "accepted") {
		t.Error(got.stdout)
	}
}

// The table shows the cost of the threshold step.
func TestTableThreshold(t *testing.T) {
	for _, c := range []struct {
		threshold, cost float64
		offsets         []float64
		want            string
	}{
		{0.25, 0.003, nil, "moved by 0.25 after training, to meet the bounds: this cost 0.0030 of error on the training rows"},
		{-0.25, -0.001, nil, "moved by -0.25 after training: this gained 0.0010 of error on the training rows"},
		{0.25, 0, nil, "moved by 0.25 after training, without a change of error on the training rows"},
		{0.25, 2.5e-14, nil, "moved by 0.25 after training, without a change of error on the training rows"},
		{0.25, -2.5e-14, nil, "moved by 0.25 after training, without a change of error on the training rows"},
		{0, 0.003, []float64{0, 1}, "moved for each class after training, to meet the bounds: this cost 0.0030 of error on the training rows"},
		{0, 0, nil, ""},
	} {
		got := tableOf(t, func(s *stub) {
			s.outcome = onDecisions()
			s.outcome.Threshold, s.outcome.Offsets, s.outcome.ThresholdCost = c.threshold, c.offsets, c.cost
		})
		text := strings.Join(strings.Fields(got.stdout), " ")
		if c.want == "" && strings.Contains(text, "threshold") || !strings.Contains(text, c.want) {
			t.Errorf("%+v:\n%s", c, got.stdout)
		}
	}
}

// Long names get their own line. If there are many constraints, the table shows the constraints
// closest to their bounds. Without held-out rows, the table has no columns for them.
func TestTableShapes(t *testing.T) {
	got := tableOf(t, func(s *stub) {
		s.outcome = onDecisions()
		long := "gap(positive_rate, \"racepctblack>q95 & racePctHisp>q95 & racePctAsian>q05\", min_rows=200)"
		s.outcome.Constraints[0].Constraint = long + " <= 0.01"
		for k := range 30 {
			c := s.outcome.Constraints[1]
			c.SplitValues = at(0.9-0.01*float64(k), 0.9, 0.9)
			s.outcome.Constraints = append(s.outcome.Constraints, c)
		}
	})
	require.Golden(t, "testdata/table-many.txt", settled(got.stdout))
	got = tableOf(t, func(s *stub) {
		s.outcome = onDecisions()
		o := s.outcome
		for _, v := range []*results.SplitValues{&o.Constraints[0].SplitValues, &o.Constraints[1].SplitValues, &o.Objective.SplitValues, o.AcceptanceRate} {
			v.Validation, v.Test = nil, nil
		}
		o.Constraints[0].Interval, o.Constraints[1].Interval = nil, nil
	})
	if strings.Contains(got.stdout, "valid.") || strings.Contains(got.stdout, "test") || strings.Contains(got.stdout, "interval") {
		t.Error(got.stdout)
	}
}

// --by-group prints the rates of every group, or of every class.
func TestTableByGroup(t *testing.T) {
	for name, of := range map[string]func(*testing.T, bool) *results.RateTable{"groups": groupRates, "classes": classRates} {
		prepare := func(s *stub) { s.outcome, s.rates, s.t = onDecisions(), of, t }
		if plain := tableOf(t, prepare); strings.Contains(plain.stdout, "rates of decisions") {
			t.Errorf("without --by-group: %s", plain.stdout)
		}
		got := tableOf(t, prepare, "--by-group")
		_, shown, _ := strings.Cut(got.stdout, "rates of decisions")
		shown, _, _ = strings.Cut(shown, "certificate")
		require.Golden(t, "testdata/table-by-"+name+".txt", "rates of decisions"+shown)
	}
}

// A run with a confidence says which bounds hold on new rows. The exit status is 3 if a bound is
// met on the training rows but is not promised for new rows.
func TestPromises(t *testing.T) {
	promised := func(holds ...bool) func(s *stub) {
		return func(s *stub) {
			s.outcome = onDecisions()
			s.outcome.Confidence = 0.95
			for j, is := range holds {
				s.outcome.Constraints[j].Promise = &results.Promise{Holds: is, Supported: 0.0312, Rows: 300, Needed: 9000}
			}
		}
	}
	text := func(got outcome) string { return strings.Join(strings.Fields(got.stdout), " ") }
	got := tableOf(t, promised(true, true))
	const both = "new rows gap(positive_rate, sex) <= 0.01 and tpr[sex=Female] >= 0.6 on new rows from the same source, with 95% confidence; " +
		"the validation rows chose the threshold for it."
	if got.status != exitDone || !strings.Contains(text(got), both) {
		t.Errorf("%d %s", got.status, got.stdout)
	}
	got = tableOf(t, promised(false, true))
	const one = "new rows tpr[sex=Female] >= 0.6 on new rows from the same source, with 95% confidence; " +
		"the validation rows chose the threshold for it. The other bounds are not promised: see the warnings."
	const failure = "ppal: finished, but a constraint is not promised for new rows: gap(positive_rate, sex) <= 0.01 " +
		"(the validation rows support the bound 0.0312 with 95% confidence); --allow-violation makes the exit status 0\n"
	if got.status != exitUnmet || got.stderr != failure || !strings.Contains(text(got), one) {
		t.Errorf("%d %s%s", got.status, got.stderr, got.stdout)
	}
	if got = tableOf(t, promised(false, true), "--allow-violation"); got.status != exitDone || got.stderr != "" {
		t.Errorf("--allow-violation: %d %s", got.status, got.stderr)
	}
	if got = tableOf(t, promised(false, false), "--allow-violation"); !strings.Contains(text(got), "No bound is promised for new rows with 95% confidence: see the warnings.") {
		t.Errorf("%s", got.stdout)
	}
	if got = tableOf(t, func(s *stub) { s.outcome = onDecisions() }); strings.Contains(got.stdout, "new rows") {
		t.Errorf("without a confidence: %s", got.stdout)
	}
}
