package cmd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/datatest"
	"ppal/internal/require"
	"ppal/internal/rundir"
)

// barPictures writes pictures of three classes in a folder for each class, and a CSV file with
// their paths and groups.
func barPictures(t *testing.T) (folder, table string) {
	t.Helper()
	dir, r, text := t.TempDir(), rand.New(rand.NewPCG(5, 6)), "path,kind,sex\n"
	for k, class := range []string{"across", "down", "dark"} {
		for i := range 40 {
			img := datatest.Bars(r, k, 16, 12)
			name, content := fmt.Sprintf("all/%s/%02d.png", class, i), datatest.PNG(t, img)
			if i%2 == 0 {
				name, content = strings.Replace(name, "png", "jpg", 1), datatest.JPEG(t, img)
			}
			datatest.Write(t, dir, name, content)
			text += fmt.Sprintf("%s,%s,%c\n", name, class, "fm"[r.IntN(2)])
		}
	}
	return filepath.Join(dir, "all"), datatest.Write(t, dir, "rows.csv", []byte(text))
}

// Own pictures train, predict, evaluate, verify and resume, from a folder and from a CSV file, with
// every form of bounds. The second run reads the pixels that the first one kept: in the user's
// cache, because a folder of data may be shared.
func TestOwnPictures(t *testing.T) {
	require.NoRace(t, "the parts have tests of their own")
	folder, table := barPictures(t)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	do := func(args ...string) outcome {
		t.Helper()
		got := forReal(t, args...)
		if got.status != exitDone {
			t.Fatalf("%v: %s", args, got.stderr)
		}
		return got
	}
	runs := t.TempDir()
	train := func(args ...string) string {
		t.Helper()
		run := filepath.Join(runs, fmt.Sprint(len(args), args[len(args)-1]))
		do(append([]string{"train", "--quiet", "--iterations", "5", "--out", run, "--size", "8x8", "--data-dir", t.TempDir()}, args...)...)
		do("verify", run)
		return run
	}
	inFolder := train("--file", folder, "--model", "mlp", "--hidden", "4", "--problem", "mnpc", "--classes", "down,across", "--kappa", "0.4")
	got := do("predict", inFolder, "--input", folder)
	if !strings.HasPrefix(got.stdout, "row,class,score_down,score_across,") || !strings.Contains(got.stdout, ",picture\n1,") || !strings.Contains(got.stdout, ",across/00.jpg\n") {
		t.Errorf("predict: %.200s", got.stdout)
	}
	if got := do("predict", inFolder, "--input", filepath.Join(folder, "down")); strings.Count(got.stdout, "\n") != 41 || !strings.Contains(got.stdout, ",39.png") {
		t.Errorf("predict on a folder without classes: %.200s", got.stdout)
	}
	if got := do("evaluate", inFolder, "--input", folder); !strings.HasPrefix(got.stdout, "80 rows") {
		t.Errorf("evaluate: %s", got.stdout)
	}
	do("train", "--quiet", "--resume", inFolder, "--iterations", "8")
	do("verify", inFolder)

	byTable := train("--file", table, "--picture", "path", "--label", "kind=dark", "--subject-to", "gap(tpr, sex) <= 0.2", "--split", "60/20/20", "--confidence", "0.5")
	if got := do("evaluate", byTable, "--input", table, "--by", "sex"); !strings.Contains(got.stdout, "sex=m") || !strings.Contains(got.stdout, "gap(tpr, sex) <= 0.2") {
		t.Errorf("evaluate by groups: %s", got.stdout)
	}
	if got := do("predict", byTable, "--input", table, "--keep", "sex"); !strings.Contains(got.stdout, ",sex,path\n1,") || !strings.Contains(got.stdout, ",all/across/00.jpg\n") {
		t.Errorf("predict: %.200s", got.stdout)
	}
	fair := train("--file", table, "--picture", "path", "--label", "kind=dark", "--problem", "dp", "--group", "sex=f", "--color", "rgb", "--augment", "flip-shift")
	sum, err := rundir.ReadSummary(rundir.Dir(fair).Summary())
	if err != nil || !strings.Contains(strings.Join(sum.Notes, " "), "in colour") {
		t.Errorf("notes %q, %v", sum.Notes, err)
	}
	if notes := strings.Join(sum.Notes, " "); !strings.Contains(notes, "Each training picture is 18 rows") {
		t.Errorf("notes %q", notes)
	}
	// auto iterations: config.yaml has the number that the data gave
	conv := filepath.Join(runs, "conv")
	do("train", "--quiet", "--file", folder, "--model", "conv", "--channels", "2", "--size", "8x8", "--problem", "mnpc", "--classes", "down,across,dark",
		"--kappa", "0.9", "--augment", "flip", "--batch-size", "40", "--out", conv, "--allow-violation")
	do("verify", conv)
	if text, err := os.ReadFile(rundir.Dir(conv).Config()); err != nil || !strings.Contains(string(text), "\niterations: 300\n") {
		t.Errorf("config.yaml: %v\n%s", err, text)
	}
	page, err := os.ReadFile(rundir.Dir(inFolder).Report())
	if err != nil || !strings.Contains(string(page), "data:image/png") {
		t.Errorf("the report shows no pictures: %v", err)
	}

	kept, err := filepath.Glob(filepath.Join(cache, "ppal", "pictures", "*.rows"))
	if err != nil || len(kept) != 3 { // grey in the order of the folder and of the table, and in colour
		t.Errorf("kept pixels %q, %v", kept, err)
	}
	if got := forReal(t, "predict", byTable, "--input", folder); !strings.Contains(got.stdout, ",path\n1,") {
		t.Errorf("a folder for a model of a CSV file: %s", got.stderr)
	}
	datatest.Write(t, folder, "new/x.png", []byte("hello"))
	if got := forReal(t, "predict", byTable, "--input", filepath.Join(folder, "new")); got.status == exitDone ||
		!strings.Contains(got.stderr, filepath.Join("new", "x.png")+": wrong format: the file is neither PNG nor JPEG") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("a bad picture: %s", got.stderr)
	}
}
