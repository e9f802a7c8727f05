package cmd

import (
	"errors"
	"strings"
	"testing"

	"ppal/internal/cuda/driver"
)

// idleGPU is a device that reports only its memory.
type idleGPU struct {
	driver.Driver
	err error
}

func (d idleGPU) Memory() (free, total int64, err error) {
	return 139 * gibibyte, 140 * gibibyte, d.err
}
func (idleGPU) Close() error { return nil }

func TestDevicesListsGPUs(t *testing.T) {
	h200 := driver.Info{Ordinal: 0, Name: "NVIDIA H200", Major: 9, Processors: 132, Memory: 140 * gibibyte, Driver: "13.0", Products: "cuBLAS 13.1.0"}
	const line = "cuda:0   NVIDIA H200, compute capability 9.0, 132 multiprocessors, driver for CUDA 13.0"
	unread := errors.New("cuda: lost")
	for _, c := range []struct {
		name    string
		missing error
		device  idleGPU
		bare    bool // without cuBLAS
		want    string
	}{
		{"whole", nil, idleGPU{}, false, line + ", cuBLAS 13.1.0, 140.0 GiB, 139.0 of them free\n"},
		{"without cuBLAS", driver.ErrUnavailable, idleGPU{}, true, line + ", 140.0 GiB\ngpu      no GPU available\n"},
		{"failing", nil, idleGPU{err: unread}, false, line + ", cuBLAS 13.1.0, 140.0 GiB (cuda: lost)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			info := h200
			if c.bare {
				info.Products = ""
			}
			a := &app{stdout: &out, gpus: gpus{
				list: func() ([]driver.Info, error) { return []driver.Info{info}, c.missing },
				open: func(int) (driver.Driver, error) { return c.device, nil },
			}}
			a.printGPUs()
			if out.String() != c.want {
				t.Errorf("got\n%swant\n%s", out.String(), c.want)
			}
		})
	}
}

// Without a GPU, or without support for GPUs in the build, gpu-check fails with one line that says
// what is missing.
func TestGPUCheckWithoutGPU(t *testing.T) {
	if d, err := machineGPUs().open(0); err == nil {
		_ = d.Close()
		t.Skip("there is a GPU")
	}
	got := command(t.Context(), nil, "gpu-check")
	if got.status != exitFailed || !strings.HasPrefix(got.stderr, "ppal: cuda: no GPU available: ") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("%+v", got)
	}
}
