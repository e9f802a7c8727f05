//go:build gpu

package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppal/internal/cuda/double"
	"ppal/internal/cuda/nvidia"
	"ppal/internal/require"
	"ppal/internal/rundir"
)

// stubbed is a machine whose driver and cuBLAS are the library of internal/cuda/double.
type stubbed struct{ library string }

// stubRun is what a run of ppal on a stubbed machine left.
type stubRun struct {
	status         int
	stdout, stderr string
	device         string   // of the summary; "" without a summary
	notes          []string // of the summary
	weights        string
}

// String leaves out the weights.
func (r stubRun) String() string {
	return fmt.Sprintf("status %d, device %q, notes %q\n%s\n%s", r.status, r.device, r.notes, r.stdout, r.stderr)
}

// table runs `ppal train` on a small table, with environment variables set.
func (m stubbed) table(t *testing.T, args string, set ...string) stubRun {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	return m.run(t, dir, tiny(t, dir, 3, strings.Fields(args)...), set)
}

// integers runs `ppal train` on a table of small integers, which are 8-bit data.
func (m stubbed) integers(t *testing.T, args string, set ...string) stubRun {
	t.Helper()
	const columns = 100 // as many as automatic products with digits need
	text := strings.Builder{}
	text.WriteString("g,y")
	for j := range columns {
		fmt.Fprintf(&text, ",x%d", j)
	}
	for i := range 60 {
		fmt.Fprintf(&text, "\n%c,%d", "ab"[i%3%2], i*i%7%2)
		for j := range columns {
			fmt.Fprintf(&text, ",%d", (i*(2*j+3)+i*i*j)%(11+j))
		}
	}
	dir, file := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(file, []byte(text.String()+"\n"), 0o600))
	return m.run(t, dir, append([]string{"train", "--file", file, "--label", "y=1", "--subject-to", "gap(positive_rate, g) <= 0.2", "--bounds-on", "surrogate",
		"--split", "60/40/0", "--model", "mlp", "--hidden", "20", "--iterations", "3", "--threads", "1", "--allow-violation", "--out", dir},
		strings.Fields(args)...), set)
}

// run runs ppal. The default is a machine with one GPU and cuBLAS.
func (m stubbed) run(t *testing.T, out string, args, set []string) (r stubRun) {
	t.Helper()
	dir, cmd := rundir.Dir(out), process(args...)
	cmd.Env = append(append(cmd.Env, nvidia.DriverFile+"="+m.library, nvidia.ProductsFile+"="+m.library), set...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	r.status = exitStatus(cmd.Run())
	r.stdout, r.stderr = stdout.String(), stderr.String()
	if summary, err := rundir.ReadSummary(dir.Summary()); err == nil {
		r.device, r.notes = summary.Device, summary.Notes
	}
	weights, err := os.ReadFile(dir.Model())
	if (err == nil) != (r.status == exitDone) {
		t.Errorf("%s %q: status %d, weights: %v\n%s", args, set, r.status, err, r.stderr)
	}
	r.weights = string(weights)
	return r
}

// The program keeps what docs/guides/gpu.md promises about the flag --device, on a stub.
func TestGPUOnStub(t *testing.T) {
	library := require.Value(double.Library())(t)
	m := stubbed{library}
	t.Run("cannot be opened", m.cannotBeOpened)
	t.Run("without something", m.withoutSomething)
	t.Run("several", m.several)
	t.Run("automatic", m.automatic)
}

// If the GPU cannot be opened, --device cuda is an error of one line, and --device auto takes the
// CPU and gives the reason in one line.
func (m stubbed) cannotBeOpened(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere.so")
	for _, c := range []struct{ name, set, want string }{
		{"no driver", nvidia.DriverFile + "=" + nowhere, "NVIDIA's driver is not installed"},
		{"driver that does not start", "PPAL_STUB_FAIL=cuInit=100", "the driver does not start: CUDA_ERROR_NO_DEVICE"},
		{"old driver", "PPAL_STUB_VERSION=10020", "the driver supports CUDA 10.2, and CUDA 11.0 is needed: install a newer driver"},
		{"no device", "PPAL_STUB_DEVICES=0", "there is no device 0"},
		{"old device", "PPAL_STUB_CAPABILITY=7.5", "Stub 0 has compute capability 7.5, and 8.0 is needed"},
		{"missing file of cuBLAS", nvidia.ProductsFile + "=" + nowhere, nvidia.ProductsFile + "=" + nowhere},
		{"another library than cuBLAS", nvidia.ProductsFile + "=libc.so.6", "libc.so.6 has no cublasGemmEx"},
		{"no memory for the context", "PPAL_STUB_FAIL=cuDevicePrimaryCtxRetain=2", "CUDA_ERROR_OUT_OF_MEMORY"},
		{"no memory for staging", "PPAL_STUB_FAIL=cuMemHostAlloc=2", "CUDA_ERROR_OUT_OF_MEMORY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := m.table(t, "--quiet --device cuda", c.set)
			if got.status != exitFailed || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
				t.Errorf("--device cuda: %v, want one line with %q", got, c.want)
			}
			got = m.table(t, "", c.set)
			note := "The CPU trains, because no GPU could be opened: "
			all := got.stdout + got.stderr
			if got.status != exitDone || !strings.HasPrefix(got.device, "cpu, ") || strings.Count(all, note) != 1 {
				t.Errorf("--device auto: %v", got)
			}
			noted := slices.IndexFunc(got.notes, func(n string) bool { return strings.HasPrefix(n, note) })
			if noted < 0 || !strings.Contains(got.notes[noted], c.want) || strings.Contains(got.notes[noted], "\n") {
				t.Errorf("--device auto: the notes %q, want one line with %q", got.notes, c.want)
			}
		})
	}
}

