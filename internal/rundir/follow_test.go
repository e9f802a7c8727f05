package rundir_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

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

// A Follower returns all complete records, also if a run that resumes removes and replaces some of
// them between two calls.
func TestFollower(t *testing.T) {
	dir := rundir.Dir(t.TempDir())
	f := dir.Follow()
	if _, err := f.Records(); err == nil {
		t.Error("no error for a missing file")
	}
	for _, step := range []struct {
		content string
		want    []int
	}{
		{"", nil}, {lines(0)[:10], nil}, {lines(0, 5), []int{0, 5}}, {lines(0, 5) + lines(10)[:7], []int{0, 5}},
		{lines(0, 5, 10), []int{0, 5, 10}}, {lines(0, 5), []int{0, 5}}, {lines(0, 5, 7, 8, 9, 10), []int{0, 5, 7, 8, 9, 10}},
		// The file was cut and has grown beyond its former size: the former end is within a line, or at
		// the end of a line.
		{lines(0, 123456, 123457), []int{0, 123456, 123457}}, {lines(0, 8), []int{0, 8}}, {lines(0, 4, 5), []int{0, 4, 5}},
	} {
		if err := os.WriteFile(dir.Metrics(), []byte(step.content), 0o644); err != nil {
			t.Fatal(err)
		}
		records, err := f.Records()
		var got []int
		for _, r := range records {
			got = append(got, r.Iteration)
			if r.Objective != float64(r.Iteration)+0.5 || r.Measures["train_error"] != 0.25 {
				t.Errorf("%+v", r)
			}
		}
		if err != nil || !slices.Equal(got, step.want) {
			t.Errorf("%q: %v, %v, want %v", step.content, got, err, step.want)
		}
	}
	if err := os.WriteFile(dir.Metrics(), []byte("{}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Follow().Records(); err == nil || !strings.Contains(err.Error(), "metrics.jsonl") {
		t.Error(err)
	}
}
