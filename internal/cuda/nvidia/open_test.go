//go:build gpu

package nvidia_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/nvidia"
	"ppal/internal/require"
)

func TestInfo(t *testing.T) {
	want := driver.Info{Name: "Stub 0", Major: 9, Processors: 132, Memory: 1 << 20, Driver: "12.4", Products: "cuBLAS 12.4.5"}
	if diff := cmp.Diff(want, open(t).Info()); diff != "" {
		t.Error(diff)
	}
	all, err := nvidia.Devices()
	require.NoError(t, err)
	if diff := cmp.Diff([]driver.Info{want}, all); diff != "" {
		t.Error(diff)
	}
}

// The error says in one line which library or device is missing, and wraps driver.ErrUnavailable.
func TestUnavailable(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere.so")
	for _, c := range []struct {
		name string
		set  []string
		want string
	}{
		{"no driver", []string{nvidia.DriverFile + "=" + nowhere}, "NVIDIA's driver is not installed (" + nowhere},
		{"no driver, by its usual name", []string{nvidia.DriverFile + "="}, "libcuda.so.1: cannot open shared object file"},
		{"no start", []string{"PPAL_STUB_FAIL=cuInit=100"}, "the driver does not start: CUDA_ERROR_NO_DEVICE (100, a sentence of the stub)"},
		{"unknown answer", []string{"PPAL_STUB_FAIL=cuInit=12345"}, "the driver has no name for result 12345"},
		{"old driver", []string{"PPAL_STUB_VERSION=10020"}, "the driver supports CUDA 10.2, and CUDA 11.0 is needed: install a newer driver"},
		{"no device", []string{"PPAL_STUB_DEVICES=0"}, "there is no device 0: the driver finds 0"},
		{"old device", []string{"PPAL_STUB_CAPABILITY=7.5"}, "Stub 0 has compute capability 7.5, and 8.0 is needed"},
		{"another cuBLAS than named", []string{nvidia.ProductsFile + "=" + nowhere}, nvidia.ProductsFile + "=" + nowhere + ": "},
		{"not cuBLAS", []string{nvidia.ProductsFile + "=libc.so.6"}, "libc.so.6 has no cublasGemmEx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, _, _ := strings.Cut(openIn(t, c.set...), "\n")
			if !strings.HasPrefix(first, "open: cuda: no GPU available: ") || !strings.HasSuffix(first, " true") {
				t.Errorf("got %q, want an error that wraps ErrUnavailable", first)
			}
			if !strings.Contains(first, c.want) {
				t.Errorf("got %q, want it to contain %q", first, c.want)
			}
		})
	}
}

// Without cuBLAS the device opens, and Devices says what is missing.
func TestNoProducts(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{nvidia.ProductsFile + "=", "PATH=", "VIRTUAL_ENV=", "HOME=", "CUDA_HOME="},
			"there is no cuBLAS: libcublas.so.12 to .11 was not found in $LD_LIBRARY_PATH"},
		{[]string{nvidia.ProductsFile + "=" + nvidia.NoProducts}, "there is no cuBLAS: PPAL_CUBLAS is none"},
	} {
		out := openIn(t, c.set...)
		if first := "open: Stub 0 own products (no cuBLAS) <nil>\ndevices: 1 cuda: "; !strings.HasPrefix(out, first+c.want) {
			t.Errorf("%v: got %q, want %q", c.set, out, first+c.want)
		}
	}
}

// Devices lists the GPUs although cuBLAS is missing, and reports the missing cuBLAS.
func TestDevicesWithoutProducts(t *testing.T) {
	out := openIn(t, nvidia.ProductsFile+"=nowhere.so")
	if want := "devices: 1 cuda: no GPU available: PPAL_CUBLAS=nowhere.so: "; !strings.Contains(out, want) {
		t.Errorf("got %q, want it to contain %q", out, want)
	}
}

// A device can be opened again after it was closed. Its primary context is retained once for the
// life of the process.
func TestOpenTwice(t *testing.T) {
	require.NoError(t, require.Value(nvidia.Open(0))(t).Close())
	t.Setenv("PPAL_STUB_DEVICES", "9")
	lines := logTo(t)
	d := require.Value(nvidia.Open(0))(t)
	require.NoError(t, d.Close())
	require.NoError(t, d.Close()) // a second Close does nothing
	if _, err := d.Allocate(1); err == nil || !strings.Contains(err.Error(), "was closed") {
		t.Errorf("allocate after close: %v", err)
	}
	require.NoError(t, require.Value(nvidia.Open(0))(t).Close())
	require.NoError(t, require.Value(nvidia.Open(8))(t).Close()) // no other test opens this device
	if diff := cmp.Diff([]string{"retain 8"}, lines()); diff != "" {
		t.Error(diff)
	}
}

