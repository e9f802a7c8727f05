package predictor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer/session"
)

const page = "../../docs/guides/using-a-model.md"

// The page's table lists the files of a run that a model needs.
func TestPageFiles(t *testing.T) {
	text := require.Value(os.ReadFile(page))(t)
	source := session.CSV(write(t, people(300)), "member", "age<40")
	source.Ignore, source.Missing = []string{"id"}, tabular.MissingImputed
	dir, _ := train(t, source, session.DemographicParity{})
	names := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(text), -1)
	if len(names) != 6 {
		t.Fatalf("the table lists %d files", len(names))
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name[1])); err != nil {
			t.Error(err)
		}
	}
	if m, err := rundir.Dir(dir).ReadModel(); err != nil || m.Rows != "rows.csv" {
		t.Errorf("%+v, %v", m, err)
	}
}

// The Go code of the page equals the code of the example.
func TestPageGo(t *testing.T) {
	text := require.Value(os.ReadFile(page))(t)
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(string(text))
	example, err := os.ReadFile("example_test.go")
	if block == nil || err != nil {
		t.Fatal(block, err)
	}
	for _, call := range regexp.MustCompile(`(predictor\.\w+|m\.\w+|b\.\w+)`).FindAllString(block[1], -1) {
		if call != "b.Scores" && !strings.Contains(string(example), call) {
			t.Errorf("the example does not use %s", call)
		}
	}
}
