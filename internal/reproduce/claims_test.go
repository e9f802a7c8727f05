package reproduce

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/config"
	"ppal/internal/require"
	"ppal/internal/study"
	"ppal/trainer"
	"ppal/trainer/certify"
)

// outcome builds a comparison from a run of each contender, which is the same with each of five
// seeds.
func outcome(runs ...study.ComparedRun) *study.Compared {
	o := &study.Compared{Comparison: &study.Comparison{Title: "by hand", Seeds: []uint64{1, 2, 3, 4, 5}}}
	for _, r := range runs {
		r.Config.Session.Settings.FeasibilityTolerance = 1e-3
		r.Config.Method = config.Method{Name: "plada", Options: map[string]string{"alpha": "10", "beta": "0.1"}}
		o.Comparison.Contenders = append(o.Comparison.Contenders, study.Contender{Name: r.Contender, Values: config.Values{"method": "plada"}})
		for _, seed := range o.Comparison.Seeds {
			r.Seed = seed
			o.Runs = append(o.Runs, r)
		}
	}
	return o
}

// at builds a record.
func at(iteration int, objective, violation float64) trainer.Record {
	return trainer.Record{Iteration: iteration, GradientEvaluations: 10 * iteration, Objective: objective, MaxViolation: violation}
}

func run(name string, records ...trainer.Record) study.ComparedRun {
	return study.ComparedRun{Contender: name, Records: records}
}

// judge checks the verdict. An empty verdict means that the claim cannot be judged.
func judge(t *testing.T, name string, c test, o *study.Compared, known bool, want study.Ruling, text string) {
	t.Helper()
	v, ok := c(o)
	if ok != known || ok && (v.Ruling != want || !strings.Contains(v.Numbers, text)) {
		t.Errorf("%s: %+v, known %v; want %s, known %v, %q", name, v, ok, want, known, text)
	}
}

func TestAhead(t *testing.T) {
	o := outcome(run("plada", at(0, 1, 1), at(5, 0.3, 0), at(9, 0.4, 0)), run("ssg", at(0, 1, 1), at(9, 0.2, 0.5)), run("ipp", at(9, 0.35, 0)))
	judge(t, "infeasible losses do not count", ahead("plada", []string{"ssg"}, bestObjective()), o, true, study.Confirmed, "plada 0.3; ssg none (never feasible)")
	judge(t, "the smaller is ahead", ahead("plada", []string{"ssg", "ipp"}, bestObjective()), o, true, study.Confirmed, "ipp 0.35")
	judge(t, "level is not ahead", ahead("plada", []string{"plada"}, bestObjective()), o, true, study.NotConfirmed, "plada 0.3 (difference 0, 0 to 0: equal)")
	judge(t, "the larger is not", ahead("ipp", []string{"plada"}, bestObjective()), o, true, study.NotConfirmed, "")
	judge(t, "the last violation", ahead("ssg", []string{"plada"}, tailViolation()), o, true, study.NotConfirmed, "0.5")
	judge(t, "without its own number", ahead("ssg", []string{"plada"}, bestObjective()), o, true, study.NotConfirmed, "")
	judge(t, "nobody to compare with", ahead("plada", []string{"gdpa"}, bestObjective()), o, false, "", "")
	judge(t, "evaluations to the loss", ahead("plada", []string{"ipp"}, gradientsToLoss("plada")), o, true, study.Confirmed, "plada 50; ipp none (never reached)")
}

