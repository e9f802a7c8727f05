package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/disk"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer/session"
	"ppal/trainer/session/verify"
)

// A run of the command line is verified from its directory. Changed data, a changed file and a run
// without its end are found, with a line for each.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	file, run := filepath.Join(dir, "members.csv"), filepath.Join(dir, "run")
	require.NoError(t, os.WriteFile(file, []byte(members(600)), 0o644))
	gap := constraints.Gap(constraints.PositiveRate, "job").AtMost(0.9)
	o := session.Options{Data: session.CSV(file, "member"), Task: session.Decisions{SubjectTo: []constraints.Constraint{gap}}}
	o.Settings.Iterations = 20
	run = trained(t, o, run)
	got := with("", "verify", run)
	if got.status != exitDone || !strings.Contains(got.stdout, "certificate.stationarity") || !strings.Contains(got.stdout, "verified: ") || got.stderr != "" {
		t.Errorf("%+v", got)
	}
	var report verify.Report
	got = with("", "verify", run, "--json")
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || !report.Verified || len(report.Comparisons) < 40 || got.status != exitDone {
		t.Errorf("%v, %+v", err, report)
	}
	refused := func(what, says string, lines int, args ...string) {
		t.Helper()
		got := with("", append([]string{"verify"}, args...)...)
		if got.status != exitFailed || !strings.Contains(got.stderr, says) || strings.Count(got.stderr, "\n") != lines {
			t.Errorf("%s: %+v, want %q in %d lines", what, got, says, lines)
		}
	}
	changed := strings.Replace(members(600), ",no\n", ",yes\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o644))
	got = with("", "verify", run, "--json")
	if got.status != exitFailed || !strings.Contains(got.stderr, "members.csv has changed since the run") || !strings.Contains(got.stdout, `"verified": false`) {
		t.Errorf("changed data: %+v", got)
	}
	require.NoError(t, os.Remove(file))
	refused("missing data", "the data or config.yaml cannot be used", 2, run)
	require.NoError(t, os.WriteFile(file, []byte(members(600)), 0o644))
	config := rundir.Dir(run).Config()
	text := require.Value(os.ReadFile(config))(t)
	require.NoError(t, os.WriteFile(config, []byte(strings.Replace(string(text), "<= 0.9", "<= 0.8", 1)), 0o644))
	refused("changed settings", "config.yaml has been changed", verifyProblems+2, run)
	require.NoError(t, os.Remove(rundir.Dir(run).Summary()))
	refused("unfinished", "the run is not finished", 1, run)
	if got := with("", "verify", dir); got.status != exitUsage || !strings.Contains(got.stderr, "not a complete run directory") {
		t.Errorf("no run: %+v", got)
	}
	if got := with("", "verify", filepath.Join(dir, "missing")); got.status != exitUsage || !strings.Contains(got.stderr, "no such file or directory") {
		t.Errorf("no folder: %+v", got)
	}
}

// renewed writes the checksums of the changed files into model.json and summary.json.
func renewed(t *testing.T, run string) {
	t.Helper()
	dir := rundir.Dir(run)
	text := require.Value(os.ReadFile(dir.ModelDescription()))(t)
	for _, path := range []string{dir.Model(), dir.Preparation()} {
		data := require.Value(os.ReadFile(path))(t)
		name := filepath.Base(path)
		text = regexp.MustCompile(regexp.QuoteMeta(`"`+name+`": "`)+`\w{64}`).ReplaceAll(text, []byte(`"`+name+`": "`+disk.Sum(data)))
	}
	text = regexp.MustCompile(`"checksum": "\w{64}`).ReplaceAll(text, []byte(`"checksum": "`+disk.BlankSum))
	disk.Seal(text)
	require.NoError(t, os.WriteFile(dir.ModelDescription(), text, 0o644))
	s, _ := rundir.ReadSummary(dir.Summary()) // it may have been changed
	require.NoError(t, dir.WriteSummary(&s))
}

// listed reports whether the file is among the claims that were not checked.
func listed(r *verify.Report, file string) bool {
	name, _, _ := strings.Cut(file, "/")
	for _, s := range r.Skipped {
		keys, _, _ := strings.Cut(s, ": ")
		if slices.Contains(strings.Split(keys, ", "), name) {
			return true
		}
	}
	return false
}

