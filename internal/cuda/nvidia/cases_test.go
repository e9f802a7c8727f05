//go:build gpu

package nvidia_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ppal/internal/cuda/nvidia"
	"ppal/internal/gpucheck"
	"ppal/internal/require"
)

// askedCase makes the test program run the case of that name instead of the tests.
const askedCase = "PPAL_TEST_CASE"

// badCases are cases that use the device while the stub works, fails, crashes or hangs.
func badCases() gpucheck.Part {
	use := func(name, set, value string) gpucheck.Case {
		return gpucheck.Case{Name: name, Limit: 3 * time.Second, Run: func(context.Context, gpucheck.Options) ([]gpucheck.Result, error) {
			if err := os.Setenv(set, value); err != nil {
				return nil, err
			}
			d, err := nvidia.Open(0)
			if err != nil {
				return nil, err
			}
			results := []gpucheck.Result{gpucheck.Measurement(name+" begins", 1, "")}
			if err := d.Synchronize(0); err != nil {
				return results, err
			}
			return append(results, gpucheck.Measurement(name+" ends", 1, "")), d.Close()
		}}
	}
	return gpucheck.Part{Name: "bad", Cases: []gpucheck.Case{use("good", "PPAL_STUB_FAIL", ""), use("fails", "PPAL_STUB_FAIL", "cuStreamSynchronize=700"),
		use("crashes", "PPAL_STUB_CRASH", "cuStreamSynchronize"), use("hangs", "PPAL_STUB_HANG", "cuStreamSynchronize"),
		use("last", "PPAL_STUB_FAIL", "")}}
}

// runAskedCase is the test program as the process of a case.
func runAskedCase() {
	err := gpucheck.RunCase(context.Background(), []gpucheck.Part{badCases()}, "bad", os.Args[len(os.Args)-1], gpucheck.Options{}, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Cases run in processes of their own: after a case that fails, crashes its process or hangs in the
// driver, the next case runs, and the results say what happened.
func TestCasesGoOn(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(askedCase, "1")
	var seen []string
	o := gpucheck.Options{Self: self, Args: []string{"gpu-check"}, Log: t.Logf}
	require.NoError(t, gpucheck.Run(t.Context(), []gpucheck.Part{badCases()}, o, func(list []gpucheck.Line) error {
		for _, l := range list {
			seen = append(seen, l.Name+" "+string(l.Status)+" "+l.Detail)
		}
		return nil
	}, func(gpucheck.PartReport) error { return nil }))
	want := []string{"good begins measured", "good ends measured", "fails begins measured", "fails: the case ended early failed exit status 1: wait for",
		"crashes: the case ended early failed exit status 2: SIGABRT", "hangs: the case ended early failed stopped after its time limit of 3s",
		"last begins measured", "last ends measured"}
	if len(seen) != len(want) {
		t.Fatalf("got %q", seen)
	}
	for i := range want {
		if !strings.HasPrefix(seen[i], want[i]) {
			t.Errorf("got %q, want %q", seen[i], want[i])
		}
	}
	if !strings.Contains(seen[3], "CUDA_ERROR_ILLEGAL_ADDRESS (700") {
		t.Errorf("the error is lost: %s", seen[3])
	}
}
