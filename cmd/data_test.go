package cmd

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets"
	"ppal/datasets/tabular"
	"ppal/internal/require"
)

// The reports of ppal data check on tables equal their golden files.
func TestDataCheckTables(t *testing.T) {
	require.NoRace(t, "the tests of datasets run the same goroutines")
	file := filepath.Join(t.TempDir(), "people.csv")
	text := "age;sex;wage;pay\n"
	for i := range 40 {
		text += fmt.Sprintf("%d;%s;%d;%s\n", 18+i, "FM"[i%2:][:1], 100*i, [2]string{"low", "high"}[i/2%2])
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	for name, args := range map[string]string{
		"compas":      "synthetic-compas",
		"dropped":     "synthetic-bank --drop-sensitive --ignore duration,pdays --split 80/0/20 --seed 3",
		"communities": "synthetic-communities",
		"rows":        "csv --file ../testdata/rows.csv --label outcome=yes --group sex=F --drop-sensitive --missing impute",
		"classes":     "csv --file ../testdata/flowers.csv --label species --classes rose,lily,iris --group place --missing drop",
		"csv":         "csv --file " + file + " --label pay=high --group sex,age<30 --missing impute",
	} {
		t.Run(name, func(t *testing.T) {
			got := command(t.Context(), nil, append([]string{"data", "check"}, strings.Fields(args)...)...)
			if got.status != exitDone || got.stderr != "" {
				t.Fatalf("%+v", got)
			}
			require.Golden(t, "testdata/data-check-"+name+".txt", strings.ReplaceAll(got.stdout, file, "FILE"))
		})
	}
}

// A download that fails and a download that is interrupted print one line of error after the log.
func TestDataFetchFails(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	args := []string{"data", "fetch", "fashion-mnist", "--data-dir", t.TempDir(), "--mirror", server.URL}
	got := command(t.Context(), nil, args...)
	if got.status != exitFailed || strings.Count(got.stderr, "ppal: ") != 1 ||
		!strings.Contains(got.stderr, "server answers 404") || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := command(ctx, nil, args...); got.status != exitInterrupted {
		t.Errorf("%+v", got)
	}
}

// If the output is not a terminal, a file logs a line at its end and a line every few seconds.
func TestDownloadLog(t *testing.T) {
	var out bytes.Buffer
	clock := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	a := &app{stderr: &out, now: func() time.Time { return clock }}
	file := datasets.File{Path: "images.gz", Size: 10e6}
	p := a.newDownload(datasets.Dataset{Name: "set", Files: []datasets.File{file}})
	for _, done := range []int64{0, 1e6, 2e6, 3e6, 10e6} {
		p.update(file, done)
		clock = clock.Add(2 * time.Second)
	}
	p.finish()
	var have []string
	for line := range strings.Lines(out.String()) {
		_, tail, _ := strings.Cut(line, "have=")
		have = append(have, strings.TrimSpace(tail))
	}
	want := `"0.0 MB" of="10.0 MB";"3.0 MB" of="10.0 MB";"10.0 MB" of="10.0 MB"`
	if got := strings.Join(have, ";"); got != want || strings.Contains(out.String(), "\r") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// On a terminal a single bar shows the progress over all files. The downloader's messages appear
// above the bar.
func TestDownloadBar(t *testing.T) {
	var out bytes.Buffer
	a := &app{stderr: &out, now: time.Now, terminal: true}
	files := []datasets.File{{Path: "a", Size: 100}, {Path: "b", Size: 300}}
	p := a.newDownload(datasets.Dataset{Name: "set", Files: files})
	p.update(files[0], 100)
	p.log.Warn("source failed")
	p.update(files[1], 200)
	p.update(files[1], 0) // the server does not resume: the file starts again
	if got := p.bar.State().CurrentNum; got != 100 {
		t.Errorf("the bar stands at %d, want 100", got)
	}
	p.finish()
	if !strings.Contains(out.String(), "source failed") || !strings.Contains(out.String(), "set") {
		t.Errorf("%q", out.String())
	}
}

// Columns with numbered names in turn that became the same share a line: the 1,280 columns of an
// array are one line.
func TestPrintUses(t *testing.T) {
	uses := []tabular.ColumnUse{{Name: "a9", Became: "number"}, {Name: "b9", Became: "number"}, {Name: "b10", Became: "number"}}
	for k := range 1280 {
		uses = append(uses, tabular.ColumnUse{Name: fmt.Sprintf("X%d", k), Became: "number"})
	}
	for _, name := range []string{"z08", "z9", "z10", "w08", "w09", "w10"} {
		uses = append(uses, tabular.ColumnUse{Name: name, Became: "number"})
	}
	uses = append(uses, tabular.ColumnUse{Name: "X1280", Became: "number", Missing: 2}, tabular.ColumnUse{Name: "X1282", Became: "number", Missing: 2}, tabular.ColumnUse{Name: "y", Became: "label"})
	var got string
	printUses(func(text string) { got = text }, uses)
	want := `column       became  missing
a9           number
b9           number
b10          number
X0 to X1279  number
z08          number
z9           number
z10          number
w08 to w10   number
X1280        number  2
X1282        number  2
y            label`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