// Files that a person changes, together with all checksums, are found by ppal verify, or verify
// lists them as not checked: what a user applies, what the run claims, and the data.
func TestForgedFiles(t *testing.T) {
	require.NoRace(t, "TestVerify runs the same goroutines")
	table := filepath.Join(t.TempDir(), "members.csv")
	data := []byte(members(400))
	require.NoError(t, os.WriteFile(table, data, 0o644))
	train := []string{"train", "--quiet", "--allow-violation", "--dataset", "csv", "--file", table, "--label", "member", "--iterations", "150"}
	replace := func(old, with string) func(text []byte) []byte {
		return func(text []byte) []byte { return regexp.MustCompile(old).ReplaceAll(text, []byte(with)) }
	}
	once := func(old, with string) func(text []byte) []byte {
		return func(text []byte) []byte {
			at := regexp.MustCompile(old).FindIndex(text)
			if at == nil {
				return text
			}
			return append(append(bytes.Clone(text[:at[0]]), with...), text[at[1]:]...)
		}
	}
	scaled := func(tensors int, by, add float64) func(path string) error {
		return func(path string) error {
			m, err := models.LoadFile(path, nil)
			if err != nil {
				return err
			}
			w := m.Weights[tensors].Data
			w[0] = w[0]*by + add
			return models.SaveFile(path, m, tensor.Float32)
		}
	}
	// exchange swaps two values of a JSON or CSV text.
	exchange := func(a, b string) func(text []byte) []byte {
		return func(text []byte) []byte { return []byte(strings.NewReplacer(a, b, b, a).Replace(string(text))) }
	}
	record := func(place func(n int) int, change func(r map[string]any)) func(text []byte) []byte {
		return func(text []byte) []byte {
			lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
			k := place(len(lines))
			var r map[string]any
			require.NoError(t, json.Unmarshal(lines[k], &r))
			change(r)
			lines[k], _ = json.Marshal(r)
			return append(bytes.Join(lines, []byte("\n")), '\n')
		}
	}
	middle, last := func(n int) int { return n / 2 }, func(n int) int { return n - 1 }
	number := func(key string, by float64) func(r map[string]any) {
		return func(r map[string]any) { r[key] = r[key].(float64)*by + 1e-3 }
	}
	type forgery struct {
		file   string
		change func(text []byte) []byte // of the text
		write  func(path string) error  // or of the file
		listed bool                     // verify may list the file as not checked
	}
	list := map[string]forgery{
		"a weight x 1.0003":                    {file: "model.safetensors", write: scaled(0, 1.0003, 0)},
		"the bias":                             {file: "model.safetensors", write: scaled(1, 1, 1e-3)},
		"a weight of the best record x 1.0003": {file: "best.safetensors", write: scaled(0, 1.0003, 0), listed: true},
		"a weight of the best record x 1.5":    {file: "best.safetensors", write: scaled(0, 1.5, 0)},
		"a centre of the preparation":          {file: "preparation.yaml", change: once(`center: [\d.]+`, "center: 99")},
		"a scale of the preparation":           {file: "preparation.yaml", change: once(`scale: [\d.]+`, "scale: 3")},
		"two categories of the preparation":    {file: "preparation.yaml", change: exchange("clerk", "nurse")},
		"the splits of rows":                   {file: "rows.csv", change: exchange(",train", ",test")},
		"the split of a row":                   {file: "rows.csv", change: once(`(?m)^7,\w+`, "7,validation ")},
		"the two classes of the model":         {file: "model.json", change: exchange(`"value": "no"`, `"value": "yes"`)},
		"the positive label":                   {file: "model.json", change: once(`"positive": "yes"`, `"positive": "no"`)},
		"the threshold of the model":           {file: "model.json", change: once(`"threshold": [-\d.e]+`, `"threshold": 0.5`)},
		"the constraints of the model":         {file: "model.json", change: once(`<= 0.0?5`, "<= 0.04")},
		"the task of the model":                {file: "model.json", change: once(`"task": "`, `"task": "other `)},
		"the version of the model":             {file: "model.json", change: once(`"version": "`, `"version": "9`)},
		"the slope of probabilities":           {file: "model.json", change: once(`"slope": [\d.]+`, `"slope": 7`)},
		"the bound of the settings":            {file: "config.yaml", change: once(`0\.05`, "0.04")},
		"the seed of the split":                {file: "config.yaml", change: once(`seed: \d+`, "seed: 12")},
		"the share of test rows":               {file: "config.yaml", change: once(`split: 70/15/15`, "split: 60/20/20")},
		"the iterations of the settings":       {file: "config.yaml", change: once(`iterations: \d+`, "iterations: 151"), listed: true},
		"the objective of a record in between": {file: "metrics.jsonl", change: record(middle, number("objective", 1.01)), listed: true},
		"the violation of a record in between": {file: "metrics.jsonl", change: record(middle, number("max_violation", 1.01))},
		"the mean of a record in between":      {file: "metrics.jsonl", change: record(middle, number("mean_stationarity", 1.5)), listed: true},
		"a missing record":                     {file: "metrics.jsonl", change: func(text []byte) []byte { return text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1] }},
		"the objective of the last record":     {file: "metrics.jsonl", change: record(last, number("objective", 1.01)), listed: true},
		"the stationarity of the last record":  {file: "metrics.jsonl", change: record(last, number("stationarity", 2)), listed: true},
		"a point of a curve":                   {file: "details.json", change: once(`\],\s*\[0\.\d+`, "],[0.99")},
		"a curve of three points":              {file: "details.json", change: once(`"train":\s*\[\[.*?\]\s*\]`, `"train": [[0, 0], [0, 1], [1, 1]]`)},
		"a curve without its middle":           {file: "details.json", change: once(`"test":\s*\[\[.*?\]\s*\]`, `"test": [[0, 0], [1, 1]]`)},
		"an example":                           {file: "details.json", change: once(`"decided":\s*"`, `"decided": "x`), listed: true},
		"the page":                             {file: "report.html", change: replace("members", "people"), listed: true},
		"a plot":                               {file: "plots/overview.svg", change: func(text []byte) []byte { return append(text, ' ') }, listed: true},
		"a row of the data":                    {file: table, change: exchange("\n25,nurse,", "\n26,nurse,")},
		"a label of the data and its checksum": {file: table, change: once(`,no\n`, ",yes\n")},
	}
	for kind, flags := range map[string][]string{
		"decisions": {"--subject-to", "gap(positive_rate, job) <= 0.05", "--minimize", "error"},
		"published": {"--problem", "dp", "--group", "job=nurse", "--epsilon", "0.05"},
	} {
		run := filepath.Join(t.TempDir(), "run")
		if got := forReal(t, append(append(train, "--out", run), flags...)...); got.status != exitDone && got.status != exitUnmet {
			t.Fatal(got.stderr)
		}
		check := func() (r verify.Report) {
			got := with("", "verify", run, "--json")
			if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
				t.Fatal(err, got.stderr)
			}
			return r
		}
		if r := check(); !r.Verified {
			t.Fatalf("%s: %q", kind, r.Problems)
		}
		whole := map[string][]byte{}
		for _, path := range append(rundir.Dir(run).Sealed(), rundir.Dir(run).Summary()) {
			if text, err := os.ReadFile(path); err == nil {
				whole[path] = text
			}
		}
		for what, f := range list {
			path := f.file
			if path != table {
				path = filepath.Join(run, path)
			}
			old, err := os.ReadFile(path)
			require.NoError(t, err)
			if f.change != nil {
				err = os.WriteFile(path, f.change(old), 0o644)
			} else {
				_ = os.Remove(filepath.Join(run, "summary.json")) // the weights of another run, for LoadFile
				_ = os.Remove(filepath.Join(run, "model.json"))
				err = f.write(path)
				for _, name := range []string{"summary.json", "model.json"} {
					if err == nil {
						err = os.WriteFile(filepath.Join(run, name), whole[filepath.Join(run, name)], 0o644)
					}
				}
			}
			require.NoError(t, err)
			now, err := os.ReadFile(path)
			require.NoError(t, err)
			if bytes.Equal(now, old) {
				if what != "the slope of probabilities" { // only decisions have probabilities
					t.Errorf("%s: %s changes nothing", kind, what)
				}
				continue
			}
			if path == table {
				config := rundir.Dir(run).Config()
				text := bytes.ReplaceAll(whole[config], []byte(disk.Sum(data)), []byte(disk.Sum(now)))
				require.NoError(t, os.WriteFile(config, text, 0o644))
			}
			renewed(t, run)
			if r := check(); r.Verified && !(f.listed && listed(&r, f.file)) {
				t.Errorf("%s: %s is verified, and %s is not among %q", kind, what, f.file, r.Skipped)
			}
			for path, text := range whole {
				require.NoError(t, os.WriteFile(path, text, 0o644))
			}
			require.NoError(t, os.WriteFile(path, old, 0o644))
		}
		if r := check(); !r.Verified {
			t.Fatalf("%s, restored: %q", kind, r.Problems)
		}
	}
}
