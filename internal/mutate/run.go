package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// runner compiles the tests of a mutated package and runs them for each mutant.
type runner struct {
	p      *mutated
	tests  []string // packages
	short  bool
	only   string // the tests, a regular expression
	skip   string
	budget time.Duration
	env    []string

	// survivor is called for each mutant that all tests pass, except for those outside.
	survivor func(m *mutant)

	idle time.Duration // see idleLimit; 0: idleLimit

	tried, unreached, outside int
	waited                    int // killed mutants that were idle until the limit
}

// test is a test, fuzz target or example of a compiled test binary, or a subtest of a long test.
type test struct {
	binary, dir, name string
	sub               string        // the name of the subtest, or ""
	took, wall        time.Duration // processor time, and time on the clock
	reaches           map[int]bool  // the mutants that could change a result of the test
	killed            int           // mutants
}

// run returns the mutants that all tests pass.
func (r *runner) run(ctx context.Context, mutants []*mutant) ([]*mutant, error) {
	tmp, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	overlay, err := r.overlay(tmp)
	if err != nil {
		return nil, err
	}
	r.env = os.Environ()
	var tests []*test
	for i, path := range r.tests {
		if strings.HasSuffix(path, "internal/behaviour") { // runs the program
			program := filepath.Join(tmp, "ppal")
			build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", program, "ppal/cmd/ppal")
			if out, err := build.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("the mutated program does not compile: %w\n%s", err, out)
			}
			r.env = append(r.env, "PPAL_PROGRAM="+program)
		}
		list, err := r.compile(ctx, path, overlay, filepath.Join(tmp, fmt.Sprintf("test%d", i)))
		if err != nil {
			return nil, err
		}
		tests = append(tests, list...)
	}
	if tests, err = r.baseline(ctx, tests, filepath.Join(tmp, "trace")); err != nil {
		return nil, err
	}
	var alive []*mutant
	begin, told := time.Now(), time.Now()
	for i, m := range mutants {
		// The tests that notice most mutants for their time come first.
		slices.SortStableFunc(tests, func(a, b *test) int {
			return cmp.Compare(a.took*time.Duration(1+b.killed), b.took*time.Duration(1+a.killed))
		})
		var reach []*test
		var sum time.Duration
		for _, t := range tests {
			if t.reaches[m.id] && (sum+t.took <= r.budget || len(reach) == 0) {
				reach, sum = append(reach, t), sum+t.took
			}
		}
		if len(reach) == 0 && !m.outside {
			r.unreached++
		}
		killed := false
		for _, part := range batches(reach) {
			if killed = r.kills(ctx, m, part); killed {
				for _, t := range part {
					t.killed++
				}
				break
			}
		}
		if err := ctx.Err(); err != nil {
			return alive, nil
		}
		r.tried++
		if !killed && m.outside {
			r.outside++
		} else if !killed {
			alive = append(alive, m)
			r.survivor(m)
		}
		if time.Since(told) > 30*time.Second {
			told = time.Now()
			log.Printf("%s: %d of %d mutants, %d survived, %s", r.p.path, i+1, len(mutants), len(alive), time.Since(begin).Round(time.Second))
		}
	}
	return alive, nil
}

// overlay writes the mutated files and returns the name of the file for go's flag -overlay.
func (r *runner) overlay(tmp string) (string, error) {
	replace := map[string]string{}
	add := func(path, text string) error {
		to := filepath.Join(tmp, fmt.Sprintf("source%d.go", len(replace)))
		replace[path] = to
		return os.WriteFile(to, []byte(text), 0o644)
	}
	for path, text := range r.p.sources {
		if err := add(path, text); err != nil {
			return "", err
		}
	}
	if err := add(filepath.Join(r.p.dir, "zz_mutant.go"), switchSource(r.p.name, len(r.p.mutants))); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(tmp, "overlay.json")
	return name, os.WriteFile(name, data, 0o644)
}

// compile builds the test binary of a package and lists its tests.
func (r *runner) compile(ctx context.Context, path, overlay, binary string) ([]*test, error) {
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, path)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the mutated package does not compile: %w\n%s", err, out)
	}
	dir, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("%s has no tests", path)
	}
	list := exec.CommandContext(ctx, binary, "-test.list", ".")
	list.Dir = strings.TrimSpace(string(dir))
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	only, err := regexp.Compile(r.only)
	if err != nil {
		return nil, err
	}
	skip, err := regexp.Compile(r.skip)
	if err != nil {
		return nil, err
	}
	var tests []*test
	for _, name := range strings.Fields(string(out)) {
		if !strings.HasPrefix(name, "Benchmark") && only.MatchString(name) && (r.skip == "" || !skip.MatchString(name)) {
			tests = append(tests, &test{binary: binary, dir: list.Dir, name: name})
		}
	}
	return tests, nil
}

