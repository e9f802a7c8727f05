// Package behaviour holds a table of training runs with their exact results.
//
// Every run in testdata/runs.json is a call of ppal train: its flags, a checksum of the trained
// weights, a checksum of the records, and the final objective, violation and certificate. The test
// repeats the runs and compares the results. A change that should not affect the numbers must keep
// the table. A change that should affect them records a new table:
//
//	go test ./internal/behaviour -update
//
// The runs specify their kernels (--simd), because results depend on the instruction set. A run is
// skipped if the CPU lacks its instructions, or if it needs published data and PPAL_DATA is not
// set. PPAL_PROGRAM is the path of a program to test instead of the program that the test builds.
package behaviour

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/cpu"

	"ppal/cmd"
	"ppal/internal/require"
)

// outcome is the result of a run. Numbers are kept as the text in the run's files, which
// determines their bits.
type outcome struct {
	Flags   string `json:"flags"`
	Weights string `json:"weights"` // SHA-256 of the tensors of model.safetensors
	// the start of the SHA-256 of each line of metrics.jsonl
	Records     []string          `json:"records"`
	Summary     map[string]any    `json:"summary"`
	Certificate map[string]any    `json:"certificate"`
	Measures    map[string]string `json:"measures"` // SHA-256 of the measures of each split
}

// table is the path of the table.
const table = "testdata/runs.json"

// asProgram is the variable that makes the test binary the program.
const asProgram = "PPAL_BEHAVIOUR"

// TestMain runs the program in the processes that TestRuns starts.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		cmd.Main()
	}
	os.Exit(m.Run())
}

func TestRuns(t *testing.T) {
	require.NoRace(t, "it sees nothing of another process")
	want := map[string]outcome{}
	if text, err := os.ReadFile(table); err == nil {
		decode(t, text, &want)
	} else if !require.Update() {
		t.Fatal(err)
	}
	got := map[string]outcome{}
	for _, r := range runs() {
		t.Run(r.name, func(t *testing.T) {
			if why := missing(r); why != "" {
				t.Skip(why)
			}
			got[r.name] = execute(t, r)
			if require.Update() {
				return
			}
			w, ok := want[r.name]
			if !ok {
				t.Fatalf("%s has no row %s: record it with -update", table, r.name)
			}
			if diff := gocmp.Diff(w, got[r.name]); diff != "" {
				t.Errorf("the run differs from the table (-recorded +now):\n%s", diff)
			}
		})
	}
	if require.Update() {
		write(t, want, got)
	}
}

// TestRowsAreUsed fails if the table has a row without a run.
func TestRowsAreUsed(t *testing.T) {
	text := require.Value(os.ReadFile(table))(t)
	rows, names := map[string]outcome{}, map[string]bool{}
	decode(t, text, &rows)
	for _, r := range runs() {
		if names[r.name] {
			t.Errorf("two runs have the name %s", r.name)
		}
		names[r.name] = true
	}
	for name := range rows {
		if !names[name] {
			t.Errorf("%s has a row %s, which no run has", table, name)
		}
	}
}

// missing returns the requirement of a run that the machine does not meet.
func missing(r run) string {
	switch {
	case runtime.GOARCH != "amd64":
		return "the table is of amd64"
	case r.simd == "avx512" && !(cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ):
		return "no AVX-512"
	case r.vnni && !cpu.X86.HasAVX512VNNI:
		return "no AVX-512 VNNI"
	case r.simd != "go" && !(cpu.X86.HasAVX2 && cpu.X86.HasFMA):
		return "no AVX2 with FMA"
	case r.data && os.Getenv("PPAL_DATA") == "":
		return "PPAL_DATA is not set"
	}
	return ""
}

// execute trains in a temporary directory.
func execute(t *testing.T, r run) outcome {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	args := append([]string{"train", "--allow-violation", "--device", "cpu", "--threads", "2", "--quiet", "--out", out}, append(strings.Fields(r.flags), r.step()...)...)
	if r.simd != "" {
		args = append(args, "--simd", r.simd)
	}
	if r.file {
		args = append(args, "--file", "../../testdata/rows.csv")
	}
	command := exec.Command(cmp.Or(os.Getenv("PPAL_PROGRAM"), os.Args[0]), args...)
	command.Env = append(os.Environ(), asProgram+"=1")
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("ppal %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	o := outcome{Flags: r.flags, Weights: weights(t, filepath.Join(out, "model.safetensors")), Measures: map[string]string{}}
	o.Records = records(t, filepath.Join(out, "metrics.jsonl"))
	var summary map[string]any
	decode(t, read(t, filepath.Join(out, "summary.json")), &summary)
	o.Summary = map[string]any{}
	for _, key := range []string{"status", "iterations", "objective", "constraints", "max_violation", "best_feasible", "output_iteration", "products"} {
		o.Summary[key] = summary[key]
	}
	o.Certificate, _ = summary["certificate"].(map[string]any)
	for _, split := range []string{"train", "validation", "test"} {
		if m, ok := summary[split].(map[string]any); ok {
			o.Measures[split] = sum(canonical(t, m))
		}
	}
	return o
}

// weights returns the checksum of the tensors: their header entries by name, and their bytes.
func weights(t *testing.T, path string) string {
	t.Helper()
	data := read(t, path)
	const length = 8
	end := length + int(binary.LittleEndian.Uint64(data))
	var header map[string]any
	decode(t, data[length:end], &header)
	delete(header, "__metadata__")
	return sum(append(canonical(t, header), data[end:]...))
}

// records returns the checksums of the lines, without the measured time and without null values,
// because a key that a method lacks may be absent.
func records(t *testing.T, path string) (sums []string) {
	t.Helper()
	file := require.Value(os.Open(path))(t)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var record map[string]any
		decode(t, lines.Bytes(), &record)
		delete(record, "seconds")
		maps.DeleteFunc(record, func(_ string, v any) bool { return v == nil })
		sums = append(sums, sum(canonical(t, record))[:12])
	}
	require.NoError(t, lines.Err())
	return sums
}

// canonical returns JSON with sorted keys; numbers keep their text.
func canonical(t *testing.T, v any) []byte {
	t.Helper()
	return require.Value(json.Marshal(v))(t)
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	return require.Value(os.ReadFile(path))(t)
}

// decode decodes JSON and keeps numbers as text.
func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	require.NoError(t, d.Decode(into))
}

// write saves the rows that ran, one on each line, and keeps the recorded rows of the other runs.
func write(t *testing.T, old, rows map[string]outcome) {
	t.Helper()
	var names []string
	for _, r := range runs() {
		names = append(names, r.name)
		if _, ok := rows[r.name]; ok {
			continue
		}
		if o, ok := old[r.name]; ok {
			rows[r.name] = o
		}
	}
	maps.DeleteFunc(rows, func(name string, _ outcome) bool { return !slices.Contains(names, name) })
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		lines = append(lines, fmt.Sprintf("%q: %s", name, canonical(t, rows[name])))
	}
	require.NoError(t, os.WriteFile(table, []byte("{\n"+strings.Join(lines, ",\n")+"\n}\n"), 0o644))
	fmt.Printf("%s: %d rows\n", table, len(rows))
}
