//go:build gpu

package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/gpucheck"
	"ppal/internal/require"
)

func TestGPUCheckListsParts(t *testing.T) {
	got := command(t.Context(), nil, "gpu-check", "--list")
	for _, name := range gpucheck.Names(gpucheck.Parts()) {
		if !strings.Contains(got.stdout, name+" ") {
			t.Errorf("%q lacks %s", got.stdout, name)
		}
	}
	if strings.Contains(got.stdout, "small") && strings.Contains(got.stdout, "\nsmall ") {
		t.Errorf("the hidden part is listed: %s", got.stdout)
	}
	if help := command(t.Context(), nil, "--help"); strings.Contains(help.stdout, "gpu-check") {
		t.Error("the help shows a command for another machine")
	}
}

// The command prints and writes the results of a part, with the name of the device. Without PyTorch
// it does not run the part peers.
func TestGPUCheckReports(t *testing.T) {
	out := filepath.Join(t.TempDir(), "report.jsonl")
	got := commandOn(t.Context(), func(a *app) {
		a.gpus.open = func(int) (driver.Driver, error) { return double.New(double.Options{}), nil }
	}, "gpu-check", "--in-process", "--part", "peers", "--python", filepath.Join(t.TempDir(), "python"), "--out", out)
	if got.status != exitDone || !strings.Contains(got.stdout, "PyTorch  not run") {
		t.Errorf("%+v", got)
	}
	data := require.Value(os.ReadFile(out))(t)
	var list []gpucheck.Line
	for text := range strings.Lines(string(data)) {
		var l gpucheck.Line
		require.NoError(t, json.Unmarshal([]byte(text), &l))
		list = append(list, l)
	}
	if len(list) != 6 || list[0].Device == nil || list[0].Device.Name == "" || list[1].Part != "peers" || list[1].Status != gpucheck.NotRun {
		t.Errorf("%s", data)
	}
}

// An unknown part is a usage error, and the message lists the parts.
func TestGPUCheckUnknownPart(t *testing.T) {
	got := command(t.Context(), nil, "gpu-check", "--part", "nothing")
	want := "ppal: gpu-check: unknown part \"nothing\" (parts: " + strings.Join(gpucheck.Names(gpucheck.Parts()), ", ") + ")\n"
	if got.status != exitUsage || got.stderr != want {
		t.Errorf("%+v, want %s", got, want)
	}
}

// Without the training files, the check skips the part that needs them and does not fail.
func TestGPUCheckWithoutData(t *testing.T) {
	got := commandOn(t.Context(), func(a *app) {
		a.gpus.open = func(int) (driver.Driver, error) { return double.New(double.Options{}), nil }
	}, "gpu-check", "--in-process", "--part", "training", "--data-dir", t.TempDir())
	if got.status != exitDone || !strings.Contains(got.stdout, "not run") {
		t.Errorf("%+v", got)
	}
}
