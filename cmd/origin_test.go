package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/dirlock"
	"ppal/internal/require"
)

// A comparison, a sweep and an experiment refuse a directory in which another process is at work.
func TestOneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	l := require.Value(dirlock.Take(dir))(t)
	defer func() { require.NoError(t, l.Release()) }()
	for _, args := range []string{
		"sweep --over gap(positive_rate,sex) --values 0.1 --dataset synthetic-adult --iterations 2",
		"reproduce dp-adult --seeds 1",
		"reproduce decisions --seeds 1",
		"reproduce suite --quick",
	} {
		got := command(t.Context(), nil, append(strings.Fields(args), "--out", dir)...)
		if got.status != exitFailed || !strings.Contains(got.stderr, "another ppal is at work in "+dir) {
			t.Errorf("%s: status %d, %s", args, got.status, got.stderr)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: want the lock alone", entries, err)
	}
}

// A comparison does not go on with other initial weights.
func TestNotWithOtherWeights(t *testing.T) {
	dir := t.TempDir()
	weights := filepath.Join(dir, "weights")
	for _, c := range []struct {
		content string
		status  int
	}{{"one", exitDone}, {"one", exitDone}, {"two", exitUsage}} {
		require.NoError(t, os.WriteFile(weights, []byte(c.content), 0o644))
		got := command(t.Context(), nil, "compare", "--methods", "gdpa", "--seeds", "1", "--iterations", "2", "--init", weights, "--out", filepath.Join(dir, "out"))
		if got.status != c.status || c.status != exitDone && !strings.Contains(got.stderr, weights+" has changed since the comparison") {
			t.Errorf("%s: status %d, %s", c.content, got.status, got.stderr)
		}
	}
}

// A comparison and a sweep do not go on with other data.
func TestNotWithOtherData(t *testing.T) {
	require.NoRace(t, "TestTrainForReal trains with the same goroutines")
	file := filepath.Join(t.TempDir(), "rows.csv")
	write := func(last string) {
		t.Helper()
		rows := "age,sex,hired\n" + strings.Repeat("31,f,no\n42,m,yes\n25,f,yes\n37,m,no\n", 10) + last
		require.NoError(t, os.WriteFile(file, []byte(rows), 0o644))
	}
	for _, args := range []string{
		"compare --methods gdpa --seeds 1 --iterations 2",
		"sweep --over gap(positive_rate,sex) --values 0.1 --iterations 2 --allow-violation",
	} {
		dir := filepath.Join(t.TempDir(), "out")
		call := strings.Fields(args + " --dataset csv --file " + file + " --label hired=yes --split 100/0/0 --out " + dir)
		if call[0] == "compare" {
			call = append(call, "--subject-to", "gap(positive_rate, sex) <= 0.5", "--measures", "train_error")
		}
		write("")
		for range 2 {
			if got := command(t.Context(), nil, call...); got.status != exitDone {
				t.Fatalf("%s: status %d, %s", args, got.status, got.stderr)
			}
		}
		write("29,f,no\n")
		if got := command(t.Context(), nil, call...); got.status != exitUsage || !strings.Contains(got.stderr, "a new directory") {
			t.Errorf("%s with other data: status %d, %s", args, got.status, got.stderr)
		}
	}
}