// Without cuBLAS, and with a cuBLAS that refuses products or computes them wrongly, the GPU trains.
// int8x3 products have the same bits on ppal's own kernels. Other failures of the device end the
// run with one line.
func (m stubbed) withoutSomething(t *testing.T) {
	whole := m.integers(t, "--device cuda")
	plain := m.integers(t, "--device cuda --products float32")
	if !strings.Contains(whole.device, "cuBLAS 12.4.5, int8x3 products") || !strings.Contains(plain.device, "cuBLAS 12.4.5, float32 products") {
		t.Fatalf("with all libraries: %v, %v", whole, plain)
	}
	if whole.weights == plain.weights {
		t.Fatal("int8x3 and float32 products have the same bits, so the comparisons below say nothing")
	}
	for _, c := range []struct {
		name, set, products string
		integers            bool // float32 products are cuBLAS's
	}{
		{"missing", nvidia.ProductsFile + "=" + nvidia.NoProducts, "own products (no cuBLAS), float32 products", false},
		{"refuses products", "PPAL_STUB_FAIL=cublasGemmEx=15", "cuBLAS 12.4.5, float32 products", false},
		{"refuses integers", "PPAL_STUB_INTEGERS=7", "cuBLAS 12.4.5, float32 products", true},
		{"wrong integers", "PPAL_STUB_WRONG=yes", "cuBLAS 12.4.5, float32 products", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := m.integers(t, "--device cuda", c.set)
			if got.status != exitDone || !strings.Contains(got.device, c.products) {
				t.Errorf("--products auto: %v, want %s", got, c.products)
			}
			got = m.integers(t, "--device cuda --products int8x3", c.set)
			if got.status != exitDone || !strings.Contains(got.device, "int8x3 products") || c.integers && got.weights != whole.weights {
				t.Errorf("--products int8x3: %v, want the bits of the run with cuBLAS", got)
			}
		})
	}
	for set, want := range map[string]string{
		"PPAL_STUB_FAIL=cublasGemmEx=13": "CUBLAS_STATUS_EXECUTION_FAILED", "PPAL_STUB_FAIL=cuMemAlloc_v2=2": "out of device memory: ",
	} {
		got := m.integers(t, "--quiet --device cuda --products float32", set)
		if got.status != exitFailed || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %v, want one line with %s", set, got, want)
		}
	}
}

// --device takes the GPU with a number. Several GPUs are refused in one line, which says how to
// start a process for each.
func (m stubbed) several(t *testing.T) {
	two := []string{"PPAL_STUB_DEVICES=2"}
	if second := m.table(t, "--device cuda:1", two...); second.status != exitDone || !strings.HasPrefix(second.device, "cuda:1, Stub 1 ") {
		t.Errorf("%v", second)
	}
	if got := m.table(t, "--quiet --device cuda:1"); got.status != exitFailed || strings.Count(got.stderr, "\n") != 1 ||
		!strings.Contains(got.stderr, "there is no device 1: the driver finds 1") {
		t.Errorf("%v", got)
	}
	for _, device := range []string{"cuda:0,1", "cuda:all"} {
		if got := m.table(t, "--quiet --device "+device, two...); got.status != exitUsage || strings.Count(got.stderr, "\n") != 1 ||
			!strings.Contains(got.stderr, "mpirun -n 2 ppal-mpi-gpu train --device cuda") {
			t.Errorf("%s: %v", device, got)
		}
	}
}

// Automatic devices take a GPU for a large problem, and the CPU for a small one with a note.
func (m stubbed) automatic(t *testing.T) {
	if got := m.table(t, ""); !strings.HasPrefix(got.device, "cpu, ") || !slices.ContainsFunc(got.notes, func(n string) bool {
		return strings.HasPrefix(n, "The CPU trains, because the problem is small: ") && strings.Contains(n, "--device cuda takes the GPU")
	}) {
		t.Errorf("a small problem: %v", got)
	}
	if got := m.integers(t, "--products int8x3"); !strings.HasPrefix(got.device, "cuda:0, Stub 0 ") {
		t.Errorf("chosen products: %v", got)
	}
}
