package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models/predictor"
)

// weighedMembers returns rows with a weight of 0 to 3, a score, and a split, and the rows of which
// each stands as often as its weight says.
func weighedMembers(rows int) (weighed, repeated string) {
	lines := strings.Split(strings.TrimSpace(members(rows)), "\n")
	var a, b strings.Builder
	a.WriteString(lines[0] + ",w,score,part\n")
	b.WriteString(lines[0] + ",w,score,part\n")
	for i, line := range lines[1:] {
		w, score, part := (i*7+i/3)%4, float64(i*7%60)/10-3, []string{"train", "train", "validation", "test"}[i*5%7%4]
		fmt.Fprintf(&a, "%s,%d,%g,%s\n", line, w, score, part)
		for range w {
			fmt.Fprintf(&b, "%s,1,%g,%s\n", line, score, part)
		}
	}
	return a.String(), b.String()
}

// TestWeights trains with --weight in many ways. Every run is verified. Its evaluation on rows with
// weights equals that on rows that stand as often as their weights say, and with bounds on
// surrogates the trained values do, too.
func TestWeights(t *testing.T) {
	require.NoRace(t, "it trains many runs")
	dir := t.TempDir()
	weighed, repeated := weighedMembers(600)
	file, plain := filepath.Join(dir, "weighed.csv"), filepath.Join(dir, "repeated.csv")
	unweighed := strings.Replace(weighed, ",w,", ",v,", 1)
	for path, text := range map[string]string{file: weighed, plain: repeated, filepath.Join(dir, "plain.csv"): unweighed} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for name, tc := range map[string]struct {
		args  []string
		equal bool // the repeated rows give the same values
	}{
		"plain":     {[]string{"--label", "member=yes", "--iterations", "15"}, true},
		"dp":        {[]string{"--label", "member=yes", "--group", "job=nurse", "--problem", "dp", "--iterations", "15"}, true},
		"network":   {[]string{"--label", "member=yes", "--group", "job=nurse", "--problem", "eo", "--model", "mlp", "--hidden", "4", "--iterations", "9"}, true},
		"memory":    {[]string{"--label", "member=yes", "--group", "job=nurse", "--problem", "dp", "--iterations", "15", "--memory", "200MiB"}, true},
		"classes":   {[]string{"--label", "job", "--subject-to", "recall[*] >= 0.2", "--iterations", "30"}, false},
		"decisions": {[]string{"--label", "member=yes", "--subject-to", "gap(tpr, job) <= 0.1", "--subject-to", "fpr <= 40%"}, false},
		"batches":   {[]string{"--label", "member=yes", "--subject-to", "fpr <= 40%", "--batch-size", "64", "--iterations", "40"}, false},
		"class":     {[]string{"--label", "member=yes", "--class-weight", "yes=3", "--iterations", "15"}, true},
		"scores":    {[]string{"--label", "member=yes", "--subject-to", "gap(positive_rate, job) <= 0.1", "--model", "scores", "--score", "score", "--thresholds", "by-group"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			common := append([]string{"train", "--quiet", "--split-column", "part"}, tc.args...)
			if name != "scores" {
				common = append(common, "--ignore", "score")
			}
			run := filepath.Join(dir, name)
			if got := forReal(t, append(slices.Clone(common), "--file", file, "--weight", "w", "--out", run)...); got.status != exitDone {
				t.Fatal(got)
			}
			if got := forReal(t, "verify", run); got.status != exitDone {
				t.Errorf("verify: status %d, %s%s", got.status, got.stdout, got.stderr)
			}
			evaluated := func(input string, args ...string) (e predictor.Evaluation) {
				got := forReal(t, append([]string{"evaluate", run, "--input", input, "--json"}, args...)...)
				if err := json.Unmarshal([]byte(got.stdout), &e); err != nil || got.status != exitDone {
					t.Fatal(err, got)
				}
				return e
			}
			a, b := evaluated(file), evaluated(plain, "--weight", "")
			if a.Weight != "w" || b.Weight != "" || a.Rows >= 600 || b.Rows <= 600 || fmt.Sprint(a.Confusion) != fmt.Sprint(b.Confusion) {
				t.Errorf("%d rows by %q with %v, want %d by %q with %v", a.Rows, a.Weight, a.Confusion, b.Rows, b.Weight, b.Confusion)
			}
			without := forReal(t, "evaluate", run, "--input", filepath.Join(dir, "plain.csv"))
			if want := `no column "w"`; without.status != exitUsage || !strings.Contains(without.stderr, want) || !strings.Contains(without.stderr, `count each row once (--weight "")`) {
				t.Errorf("without weights: status %d, %s, want %s", without.status, without.stderr, want)
			}
			for k, g := range a.Rates.ByGroup {
				for rate, r := range g.Rates {
					if other := b.Rates.ByGroup[k].Rates[rate]; r.Value != other.Value || r.Interval[1]-r.Interval[0] < other.Interval[1]-other.Interval[0] {
						t.Errorf("%s of %s: %+v, want %+v with a wider interval", rate, g.Group, r, other)
					}
				}
			}
			for j, c := range a.Constraints {
				if v := b.Constraints[j].Value; math.Abs(*c.Value-*v) > 1e-12 {
					t.Errorf("%s is %v, want %v", c.Constraint, *c.Value, *v)
				}
			}
			if !tc.equal {
				return
			}
			again := filepath.Join(dir, name+" repeated")
			if got := forReal(t, append(slices.Clone(common), "--file", plain, "--ignore", "w", "--out", again)...); got.status != exitDone {
				t.Fatal(got)
			}
			x := require.Value(rundir.ReadSummary(rundir.Dir(run).Summary()))(t)
			y := require.Value(rundir.ReadSummary(rundir.Dir(again).Summary()))(t)
			for _, name := range slices.Sorted(maps.Keys(x.Test)) {
				if math.Abs(x.Test[name]-y.Test[name]) > 2e-5 {
					t.Errorf("test %s is %v, want %v", name, x.Test[name], y.Test[name])
				}
			}
			if math.Abs(x.Objective-y.Objective) > 2e-5 {
				t.Errorf("the objective is %v, want %v", x.Objective, y.Objective)
			}
		})
	}
}