// baseline runs every test without a mutant: it measures the time, and notes the mutants whose
// place the test executes. It splits long tests into their subtests. It leaves out the tests that
// fail, because they measure time or allocations.
func (r *runner) baseline(ctx context.Context, tests []*test, trace string) ([]*test, error) {
	var good []*test
	var sum time.Duration
	for len(tests) > 0 {
		t := tests[0]
		tests = tests[1:]
		if err := os.RemoveAll(trace); err != nil {
			return nil, err
		}
		begin := time.Now()
		c := r.command(ctx, []*test{t}, 10*time.Minute, 10*time.Minute, "PPAL_MUTANT_TRACE="+trace)
		out, err := c.CombinedOutput()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			log.Printf("left out, because it fails without a mutant: %s %s\n%s", t.name, t.sub, last(out, 300))
			continue
		}
		t.wall, t.reaches = time.Since(begin), map[int]bool{}
		t.took = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		data, err := os.ReadFile(trace)
		if errors.Is(err, os.ErrNotExist) {
			continue // the test runs no mutated code
		} else if err != nil {
			return nil, err
		}
		if subs := subtests(out, t.name); t.sub == "" && t.took > longTest && len(subs) > 1 {
			for _, name := range subs {
				tests = append(tests, &test{binary: t.binary, dir: t.dir, name: t.name, sub: name})
			}
			continue
		}
		for line := range strings.FieldsSeq(string(data)) {
			if id, err := strconv.Atoi(line); err == nil {
				t.reaches[id] = true
			}
		}
		good, sum = append(good, t), sum+t.took
	}
	log.Printf("%s: %d mutants, %d tests run them, in %s", r.p.path, len(r.p.mutants), len(good), sum.Round(time.Millisecond))
	return good, nil
}

// longTest is the time from which a test counts as long. shortRun is the time of the first run of
// tests for a mutant.
const (
	longTest = 2 * time.Second
	shortRun = 50 * time.Millisecond
)

// subtests returns the direct subtests of a test from the output of -test.v.
func subtests(out []byte, name string) []string {
	var subs []string
	for line := range strings.Lines(string(out)) {
		if sub, ok := strings.CutPrefix(strings.TrimSpace(line), "=== RUN   "+name+"/"); ok && !strings.Contains(sub, "/") {
			subs = append(subs, sub)
		}
	}
	return subs
}

// kills reports whether one of the tests fails with the mutant, takes too long, or waits in vain.
// The processor time shows an endless loop even if other programs take most of the processors.
func (r *runner) kills(ctx context.Context, m *mutant, tests []*test) bool {
	var took, wall time.Duration
	for _, t := range tests {
		took, wall = took+t.took, wall+t.wall
	}
	limit := time.Minute + 20*wall
	ctx, cancel := context.WithTimeout(ctx, limit+5*time.Second)
	defer cancel()
	// the tests wait for wall-took without a mutant
	c := r.command(ctx, tests, 3*time.Second+6*took, limit, fmt.Sprintf("PPAL_MUTANT=%d", m.id))
	idle, err := runBusy(ctx, c, cmp.Or(r.idle, idleLimit)+max(0, wall-took))
	if idle {
		r.waited++
	}
	return err != nil
}

// command returns a command that runs tests of one binary, with limits of the processor time and of
// the time on the clock.
func (r *runner) command(ctx context.Context, tests []*test, processor, limit time.Duration, env string) *exec.Cmd {
	names, prefix := []string{}, ""
	for _, t := range tests {
		if t.sub != "" {
			prefix = "^" + t.name + "$/"
			names = append(names, regexp.QuoteMeta(t.sub))
		} else {
			names = append(names, t.name)
		}
	}
	args := []string{"-test.run", prefix + "^(" + strings.Join(names, "|") + ")$", "-test.failfast", "-test.v", "-test.timeout", limit.String()}
	if r.short {
		args = append(args, "-test.short")
	}
	// A mutant may allocate without end.
	limits := fmt.Sprintf(`ulimit -v 12000000 2>/dev/null; ulimit -t %.0f; exec "$0" "$@"`, math.Ceil(processor.Seconds()))
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", limits, tests[0].binary}, args...)...)
	c.Dir = tests[0].dir
	c.Env = append(slices.Clone(r.env), env)
	c.WaitDelay = time.Second
	return c
}

// batches splits tests, the fastest first, into runs: each run has tests of one binary, and the
// first runs are short, because most mutants fail in any test. Each run may take three times as
// long as the run before, up to longTest.
func batches(tests []*test) [][]*test {
	var parts [][]*test
	var sum time.Duration
	most := shortRun
	for _, t := range tests {
		n := len(parts) - 1
		if n < 0 || !compatible(parts[n][0], t) || sum+t.took > most {
			if n >= 0 {
				most = min(3*most, longTest)
			}
			parts, sum = append(parts, nil), 0
			n++
		}
		parts[n], sum = append(parts[n], t), sum+t.took
	}
	return parts
}

// compatible reports whether one run can have both tests.
func compatible(a, b *test) bool {
	return a.binary == b.binary && (a.sub == "" && b.sub == "" || a.sub != "" && b.sub != "" && a.name == b.name)
}

// last returns the end of a text.
func last(text []byte, n int) []byte {
	text = bytes.TrimSpace(text)
	return text[max(0, len(text)-n):]
}
