package cmd

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/internal/option"
	"ppal/internal/oracle"
	"ppal/internal/report"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer/method"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// A comparison of three methods prints the table and the settings of each method, and writes the
// plots. A method's own setting goes only to the methods that have it.
func TestCompare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	got := command(t.Context(), nil, "compare", "--methods", "ppala,gdpa,penalty", "--seeds", "2", "--iterations", "20", "--alpha", "5",
		"--set", "gdpa.step=0.01", "--out", dir)
	if got.status != exitDone {
		t.Fatal(got.stderr)
	}
	for _, text := range []string{"ppala ", "gdpa ", "penalty\n", "20 iterations", "Difference from ppala", "Files in " + dir} {
		if !strings.Contains(got.stdout, text) {
			t.Errorf("no %q in\n%s", text, got.stdout)
		}
	}
	table := text(t, dir, "summary.md")
	for _, part := range []string{"| ppala |", "| gdpa |", "`--alpha 5`", "`--gdpa-step 0.01`"} {
		if !strings.Contains(table, part) {
			t.Errorf("no %q in\n%s", part, table)
		}
	}
	if strings.Count(table, "--alpha 5") != 1 {
		t.Error("--alpha was given to others than ppala")
	}
	if !strings.Contains(got.stderr, "6 of 6 runs done") {
		t.Errorf("stderr: %s", got.stderr)
	}
	again := command(t.Context(), nil, "compare", "--methods", "ppala,gdpa,penalty", "--seeds", "2", "--iterations", "20", "--alpha", "5",
		"--set", "gdpa.step=0.01", "--quiet", "--plot-format", "pdf", "--out", dir)
	if again.stdout != got.stdout || again.stderr != "" {
		t.Errorf("with --quiet: %s%s", again.stdout, again.stderr)
	}
	if pdf := text(t, dir, "plots", "overview.pdf"); !strings.HasPrefix(pdf, "%PDF-") {
		t.Errorf("overview.pdf begins with %.9q", pdf)
	}
	if got := command(t.Context(), nil, "compare", "--plot-format", "gif"); got.status != exitUsage || !strings.Contains(got.stderr, "must be svg, pdf or png") {
		t.Errorf("status %d, %s", got.status, got.stderr)
	}
}

// --merge takes directories from a repeated flag, and as a pattern of the shell lists them. The
// table has the seeds of all.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	var parts []string
	for _, seed := range []string{"1", "2,3", "4,6"} {
		parts = append(parts, filepath.Join(dir, seed[:1]))
		if got := command(t.Context(), nil, "compare", "--seeds", seed, "--iterations", "2", "--out", parts[len(parts)-1]); got.status != exitDone {
			t.Fatal(got.stderr)
		}
	}
	for i, args := range [][]string{{"--merge", parts[0], "--merge", parts[1], "--merge", parts[2]}, append([]string{"--merge"}, parts...)} {
		into := filepath.Join(dir, "all", strconv.Itoa(i))
		got := command(t.Context(), nil, append([]string{"compare", "--out", into}, args...)...)
		if got.status != exitDone || !strings.Contains(got.stdout, "seeds 1-4, 6") {
			t.Errorf("%v: status %d, %s%s", args, got.status, got.stdout, got.stderr)
		}
	}
}

