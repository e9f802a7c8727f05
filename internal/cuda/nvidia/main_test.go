//go:build gpu

package nvidia_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/nvidia"
	"ppal/internal/require"
)

// asked makes the test program print the results of Open and Devices instead of running tests,
// because a process has one driver for life.
const asked = "PPAL_TEST_OPEN"

// TestMain runs the tests on a driver and a cuBLAS without a GPU (testdata/stub).
func TestMain(m *testing.M) {
	if os.Getenv(asked) != "" {
		printOpen()
		return
	}
	if os.Getenv(askedCase) != "" {
		runAskedCase()
		return
	}
	if err := useStub(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// stubFile is the stub's library.
var stubFile string

// useStub builds the stub, and names it in the environment.
func useStub() (err error) {
	if stubFile, err = double.Library(); err != nil {
		return err
	}
	return errors.Join(os.Setenv(nvidia.DriverFile, stubFile), os.Setenv(nvidia.ProductsFile, stubFile))
}

func printOpen() {
	d, err := nvidia.Open(0)
	if err != nil {
		fmt.Println("open:", err, errors.Is(err, driver.ErrUnavailable))
	} else {
		fmt.Println("open:", d.Info().Name, d.Info().Products, d.Close())
	}
	all, err := nvidia.Devices()
	fmt.Println("devices:", len(all), err)
}

// openIn runs another process of the test program with environment variables changed, and returns
// what the process prints.
func openIn(t *testing.T, set ...string) string {
	t.Helper()
	self := require.Value(os.Executable())(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(append(os.Environ(), asked+"=1"), set...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// logTo makes the stub log its calls, and returns a function that reads the log.
func logTo(t *testing.T) (lines func() []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log")
	t.Setenv("PPAL_STUB_LOG", file)
	return func() []string {
		t.Helper()
		content := require.Value(os.ReadFile(file))(t)
		return strings.Split(strings.TrimSpace(string(content)), "\n")
	}
}

// open opens a device of the stub and closes it when the test ends; the test fails if objects are
// still held.
func open(t testing.TB) driver.Driver {
	t.Helper()
	d := require.Value(nvidia.Open(0))(t)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// must returns a call's value, and fails the test if the call failed.
// buffer allocates device memory with content, and frees it when the test ends.
func buffer(t testing.TB, d driver.Driver, content []byte) driver.Pointer {
	t.Helper()
	p := require.Value(d.Allocate(len(content)))(t)
	require.NoError(t, d.Upload(0, p, content))
	t.Cleanup(func() { require.NoError(t, d.Free(p)) })
	return p
}
