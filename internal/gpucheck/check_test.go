package gpucheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/bench"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/require"
)

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		r    Result
		want Status
	}{
		{AtMost("a", 1, 1, ""), Passed}, {AtMost("a", 1.01, 1, ""), Failed}, {AtMost("a", math.NaN(), 1, ""), Failed},
		{AtLeast("a", 1, 1, ""), Passed}, {AtLeast("a", 0.99, 1, ""), Failed}, {AtLeast("a", math.NaN(), 1, ""), Failed},
		{Measurement("a", 1, ""), Measured}, {Skipped("a", "why"), NotRun},
	} {
		if c.r.Status != c.want {
			t.Errorf("%+v, want %s", c.r, c.want)
		}
	}
}

func TestChoose(t *testing.T) {
	all := []Part{{Name: "a"}, {Name: "b", Hidden: true}, {Name: "c"}}
	for _, c := range []struct{ names, want string }{{"", "a c"}, {"c,b", "c b"}} {
		chosen, err := Choose(all, strings.FieldsFunc(c.names, func(r rune) bool { return r == ',' }))
		var got []string
		for _, p := range chosen {
			got = append(got, p.Name)
		}
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%q: %v, %v; want %s", c.names, got, err, c.want)
		}
	}
	if _, err := Choose(all, []string{"d"}); err == nil || !strings.Contains(err.Error(), `unknown part "d" (parts: a, c)`) {
		t.Errorf("unknown part: %v", err)
	}
}

// inProcess runs the cases of a part in this process.
func inProcess(t *testing.T, name string, o Options) (results []Result) {
	t.Helper()
	parts, err := Choose(Parts(), []string{name})
	require.NoError(t, err)
	err = Run(t.Context(), parts, o, func(l []Line) error { return nil }, func(p PartReport) error { results = p.Results; return nil })
	require.NoError(t, err)
	return results
}

// A case that ends early does not stop the other cases, and counts as a failure. Numbers that JSON
// cannot represent are failures too. Every case's results arrive as soon as the case has ended.
func TestRun(t *testing.T) {
	results := func(err error, r ...Result) Case {
		return Case{Name: "case", Run: func(context.Context, Options) ([]Result, error) { return r, err }}
	}
	parts := []Part{
		{Name: "broken", Cases: []Case{results(errors.New("no\nmemory"), Measurement("before", 1, "")), results(nil, AtMost("x", 2, 1, "ms"))}},
		{Name: "wrong", Cases: []Case{results(nil, Measurement("y", math.Inf(1), ""))},
			Finish: func(r []Result) []Result { return []Result{Measurement("count", float64(len(r)), "")} }},
		{Name: "right", Cases: []Case{results(nil, AtLeast("z", 2, 1, "x"), Skipped("w", "nothing there"))}},
	}
	report := &Report{}
	var table, events strings.Builder
	err := Run(t.Context(), parts, Options{Log: t.Logf}, func(list []Line) error {
		for _, l := range list {
			fmt.Fprintf(&events, "%s/%s/%s ", l.Part, l.Case, l.Name)
			if _, err := json.Marshal(l); err != nil {
				t.Error(err)
			}
		}
		return nil
	}, func(p PartReport) error {
		p.Seconds = 0
		fmt.Fprintf(&events, "end of %s ", p.Name)
		report.Parts = append(report.Parts, p)
		return p.WriteTable(&table)
	})
	if err != nil || report.Failures() != 3 {
		t.Errorf("error %v, %d failures, want 3", err, report.Failures())
	}
	const want = `broken (0.0 s)
  before                      measured  1           
  case: the case ended early  failed    0           no memory
  x                           failed    2 ms  <= 1  
wrong (0.0 s)
  y      failed    0     the value is +Inf; 
  count  measured  1     
right (0.0 s)
  z  passed   2 x  >= 1  
  w  not run             nothing there
`
	if diff := cmp.Diff(want, table.String()); diff != "" {
		t.Error(diff)
	}
	const order = "broken/case/before broken/case/case: the case ended early broken/case/x end of broken " +
		"wrong/case/y wrong//count end of wrong right/case/z right/case/w end of right "
	if diff := cmp.Diff(order, events.String()); diff != "" {
		t.Error(diff)
	}
}