// TestBadWeights refuses weights that cannot be counted in one line, with the place in the file.
func TestBadWeights(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		weights [4]string // of the rows
		args    []string
		says    string
	}{
		"negative":   {[4]string{"1", "-1", "1", "1"}, nil, `row 2: column "w": the weight -1: not a finite number from 0`},
		"huge":       {[4]string{"1", "1e200", "1", "1"}, nil, `row 2: column "w": the weight 1e+200: not a finite number from 0`},
		"text":       {[4]string{"1", "x", "1", "1"}, nil, `line 3, column 3: w: the weight "x" is not a finite number`},
		"missing":    {[4]string{"1", "1", "", "1"}, nil, `line 4, column 3: w: missing value`},
		"imputed":    {[4]string{"1", "1", "", "1"}, []string{"--missing", "impute"}, `line 4, column 3: w: missing value`},
		"infinite":   {[4]string{"1", "1", "inf", "1"}, nil, `line 4, column 3: w: "inf" is not a finite number`},
		"zeros":      {[4]string{"0", "0", "0", "0"}, nil, `column "w": no rows: all weights are 0`},
		"no column":  {[4]string{"1", "1", "1", "1"}, []string{"--weight", "v"}, `no column "v"`},
		"label":      {[4]string{"1", "1", "1", "1"}, []string{"--weight", "y"}, `cannot be the label`},
		"ranking":    {[4]string{"1", "1", "1", "1"}, []string{"--query", "x"}, `a ranking counts pairs of documents, which have no weights`},
		"confidence": {[4]string{"1", "2", "1", "2"}, []string{"--subject-to", "fpr <= 0.5", "--confidence", "0.9", "--split", "50/50/0"}, `no proof covers`},
	} {
		file := filepath.Join(dir, "table.csv")
		text := "y,x,w\n"
		for i, w := range tc.weights {
			for range 3 {
				text += fmt.Sprintf("%d,%d,%s\n", i%2, i, w)
				if name != "confidence" {
					break
				}
			}
		}
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		got := forReal(t, append([]string{"train", "--quiet", "--file", file, "--label", "y", "--weight", "w", "--out", filepath.Join(dir, "run")}, tc.args...)...)
		if lines := strings.Split(strings.TrimSpace(got.stderr), "\n"); got.status != exitUsage || len(lines) != 1 || !strings.Contains(got.stderr, tc.says) {
			t.Errorf("%s: status %d, want the line %q, got\n%s", name, got.status, tc.says, got.stderr)
		}
	}
}

// TestWeightsOfPredictions counts the decisions of a file with weights, as those of rows that stand
// as often as their weights say; the paired differences of diff refuse weights.
func TestWeightsOfPredictions(t *testing.T) {
	dir := t.TempDir()
	weighed, repeated := weighedMembers(90)
	var evaluated [2]predictor.Evaluation
	for k, text := range []string{weighed, repeated} {
		file := filepath.Join(dir, fmt.Sprint(k, ".csv"))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		args := []string{"evaluate", "--predictions", file, "--label", "member=yes", "--score", "score", "--threshold", "0", "--by", "job", "--json"}
		if k == 0 {
			args = append(args, "--weight", "w")
			got := forReal(t, "diff", file, file, "--label", "member=yes", "--score", "score", "--threshold", "0", "--weight", "w")
			if got.status != exitUsage {
				t.Errorf("diff: %+v", got)
			}
		}
		if got := forReal(t, args...); got.status != exitDone {
			t.Fatal(got)
		} else if err := json.Unmarshal([]byte(got.stdout), &evaluated[k]); err != nil {
			t.Fatal(err)
		}
	}
	a, b := evaluated[0], evaluated[1]
	if a.Weight != "w" || fmt.Sprint(a.Confusion) != fmt.Sprint(b.Confusion) || len(a.Comparisons) == 0 || len(a.Comparisons) != len(b.Comparisons) {
		t.Fatalf("%+v, want %+v", a, b)
	}
	for k, c := range a.Comparisons {
		if d := b.Comparisons[k]; c.Difference.Value != d.Difference.Value || c.Difference.Interval[1] < d.Difference.Interval[1] {
			t.Errorf("%s: %+v, want %+v with a wider interval", c.Rate, c, d)
		}
	}
}
