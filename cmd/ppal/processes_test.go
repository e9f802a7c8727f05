package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ppal/internal/racing"
	"ppal/internal/ranks"
	"ppal/internal/rundir"
	"ppal/trainer/session"
)

// inProcesses runs a command line in n processes, which are goroutines, and returns their outcomes.
func inProcesses(t *testing.T, n int, line string) []outcome {
	t.Helper()
	all := make([]outcome, n)
	var group sync.WaitGroup
	for _, c := range ranks.Goroutines(n) {
		group.Go(func() {
			all[c.Rank()] = commandOn(t.Context(), func(a *app) {
				a.getenv = environment(fmt.Sprintf("OMPI_COMM_WORLD_SIZE=%d OMPI_COMM_WORLD_RANK=%d", n, c.Rank()))
				a.open = session.New
				a.join = func() (ranks.Collective, func() error, error) { return c, func() error { return nil }, nil }
			}, strings.Fields(line)...)
		})
	}
	group.Wait()
	return all
}

// Process 0 trains, prints and writes; the others share its rows in silence.
func TestTrainTogether(t *testing.T) {
	racing.Skip(t, "trainer/session runs the same goroutines")
	const line = "train --dataset synthetic-compas --problem dp --iterations 50 --threads 1 --dtype float64 --quiet --allow-violation --out "
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	if got := commandOn(t.Context(), func(a *app) { a.open = session.New }, strings.Fields(line+one)...); got.status != exitDone {
		t.Fatal(got)
	}
	for rank, got := range inProcesses(t, 2, line+two) {
		if got.status != exitDone || (got.stdout == "") != (rank > 0) || got.stderr != "" {
			t.Errorf("process %d: %+v", rank, got)
		}
	}
	var objectives []float64
	for _, out := range []string{one, two} {
		s, err := rundir.ReadSummary(rundir.Dir(out).Summary())
		if err != nil {
			t.Fatal(err)
		}
		objectives = append(objectives, s.Objective)
	}
	if d := math.Abs(objectives[0] - objectives[1]); !(d < 1e-9) {
		t.Errorf("the objectives are %v", objectives)
	}
}

// An error of process 0 ends all processes with its status.
func TestTogetherFails(t *testing.T) {
	for line, want := range map[string]string{
		"train --file missing.csv --label y":                                      "no such file",
		"train --dataset synthetic-compas --problem dp --engine gorgonia --out x": "several processes",
	} {
		for rank, got := range inProcesses(t, 3, line) {
			if rank == 0 && (got.status != exitUsage || !strings.Contains(got.stderr, want)) || rank > 0 && got.stderr+got.stdout != "" {
				t.Errorf("%s: process %d: %+v", line, rank, got)
			}
		}
	}
}
