package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer/session"
)

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
