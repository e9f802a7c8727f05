package cmd

import (
	"fmt"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/open"
)

// gpus lists and opens GPUs.
type gpus struct {
	list func() ([]driver.Info, error)
	open func(ordinal int) (driver.Driver, error)
}

// machineGPUs returns the GPUs of this machine.
func machineGPUs() gpus { return gpus{list: open.Devices, open: open.Open} }

const gibibyte = 1 << 30

// printGPUs prints a line for each GPU, or a line that says what is missing.
func (a *app) printGPUs() {
	all, missing := a.gpus.list()
	for _, info := range all {
		line := fmt.Sprintf("%s, compute capability %d.%d, %d multiprocessors, driver for CUDA %s", info.Name, info.Major, info.Minor,
			info.Processors, info.Driver)
		if info.Products != "" {
			line += ", " + info.Products
		}
		memory := fmt.Sprintf("%.1f GiB", float64(info.Memory)/gibibyte)
		if missing == nil {
			free, err := a.freeMemory(info.Ordinal)
			if err != nil {
				memory += fmt.Sprintf(" (%v)", err)
			} else {
				memory += fmt.Sprintf(", %.1f of them free", float64(free)/gibibyte)
			}
		}
		fmt.Fprintf(a.stdout, "cuda:%-3d %s, %s\n", info.Ordinal, line, memory)
	}
	if missing != nil {
		fmt.Fprintf(a.stdout, "gpu      %v\n", missing)
	}
}

// freeMemory returns the free memory of a GPU, which it must open.
func (a *app) freeMemory(ordinal int) (int64, error) {
	d, err := a.gpus.open(ordinal)
	if err != nil {
		return 0, err
	}
	free, _, err := d.Memory()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return free, err
}
