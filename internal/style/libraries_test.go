package style

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
)

// Users of the library link no pages and pictures of runs, and only those who read files of tables
// link the reader of Parquet.
func TestLibrariesLink(t *testing.T) {
	pages := []string{"html/template", "/internal/report"}
	for path, without := range map[string][]string{
		"./trainer":          append([]string{"/parquet-go", "/datasets"}, pages...),
		"./trainer/graph":    append([]string{"/parquet-go", "/datasets"}, pages...),
		"./constraints":      append([]string{"/parquet-go"}, pages...),
		"./models/predictor": append([]string{"/parquet-go"}, pages...),
		"./trainer/session":  pages,
	} {
		command := exec.Command("go", "list", "-deps", path)
		command.Dir = "../.."
		list := require.Value(command.Output())(t)
		for _, p := range strings.Fields(string(list)) {
			if slices.ContainsFunc(without, func(end string) bool { return strings.HasSuffix(p, end) }) {
				t.Errorf("%s links %s", path, p)
			}
		}
	}
}
