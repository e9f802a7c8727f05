package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
)

// TestPlainModel checks that a table without a bound trains a plain model: unconstrained, linear,
// with the rates of every group and advice how to add a bound. The advice itself works.
func TestPlainModel(t *testing.T) {
	require.NoRace(t, "TestTrainForReal trains with the same goroutines")
	for k, c := range []struct{ flags, method, minimised string }{
		{"--dataset synthetic-compas", "unconstrained", "loss"},
		{"--dataset synthetic-compas --minimize loss", "unconstrained", "loss"},
		{"--dataset synthetic-compas --minimize error", "unconstrained", "error"},
		{"--dataset synthetic-compas --method unconstrained", "unconstrained", "loss"},
		{"--dataset synthetic-compas --method alm", "alm", "loss"},
		{"--dataset synthetic-compas --model mlp --hidden 4", "unconstrained", "loss"},
	} {
		run := filepath.Join(t.TempDir(), "run")
		got := forReal(t, append([]string{"train", "--quiet", "--iterations", "30", "--out", run}, strings.Fields(c.flags)...)...)
		if got.status != exitDone || !strings.Contains(got.stdout, c.method+" on synthetic-compas, rates:") ||
			!strings.Contains(got.stdout, c.minimised+" (minimised)") || !strings.Contains(got.stdout, "\nsex=Female ") || strings.Contains(got.stdout, "promised") {
			t.Fatalf("%s: %+v", c.flags, got)
		}
		_, advice, found := strings.Cut(got.stdout, "--subject-to '")
		bound, _, _ := strings.Cut(advice, "'")
		if !found || bound != "gap(positive_rate, sex) <= 0.05" {
			t.Fatalf("%s: no advice: %s", c.flags, got.stdout)
		}
		if k > 0 && k < 5 { // a linear model and a network are enough
			continue
		}
		if verified := forReal(t, "verify", run); verified.status != exitDone {
			t.Errorf("%s: verify: %+v", c.flags, verified)
		}
		if page := forReal(t, "report", run); page.status != exitDone {
			t.Errorf("%s: report: %+v", c.flags, page)
		}
	}
}
