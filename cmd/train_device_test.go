package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/trainer/session"
)

// Without a GPU, or without GPU support in the build, a run that asks for a GPU fails with one line
// that says what is missing. The device auto uses the CPU.
func TestTrainWithoutGPU(t *testing.T) {
	gpus := machineGPUs()
	if d, err := gpus.open(0); err == nil {
		_ = d.Close()
		t.Skip("there is a GPU")
	}
	for _, args := range []string{"--device cuda", "--device cuda:3", "--products tf32", "--micro-batch 10"} {
		dir := filepath.Join(t.TempDir(), "run")
		got := commandOn(t.Context(), func(a *app) { a.open = session.New },
			append([]string{"train", "--quiet", "--allow-violation", "--out", dir}, strings.Fields(args)...)...)
		if got.status != exitFailed || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, driver.ErrUnavailable.Error()) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	got := commandOn(t.Context(), func(a *app) { a.open = session.New }, "train", "--quiet", "--allow-violation", "--rows-per-class", "5", "--hidden", "2",
		"--iterations", "1", "--device", "auto", "--out", filepath.Join(t.TempDir(), "run"))
	if got.status != exitDone {
		t.Errorf("%+v", got)
	}
}
