package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/internal/disk"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
)

func TestCreate(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, want := range []string{
		"runs/20260304-050607-mnpc-ppala", "runs/20260304-050607-mnpc-ppala-2", "runs/20260304-050607-mnpc-ppala-3",
	} {
		d, err := Create("", now, "mnpc", "ppala")
		if err != nil || string(d) != filepath.FromSlash(want) {
			t.Fatalf("%s, %v, want %s", d, err, want)
		}
		require.NoError(t, os.WriteFile(d.Config(), nil, 0o644))
	}
	require.NoError(t, os.Mkdir("empty", 0o755))
	if d, err := Create("empty", now, "", ""); err != nil || d != "empty" {
		t.Errorf("an empty directory: %s, %v", d, err)
	}
	if _, err := Create("runs", now, "", ""); !errors.Is(err, ErrExists) {
		t.Errorf("a directory in use: %v", err)
	}
	require.NoError(t, os.WriteFile("file", nil, 0o644))
	if _, err := Create("file", now, "", ""); err == nil {
		t.Error("a file was taken for a directory")
	}
}

func number(x float64) *float64 { return &x }

func records() []trainer.Record {
	return []trainer.Record{
		{Objective: 1.5, Constraints: []float64{0.3, -0.1}, MaxViolation: 0.3, Infeasibility: 0.3, Stationarity: 2, Complementarity: 0.1,
			Multipliers: []float64{0, 0}, Measures: map[string]float64{"train_error": 0.5, "test_error": 0.6}},
		{Iteration: 10, Epoch: 10, Seconds: 0.25, GradientEvaluations: 11, Objective: 0.5, Constraints: []float64{-0.3, -0.1}, Stationarity: 0.2,
			Multipliers: []float64{0.1, 0.2}, Auxiliary: []float64{0.3, 0.4}, Slack: []float64{0.5, 0.6}, Delta: number(0.9), StepSize: number(0.01),
			MeanStationarity: number(0.2), MeanInfeasibility: number(0), MeanComplementarity: number(0),
			Measures: map[string]float64{"train_error": 0.1, "test_error": 0.2}},
	}
}

func TestMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	m := require.Value(CreateMetrics(path))(t)
	want := records()
	for i := range want {
		require.NoError(t, m.Record(&want[i]))
		if got, err := ReadMetrics(path); err != nil || len(got) != i+1 { // every line is in the file at once
			t.Fatalf("%d records after %d: %v", len(got), i+1, err)
		}
	}
	require.NoError(t, m.Close())
	got := require.Value(ReadMetrics(path))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	data := require.Value(os.ReadFile(path))(t)
	first := `{"iteration":0,"epoch":0,"seconds":0,"gradient_evaluations":0,"objective":1.5,"constraints":[0.3,-0.1],"max_violation":0.3,` +
		`"feasibility":0.3,"stationarity":2,"complementarity":0.1,"multipliers":[0,0],"auxiliary_multipliers":null,"slack":null,"delta":null,` +
		`"step_size":null,"mean_stationarity":null,"mean_feasibility":null,"mean_complementarity":null,"test_error":0.6,"train_error":0.5}`
	if line, _, _ := strings.Cut(string(data), "\n"); line != first {
		t.Errorf("got  %s\nwant %s", line, first)
	}
	if _, err := CreateMetrics(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("records were overwritten: %v", err)
	}
}

