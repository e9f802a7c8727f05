package main

import (
	"context"
	"go/importer"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
)

// stub declares what switchSource declares, as far as mutated code uses the declarations.
const stub = `
var mutantTrace string
func mutant(id int) bool { return false }
func mutantOr[T ~bool](id int, c T) T { return c }
func mutantAnd[T ~bool](id int, c T) T { return c }
func mutantNil(id int, err error) error { return err }
`

// mutationsOf returns the changes of the mutants of a package of one file.
func mutationsOf(t *testing.T, text string) []string {
	t.Helper()
	p := require.Value(mutate(token.NewFileSet(), "p", map[string]string{"p.go": text}, importer.Default()))(t)
	// The mutated text must be a correct package, with the file that each mutated package gets.
	fset := token.NewFileSet()
	if _, err := parser.ParseFile(fset, "switch.go", switchSource(p.name, len(p.mutants)), 0); err != nil {
		t.Error(err)
	}
	mutated := p.sources["p.go"] + stub
	if _, err := mutate(fset, "p", map[string]string{"p.go": mutated}, importer.Default()); err != nil {
		t.Errorf("%v in\n%s", err, mutated)
	}
	var changes []string
	for i, m := range p.mutants {
		if m.id != i+1 {
			t.Errorf("the mutant %d has the id %d", i+1, m.id)
		}
		changes = append(changes, m.change)
	}
	return changes
}

func TestMutate(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"func f(a, b float64) float64 { return a*b + 1 }", []string{"a*b + 1 => a*b - 1", "a*b => a / b"}},
		{"const c = 1 + 2\nfunc f() int { return 3 * c }", nil},
		{"func f(a string) string { return a + a }", nil},
		{"func f(a int, s uint) int { return -a << s }", []string{"-a << s => -a >> s", "-a => a"}},
		{"func f(a int) bool { return a < 1 }", []string{"a < 1 => a <= 1", "a < 1 => a >= 1"}},
		{"func f(a *int) bool { return a == nil }", []string{"a == nil => the opposite"}},
		{"func f(a int) int { if a >= 2 { return 1 }; return 0 }", []string{"a >= 2 => true", "a >= 2 => false", "a >= 2 => a > 2"}},
		{"func f(a, b bool) int { if a && !b { return 1 }; return 0 }", []string{"a && !b => false", "a => true", "!b => true", "!b => b"}},
		{"func f(a, b bool) bool { return a || b }", []string{"a => false", "b => false"}},
		{"func f() bool { return true }", []string{"return true => the opposite"}},
		{"func f(a []float64) { for i := 0; i < len(a); i++ { a[i] *= 2 } }",
			[]string{"i < len(a) => false", "i < len(a) => i <= len(a)", "a[i] *= 2 => a[i] /= 2", "a[i] *= 2 => removed"}},
		{"func f(a *int) { *a = 1; *a++; g(); defer g() }\nfunc g() {}",
			[]string{"*a = 1 => removed", "*a++ => *a--", "*a++ => removed", "g() => removed", "defer g() => removed"}},
		{"func f(a int) { switch { case a > 1: return; default: panic(1) } }", []string{"a > 1 => a >= 1", "a > 1 => a <= 1", "return => removed"}},
		{"func f(g func() error) error { return g() }", []string{"return g() => return nil"}},
		{"func f[T ~float32 | ~float64](a, b T) T { for { if a < b { break }; a -= b }; return a }",
			[]string{"a < b => true", "a < b => false", "a < b => a <= b", "break => removed", "a -= b => a += b", "a -= b => removed"}},
		{"func f(a func(x int) bool) { a = func(x int) bool { return x != 1 }; _ = a }",
			[]string{"a = func(x int) bool { return x != 1 } => removed", "x != 1 => the opposite"}},
	} {
		if diff := cmp.Diff(c.want, mutationsOf(t, "package p\n"+c.text)); diff != "" {
			t.Errorf("%s:\n%s", c.text, diff)
		}
	}
}

