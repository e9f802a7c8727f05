package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/racing"
	"ppal/internal/require"
	"ppal/trainer/session"
)

// A run on a file in any layout has the weights of the run on the plain file. predict, evaluate,
// verify and train --config read the file in the layout that the run states.
func TestLayoutsOfTheCommandLine(t *testing.T) {
	racing.Skip(t, "TestTableInfeasible and TestNamesOfFiles run the same goroutines")
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	ppal := func(args ...string) string {
		t.Helper()
		o := commandOn(t.Context(), func(a *app) { a.open = session.New }, args...)
		if o.status != exitDone && o.status != exitUnmet {
			t.Fatalf("%q: status %d, %s", args, o.status, o.stderr)
		}
		return o.stdout
	}
	weights := func(run string) []byte {
		t.Helper()
		return require.Value(os.ReadFile(filepath.Join(dir, run, "model.safetensors")))(t)
	}
	var plain, bare, one, zero strings.Builder
	plain.WriteString("sex,\"age, years\",x,pay\n")
	bare.WriteString("an export\n")
	for i := range 200 {
		sex, age, pay := []string{"F", "M"}[i%2], 20+i*7%45, []string{"no", "yes"}[(i*i+i/3)%5/3]
		x := []string{fmt.Sprintf("%d.25", i*i%17), "?"}[i%9/8]
		fmt.Fprintf(&plain, "%s,%d,%s,%s\n", sex, age, x, pay)
		fmt.Fprintf(&bare, "%s\t%d\t%s\t%s\n", sex, age, strings.Replace(x, "?", "-200", 1), pay)
		fmt.Fprintf(&one, "%d 1:%d 2:%d 4:1\n", (i*i+i/3)%5/3, 1-i%2, i%7)
		fmt.Fprintf(&zero, "%d 0:%d 1:%d 3:1\n", (i*i+i/3)%5/3, 1-i%2, i%7)
	}
	table := []string{"--label", "pay=yes", "--missing", "impute", "--features", `sex,"age, years",x`, "--subject-to", `gap(positive_rate, "age, years<40") <= 0.1; fpr["age, years<40"] <= 0.9`}
	sparse := []string{"--dataset", "libsvm"}
	for _, c := range []struct {
		name, plain, other string
		flags, own         []string
		bound              []string // of the two files
		by                 string
	}{
		{"csv", write("plain.csv", plain.String()), write("bare.tsv", bare.String()), table,
			[]string{"--columns", `sex,"age, years",x,pay`, "--skip", "1", "--missing-values", "-200", "--quote", "none"}, nil, "age, years<40"},
		{"libsvm", write("one.svm", one.String()), write("zero.svm", zero.String()), sparse, []string{"--zero-based"},
			[]string{"gap(positive_rate, 1) <= 0.1", "gap(positive_rate, 0) <= 0.1"}, "1"},
	} {
		runs := []string{c.name + "-plain", c.name + "-other", c.name + "-again"}
		for i, file := range []string{c.plain, c.other} {
			args := append([]string{"train", "--quiet", "--iterations", "30", "--file", file, "--out", filepath.Join(dir, runs[i])}, c.flags...)
			if i == 1 {
				args = append(args, c.own...)
			}
			if c.bound != nil {
				args = append(args, "--subject-to", c.bound[i])
			}
			ppal(args...)
		}
		ppal("train", "--quiet", "--config", filepath.Join(dir, runs[1], "config.yaml"), "--out", filepath.Join(dir, runs[2]))
		for _, run := range runs[1:] {
			if !bytes.Equal(weights(runs[0]), weights(run)) {
				t.Errorf("%s has other weights", run)
			}
		}
		first, other := filepath.Join(dir, runs[0]), filepath.Join(dir, runs[1])
		if a, b := ppal("predict", first, "--input", c.plain), ppal("predict", other, "--input", c.other); a != b {
			t.Errorf("%s: the predictions differ", c.name)
		}
		rates := func(run, file string) string { // without the names of groups, which are the file's
			_, text, _ := strings.Cut(ppal("evaluate", run, "--input", file), "\n")
			line, _, _ := strings.Cut(text, "\n")
			return line
		}
		if a, b := rates(first, c.plain), rates(other, c.other); a != b {
			t.Errorf("%s: %s, want %s", c.name, b, a)
		}
		if text := ppal("evaluate", other, "--input", c.other, "--by", c.by); !strings.Contains(text, c.by) {
			t.Errorf("%s: no groups by %s in\n%s", c.name, c.by, text)
		}
		ppal("verify", other)
	}
}
