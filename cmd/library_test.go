package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// The command and the library have the same defaults: they describe a run by the same config.yaml.
// TestCommandRepeatsALibrarysRun has the bits of runs.
func TestLibraryDoesTheCommandsRun(t *testing.T) {
	for flags, options := range map[string]session.Options{
		"--problem dp": {Data: session.Table{Dir: "data", Dataset: "synthetic-adult"}, Task: session.DemographicParity{}},
		"--problem eo --dataset synthetic-compas": {
			Data: session.Table{Dir: "data", Dataset: "synthetic-compas"}, Task: session.EqualizedOdds{}},
		"--problem if --if-form expectation --method alm": {
			Data: session.Table{Dir: "data", Dataset: "synthetic-communities"}, Task: session.Intersectional{Form: session.AverageGroup},
			Method: &method.ALM{}},
		"--rows-per-class 40": {Data: session.Images{Dir: "data", Dataset: "synthetic", RowsPerClass: 40}, Task: session.NeymanPearson{}},
	} {
		var described string
		describe := func(o session.Options) string {
			o.Files.Settings = nil // of the program alone, such as --quiet
			return string(require.Value(o.Config(results.Provenance{}))(t))
		}
		commandOn(t.Context(), func(a *app) {
			a.open = func(_ context.Context, o session.Options) (*session.Session, error) {
				described = describe(o)
				return nil, errNoData
			}
		}, append([]string{"train", "--quiet", "--iterations", "4", "--data-dir", "data", "--out", filepath.Join(t.TempDir(), "run")}, strings.Fields(flags)...)...)
		options.Settings = trainer.Settings{Iterations: 4, Seed: 1}
		if diff := cmp.Diff(described, describe(options)); diff != "" {
			t.Errorf("%s: (-command +library) %s", flags, diff)
		}
	}
}

// A run of the library writes a config.yaml. With this file the command does the same run to the
// bit.
func TestCommandRepeatsALibrarysRun(t *testing.T) {
	require.NoRace(t, "trainer/session trains the same runs")
	for name, options := range map[string]session.Options{
		"defaults": {Data: session.Table{Dataset: "synthetic-compas"}, Task: session.DemographicParity{}},
		"images": {Data: session.Images{Dataset: "synthetic", RowsPerClass: 30, Classes: []int{2, 0}, Normalize: models.NormalizeCenter},
			Task: session.NeymanPearson{Kappa: []float64{0.4}, Phi: constraints.Logistic}, Model: &models.Spec{Hidden: []int{6}, Activation: models.Tanh},
			Regularizer: &problem.Regularizer{Kind: problem.L1, Weight: 1e-3}, Method: &method.PPALA{}, BatchSize: 20,
			Device: session.Device{Kind: session.CPU, Products: session.Float32, Threads: 1}},
		"gaps": {Data: session.Table{Dataset: "synthetic-compas", TableOptions: tabular.TableOptions{Split: tabular.Split{Train: 60, Validation: 20, Test: 20}}},
			Task: session.EqualizedOdds{Epsilon: []float64{0.02, 0.03}}, Method: &method.PLADA{Sigma0: 0.5},
			Device: session.Device{Dtype: tensor.Float64, Threads: 1}, Settings: trainer.Settings{Output: trainer.OutputBest}},
		"decisions": {Data: session.Table{Dataset: "synthetic-compas"}, Task: session.Decisions{Minimize: constraints.Error(),
			SubjectTo: []constraints.Constraint{constraints.FNR().AtMost(0.4), constraints.Gap(constraints.PositiveRate, "sex").AtMost(0.05)}}},
		"groups": {Data: session.Table{Dataset: "synthetic-communities"}, Task: session.Intersectional{Form: session.SampledGroup},
			Method: &method.MultiplierModel{Units: 7}, Device: session.Device{Engine: session.Gorgonia}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "groups" {
				require.NoRace(t, "Gorgonia's engine runs on one goroutine")
			}
			options.Settings.Iterations, options.Settings.RecordEvery, options.Settings.Seed = 4, 2, 3 // automatic records depend on their time
			s := require.Value(session.New(t.Context(), options))(t)
			defer s.Close()
			require.Value(s.Train(t.Context()))(t)
			library, command := rundir.Dir(filepath.Join(t.TempDir(), "library")), rundir.Dir(filepath.Join(t.TempDir(), "command"))
			require.NoError(t, s.Save(string(library)))
			got := commandOn(t.Context(), func(a *app) { a.open = session.New },
				"train", "--quiet", "--allow-violation", "--config", library.Config(), "--out", string(command))
			if got.status != exitDone {
				t.Fatalf("%+v", got)
			}
			compareRuns(t, command, library)
		})
	}
}

