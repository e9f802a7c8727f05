package rundir_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/rundir"
)

// lines returns the lines of records of the given iterations.
func lines(iterations ...int) string {
	var text strings.Builder
	for _, k := range iterations {
		fmt.Fprintf(&text, "{\"iteration\":%d,\"objective\":%d.5,\"train_error\":0.25}\n", k, k)
	}
	return text.String()
}

// LastRecord returns the last complete record of a file, also if its line is longer than the first
// bytes that it reads.
func TestLastRecord(t *testing.T) {
	path := rundir.Dir(t.TempDir()).Metrics()
	if _, err := rundir.LastRecord(path); err == nil {
		t.Error("no error for a missing file")
	}
	long := strings.Replace(lines(7), "0.25", "0.25"+strings.Repeat("0", 300_000), 1)
	for _, c := range []struct {
		content string
		want    int // -1: none
	}{
		{"", -1}, {lines(0)[:10], -1}, {lines(0), 0}, {lines(0, 5), 5}, {lines(0, 5) + lines(10)[:7], 5}, {lines(3) + long, 7}, {long + lines(8), 8}, {long[:200_000], -1},
	} {
		require.NoError(t, os.WriteFile(path, []byte(c.content), 0o644))
		r, err := rundir.LastRecord(path)
		if err != nil || (r == nil) != (c.want < 0) || r != nil && (r.Iteration != c.want || r.Objective != float64(c.want)+0.5 || r.Measures["train_error"] != 0.25) {
			t.Errorf("%.60q: %+v, %v, want %d", c.content, r, err, c.want)
		}
	}
	require.NoError(t, os.WriteFile(path, []byte("{}}\n"), 0o644))
	if _, err := rundir.LastRecord(path); err == nil || !strings.Contains(err.Error(), "metrics.jsonl") {
		t.Error(err)
	}
}
