package rundir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ppal/internal/require"
	"ppal/internal/seal"
	"ppal/trainer/session/results"
)

// The summary has the checksums of the files, and a changed byte anywhere in the summary is found.
func TestSeal(t *testing.T) {
	dir := Dir(t.TempDir())
	require.NoError(t, os.WriteFile(dir.Config(), []byte("seed: 1\n"), 0o644))
	s := results.Summary{Status: "iteration limit", Objective: 0.25}
	require.NoError(t, dir.WriteSummary(&s))
	if want := map[string]string{"config.yaml": seal.Sum([]byte("seed: 1\n"))}; len(s.Files) != 1 || s.Files["config.yaml"] != want["config.yaml"] {
		t.Errorf("checksums %v, want %v", s.Files, want)
	}
	check := func(what string, wantHas, wantOK bool) {
		t.Helper()
		_, _, has, err := ReadSealed(dir.Summary())
		if has != wantHas || (err == nil) == (has && !wantOK) || err != nil && !errors.Is(err, seal.ErrChanged) {
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