// The runs of some seeds decide only as far as the interval over the seeds does, and never with
// fewer than five. Runs without a number that is worse than any count as larger.
func TestSeedsDecide(t *testing.T) {
	for _, tc := range []struct {
		violations string // of ssg with each seed: 0 feasible with a larger loss, - with a smaller loss, x infeasible
		want       study.Ruling
	}{{"00000", study.Confirmed}, {"-----", study.NotConfirmed}, {"0000", study.CannotTell}, {"00-00", study.CannotTell}, {"xxxxx", study.Confirmed},
		{"xx--x", study.CannotTell}, {"x---------", study.NotConfirmed}, {"x---", study.CannotTell}, {"xxxxxxxxx-", study.Confirmed}} {
		o := outcome(run("plada", at(5, 0.3, 0)), run("ssg", at(5, 0.4, 0)))
		o.Comparison.Seeds, o.Runs = nil, nil
		for k, c := range tc.violations {
			seed := uint64(k + 1)
			other := map[rune]trainer.Record{'0': at(5, 0.4, 0), '-': at(5, 0.2, 0), 'x': at(5, 0.2, 1)}[c]
			o.Comparison.Seeds = append(o.Comparison.Seeds, seed)
			for name, record := range map[string]trainer.Record{"plada": at(5, 0.3, 0), "ssg": other} {
				o.Runs = append(o.Runs, study.ComparedRun{Contender: name, Seed: seed, Records: []trainer.Record{record}})
			}
		}
		judge(t, tc.violations, ahead("plada", []string{"ssg"}, bestObjective()), o, true, tc.want, "plada 0.3; ssg ")
	}
}

func TestLastNear(t *testing.T) {
	distant := func(distance float64) trainer.Record {
		return trainer.Record{NearStationarity: &certify.Stationarity{Distance: distance}}
	}
	infeasible := trainer.Record{NearStationarity: &certify.Stationarity{Distance: math.NaN()}, NearReason: "infeasible"}
	o := outcome(run("a", distant(2), distant(1), trainer.Record{}), run("b", distant(3), infeasible), run("c", infeasible))
	judge(t, "the last one measured", ahead("a", []string{"b"}, lastNear()), o, true, study.Confirmed, "a 1; b 3")
	judge(t, "a missing one could be smaller", ahead("a", []string{"b", "c"}, lastNear()), o, true, study.CannotTell, "c none (infeasible)")
	judge(t, "and one behind decides", ahead("b", []string{"a", "c"}, lastNear()), o, true, study.NotConfirmed, "b 3; a 1")
	judge(t, "its own is missing", ahead("c", []string{"a"}, lastNear()), o, true, study.CannotTell, "of c none (infeasible); a 1")
}

func TestFails(t *testing.T) {
	diverged := run("gdpa", at(0, 1, 0))
	diverged.Failure = "the objective is NaN"
	o := outcome(run("ppala", at(9, 1, 0)), diverged, run("late", at(9, 1, 0.1)))
	judge(t, "diverged", fails("gdpa", "ppala"), o, true, study.Confirmed, "5 of 5 runs, ppala in 0")
	judge(t, "infeasible", fails("late", "ppala"), o, true, study.Confirmed, "")
	judge(t, "the other way", fails("ppala", "late"), o, true, study.NotConfirmed, "")
	judge(t, "absent", fails("ssg", "ppala"), o, false, "", "")
}

func TestServes(t *testing.T) {
	o := outcome(run("best", at(9, 1, 0)), run("near", at(9, 1.005, 0)), run("far", at(9, 1.1, 0)), run("out", at(9, 0.9, 0.1)))
	judge(t, "the best", serves("best"), o, true, study.Confirmed, "last tenth of 0 of 5 runs")
	judge(t, "about as good", serves("near"), o, true, study.Confirmed, "loss near 1.005; the best feasible loss of all is 1")
	judge(t, "a larger loss", serves("far"), o, true, study.NotConfirmed, "")
	judge(t, "infeasible", serves("out"), o, true, study.NotConfirmed, "violation out 0.1")
	judge(t, "absent", serves("ssg"), o, false, "", "")
}

// The running mean of squared residuals falls like log k/k if the residuals are c/sqrt(k). It falls
// faster if they are c/k, and does not fall if they are constant.
func TestDecays(t *testing.T) {
	falling := func(power float64) study.ComparedRun {
		r := run("ppala", at(0, 1, 0))
		for k := 1; k <= 1000; k++ {
			s := math.Pow(float64(k), power)
			r.Records = append(r.Records, trainer.Record{Iteration: k, Stationarity: s, Infeasibility: s, Complementarity: s})
		}
		return r
	}
	judge(t, "1/k", decays("ppala"), outcome(falling(-1)), true, study.Confirmed, "stationarity k^-0.99")
	judge(t, "constant", decays("ppala"), outcome(falling(0)), true, study.NotConfirmed, "stationarity k^")
	judge(t, "too few records", decays("ppala"), outcome(run("ppala", at(0, 1, 0), at(1, 1, 0))), true, study.CannotTell, "")
}

