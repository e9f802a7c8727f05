package session

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"ppal/cuda/driver"
	"ppal/internal/config"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/graph"
)

// Option changes what an experiment finds around it.
type Option func(*Experiment)

// GPU is an open GPU that trains. Programs built without the tag gpu have none.
type GPU interface {
	graph.Engine
	// Info describes the device.
	Info() driver.Info
	// PeakBytes is the most device memory that was allocated at one time.
	PeakBytes() int64
	// Products is how the device multiplies 8-bit data of that many columns.
	Products(cols int) plan.Products
	Close() error
}

// GPUOptions say which GPU a run opens, and how that GPU computes.
type GPUOptions struct {
	Ordinal    int    // counted from 0
	Products   string // a value of --products; "" is auto
	MicroBatch int    // rows of the data that are worked on at a time; 0: all
}

// WithGPU lets a run open its GPU by another function than the one that finds this machine's GPUs.
func WithGPU(open func(GPUOptions) (GPU, error)) Option {
	return func(e *Experiment) { e.openGPU = open }
}

// chooseEngine makes what the configuration names. On a GPU the CPU still scores the rows that are only measured, and certifies.
func (e *Experiment) chooseEngine() error {
	if e.cfg.Engine == "gorgonia" {
		e.engine, e.host = graph.Tape{}, graph.Tape{}
		e.info.Device = fmt.Sprintf("cpu, %d threads, Gorgonia's tape machine with gonum products, %s", runtime.GOMAXPROCS(0), e.cfg.Dtype)
		return nil
	}
	if e.cfg.Kind() != "cpu" {
		err := e.useGPU()
		if err == nil || e.cfg.Kind() == "cuda" || !errors.Is(err, driver.ErrUnavailable) {
			return productsError(err)
		}
		if !has("cpu", e.cfg.Products) || e.cfg.MicroBatch > 0 {
			return fmt.Errorf("session: --products tf32, bf16x3, bf16x2 and --micro-batch are for a GPU: %w", err)
		}
	}
	d, err := CPU(e.cfg.Device)
	if err != nil {
		return productsError(err)
	}
	e.host = graph.Planned(d)
	e.device, e.engine = d, e.host
	e.info.Device = fmt.Sprintf("cpu, %d threads, %v kernels, %s", d.Threads(), d.Level(), e.cfg.Dtype)
	return nil
}

// has says whether a kind of device computes products in that way; none named is auto.
func has(device, products string) bool {
	return products == "" || slices.Contains(config.DevicesProducts(device), products)
}

// useGPU opens the GPU that the configuration names. What is left to the CPU is multiplied as is fastest there.
func (e *Experiment) useGPU() error {
	rest := e.cfg.Device
	if rest.Products != "float32" {
		rest.Products = "auto"
	}
	host, err := CPU(rest)
	if err != nil {
		return err
	}
	open := e.openGPU
	if open == nil {
		open = openGPU
	}
	gpu, err := open(GPUOptions{Ordinal: e.cfg.Ordinal(), Products: e.cfg.Products, MicroBatch: e.cfg.MicroBatch})
	if err != nil {
		return err
	}
	e.gpu, e.engine, e.host = gpu, gpu, graph.Planned(host)
	return nil
}

// describeGPU names the GPU, its driver and how products are computed.
func describeGPU(i driver.Info, cfg config.Device, products string) string {
	s := fmt.Sprintf("cuda:%d, %s (compute capability %d.%d), driver for CUDA %s, %s, %s products, %s", i.Ordinal, i.Name, i.Major, i.Minor,
		i.Driver, i.Products, products, cfg.Dtype)
	if cfg.MicroBatch > 0 {
		s += fmt.Sprintf(", %d rows at a time", cfg.MicroBatch)
	}
	return s
}

// CPU is the device that the configuration's plans run on, on the CPU.
func CPU(cfg config.Device) (*cpu.Device, error) {
	if !has("cpu", cfg.Products) { // the GPU's
		cfg.Products = "auto"
	}
	level := kernel.Best()
	if cfg.SIMD != "auto" {
		var err error
		if level, err = kernel.ParseLevel(cfg.SIMD); err != nil {
			return nil, err
		}
	}
	d, err := cpu.New(level, cfg.Threads)
	if err != nil || cfg.Products == "" {
		return d, err
	}
	products, err := plan.ParseProducts(cfg.Products)
	if err != nil {
		return nil, err
	}
	return d.With(products)
}

// Close gives the GPU back, where one was used.
func (e *Experiment) Close() error {
	if e.gpu == nil {
		return nil
	}
	err := e.gpu.Close()
	e.gpu = nil
	return err
}
