package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkReport checks the page of a finished sweep with three points.
func checkReport(t *testing.T, dir Dir) {
	t.Helper()
	if err := Report(dir); err != nil {
		t.Fatal(err)
	}
	text := string(read(t, filepath.Join(string(dir), "report.html")))
	for _, want := range []string{"All 3 points meet their bounds", "&lt;= 0.08", `href="01-bound-0.3/report.html"`, `href="03-bound-0.02/report.html"`, "training rows", "test rows"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// The page of a sweep without points says so. The settings of sweep.yaml are texts.
func TestReportWithoutPoints(t *testing.T) {
	dir := Dir(t.TempDir())
	settings := "# A sweep\nover: \"gap(tpr, <b>)\"\nvalues: [0.2 0.1]\n---\nmethod: ppala\ndataset: csv\nfile: 'a/</pre><script>x'\n---\nversion: v1\ndata:\n    - name: x\n      sha256: abc\n"
	if err := os.WriteFile(dir.Settings(), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Report(dir); err != nil {
		t.Fatal(err)
	}
	text := string(read(t, filepath.Join(string(dir), "report.html")))
	for _, want := range []string{"No run has finished", "0 of 2", "gap(tpr, &lt;b&gt;)", "ppal v1", "abc"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Count(text, "<script") != 2 {
		t.Error("a setting is a script")
	}
	if err := os.WriteFile(dir.Points(), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Report(dir); err == nil {
		t.Error("no error for a damaged point")
	}
}
