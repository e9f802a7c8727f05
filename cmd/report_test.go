package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
)

// Report writes the page of a run, of a run without a summary and of each comparison of a
// reproduction, and refuses other directories.
func TestReport(t *testing.T) {
	require.NoRace(t, "TestTrainForReal runs the same goroutines")
	dir := filepath.Join(t.TempDir(), "run")
	if out := forReal(t, "train", "--iterations", "3", "--rows-per-class", "20", "--examples", "0", "--out", dir); out.status != exitDone && out.status != exitUnmet {
		t.Fatal(out.stderr)
	}
	page := filepath.Join(dir, "report.html")
	require.NoError(t, os.Remove(page)) // train wrote it
	for _, remove := range []string{"plots", "summary.json"} {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, remove)))
		out := forReal(t, "report", dir)
		text, err := os.ReadFile(page)
		if out.status != exitDone || out.stdout != page+"\n" || err != nil || !strings.Contains(string(text), "alm on synthetic") {
			t.Errorf("without %s: %+v, %v", remove, out, err)
		}
		if strings.Contains(string(text), "Wrong decisions") {
			t.Error("the page has examples")
		}
	}
	locked := filepath.Join(t.TempDir(), "run") // the page's place is taken by a directory that is not empty
	require.NoError(t, os.CopyFS(locked, os.DirFS(dir)))
	require.NoError(t, errors.Join(os.Remove(filepath.Join(locked, "report.html")), os.MkdirAll(filepath.Join(locked, "report.html", "full"), 0o755)))
	if out := forReal(t, "report", locked); out.status != exitFailed || out.stdout != "" {
		t.Errorf("a page that cannot be written: %+v", out)
	}
	empty := t.TempDir()
	if out := forReal(t, "report", empty); out.status != exitUsage || !strings.Contains(out.stderr, "not the directory of a run, a comparison or a sweep") {
		t.Errorf("an empty directory: %+v", out)
	}
	if out := forReal(t, "report"); out.status != exitUsage {
		t.Errorf("no directory: %+v", out)
	}
	study := filepath.Join(empty, "published")
	require.NoError(t, os.Mkdir(study, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(study, "study.yaml"), []byte("title: x\nbudget: iterations:5\nseeds: [1]\ncontenders: [{name: ppala}]\n"), 0o644))
	if out := forReal(t, "report", empty); out.status != exitDone || out.stdout != filepath.Join(study, "report.html")+"\n" {
		t.Errorf("a reproduction: %+v", out)
	}
}
