package experiment

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"ppal/cuda"
	"ppal/cuda/driver"
	"ppal/cuda/open"
	"ppal/internal/config"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/trainer/graph"
	engine "ppal/trainer/graph/cuda"
)

// Option changes what an experiment finds around it.
type Option func(*Experiment)

// WithGPU opens GPUs by another function than this machine's, cuda/open's.
func WithGPU(open func(ordinal int) (driver.Driver, error)) Option {
	return func(e *Experiment) { e.openGPU = open }
}

// chooseEngine makes what the configuration names. On a GPU the CPU still scores the rows that are only measured, and certifies.
func (e *Experiment) chooseEngine() error {
	if e.cfg.Engine == "gorgonia" {
		e.engine, e.host = graph.Tape{}, graph.Tape{}
		e.info.Device = fmt.Sprintf("cpu, %d threads, Gorgonia's tape machine with gonum products, %s", runtime.GOMAXPROCS(0), e.cfg.Dtype)
		return nil
	}
	d, err := CPU(e.cfg.Device)
	if err != nil {
		return productsError(err)
	}
	e.host = graph.Planned(d)
	if !onlyCPU(e.cfg.Device) {
		err := e.useGPU()
		if err == nil || e.cfg.Kind() == "cuda" || !errors.Is(err, driver.ErrUnavailable) {
			return err
		}
		if !has("cpu", e.cfg.Products) || e.cfg.MicroBatch > 0 {
			return fmt.Errorf("experiment: --products tf32, bf16x3, bf16x2 and --micro-batch are for a GPU: %w", err)
		}
	}
	e.device, e.engine = d, e.host
	e.info.Device = fmt.Sprintf("cpu, %d threads, %v kernels, %s", d.Threads(), d.Level(), e.cfg.Dtype)
	return nil
}

// has says whether a kind of device computes products in that way; none named is auto.
func has(device, products string) bool {
	return products == "" || slices.Contains(config.DevicesProducts(device), products)
}

// onlyCPU says whether the configuration leaves nothing but the CPU: products of slices of integers are the CPU's, so auto means it.
func onlyCPU(cfg config.Device) bool { return cfg.Kind() == "cpu" || !has("cuda", cfg.Products) }

// useGPU opens the GPU that the configuration names.
func (e *Experiment) useGPU() error {
	if e.openGPU == nil {
		e.openGPU = open.Open
	}
	d, err := e.openGPU(e.cfg.Ordinal())
	if err != nil {
		return err
	}
	o := cuda.Options{MicroBatch: e.cfg.MicroBatch}
	switch e.cfg.Products {
	case "tf32":
		o.Products = driver.TF32
	case "bf16x3":
		o.Slices = 3
	case "bf16x2":
		o.Slices = 2
	}
	if e.gpu, err = cuda.Open(d, o); err != nil {
		return err
	}
	e.engine = engine.Engine(e.gpu)
	e.info.Device = describeGPU(e.gpu.Info(), e.cfg.Device)
	return nil
}

// describeGPU names the GPU, its driver and how products are computed.
func describeGPU(i driver.Info, cfg config.Device) string {
	products := cfg.Products
	if products == "auto" {
		products = cfg.Dtype
	}
	s := fmt.Sprintf("cuda:%d, %s (compute capability %d.%d), driver for CUDA %s, %s, %s products, %s", i.Ordinal, i.Name, i.Major, i.Minor,
		i.Driver, i.Products, products, cfg.Dtype)
	if cfg.MicroBatch > 0 {
		s += fmt.Sprintf(", %d rows at a time", cfg.MicroBatch)
	}
	return s
}

// CPU is the device that the configuration's plans run on, on the CPU.
func CPU(cfg config.Device) (*cpu.Device, error) {
	if !has("cpu", cfg.Products) { // the GPU's: what is left to the CPU is free
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
	products, err := cpu.ParseProducts(cfg.Products)
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
