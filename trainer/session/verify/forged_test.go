package verify

import (
	"context"
	"os"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// The recomputation finds a summary that was changed and sealed again, for every number.
func TestForgedSummaries(t *testing.T) {
	require.NoRace(t, "it trains many runs")
	type edit struct {
		says   string
		change func(s *results.Summary)
	}
	common := map[string]edit{
		"objective":       {"objective is", func(s *results.Summary) { s.Objective *= 1.001 }},
		"constraint":      {"constraints[0]", func(s *results.Summary) { s.Constraints[0] -= 0.001 }},
		"violation":       {"max_violation", func(s *results.Summary) { s.MaxViolation += 0.001 }},
		"bound":           {"bounds[0]", func(s *results.Summary) { s.Bounds[0] += 0.001 }},
		"stationarity":    {"certificate.stationarity", func(s *results.Summary) { s.Certificate.Stationarity += 0.001 }},
		"feasibility":     {"certificate.feasibility", func(s *results.Summary) { s.Certificate.Infeasibility += 0.001 }},
		"complementarity": {"certificate.complementarity", func(s *results.Summary) { s.Certificate.Complementarity += 0.001 }},
		"epsilon":         {"certificate.epsilon", func(s *results.Summary) { s.Certificate.Epsilon += 0.001 }},
		"multiplier":      {"certificate.", func(s *results.Summary) { s.Certificate.Nu[0] += 0.1 }},
		"negative":        {"is negative", func(s *results.Summary) { s.Certificate.Nu[0] = -0.1 }},
		"decision":        {"train of", func(s *results.Summary) { *s.Outcome.Constraints[0].Train += 1. / 120 }},
		"test decision":   {"test of", func(s *results.Summary) { *s.Outcome.Constraints[0].Test += 1. / 60 }},
		"met":             {"is met", func(s *results.Summary) { s.Outcome.Constraints[0].Met = !s.Outcome.Constraints[0].Met }},
		"state": {"is met", func(s *results.Summary) {
			c := &s.Outcome.Constraints[0]
			c.Met, c.State = true, map[bool]constraints.State{true: constraints.MetToOneRow, false: constraints.Met}[c.State == constraints.Met]
		}},
		"tolerance": {"tolerance, exceeded", func(s *results.Summary) { s.Outcome.Constraints[0].Tolerance += 0.01 }},
		"exceeded": {"tolerance, exceeded", func(s *results.Summary) {
			s.Outcome.Constraints[0].Exceeded = &constraints.Exceeded{Groups: []string{constraints.AllRows}, Rows: []int{7}, Values: []float64{0.3}}
		}},
		"rows":           {"whether there are rows", func(s *results.Summary) { s.Outcome.Constraints[0].Validation = nil }},
		"minimised rate": {"objective_on_decisions.train", func(s *results.Summary) { *s.Outcome.Objective.Train -= 1. / 120 }},
		"measure":        {"test.max_violation", func(s *results.Summary) { s.Test["max_violation"] += 0.01 }},
		"rate":           {"rates.train tpr", func(s *results.Summary) { changeRate(s.Rates[results.Training].Overall, "tpr") }},
		"group":          {"rates.test a=0 fpr", func(s *results.Summary) { changeRate(s.Rates[results.Test].ByGroup[0].Rates, "fpr") }},
		"confusion":      {"confusion.validation[0][1]", func(s *results.Summary) { s.Rates[results.Validation].Confusion[0][1]++ }},
		"iterations":     {"iterations", func(s *results.Summary) { s.Iterations++ }},
		"interval of a rate": {"upper end of the interval of rates.test tpr", func(s *results.Summary) {
			s.Rates[results.Test].Overall["tpr"].Interval[1] -= 0.01
		}},
		"best": {"best_feasible.objective", func(s *results.Summary) { s.BestFeasible.Objective *= 0.99 }},
	}
	lists := map[string]map[string]edit{"dp": {
		"surrogate": {"surrogate of", func(s *results.Summary) { *s.Outcome.Constraints[0].Surrogate += 0.001 }},
		"no best":   {"in whether a record is feasible", func(s *results.Summary) { s.BestFeasible = nil }},
		"iteration": {"best_feasible.iteration", func(s *results.Summary) { s.BestFeasible.Iteration++ }},
		"earlier version": {"that an earlier version of ppal wrote", func(s *results.Summary) {
			c := &s.Outcome.Constraints[0]
			c.Tolerance, c.Exceeded = 0, nil
		}},
	}, "best": {
		"record":   {"best_feasible.objective of the records", func(s *results.Summary) { s.BestFeasible.Iteration = 16 }},
		"too late": {"best_feasible.iteration", func(s *results.Summary) { s.BestFeasible.Iteration = s.Iterations + 1 }},
		"worse":    {"best_feasible.iteration", func(s *results.Summary) { s.BestFeasible.Objective += 0.5 }},
		"better":   {"best_feasible.objective of best.safetensors", func(s *results.Summary) { s.BestFeasible.Objective -= 0.001 }},
		"other":    {"output_iteration", func(s *results.Summary) { s.BestFeasible.Iteration-- }},
	}, "gap": {
		"threshold": {"constraints[0]", func(s *results.Summary) { s.Outcome.Threshold += 0.01 }},
		"words":     {"is about", func(s *results.Summary) { s.Outcome.Constraints[0].Constraint = "gap(tpr, sex) <= 0.1" }},
		"shift":     {"constraints[1]", func(s *results.Summary) { s.Outcome.BoundShifts[1] += 0.01 }},
		"interval":  {"lower end of the interval of gap", func(s *results.Summary) { s.Outcome.Constraints[0].Interval[0] += 0.001 }},
		"validation interval": {"upper end of the validation interval of precision", func(s *results.Summary) {
			s.Outcome.Constraints[1].ValidationInterval[1] += 0.001
		}},
		"no interval": {"whether there is an interval", func(s *results.Summary) { s.Outcome.Constraints[0].Interval = nil }},
	}, "promise": {
		"promise":    {"is promised", func(s *results.Summary) { p := s.Outcome.Constraints[1].Promise; p.Holds = !p.Holds }},
		"supported":  {"promised bound of fpr", func(s *results.Summary) { s.Outcome.Constraints[1].Promise.Supported -= 0.001 }},
		"least":      {"least bound to promise of gap", func(s *results.Summary) { s.Outcome.Constraints[0].Promise.Least -= 0.001 }},
		"rows":       {"rows of the promise", func(s *results.Summary) { s.Outcome.Constraints[0].Promise.Rows++ }},
		"needed":     {"rows needed by the promise", func(s *results.Summary) { s.Outcome.Constraints[0].Promise.Needed++ }},
		"confidence": {"confidence is", func(s *results.Summary) { s.Outcome.Confidence = 0.99 }},
		"no promise": {"says nothing about a promise", func(s *results.Summary) { s.Outcome.Constraints[0].Promise = nil }},
	}}
	options := runs(t)
	for name, own := range lists {
		dir := trained(t, options[name]())
		text := require.Value(os.ReadFile(dir.Summary()))(t)
		for _, edits := range []map[string]edit{common, own} {
			for what, e := range edits {
				require.NoError(t, os.WriteFile(dir.Summary(), text, 0o644))
				s := require.Value(rundir.ReadSummary(dir.Summary()))(t)
				if s.BestFeasible == nil {
					t.Fatal("the test needs a feasible record")
				}
				e.change(&s)
				require.NoError(t, dir.WriteSummary(&s))
				r := verified(t, dir, options[name]())
				if found := strings.Join(r.Problems, "\n"); r.Verified || !strings.Contains(found, e.says) {
					t.Errorf("%s: %s: want a problem with %q, got %q", name, what, e.says, found)
				}
			}
		}
	}
}

// changeRate changes a rate by the weight of a row.
func changeRate(list results.Rates, name string) {
	r := list[name]
	r.Value += 1 / float64(r.Rows)
	list[name] = r
}

// Verify finds every file that was changed, removed or exchanged. The recomputation finds changed
// files of weights, too.
func TestChangedFiles(t *testing.T) {
	require.NoRace(t, "it trains many runs")
	options := runs(t)["dp"]
	for _, path := range []func(d rundir.Dir) string{rundir.Dir.Config, rundir.Dir.Metrics, rundir.Dir.Model, rundir.Dir.Best,
		rundir.Dir.ModelDescription, rundir.Dir.Summary} {
		dir := trained(t, options())
		name := strings.TrimPrefix(path(dir), string(dir)+"/")
		text, err := os.ReadFile(path(dir))
		require.NoError(t, err)
		last := len(text) - 3 // a digit, a space or the last byte of a weight's mantissa but one
		changed := append([]byte{}, text...)
		changed[last] ^= 1
		for what, content := range map[string][]byte{"changed": changed, "removed": nil} {
			if content == nil {
				err = os.Remove(path(dir))
			} else {
				err = os.WriteFile(path(dir), content, 0o644)
			}
			require.NoError(t, err)
			r, err := Run(context.Background(), string(dir), options())
			if name == "summary.json" && (what == "removed" || err != nil) {
				if err == nil {
					t.Errorf("%s %s: no error", name, what)
				}
			} else if err != nil || r.Verified || !strings.Contains(strings.Join(r.Problems, "\n"), name) {
				t.Errorf("%s %s: %v, %+v", name, what, err, r)
			}
			require.NoError(t, os.WriteFile(path(dir), text, 0o644))
		}
	}
	other := options()
	other.Settings.Seed, other.Settings.Iterations = 5, 3
	dir, from := trained(t, options()), trained(t, other)
	for _, path := range []func(d rundir.Dir) string{rundir.Dir.Best, rundir.Dir.Model} {
		text := require.Value(os.ReadFile(path(from)))(t)
		require.NoError(t, os.WriteFile(path(dir), text, 0o644))
		s := require.Value(rundir.ReadSummary(dir.Summary()))(t)
		require.NoError(t, dir.WriteSummary(&s))
		if r := verified(t, dir, options()); r.Verified || !strings.Contains(strings.Join(r.Problems, "\n"), "objective") {
			t.Errorf("%s of another run: %s", path(dir), r.Problems)
		}
	}
}

// Forged records are found, although the summary has their checksum.
func TestForgedRecords(t *testing.T) {
	options := runs(t)["dp"]
	dir := trained(t, options())
	records := require.Value(rundir.ReadMetrics(dir.Metrics()))(t)
	last := len(records) - 1
	for what, change := range map[string]func(list []trainer.Record){
		"objective":     func(list []trainer.Record) { list[last].Objective += 0.001 },
		"constraints":   func(list []trainer.Record) { list[last].Constraints[0] += 0.001 },
		"max_violation": func(list []trainer.Record) { list[1].MaxViolation = list[1].MaxViolation + 0.5 },
	} {
		list := require.Value(rundir.ReadMetrics(dir.Metrics()))(t)
		kept := require.Value(os.ReadFile(dir.Metrics()))(t)
		change(list)
		require.NoError(t, os.Remove(dir.Metrics()))
		m := require.Value(rundir.CreateMetrics(dir.Metrics()))(t)
		for k := range list {
			require.NoError(t, m.Record(&list[k]))
		}
		require.NoError(t, m.Close())
		s := require.Value(rundir.ReadSummary(dir.Summary()))(t)
		require.NoError(t, dir.WriteSummary(&s))
		if r := verified(t, dir, options()); r.Verified || !strings.Contains(strings.Join(r.Problems, "\n"), what) {
			t.Errorf("%s: %s", what, r.Problems)
		}
		require.NoError(t, os.WriteFile(dir.Metrics(), kept, 0o644))
	}
}

// A run of an earlier version has no checksums and no best.safetensors: the report says what was
// not checked, and compares the rest.
func TestEarlierVersion(t *testing.T) {
	options := runs(t)["dp"]
	dir := trained(t, options())
	text := require.Value(os.ReadFile(dir.Summary()))(t)
	at := strings.Index(string(text), `,
  "files": {`)
	require.NoError(t, os.WriteFile(dir.Summary(), append(text[:at:at], "\n}\n"...), 0o644))
	require.NoError(t, os.Remove(dir.Best()))
	r := verified(t, dir, options())
	if found := strings.Join(r.Skipped, "\n"); !r.Verified || !strings.Contains(found, "without checksums") || !strings.Contains(found, "no best.safetensors") {
		t.Errorf("%v, not checked: %s", r.Problems, found)
	}
}

// A run of an earlier version without codes and claims is verified: its warnings and its verdict
// are not checked.
func TestEarlierSentences(t *testing.T) {
	options := func(version string) session.Options {
		o := runs(t)["gap of a network"]()
		o.Files.Version = version
		return o
	}
	dir := trained(t, options("v0.1.0"))
	s := require.Value(rundir.ReadSummary(dir.Summary()))(t)
	s.Verdict = "The run met all bounds."
	reseal(t, dir.Summary(), s)
	if r := verified(t, dir, options("v0.1.0")); r.Verified {
		t.Error("a verdict that contradicts its claim is verified")
	}
	s.Verdict, s.VerdictClaim, s.WarningCodes = "The run has not converged, in other words.", "", nil
	reseal(t, dir.Summary(), s)
	for version, want := range map[string]bool{"v0.1.0": false, "v0.2.0": true} {
		if r := verified(t, dir, options(version)); r.Verified != want {
			t.Errorf("%s: verified %t, %v", version, r.Verified, r.Problems)
		}
	}
}
