package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// generated runs the generator once for all tests and returns the files by name.
var generated = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "gen")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := generate(dir); err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return files, nil
})

func files(t *testing.T) map[string][]byte {
	t.Helper()
	f, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The committed files are what the generator writes.
func TestFresh(t *testing.T) {
	fresh := files(t)
	for name, text := range fresh {
		committed, err := os.ReadFile(filepath.Join("..", "kernel", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, committed) {
			t.Errorf("%s is not what the generator writes: run go generate", name)
		}
	}
	for _, pattern := range []string{"*.s", "*.go"} {
		names, err := filepath.Glob(filepath.Join("..", "kernel", pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("no files %s of the kernels: %v", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.HasPrefix(text, []byte("// Code generated ")) && fresh[filepath.Base(name)] == nil {
				t.Errorf("%s is generated, but not by this generator: remove it", name)
			}
		}
	}
}

const tables = "tables_amd64.go"

// parse parses a generated Go file.
func parse(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, files(t)[name], parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// functions returns the names of the functions that are declared without a body.
func functions(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, d := range parse(t, declared).Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if f.Body != nil || f.Doc == nil || !strings.HasPrefix(f.Doc.Text(), f.Name.Name+" ") {
			t.Errorf("%s has a body, or no documentation that begins with its name", f.Name)
		}
		names[f.Name.Name] = true
	}
	if len(names) == 0 {
		t.Fatal("no function is declared")
	}
	return names
}

// Every declaration has its code in one assembly file, and every assembly function has a
// declaration.
func TestDeclarationsHaveCode(t *testing.T) {
	text := regexp.MustCompile(`(?m)^TEXT ·(\w+)\(SB\)`)
	code := map[string]string{}
	for name, content := range files(t) {
		if !strings.HasSuffix(name, ".s") {
			continue
		}
		for _, m := range text.FindAllSubmatch(content, -1) {
			if first := code[string(m[1])]; first != "" {
				t.Errorf("%s is in %s and in %s", m[1], first, name)
			}
			code[string(m[1])] = name
		}
	}
	functions := functions(t)
	for f := range functions {
		if code[f] == "" {
			t.Errorf("%s is declared, and has no code", f)
		}
	}
	for f, file := range code {
		if !functions[f] {
			t.Errorf("%s in %s is not declared", f, file)
		}
	}
}

// Each function is in the dispatch tables exactly once, so every function is reachable and serves
// one level.
func TestTablesHaveEveryFunction(t *testing.T) {
	functions, used := functions(t), map[string]int{}
	ast.Inspect(parse(t, tables), func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && functions[id.Name] {
			used[id.Name]++
		}
		return true
	})
	for f := range functions {
		if used[f] != 1 {
			t.Errorf("%s is %d times in the tables", f, used[f])
		}
	}
}

// All levels of a table fill the same fields with functions of their own level and type.
func TestLevelsFillTheSameFields(t *testing.T) {
	field := regexp.MustCompile(`k\.([\w.\[\]]+) = (\w+)`)
	for _, table := range []string{"assemble32", "assemble64", "assembleDigits"} {
		_, rest, ok := strings.Cut(string(files(t)[tables]), "func "+table+"(")
		if !ok {
			t.Fatalf("there is no %s", table)
		}
		body, _, _ := strings.Cut(rest, "\n}\n")
		first, second, ok := strings.Cut(body, "case AVX2:")
		if !ok {
			t.Fatalf("%s has no level AVX2", table)
		}
		bits := "F32"
		if table == "assemble64" {
			bits = "F64"
		}
		fields := func(text, suffix string) (names []string) {
			for _, m := range field.FindAllStringSubmatch(text, -1) {
				if names = append(names, m[1]); strings.Contains(m[2], "AVX") && !strings.HasSuffix(m[2], suffix) {
					t.Errorf("%s: %s is %s, want a function %s", table, m[1], m[2], suffix)
				}
			}
			slices.Sort(names)
			return names
		}
		a, b := fields(first, bits+"AVX512"), fields(second, bits+"AVX2")
		if len(a) == 0 || !slices.Equal(a, b) || len(slices.Compact(slices.Clone(a))) != len(a) {
			t.Errorf("%s fills\n%v with AVX-512 and\n%v with AVX2", table, a, b)
		}
	}
}

// Two runs of the generator write the same bytes.
func TestGenerateRepeats(t *testing.T) {
	if testing.Short() {
		t.Skip("generates all files again")
	}
	dir := t.TempDir()
	if err := generate(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range files(t) {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs: %v", name, err)
		}
	}
}

// The comments of the declarations have at most 100 columns.
func TestDocumentationIsWrapped(t *testing.T) {
	for name, content := range files(t) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		for i, line := range strings.Split(string(content), "\n") {
			if strings.HasPrefix(line, "// ") && len(line) > 100 {
				t.Errorf("%s:%d: %d columns", name, i+1, len(line))
			}
		}
	}
}

// The two parts of ln 2 add up to ln 2 beyond the type's precision, and the type represents the
// first part exactly.
func TestLn2(t *testing.T) {
	exact, _, err := big.ParseFloat("0.693147180559945309417232121458176568075500134360255", 10, 200, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range targets() {
		hi, lo := x.ln2()
		if x.size == 4 && float64(float32(hi)) != hi {
			t.Errorf("%v is not a float32", hi)
		}
		sum := new(big.Float).SetPrec(200).Add(big.NewFloat(hi), big.NewFloat(lo))
		off, _ := new(big.Float).Sub(sum, exact).Float64()
		if limit := math.Ldexp(1, -2*x.mantissa()+4); math.Abs(off) > limit {
			t.Errorf("%d bytes: the parts miss ln 2 by %g, want at most %g", x.size, off, limit)
		}
	}
}

// The series are long enough: the first omitted term is below a tenth of a unit in the last place.
func TestSeriesLength(t *testing.T) {
	for _, x := range targets() {
		last := math.Ldexp(1, -(x.mantissa()+1)) / 10
		n := x.series().exp
		if term := math.Pow(math.Ln2/2, float64(n)) / math.Gamma(float64(n+2)); term > last {
			t.Errorf("%d bytes: the series of e^x leaves out %g, want at most %g", x.size, term, last)
		}
		s, k := (math.Sqrt2-1)/(math.Sqrt2+1), x.series().atan+1
		if term := math.Pow(s, float64(2*k)) / float64(2*k+1); term > last {
			t.Errorf("%d bytes: the series of log leaves out %g, want at most %g", x.size, term, last)
		}
	}
}

// The constants of a target describe its element type.
func TestElements(t *testing.T) {
	for _, x := range targets() {
		one, nan, infinity := math.Float64bits(1), math.Float64bits(math.NaN()), math.Float64bits(math.Inf(1))
		if x.size == 4 {
			one, nan, infinity = uint64(math.Float32bits(1)), uint64(math.Float32bits(float32(math.NaN()))), uint64(math.Float32bits(float32(math.Inf(1))))
		}
		if uint64(x.bias())<<x.mantissa() != one {
			t.Errorf("%s: the bias %d and %d bits of mantissa do not give 1", x.suffix(), x.bias(), x.mantissa())
		}
		if x.nan()&infinity != infinity || x.nan()&^(nan|1) != 0 || x.nan() == infinity {
			t.Errorf("%s: %x is not a quiet NaN", x.suffix(), x.nan())
		}
		if x.sign()>>(8*x.size-1) != 1 || x.lanes()*x.size != x.bytes() {
			t.Errorf("%s: the sign %x, %d lanes of %d bytes in %d", x.suffix(), x.sign(), x.lanes(), x.size, x.bytes())
		}
	}
}