// The error names the number that is not finite. The file does not contain such a number.
func TestMetricsRefusesNonFinite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	m := require.Value(CreateMetrics(path))(t)
	defer m.Close()
	for term, spoil := range map[string]func(r *trainer.Record){
		"multipliers":         func(r *trainer.Record) { r.Multipliers[1] = math.NaN() },
		"step size":           func(r *trainer.Record) { r.StepSize = number(math.Inf(1)) },
		"measure train_error": func(r *trainer.Record) { r.Measures["train_error"] = math.NaN() },
		"objective":           func(r *trainer.Record) { r.Objective = math.Inf(-1) },
	} {
		r := records()[1]
		spoil(&r)
		var nonFinite *problem.NonFiniteError
		if err := m.Record(&r); !errors.As(err, &nonFinite) || nonFinite.Term != term || nonFinite.Iteration != 10 {
			t.Errorf("%s: %v", term, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("something was written: %v, %v", info, err)
	}
}

func TestReadMetricsDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	write := func(content string) {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	write("{\"iteration\":3}\n{\"iterat")
	if got, err := ReadMetrics(path); err != nil || len(got) != 1 || got[0].Iteration != 3 {
		t.Errorf("a line cut short: %v, %v", got, err)
	}
	write("{\"iteration\":3}\n{\"iteration\":\"x\"}\n")
	if _, err := ReadMetrics(path); err == nil || !strings.Contains(err.Error(), "metrics.jsonl:2: ") {
		t.Errorf("a wrong line: %v", err)
	}
}

func TestSummary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.json")
	want := results.Summary{Schema: Schema, Status: "iteration limit", Iterations: 3, Constraints: []float64{-1}, Bounds: []float64{0.2},
		Certificate: &results.Certificate{Epsilon: 1, Nu: []float64{0}}, Warnings: []string{}, Notes: []string{},
		ResidualDecay: results.NewResidualDecay(trainer.Decay{Stationarity: -1, Infeasibility: math.NaN(), Complementarity: math.NaN()})}
	unset := want
	unset.Warnings, unset.Notes = nil, nil
	require.NoError(t, WriteSummary(path, &unset))
	got := require.Value(ReadSummary(path))(t)
	want.Checksum = unset.Checksum
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	data := require.Value(os.ReadFile(path))(t)
	var all, certificate map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &all))
	require.NoError(t, json.Unmarshal(all["certificate"], &certificate))
	keys := strings.Fields("best_feasible bounds certificate checksum constraints converged device iterations max_violation notes objective output_iteration " +
		"peak_bytes products " +
		"residual_decay schema seconds seconds_certificates seconds_measuring seconds_opening seconds_plots seconds_reading seconds_records seconds_rounds seconds_total status test train validation verdict version warnings")
	if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(all))); diff != "" {
		t.Error(diff)
	}
	parts := strings.Fields("complementarity epsilon feasibility nu stationarity")
	if diff := cmp.Diff(parts, slices.Sorted(maps.Keys(certificate))); diff != "" {
		t.Error(diff)
	}
	if string(all["best_feasible"]) != "null" || string(all["warnings"]) != "[]" {
		t.Errorf("best_feasible %s, warnings %s", all["best_feasible"], all["warnings"])
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left beside the summary: %v, %v", entries, err)
	}
	own := results.NewCertificate(certify.Certificate{Epsilon: 1, Nu: []float64{2}, NotResolved: true, Own: &certify.Own{Epsilon: 3, Nu: []float64{4}}})
	text, err := json.Marshal(own)
	if want := `"not_resolved":true,"own":{"epsilon":3,"stationarity":0,"complementarity":0,"nu":[4]}`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("a certificate that replaced the method's own multiplier: %s, %v, want %s", text, err, want)
	}
	proof := results.NewInfeasibility(&certify.Infeasibility{Shares: []float64{0, 0.4, 0.6}, Values: []float64{-1, 2, 3}, Relaxation: 2.6}, []string{"a", "b", "c"})
	order := []results.Conflicting{{Constraint: "c", Share: 0.6, Excess: 3}, {Constraint: "b", Share: 0.4, Excess: 2}}
	if diff := cmp.Diff(order, proof.Conflict); diff != "" || proof.MaxViolation != 3 || results.NewInfeasibility(nil, nil) != nil {
		t.Errorf("%+v: %s", proof, diff)
	}
	bad := want
	bad.Objective = math.NaN()
	if err := WriteSummary(path, &bad); err == nil {
		t.Error("a NaN was written")
	}
}

func TestHighWater(t *testing.T) {
	if kb, ok := highWater([]byte("Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t   123 kB\n")); !ok || kb != 123 {
		t.Errorf("%d, %v", kb, ok)
	}
	if _, ok := highWater([]byte("Name:\tx\n")); ok {
		t.Error("found what is not there")
	}
	if PeakBytes() < 1<<20 {
		t.Errorf("%d bytes", PeakBytes())
	}
}

// After Discard, the name can be used again. Discard keeps files that the run did not create.
func TestDiscard(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	for range 2 {
		dir := require.Value(Create(out, time.Time{}, "", ""))(t)
		require.NoError(t, WriteFile(dir.Config(), nil))
		if m, err := dir.CreateMetrics(); err != nil || m.Close() != nil {
			t.Fatal(err)
		}
		require.NoError(t, dir.Discard())
		if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the directory is left: %v", err)
		}
	}
	dir := require.Value(Create(out, time.Time{}, "", ""))(t)
	require.NoError(t, os.WriteFile(filepath.Join(out, "other"), nil, 0o644))
	if err := dir.Discard(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(out, "other")); err != nil {
		t.Error(err)
	}
}