// Close releases the remaining objects and names them.
func TestCloseNames(t *testing.T) {
	lines := logTo(t)
	d := require.Value(nvidia.Open(0))(t)
	require.Value(d.Allocate(100))(t)
	require.Value(d.Allocate(28))(t)
	require.Value(d.Pinned(7))(t)
	require.Value(d.NewEvent())(t)
	s := require.Value(d.NewStream())(t)
	require.NoError(t, d.BeginCapture(s))
	require.Value(d.EndCapture(s))(t)
	err := d.Close()
	want := "cuda: close: still held: 2 buffers of 128 bytes, 1 pinned buffer of 7 bytes, 1 stream, 1 event, 1 graph"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	count := map[string]int{}
	for _, l := range lines() {
		kind, _, _ := strings.Cut(l, " ")
		count[kind]++
	}
	if count["alloc"] != count["free"] || count["pin"] != count["unpin"] || count["create"] != 1 || count["destroy"] != 3 {
		t.Errorf("not everything was given back: %v", lines())
	}
}

// copyFile copies the stub to file.
func copyFile(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(os.Getenv(nvidia.ProductsFile))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, content, 0o755))
}

// The package finds cuBLAS through the loader and in Python environments, in the versions that the
// driver supports.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", "")
	file := filepath.Join(dir, "env", "lib", "python3.12", "site-packages", "nvidia", "cublas", "lib", "libcublas.so.12")
	copyFile(t, file)
	out := openIn(t, nvidia.ProductsFile+"=", "LD_LIBRARY_PATH=", "VIRTUAL_ENV="+filepath.Join(dir, "env"))
	if want := "open: Stub 0 cuBLAS 12.4.5 <nil>"; !strings.Contains(out, want) {
		t.Errorf("in a virtual environment: got %q, want %q", out, want)
	}
	bin, wrapped := filepath.Join(dir, "env", "bin"), filepath.Join(dir, "wrapped")
	require.NoError(t, errors.Join(os.Mkdir(bin, 0o755), os.Mkdir(wrapped, 0o755), os.WriteFile(filepath.Join(bin, "python3"), nil, 0o755)))
	packages := filepath.Join(dir, "env", "lib", "python3.12", "site-packages")
	for name, make := range map[string]func(file string) error{
		"a link":   func(file string) error { return os.Symlink(filepath.Join(bin, "python3"), file) },
		"a script": func(file string) error { return os.WriteFile(file, []byte("#!/bin/sh\necho "+packages+"\n"), 0o755) },
	} {
		python := filepath.Join(wrapped, "python3")
		require.NoError(t, make(python))
		out = openIn(t, nvidia.ProductsFile+"=", "LD_LIBRARY_PATH=", "PATH="+wrapped)
		if want := "open: Stub 0 cuBLAS 12.4.5 <nil>"; !strings.Contains(out, want) {
			t.Errorf("python3 is %s: got %q, want %q", name, out, want)
		}
		require.NoError(t, os.Remove(python))
	}
	out = openIn(t, nvidia.ProductsFile+"=", "LD_LIBRARY_PATH="+filepath.Dir(file))
	if want := "open: Stub 0 cuBLAS 12.4.5 <nil>"; !strings.Contains(out, want) {
		t.Errorf("in the loader's path: got %q, want %q", out, want)
	}
	out = openIn(t, nvidia.ProductsFile+"=", "LD_LIBRARY_PATH="+filepath.Dir(file), "PPAL_STUB_VERSION=11080")
	if want := "libcublas.so.11 to .11 was not found"; !strings.Contains(out, want) {
		t.Errorf("newer than the driver: got %q, want %q", out, want)
	}
}

// headers.sh prefers the headers of an installed toolkit.
func TestHeaders(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, "include"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, "include", "cuda.h"), nil, 0o644))
	cmd := exec.Command("sh", "headers/headers.sh", "find")
	cmd.Env = append(os.Environ(), "CUDA_HOME="+home)
	out, err := cmd.Output()
	if got, want := strings.TrimSpace(string(out)), filepath.Join(home, "include"); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if out, err := exec.Command("sh", "headers/headers.sh").CombinedOutput(); err == nil || !strings.Contains(string(out), "usage: headers.sh find|fetch") {
		t.Errorf("without arguments: %q, %v", out, err)
	}
}