// The command refuses the config.yaml of a run that only the user's own program can repeat.
func TestCommandRefusesAProgramsOwnRun(t *testing.T) {
	task := &session.Statement{Name: "own", Nodes: func(scores *gorgonia.Node, _ session.Rows) (*gorgonia.Node, gorgonia.Nodes, error) {
		return gorgonia.Must(gorgonia.Mean(scores)), nil, nil
	}}
	rows := session.Matrices{Train: &session.Matrix{Features: &matrix.Dense{Rows: 2, Cols: 1, Data: []float64{1, 2}}, Labels: []int{-1, 1}}}
	data := require.Value(session.Options{Data: rows, Task: task}.Config(results.Provenance{}))(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	got := commandOn(t.Context(), func(*app) {}, "train", "--config", path)
	want := path + ":1: only-in-program: no flag expresses the rows, the task of this run; start the program that wrote the file"
	if got.status != exitUsage || !strings.Contains(got.stderr, want) {
		t.Errorf("%+v, want %s", got, want)
	}
}

// compareRuns compares the files of two runs, except the program's version and measured times. Only
// the command has a renderer.
func compareRuns(t *testing.T, command, library rundir.Dir) {
	t.Helper()
	read := func(path string) []byte {
		return require.Value(os.ReadFile(path))(t)
	}
	if !bytes.Equal(read(command.Model()), read(library.Model())) {
		t.Error("the weights differ")
	}
	times := regexp.MustCompile(`"seconds":[^,]*,`)
	if diff := cmp.Diff(times.ReplaceAllString(string(read(command.Metrics())), ""), times.ReplaceAllString(string(read(library.Metrics())), "")); diff != "" {
		t.Error(diff)
	}
	summaries := [2]results.Summary{}
	for i, dir := range []rundir.Dir{command, library} {
		s := require.Value(rundir.ReadSummary(dir.Summary()))(t)
		s.Seconds, s.PeakBytes, s.Version = 0, 0, ""
		s.SecondsOpening, s.SecondsReading, s.SecondsMeasuring, s.SecondsTotal = 0, 0, 0, 0
		s.SecondsCertificates, s.SecondsRounds, s.SecondsRecords, s.SecondsPlots = 0, 0, 0, 0
		s.Checksum, s.Files = "", nil // the records have times
		summaries[i] = s
	}
	if diff := cmp.Diff(summaries[0], summaries[1]); diff != "" {
		t.Error(diff)
	}
	names := func(dir rundir.Dir) (list []string) {
		files := require.Value(filepath.Glob(filepath.Join(string(dir), "*")))(t)
		for _, path := range files { // the library keeps checkpoints only in the directory that it opens
			if name := filepath.Base(path); !strings.HasPrefix(name, "checkpoint") {
				list = append(list, name)
			}
		}
		return list
	}
	rendered := func(name string) bool { return name == "plots" || name == "report.html" }
	if diff := cmp.Diff(slices.DeleteFunc(names(command), rendered), names(library)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(command.Report()); err != nil {
		t.Error(err)
	}
}

// config.yaml of a run names, for every setting that is auto, what the run used. With these values
// and the rest of config.yaml the command gives the same weights.
func TestResolvedSettings(t *testing.T) {
	require.NoRace(t, "TestTrainForReal trains with the same goroutines")
	// These settings are auto in a run, too: what they mean depends on the settings and the data
	// files alone, or does not change results.
	rules := map[string]bool{
		"memory-limit": true, // refuses a run, or changes nothing
		"eta":          true, // the step follows the curvature
		"gdpa-step":    true, // the same
		"decimal":      true, // a property of the data file, whose checksum config.yaml has
		"separator":    true, // the same
		"samples":      true, // follows from the shapes and the device
		"tolerance":    true, // ends the run by the objective and the residual
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "members.csv")
	require.NoError(t, os.WriteFile(file, []byte(members(300)), 0o644))
	table := "--dataset csv --file " + file + " --label member "
	for name, flags := range map[string]string{
		"pictures":  "--rows-per-class 10 --hidden 8",
		"nesterov":  table + "--problem dp --group job=nurse --primal nesterov",
		"gdpa":      table + "--problem dp --group job=nurse --method gdpa --primal nesterov --gdpa-step auto",
		"decisions": table + "--subject-to fpr<=0.9",
		"gorgonia":  "--rows-per-class 5 --hidden 4 --engine gorgonia",
	} {
		t.Run(name, func(t *testing.T) {
			run, again := rundir.Dir(filepath.Join(dir, name)), rundir.Dir(filepath.Join(dir, name+" again"))
			train := func(args ...string) {
				t.Helper()
				if got := commandOn(context.Background(), func(a *app) { a.open = session.New }, append([]string{"train", "--quiet"}, args...)...); got.status != exitDone && got.status != exitUnmet {
					t.Fatalf("%v: %+v", args, got)
				}
			}
			train(append(strings.Fields(flags), "--iterations", "10", "--out", string(run))...)
			text := require.Value(os.ReadFile(run.Config()))(t)
			var settings map[string]any
			require.NoError(t, yaml.Unmarshal(text, &settings))
			p, _, err := run.ReadProvenance()
			require.NoError(t, err)
			args := []string{"--config", run.Config(), "--out", string(again)}
			for key, value := range settings {
				if used := p.Resolved[key]; used != "" && used != "auto" {
					// with Gorgonia's engine --products accepts auto only
					if key != "record-every" && (key != "products" || name != "gorgonia") {
						args = append(args, "--"+key, used)
					}
				} else if key == "record-every" && name == "decisions" {
					continue // each round has its own
				} else if !rules[key] && (value == "auto" || key == "threads" && value == 0) {
					t.Errorf("%s: %v, and config.yaml does not say what the run used", key, value)
				}
			}
			train(args...)
			want := require.Value(os.ReadFile(run.Model()))(t)
			if got, err := os.ReadFile(again.Model()); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v gives other weights (%v)", args, err)
			}
		})
	}
}