// Several runs start at the same time in one new or empty directory. Exactly one run succeeds. The
// others fail and do not change its files.
func TestCreateAtOnce(t *testing.T) {
	for round := range 50 {
		out := filepath.Join(t.TempDir(), "run")
		if round%2 == 1 {
			require.NoError(t, os.Mkdir(out, 0o755))
		}
		start, results := make(chan struct{}), make(chan error)
		const runs = 4
		for range runs {
			go func() {
				<-start
				_, err := Create(out, time.Time{}, "", "")
				results <- err
			}()
		}
		close(start)
		refused := 0
		for range runs {
			if err := <-results; errors.Is(err, ErrExists) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		if refused != runs-1 {
			t.Fatalf("%d of %d were refused", refused, runs)
		}
	}
}

// Whichever operation fails, the file has the records whose writing succeeded, and part of another
// line only if the line cannot be cut off.
func TestMetricsFaults(t *testing.T) {
	list := records()
	for f := range disk.EveryFault() {
		path, recorded := filepath.Join(t.TempDir(), "metrics.jsonl"), 0
		err := f.Run(func() error {
			m, err := CreateMetrics(path)
			if err != nil {
				return err
			}
			var failures []error
			for i := range 2 {
				if err := m.Record(&list[i]); err != nil {
					failures = append(failures, err)
				} else {
					recorded++
				}
			}
			_, _, err = m.Sync()
			return errors.Join(append(failures, err, m.Close())...)
		})
		if f.Failed() != errors.Is(err, syscall.ENOSPC) || !f.Failed() && err != nil {
			t.Errorf("%v: %v", f, err)
		}
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if got, err := ParseMetrics(path, data); err != nil || len(got) != recorded {
			t.Errorf("%v: %d records, %v, want %d", f, len(got), err, recorded)
		}
		if f.Once && len(data) > 0 && data[len(data)-1] != '\n' {
			t.Errorf("%v: the file ends with %q", f, data)
		}
	}
}

func TestCheckSpace(t *testing.T) {
	dir := Dir(t.TempDir())
	if err := dir.CheckSpace(1); err != nil {
		t.Error(err)
	}
	if _, known := available(string(dir)); !known {
		t.Skip("the free space is not known here")
	}
	if err := dir.CheckSpace(math.MaxInt64); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("no error for a file of all bytes: %v", err)
	}
}

// The summary has the checksums of the files, and a changed byte anywhere in the summary is found.
func TestSeal(t *testing.T) {
	dir := Dir(t.TempDir())
	require.NoError(t, os.WriteFile(dir.Config(), []byte("seed: 1\n"), 0o644))
	s := results.Summary{Status: "iteration limit", Objective: 0.25}
	require.NoError(t, dir.WriteSummary(&s))
	if want := map[string]string{"config.yaml": disk.Sum([]byte("seed: 1\n"))}; len(s.Files) != 1 || s.Files["config.yaml"] != want["config.yaml"] {
		t.Errorf("checksums %v, want %v", s.Files, want)
	}
	check := func(what string, wantHas, wantOK bool) {
		t.Helper()
		_, _, has, err := ReadSealed(dir.Summary())
		if has != wantHas || (err == nil) == (has && !wantOK) || err != nil && !errors.Is(err, disk.ErrChanged) {
			t.Errorf("%s: has %t, %v", what, has, err)
		}
	}
	check("as written", true, true)
	text := require.Value(os.ReadFile(dir.Summary()))(t)
	for _, edit := range [][2]string{{`"objective": 0.25`, `"objective": 0.24`}, {`"status"`, ` "status"`}, {s.Checksum[:8], "01234567"}} {
		require.NoError(t, os.WriteFile(dir.Summary(), bytes.Replace(text, []byte(edit[0]), []byte(edit[1]), 1), 0o644))
		check(edit[1], true, false)
	}
	old := []byte(`{"status":"x"}`)
	require.NoError(t, os.WriteFile(dir.Summary(), old, 0o644))
	check("an earlier version", false, false)
	require.NoError(t, os.Mkdir(filepath.Join(string(dir), "best.safetensors"), 0o755))
	if err := dir.WriteSummary(&s); err == nil || s.Files != nil {
		t.Errorf("a file that cannot be read: %v, %v", s.Files, err)
	}
	check("without checksums of files", true, true)
}

// value returns a pointer to x.
func value[T any](x T) *T { return &x }

// An outcome in summary.json has the expected keys, and reads back with the same values.
func TestOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.json")
	want := results.Summary{Schema: Schema, Warnings: []string{}, Notes: []string{}, Outcome: &results.Outcome{
		BoundsOn: constraints.OnDecisions,
		Constraints: []results.ConstraintOutcome{{Constraint: "gap(positive_rate, sex) <= 0.01", Bound: 0.01, Interval: &[2]float64{0, 0.03}, Met: true,
			SplitValues: results.SplitValues{Train: value(0.009), Test: value(0.012)}}},
		Objective:      results.ObjectiveOutcome{Name: "error", SplitValues: results.SplitValues{Train: value(0.16)}},
		AcceptanceRate: &results.SplitValues{Train: value(0.2)}, Threshold: 0.25, BoundShifts: []float64{0.001}, GradientEvaluations: 300,
	}}
	require.NoError(t, WriteSummary(path, &want))
	got := require.Value(ReadSummary(path))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	data := require.Value(os.ReadFile(path))(t)
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &all))
	for _, key := range strings.Fields("decisions objective_on_decisions acceptance_rate threshold bound_shifts gradient_evaluations bounds_on objective constraints") {
		if all[key] == nil {
			t.Errorf("no key %s", key)
		}
	}
	var decisions []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(all["decisions"], &decisions))
	if diff := cmp.Diff(strings.Fields("bound constraint interval met multiplier state test tolerance train validation"), slices.Sorted(maps.Keys(decisions[0]))); diff != "" {
		t.Error(diff)
	}
	if string(decisions[0]["validation"]) != "null" || string(decisions[0]["interval"]) != "[\n        0,\n        0.03\n      ]" {
		t.Errorf("%s", all["decisions"])
	}
}
