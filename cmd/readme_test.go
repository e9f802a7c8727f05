package cmd

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// README.md and guides show what their commands print: whole tables, and lines
// that follow them.
func TestReadmeOutput(t *testing.T) {
	require.NoRace(t, "TestTableInfeasible and TestNamesOfFiles run the same goroutines")
	read := func(name ...string) string {
		text := require.Value(os.ReadFile(filepath.Join(append([]string{".."}, name...)...)))(t)
		return string(text)
	}
	command := func(of, text string) []string {
		t.Helper()
		line := regexp.MustCompile(of).FindString(text)
		var args []string
		for _, arg := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1)[1:] {
			args = append(args, strings.Trim(arg, `"`))
		}
		return args
	}
	readme, start := read("README.md"), read("docs", "guides", "start.md")
	fairlearn, cooper := read("docs", "guides", "from-fairlearn.md"), read("docs", "guides", "from-cooper.md")
	makefile := read("Makefile")
	data := os.Getenv("PPAL_DATA")
	t.Chdir(t.TempDir())
	columnsOf(t, filepath.Join(data, "compas", "compas-scores-two-years.csv"), "people.csv",
		"sex", "age", "priors_count", "juv_fel_count", "c_charge_degree", "two_year_recid")
	people := `bin/ppal train --file people.csv .*`
	for _, c := range []struct {
		name, page string
		block      int
		args       []string
		data       string
	}{
		{"README.md", readme, 0, command(`bin/ppal train --dataset adult .*`, readme), "adult"},
		{"start.md", start, 0, command(`\./bin/ppal train .*`, makefile), ""},
		{"start.md", start, 1, command(`bin/ppal train .* --confidence 0.95`, start), ""},
		{"from-fairlearn.md", fairlearn, 0, command(people, fairlearn), "compas"},
		{"from-cooper.md", cooper, 0, command(people, cooper), "compas"},
	} {
		blocks := regexp.MustCompile(`(?m)^    constraint .*\n((    .*)?\n)*`).FindAllString(c.page, -1)
		if len(blocks) <= c.block {
			t.Fatalf("%s has %d outputs", c.name, len(blocks))
		}
		if c.data != "" {
			if _, err := os.Stat(filepath.Join(data, c.data)); data == "" || err != nil {
				t.Logf("PPAL_DATA has no %s", c.data)
				continue
			}
			if !slices.Contains(c.args, "--file") {
				c.args = append(c.args, "--data-dir", data)
			}
		}
		run := filepath.Join(t.TempDir(), "run")
		o := commandOn(t.Context(), func(a *app) { a.open = session.New }, append(c.args, "--quiet", "--out", run)...)
		if o.status != exitDone {
			t.Fatalf("%q: status %d, %s", c.args, o.status, o.stderr)
		}
		rest := "\n" + o.stdout
		for paragraph := range strings.SplitSeq(strings.TrimRight(blocks[c.block], "\n"), "\n\n") {
			want := strings.ReplaceAll("\n"+paragraph, "\n    ", "\n") + "\n"
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("%q: %s shows\n%s\nand the program prints\n%s", c.args, c.name, want, o.stdout)
			} else if first, _, _ := strings.Cut(after, "\n"); strings.HasPrefix(want, "\nconstraint ") && first != "" {
				t.Errorf("%s leaves out a line of the table of %q: %s", c.name, c.args, first)
			}
			rest = "\n" + after
		}
		if c.name == "start.md" && c.block == 0 {
			checkDemo(t, run)
		}
	}
}

// columnsOf writes columns of a CSV file to another file. Of columns with one name it takes the
// first, as pandas does. Without the file it does nothing.
func columnsOf(t *testing.T, from, to string, columns ...string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		return
	}
	rows := require.Value(csv.NewReader(strings.NewReader(string(text))).ReadAll())(t)
	out := require.Value(os.Create(to))(t)
	w := csv.NewWriter(out)
	for _, row := range rows {
		var own []string
		for _, name := range columns {
			own = append(own, row[slices.Index(rows[0], name)])
		}
		require.NoError(t, w.Write(own))
	}
	w.Flush()
	require.NoError(t, errors.Join(w.Error(), out.Close()))
}

// checkDemo checks that the demo of make run ends with a bound that holds on the decisions of all
// splits, including the test rows. The model does not reject everybody.
func checkDemo(t *testing.T, dir string) {
	t.Helper()
	sum := require.Value(rundir.ReadSummary(rundir.Dir(dir).Summary()))(t)
	if sum.Outcome == nil || sum.BoundsOn != constraints.OnDecisions || len(sum.Outcome.Constraints) == 0 {
		t.Fatalf("%+v", sum.Outcome)
	}
	for _, c := range sum.Outcome.Constraints {
		for _, split := range results.Splits() {
			if v := c.Of(split); v == nil || *v > c.Bound+5e-4 || !c.Met {
				t.Errorf("%s on %s rows: %v, met %v", c.Constraint, split, v, c.Met)
			}
		}
	}
	if a := sum.AcceptanceRate.Train; *a < 0.05 {
		t.Errorf("acceptance rate %v", *a)
	}
}