// A mutant survives if no test can tell it from the program.
func TestRun(t *testing.T) {
	require.NoRace(t, "it compiles other programs")
	if testing.Short() {
		t.Skip("it compiles other programs")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"go.mod": "module example.org/p\n\ngo 1.26\n",
		"p.go": `package p

func Sum(a, b int) int { return a + b }

func Clamp(a int) int {
	if a < 0 {
		return 0
	}
	return a
}

func Count(n int) (k int) {
	for i := 0; i < n; i++ {
		k++
	}
	return k
}

func Join() (n int) {
	done := make(chan bool)
	go func() {
		n = 1
		close(done)
	}()
	<-done
	return n
}

func unused(a int) int { return -a }
`,
		"p_test.go": `package p

import "testing"

func TestSum(t *testing.T) {
	for name, b := range map[string]int{"zero": 0, "two": 2} {
		t.Run(name, func(t *testing.T) {
			if Sum(3, b) != 3+b {
				t.Error("wrong")
			}
		})
	}
}

func TestClamp(t *testing.T) {
	if Clamp(-1) != 0 || Clamp(2) != 2 {
		t.Error("wrong")
	}
}

func TestCount(t *testing.T) {
	if Count(3) != 3 {
		t.Error("wrong")
	}
}

func TestJoin(t *testing.T) {
	if Join() != 1 {
		t.Error("wrong")
	}
}

func TestBroken(t *testing.T) { t.Error("Sum:", Sum(1, 1)) }
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	p := require.Value(load("."))(t)
	log.SetOutput(t.Output()) // indented, because a reader of the log must not count TestBroken as a failure
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	r := runner{p: p, tests: []string{p.path}, short: true, budget: time.Minute, idle: 3 * time.Second, survivor: func(*mutant) {}}
	alive := require.Value(r.run(context.Background(), p.mutants))(t)
	var got []string
	for _, m := range alive {
		got = append(got, m.String())
	}
	for _, m := range alive {
		if !keys(m.String())[m.key()] {
			t.Errorf("the list %q lacks the key %q", m, m.key())
		}
	}
	// No test has 0 for Clamp, and no test calls unused.
	want := []string{"p.go:6 Clamp: a < 0 => a <= 0", "p.go:29 unused: -a => a"}
	if diff := cmp.Diff(want, got); diff != "" || r.unreached != 2 {
		t.Errorf("survivors (-want +got), %d of them without a test:\n%s", r.unreached, diff)
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil && r.waited != 1 { // without close(done)
		t.Errorf("%d mutants waited in vain, want 1", r.waited)
	}
}

// A command ends if it and its children use no processor time, and not before.
func TestIdle(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("it needs /proc")
	}
	run := func(text string, limit time.Duration) (idle bool, err error) {
		return runBusy(t.Context(), exec.Command("sh", "-c", text), limit)
	}
	if idle, err := run("sleep 60 & wait", 300*time.Millisecond); !idle || err == nil {
		t.Errorf("a command that waits for a child: idle %v, %v", idle, err)
	}
	for text, fails := range map[string]bool{"exit 0": false, "exit 3": true} {
		if idle, err := run(text, time.Minute); idle || (err != nil) != fails {
			t.Errorf("%s: idle %v, %v", text, idle, err)
		}
	}
	// the time of a child, while it lives and after its end
	const work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
	for _, text := range []string{"(" + work + "; echo counted; sleep 60); sleep 60", "(" + work + "); echo counted; sleep 60"} {
		c := exec.Command("sh", "-c", text)
		counted := require.Value(c.StdoutPipe())(t)
		require.NoError(t, c.Start())
		require.Value(counted.Read(make([]byte, 1)))(t)
		family, used := processes(c.Process.Pid)
		if len(family) == 0 || used < leastWork {
			t.Errorf("%s: the processes %v used %v", text, family, used)
		}
		if !waitIdle(t.Context(), c.Process.Pid, 300*time.Millisecond) || c.Wait() == nil {
			t.Errorf("%s: an idle process goes on", text)
		}
		if family, used := processes(c.Process.Pid); len(family) > 0 || used > 0 {
			t.Errorf("%s: the processes %v used %v after their end", text, family, used)
		}
	}
}

func TestOutside(t *testing.T) {
	p := require.Value(mutate(token.NewFileSet(), "p", map[string]string{"p.go": `package p
func f(g func() error, n int) error {
	if err := g(); err != nil {
		return g()
	}
	if err := g(); err != nil {
		n--
		return err
	}
	_ = make([]int, n+1, n+2)
	return g()
}`}, importer.Default()))(t)
	var outside []string
	for _, m := range p.mutants {
		if m.outside {
			outside = append(outside, m.change)
		}
	}
	if diff := cmp.Diff([]string{"err != nil => false", "return g() => return nil", "n+2 => n - 2"}, outside); diff != "" {
		t.Error(diff)
	}
}

func TestSubtests(t *testing.T) {
	out := "=== RUN   TestA\n=== RUN   TestA/x\n=== RUN   TestA/x/deep\n    --- PASS: TestA/x\n=== RUN   TestA/y#01\n=== RUN   TestAB/z\n"
	if got := subtests([]byte(out), "TestA"); !slices.Equal(got, []string{"x", "y#01"}) {
		t.Errorf("%q", got)
	}
}

func TestBatches(t *testing.T) {
	tests := []*test{{binary: "1", name: "A"}, {binary: "1", name: "B"}, {binary: "1", name: "C", took: 60 * time.Millisecond},
		{binary: "1", name: "D", took: 80 * time.Millisecond}, {binary: "2", name: "A"}, {binary: "2", name: "L", sub: "x"},
		{binary: "2", name: "L", sub: "y"}, {binary: "2", name: "M", sub: "x"}, {binary: "2", name: "M", sub: "y", took: time.Hour}}
	var got [][]string
	for _, part := range batches(tests) {
		got = append(got, nil)
		for _, x := range part {
			got[len(got)-1] = append(got[len(got)-1], x.binary+x.name+x.sub)
		}
	}
	want := [][]string{{"1A", "1B"}, {"1C", "1D"}, {"2A"}, {"2Lx", "2Ly"}, {"2Mx"}, {"2My"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every line of equivalent.txt has a reason and names a file of the repository.
func TestEquivalents(t *testing.T) {
	known := require.Value(equivalents(equivalentText))(t)
	for key := range known {
		file, _, _ := strings.Cut(key, " ")
		if _, err := os.Stat(filepath.Join("..", "..", file)); err != nil || !strings.Contains(key, ": ") || !strings.Contains(key, " => ") {
			t.Errorf("%q: %v", key, err)
		}
	}
	if _, err := equivalents("a.go f: x => y"); err == nil {
		t.Error("a line without a reason is accepted")
	}
}

func TestStale(t *testing.T) {
	known := map[string]bool{"a.go f: x => y": true, "a.go f: old => y": true, "a.go e: x => y": true, "b.go f: x => y": true}
	got := stale(known, []*mutant{{file: "a.go", line: 7, function: "f", change: "x => y"}, {file: "c.go", function: "f", change: "x => y"}})
	if want := []string{"a.go e: x => y", "a.go f: old => y"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