func TestInsensitive(t *testing.T) {
	names := []string{"a", "b"}
	judge(t, "equal", insensitive(names), outcome(run("a", at(1, 1, 0)), run("b", at(1, 1.005, 0))), true, study.Confirmed, "loss of a 1")
	judge(t, "the loss differs", insensitive(names), outcome(run("a", at(1, 1, 0)), run("b", at(1, 1.1, 0))), true, study.NotConfirmed, "")
	judge(t, "infeasible", insensitive(names), outcome(run("a", at(1, 1, 0)), run("b", at(1, 1, 0.1))), true, study.NotConfirmed, "")
	failed := run("b", at(1, 1, 0))
	failed.Failure = "NaN"
	judge(t, "failed", insensitive(names), outcome(run("a", at(1, 1, 0)), failed), true, study.NotConfirmed, "loss of b none (failed)")
}

// dual builds a record with one multiplier.
func dual(lambda, mu, violation float64) trainer.Record {
	return trainer.Record{Multipliers: []float64{lambda}, Auxiliary: []float64{mu}, MaxViolation: violation}
}

func TestMultipliers(t *testing.T) {
	names := []string{"plada"}
	settled := run("plada", dual(0, 0, 0), dual(1, 0.5, 0), dual(2, 1.9, 0), dual(2, 1.99, 0), dual(2, 1.999, 0))
	judge(t, "settled", multipliersSettle(names), outcome(settled), true, study.Confirmed, "in 5 of 5 runs")
	moving := run("plada", dual(0, 0, 0), dual(1, 0.5, 0), dual(2, 1.9, 0), dual(3, 2.99, 0), dual(4, 3.999, 0))
	judge(t, "still moving", multipliersSettle(names), outcome(moving), true, study.NotConfirmed, "moved by 25%")
	apart := run("plada", dual(0, 0, 0), dual(2, 1.5, 0), dual(2, 1.5, 0), dual(2, 1.5, 0))
	judge(t, "apart", multipliersSettle(names), outcome(apart), true, study.NotConfirmed, "")
	judge(t, "without multipliers", multipliersSettle(names), outcome(run("plada", at(1, 1, 0))), false, "", "")
}

// With alpha 10 and beta 0.1, rho is 5. A gap of 0.5 between lambda and mu leaves a violation of
// 0.1.
func TestRemaining(t *testing.T) {
	judge(t, "owed", remaining("plada"), outcome(run("plada", dual(1, 0.5, 0.1))), true, study.Confirmed, "violation 0.1, |lambda - mu|/rho 0.1")
	judge(t, "not by mu", remaining("plada"), outcome(run("plada", dual(1, 0.9, 0.1))), true, study.NotConfirmed, "")
	judge(t, "feasible", remaining("plada"), outcome(run("plada", dual(1, 1, 0))), true, study.NotConfirmed, "")
}

func TestReport(t *testing.T) {
	f := Figure{Name: "by-hand", Title: "by hand", Source: "a test", claims: []claim{
		{"a is ahead", ahead("a", []string{"b"}, tailViolation())}, {"of somebody else", ahead("c", []string{"b"}, tailViolation())}}}
	a := run("a", dual(1, 0.5, 0), dual(1, 0.9, 0))
	a.Records[1].Iteration = 1
	dir := t.TempDir()
	require.NoError(t, f.Write(dir, []string{published}, []*study.Compared{outcome(a, run("b", at(0, 1, 1)))}))
	text := require.Value(os.ReadFile(filepath.Join(dir, "summary.md")))(t)
	for _, want := range []string{"# by hand", "ppal reproduce by-hand", "- **confirmed** (published steps): a is ahead. violation of a 0; b 1 (difference -1, -1 to -1: lower)", "| a |"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "of somebody else") {
		t.Error("a verdict on methods that were not compared")
	}
	if _, err := os.Stat(filepath.Join(dir, published, "plots", "multipliers-a.svg")); err != nil {
		t.Error(err)
	}
}
