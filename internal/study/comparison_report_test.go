package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/config"
	"ppal/internal/require"
)

// The page of a comparison has every method and seed, from the directory alone, and says which runs
// are missing.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	s := discStudy(config.Values{"gdpa-step": "0.01"}, config.Values{"gdpa-step": "0.02"})
	s.Title = `disc <script>"`
	require.Value(Compare(t.Context(), s, dir, openDisc, nil))(t)
	page := func() string {
		t.Helper()
		require.NoError(t, ReportComparison(dir))
		return readComparison(t, dir, "report.html")
	}
	text := page()
	for _, want := range []string{"<h1>disc &lt;script&gt;", `<th scope="row">ppala</th>`, `<th scope="row">gdpa</th>`, "4 of 4", "chosen by the search", "Largest violation",
		"<span>--methods</span> <span>ppala,gdpa</span>", "<span>--tune</span>", "<h2>Search</h2>", "test error"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Count(text, "<script") != 2 {
		t.Error("the title is a script")
	}
	for _, name := range []string{"gdpa-seed1.done", "gdpa-seed2.done", "ppala-seed2.done"} {
		require.NoError(t, os.Remove(filepath.Join(dir, "runs", name)))
	}
	if text := page(); !strings.Contains(text, "1 of 4") {
		t.Error("the page does not say that runs are missing")
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "runs", "ppala-seed1.done")))
	if text := page(); !strings.Contains(text, "No run has finished") {
		t.Error("the page does not say that no run has finished")
	}
	if err := ReportComparison(t.TempDir()); err == nil {
		t.Error("no error without study.yaml")
	}
}

func TestCommand(t *testing.T) {
	s := discStudy()
	for k := range s.Contenders {
		s.Contenders[k].Values["subject-to"] = "gap(tpr, sex) <= 0.1; fpr <= 0.2"
	}
	s.Contenders[1].Values["gdpa-step"] = "0.1"
	want := "ppal compare --methods ppala,gdpa --seeds 1-2 --budget gradients:101 '--subject-to=gap(tpr, sex) <= 0.1' '--subject-to=fpr <= 0.2' --set gdpa.gdpa-step=0.1 --out NEW"
	if got := s.command(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.Contenders[0].Name = "ppala with alpha 1"
	if got := s.command(); got != "" {
		t.Errorf("%s for a contender with another name than its method", got)
	}
}
