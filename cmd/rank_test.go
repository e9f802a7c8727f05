package cmd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppal/internal/require"
)

// Predict ranks consecutive documents of a query, across the batches of the input, and evaluate
// prints the errors of pairs; a run on rankings is verified.
func TestRankingCommands(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var text strings.Builder
	text.WriteString("id,q,grade,site,x\n")
	rows := 0
	for q := range 50 {
		for range 5 + rng.IntN(8) {
			x := rng.NormFloat64()
			grade := 0
			if x+rng.NormFloat64() > 0.3 {
				grade = 1
			}
			fmt.Fprintf(&text, "d%d,q%d,%d,%s,%.1f\n", rows, q, grade, []string{"a", "b"}[rng.IntN(2)], x)
			rows++
		}
	}
	dir := t.TempDir()
	file, out := filepath.Join(dir, "documents.csv"), filepath.Join(dir, "run")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	must := func(args ...string) string {
		t.Helper()
		o := forReal(t, args...)
		if o.status != 0 {
			t.Fatalf("%v: status %d, %s", args, o.status, o.stderr)
		}
		return o.stdout
	}
	must("train", "--file", file, "--query", "q", "--label", "grade", "--ignore", "id", "--iterations", "60",
		"--subject-to", "gap(cross_pair_error, site) <= 0.05", "--out", out, "--quiet")
	must("verify", out)
	lines := strings.Split(strings.TrimSpace(must("predict", out, "--input", file, "--keep", "id")), "\n")
	if len(lines) != rows+1 || lines[0] != "row,query,score,rank,id" {
		t.Fatalf("%d lines, the first is %s", len(lines), lines[0])
	}
	above := map[string]map[int]int{} // of each query, the documents of each rank
	for i, line := range lines[1:] {
		f := strings.Split(line, ",")
		rank, err := strconv.Atoi(f[3])
		if err != nil || f[0] != strconv.Itoa(i+1) || f[4] != "d"+strconv.Itoa(i) {
			t.Fatalf("line %d: %s", i+2, line)
		}
		if above[f[1]] == nil {
			above[f[1]] = map[int]int{}
		}
		above[f[1]][rank]++
	}
	for query, ranks := range above {
		next := 1
		for range ranks {
			if ranks[next] == 0 {
				t.Errorf("%s: the ranks are %v", query, ranks)
				break
			}
			next += ranks[next]
		}
	}
	for _, want := range []string{"of 50 queries", "NDCG@10", "site=a", "gap(cross_pair_error, site) <= 0.05"} {
		if table := must("evaluate", out, "--input", file); !strings.Contains(table, want) {
			t.Errorf("evaluate lacks %q:\n%s", want, table)
		}
	}
}
