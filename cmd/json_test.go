package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
)

// With --json the standard output is one value: of train the summary of the run's directory, of
// sweep the points of its file, of data list a data set each.
func TestJSON(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "members.csv")
	require.NoError(t, os.WriteFile(file, []byte(members(300)), 0o644))
	out := filepath.Join(dir, "run")
	base := []string{"--file", file, "--label", "member", "--iterations", "5", "--allow-violation", "--json", "--out"}
	got := forReal(t, append([]string{"train", "--subject-to", "positive_rate <= 0.9"}, append(base, out)...)...)
	want, err := os.ReadFile(filepath.Join(out, "summary.json"))
	if err != nil || got.status != exitDone || !bytes.Equal(want, []byte(got.stdout)) {
		t.Errorf("%v %d\n%s", err, got.status, got.stdout)
	}
	got = forReal(t, append([]string{"sweep", "--over", "positive_rate", "--values", "0.9,0.5"}, append(base, filepath.Join(dir, "sweep"))...)...)
	var points []struct {
		Bound float64
		Run   string
	}
	if err := json.Unmarshal([]byte(got.stdout), &points); err != nil || len(points) != 2 || points[1].Bound != 0.5 || points[1].Run == "" {
		t.Errorf("%v %+v %s", err, points, got.stderr)
	}
	var list struct {
		Sets []struct{ Name, Description string } `json:"data_sets"`
	}
	if err := json.Unmarshal([]byte(with("", "data", "list", "--json").stdout), &list); err != nil || len(list.Sets) < 8 || list.Sets[0].Description == "" {
		t.Errorf("%v %+v", err, list)
	}
	table := with("", "data", "list").stdout
	for _, set := range list.Sets {
		if !strings.Contains(table, "\n"+set.Name+" ") {
			t.Errorf("%s is not in the table", set.Name)
		}
	}
}