// Options select cases by a text in the names of part and case.
func TestSelects(t *testing.T) {
	p, c := Part{Name: "bench"}, Case{Name: "mnpc int8x3"}
	for text, want := range map[string]bool{"": true, "int8x3": true, "bench mnpc": true, "parity": false} {
		if got := (Options{Cases: strings.Fields(text)}).selects(p, c); text != "bench mnpc" && got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if !(Options{Cases: []string{"parity", "bench mnpc"}}).selects(p, c) {
		t.Error("one of two texts does not select")
	}
}

func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ran := 0
	part := Part{Name: "a", Cases: []Case{{Name: "b", Run: func(context.Context, Options) ([]Result, error) { ran++; return nil, nil }}}}
	err := Run(ctx, []Part{part, part}, Options{Log: t.Logf}, func([]Line) error { return nil }, func(PartReport) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) || ran != 1 {
		t.Errorf("error %v after %d parts", err, ran)
	}
}

func TestSanitized(t *testing.T) {
	for _, c := range []struct {
		name, out string
		err       error
		want      Result
	}{
		{"clean", "========= ERROR SUMMARY: 0 errors\n", nil, Result{Status: Passed, Unit: "errors"}},
		{"errors", "========= Invalid __global__ write\n========= ERROR SUMMARY: 3 errors\n", errors.New("exit status 86"),
			Result{Status: Failed, Value: 3, Unit: "errors", Detail: "========= Invalid __global__ write ========= ERROR SUMMARY: 3 errors"}},
		{"races", "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n", nil, Result{Status: Passed, Unit: "errors"}},
		{"program failed", "ppal: wrong\n========= ERROR SUMMARY: 0 errors\n", errors.New("exit status 1"),
			Result{Status: Failed, Unit: "errors", Detail: "ppal: wrong ========= ERROR SUMMARY: 0 errors"}},
		{"refused", "========= Error: Device not supported.\n", errors.New("exit status 1"), Result{Status: NotRun, Detail: "Device not supported"}},
		{"silent", "", errors.New("exit status 2"), Result{Status: Failed, Detail: "no summary (exit status 2): "}},
	} {
		c.want.Name = "memcheck"
		if diff := cmp.Diff(c.want, sanitized("memcheck", c.out, c.err)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// script writes a shell script and returns its path.
func script(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755))
	return file
}

func TestSanitize(t *testing.T) {
	tool := script(t, "compute-sanitizer", `echo "$@" | grep -q -- '--error-exitcode 86 SELF gpu-check --part small' && echo "== ERROR SUMMARY: 0 errors"`)
	t.Setenv("PATH", filepath.Dir(tool)+":"+os.Getenv("PATH"))
	o := Options{Self: "SELF", Args: []string{"gpu-check"}, Log: t.Logf}
	got, err := sanitize(t.Context(), o, "memcheck")
	if err != nil || len(got) != 1 || got[0].Status != Passed {
		t.Errorf("got %+v, %v", got, err)
	}
	t.Setenv("PATH", "")
	t.Setenv("CUDA_HOME", t.TempDir())
	if _, err := os.Stat("/usr/local/cuda/bin/compute-sanitizer"); err == nil {
		t.Skip("this machine has the tool")
	}
	got, err = sanitize(t.Context(), o, "initcheck")
	if err != nil || len(got) != 1 || got[0].Status != NotRun || got[0].Detail != "compute-sanitizer is not installed" {
		t.Errorf("without the tool: %+v, %v", got, err)
	}
}

// onDouble returns options with a GPU that computes nothing. The test fails if a part uses the GPU
// wrongly or does not release an object.
func onDouble(t *testing.T) Options {
	return Options{Data: t.TempDir(), Shrink: 100, Log: t.Logf, Open: func() (driver.Driver, error) {
		r := double.New(double.Options{})
		t.Cleanup(func() {
			if v := r.Violations(); v != nil {
				t.Error(v)
			}
		})
		return r, nil
	}}
}

// The benchmark prepares, times and watches every case, and releases every object.
func TestBenchmark(t *testing.T) {
	results := inProcess(t, "bench", onDouble(t))
	launches := map[string]int{}
	results = slices.DeleteFunc(results, func(r Result) bool {
		label, _, is := strings.Cut(r.Name, ": launch ")
		if is {
			launches[label]++
		}
		return is
	})
	// Kernels and products of both halves, and of the step. With int8x3, two more kernels cut W and D
	// into digits, and two kernels join the sums of each product.
	for label, least := range map[string]int{"mnpc-fashion-mnist int8x3": 13, "mnpc-fashion-mnist own int8x3": 13, "mnpc-fashion-mnist tf32": 10,
		"mnpc-fashion-mnist float32": 10, "mnpc-fashion-mnist bf16x3": 13, "mnpc-cifar10 int8x3": 13, "if-communities float32": 11} {
		if launches[label] < least {
			t.Errorf("%s: %d kinds of launches, want at least %d", label, launches[label], least)
		}
	}
	if len(launches) != 7 {
		t.Errorf("launches of %v, want seven cases", launches)
	}
	// The copies; times, gap and busy of all cases; the ratio of all cases but the tables' case;
	// errors; the cases of the sweep.
	if want := 1 + 15*4 + 14 + 2*15 + len(sweep()); len(results) != want {
		t.Errorf("%d results, want %d", len(results), want)
	}
	for _, r := range results {
		if strings.HasSuffix(r.Name, ": an iteration") && (r.Value <= 0 || !strings.Contains(r.Detail, "data: synthetic")) {
			t.Errorf("%+v", r)
		}
		if strings.Contains(r.Name, "ended early") {
			t.Errorf("%+v", r)
		}
	}
}

func TestPeers(t *testing.T) {
	o := onDouble(t)
	o.Python = script(t, "python", `[ "$1" = -c ] && exit
grep -q 'torch.cuda.CUDAGraph' "$1" || exit 1
cat >> "`+o.Data+`/asked"
echo '{"name": "x", "torch": "2.0", "milliseconds": {"eager": 1000, "captured": 1e-9, "compiled, CUDA graphs": 1e-9, "JAX, compiled": 2000}, "failed": {"compiled": "no compiler"}}'
`)
	results := inProcess(t, "peers", o)
	count := map[Status]int{}
	for _, r := range results {
		count[r.Status]++
	}
	// With fifteen cases, the cases' own times and the results without a bound are Measured, six
	// results are slower and six are faster than their bounds, and fifteen results did not run.
	if want := map[Status]int{Measured: 15 + 10 + 14 + 9 + 15, Passed: 6, Failed: 6, NotRun: 15}; !cmp.Equal(count, want) {
		t.Errorf("statuses %v, want %v: %+v", count, want, results)
	}
	if !slices.ContainsFunc(results, func(r Result) bool { return r.Name == "mnpc-fashion-mnist tf32: JAX, compiled, over ppal" }) {
		t.Errorf("no result of JAX: %+v", results)
	}
	asked := require.Value(os.ReadFile(filepath.Join(o.Data, "asked")))(t)
	if n := strings.Count(string(asked), "seconds"); n != 5 {
		t.Errorf("PyTorch was asked %d times, want once for each of 5 shapes and precisions", n)
	}
	for _, want := range []string{
		`{"name":"mnpc-fashion-mnist tf32","kind":"images","rows":240,"features":784,"width":256,"classes":4,"groups":0,"tf32":true}`,
		`{"name":"if-communities float32","kind":"groups","rows":19,"features":145,"width":64,"classes":0,"groups":800,"tf32":false}`,
	} {
		if !strings.Contains(string(asked), want) {
			t.Errorf("asked %s, want %s in it", asked, want)
		}
	}
	o.Python = script(t, "python", `echo "No module named torch"; exit 1`)
	if results := inProcess(t, "peers", o); len(results) != 5 || !strings.Contains(results[0].Detail, "No module named torch") {
		t.Errorf("without PyTorch: %+v", results)
	}
}

// The part convolutions times every network, and asks PyTorch once for each.
func TestConvolutions(t *testing.T) {
	o := onDouble(t)
	o.Shrink = 2000
	o.Python = script(t, "python", `[ "$1" = -c ] && exit
grep -q 'functional.conv2d' "$1" || exit 1
cat >> "`+o.Data+`/asked"
echo '{"name": "x", "torch": "2.0", "milliseconds": {"eager": 1000, "captured, channels last": 1e-9}, "failed": {"compiled": "no compiler"}}'
`)
	results, launches, kinds := inProcess(t, "convolutions", o), 0, ""
	for _, r := range results {
		if strings.Contains(r.Name, ": launch ") {
			launches++
			kinds += r.Name
		}
		if strings.Contains(r.Name, "ended early") || strings.HasSuffix(r.Name, "backward") && !(r.Value > 0) {
			t.Errorf("%+v", r)
		}
	}
	if want := len(networks())*(2+4) - 4 + 2; len(results)-launches != want || launches < 150 { // 4: group norm has no rivals
		t.Errorf("%d results and %d launches, want %d: %+v", len(results)-launches, launches, want, results)
	}
	for _, kind := range []string{"patches_sum", "max_pool_grad", "normalize_grad"} {
		if !strings.Contains(kinds, kind) {
			t.Errorf("no launch of %s is timed", kind)
		}
	}
	asked := require.Value(os.ReadFile(filepath.Join(o.Data, "asked")))(t)
	if want := `"kind":"pictures","rows":10,"features":3072,"width":0,"classes":4,"groups":0,"tf32":true,"filters":[64,64,128,128,256,256],"pooled":2}`; !strings.Contains(string(asked), want) {
		t.Errorf("asked %s, want %s in it", asked, want)
	}
	if n := networks()[1]; math.Abs(n.flops()-913e6) > 2e6 {
		t.Errorf("%v flops of VGG-small, want 913 million", n.flops())
	}
}

func TestJudge(t *testing.T) {
	s := bench.Shape{Rows: 24000, Features: 784, Width: 256}
	tf32, float32s := timedCases()[2], timedCases()[3]
	// 147.5 MB at 70% of 4 TB/s take 0.0527 ms. With 0.04 ms of launches and products of 0.08 ms
	// the bound is 0.1727 ms, 2.16 times the products.
	for _, c := range []struct {
		ms   float64
		want Status
	}{{0.15, Passed}, {0.17, Passed}, {0.18, Failed}} {
		r := tf32.judge(s, c.ms, 0.08, 4e12)
		if got := r[len(r)-1]; got.Status != c.want || math.Abs(got.Bound-2.158) > 0.001 {
			t.Errorf("%v ms: %+v, want %s", c.ms, got, c.want)
		}
	}
	if r := float32s.judge(s, 0.4, 0.3, 4e12); r[2].Status != Failed || r[2].Bound != 1.3 {
		t.Errorf("float32: %+v", r[2])
	}
}

// The pack contains the compressed program, first-run.sh and the files of the data. Without these
// files, or with files that are too large for the machine, the pack fails.
func TestPack(t *testing.T) {
	dir := t.TempDir()
	program, folder := filepath.Join(dir, "program"), filepath.Join(dir, "pack")
	data := filepath.Join(dir, "fashion-mnist")
	empty := require.Value(exec.Command("sh", "-c", "gzip -c </dev/null").Output())(t)
	files := []string{"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}
	require.NoError(t, errors.Join(os.WriteFile(program, []byte("program"), 0o755), os.Mkdir(data, 0o755)))
	pack := func() (string, error) {
		out, err := exec.Command("sh", "pack.sh", program, dir, folder).CombinedOutput()
		return string(out), err
	}
	for _, name := range files {
		if out, err := pack(); err == nil || !strings.Contains(out, "-ubyte.gz is not there") {
			t.Errorf("without %s: %v, %s", name, err, out)
		}
		require.NoError(t, os.WriteFile(filepath.Join(data, name), empty, 0o600))
	}
	for range 2 { // the second pack replaces the first pack
		if out, err := pack(); err != nil {
			t.Fatalf("%v, %s", err, out)
		}
	}
	for _, name := range []string{"../ppal-gpu.xz", "../first-run.sh", "train-images-idx3-ubyte.xz", files[1], "t10k-images-idx3-ubyte.xz", files[3]} {
		if _, err := os.Stat(filepath.Join(folder, "fashion-mnist", name)); err != nil {
			t.Error(err)
		}
	}
	require.NoError(t, os.Truncate(filepath.Join(data, files[1]), 63<<20)) // a sparse file
	if out, err := pack(); err == nil || !strings.Contains(out, "more than 63488 KiB") {
		t.Errorf("a pack of 63 MiB: %v, %s", err, out)
	}
}