// For each method and seed, a comparison judges the bounds as train does, with the numbers of
// train's summary.json: in the marks of the runs, in the table, in summary.md and on the page.
func TestCompareJudgesAsTrain(t *testing.T) {
	require.NoRace(t, "TestCompare and TestTrainForReal run the same goroutines")
	dir := t.TempDir()
	file := filepath.Join(dir, "members.csv")
	small := strings.NewReplacer("18,clerk", "18,pilot", "25,nurse", "25,pilot").Replace(members(240)) // pilot: a group that is too small
	require.NoError(t, os.WriteFile(file, []byte(small), 0o644))
	for kind, flags := range map[string][]string{
		"decisions": {"--subject-to", "gap(positive_rate, age<40) <= 0.05; fpr[job=*] <= 0.02; fnr <= 0.3"},
		"gap":       {"--subject-to", "gap(positive_rate, age<40) <= 0.1"},
		"surrogate": {"--problem", "dp", "--group", "age<40", "--epsilon", "0.05"},
	} {
		flags = append(flags, "--file", file, "--label", "member", "--iterations", "40")
		var methods []string
		own := map[string][]string{} // flags that give train the steps of a comparison
		for _, d := range method.All() {
			if slices.Contains([]string{"multiplier-model", "nl-iapial", "unconstrained", oracle.Name}, d.Name) || len(methods) == 2 && !(d.Name == "alm" || kind == "decisions" && slices.Contains([]string{"ppala", "ssg", "penalty"}, d.Name)) {
				continue // the judgement knows no method
			}
			methods = append(methods, d.Name)
			if slices.ContainsFunc(option.Of(d.New()), func(o *option.Option) bool { return o.Name == "primal" }) {
				own[d.Name] = []string{"--primal", "nesterov"}
			}
		}
		own["gdpa"] = append(own["gdpa"], "--gdpa-step", "auto")
		out := filepath.Join(dir, kind)
		all := forReal(t, append([]string{"compare", "--methods", strings.Join(methods, ","), "--seeds", "1", "--out", out}, flags...)...)
		if all.status != exitDone {
			t.Fatalf("%s: status %d, %s", kind, all.status, all.stderr)
		}
		states, smoothDiffers := map[constraints.State]bool{}, false
		for _, name := range methods {
			run := filepath.Join(dir, kind+"-"+name)
			if got := forReal(t, slices.Concat([]string{"train", "--method", name, "--quiet", "--out", run}, own[name], flags)...); got.status != exitDone {
				t.Fatalf("%s: status %d, %s", name, got.status, got.stderr)
			}
			want := require.Value(rundir.ReadSummary(filepath.Join(run, "summary.json")))(t)
			var mark struct{ Summary results.Summary }
			require.NoError(t, json.Unmarshal([]byte(text(t, out, "runs", name+"-seed1.done")), &mark))
			got := mark.Summary
			if diff := cmp.Diff(want.Outcome, got.Outcome); diff != "" {
				t.Errorf("%s, %s: %s", kind, name, diff)
			}
			if got.Objective != want.Objective || got.MaxViolation != want.MaxViolation || got.Certificate.Epsilon != want.Certificate.Epsilon {
				t.Errorf("%s, %s: objective %v, violation %v, epsilon %v, want %v, %v, %v", kind, name, got.Objective, got.MaxViolation,
					got.Certificate.Epsilon, want.Objective, want.MaxViolation, want.Certificate.Epsilon)
			}
			smoothDiffers = smoothDiffers || want.MaxViolation > 0.01 == want.Outcome.Met()
			table := text(t, out, "summary.md")
			_, line, _ := strings.Cut(table, "\n| "+name+" | ")
			line, _, _ = strings.Cut(line, "\n")
			if met := strings.Contains(line, "| 1 of 1 |"); met != want.Outcome.Met() {
				t.Errorf("%s, %s: the table says that the bounds are met: %v; train says %v\n%s", kind, name, met, want.Outcome.Met(), line)
			}
			if kind == "surrogate" {
				continue
			}
			for j := range want.Outcome.Constraints {
				c := &want.Outcome.Constraints[j]
				states[c.State] = true
				cells := []string{c.Number(c.Train), c.Number(c.Validation), c.Number(c.Test), report.CellText(want.Outcome, c)}
				if line := "| " + name + " | 1 | " + c.Measure() + " | "; !strings.Contains(table, line) || !strings.Contains(table, " | "+strings.Join(cells, " | ")+" |") {
					t.Errorf("summary.md of %s lacks %q with %q:\n%s", name, line, cells, table)
				}
				if page := text(t, out, "report.html"); !strings.Contains(page, ">"+cells[0]+"<") || !strings.Contains(page, ">"+cells[3]+"<") {
					t.Errorf("the page of %s lacks %q", name, cells)
				}
			}
		}
		if kind == "gap" && !smoothDiffers {
			t.Error("the smooth constraints judge all runs as the decisions do: the table tests too little")
		}
		if kind == "decisions" && (!states[constraints.NotMet] || !states[constraints.Met] && !states[constraints.MetToOneRow]) {
			t.Errorf("the states are %v: the table tests too little", states)
		}
	}
}

// text returns the text of a file.
func text(t *testing.T, parts ...string) string {
	t.Helper()
	data := require.Value(os.ReadFile(filepath.Join(parts...)))(t)
	return string(data)
}

// descent is the example of docs/guides; it needs NumPy.
const descent = "docs/guides/descent.py"

// A program beside the methods has the same budget, and its directory says how to run it. A name
// that is taken is refused.
func TestContender(t *testing.T) {
	if err := exec.Command("python3", "-c", "import numpy").Run(); err != nil {
		t.Skip("python3 with NumPy is missing: ", err)
	}
	out := filepath.Join(t.TempDir(), "out")
	program := "python3 " + filepath.Join("..", descent)
	got := commandOn(t.Context(), func(a *app) { a.open = session.New }, "compare", "--methods", "ppala", "--contender", program, "--rows-per-class", "20", "--hidden", "4",
		"--budget", "gradients:30", "--seeds", "3-3", "--out", out)
	if !regexp.MustCompile(`(?m)^gradients +30 +30$`).MatchString(got.stdout) {
		t.Error("another budget")
	}
	for _, text := range []string{"descent: steps and step sizes of their own", "bounds met"} {
		if got.status != exitDone || !strings.Contains(got.stdout, text) {
			t.Errorf("status %d, no %q in\n%s%s", got.status, text, got.stdout, got.stderr)
		}
	}
	if text, err := os.ReadFile(filepath.Join(out, "study.yaml")); err != nil || !strings.Contains(string(text), "program: "+program) {
		t.Errorf("%v in\n%s", err, text)
	}
	if got := command(t.Context(), nil, "compare", "--contender", "python3 ppala.py"); got.status != exitUsage || !strings.Contains(got.stderr, `--contender python3 ppala.py: its name, "ppala"`) {
		t.Errorf("status %d, %s", got.status, got.stderr)
	}
}

// Without another program's requests, train --oracle writes the header and the start, and nothing
// else, to its standard output.
func TestTrainOracle(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	got := commandOn(t.Context(), func(a *app) { a.open, a.stdin = session.New, strings.NewReader("Q") }, "train", "--oracle", "--rows-per-class", "20", "--hidden", "4", "--device", "cpu", "--out", out, "--allow-violation")
	header, start, _ := strings.Cut(got.stdout, "\n")
	if want := `{"problem":"oracle","n":`; got.status != exitDone || !strings.HasPrefix(header, want) || !strings.Contains(header, `"dtype":"float32"`) || len(start)%8 != 0 || len(start) == 0 {
		t.Errorf("status %d, %q and %d bytes, %s", got.status, header, len(start), got.stderr)
	}
}
