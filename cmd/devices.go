package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/cpu"
	"gorgonia.org/tensor"

	"ppal/internal/bench"
	device "ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/nvidia"
	"ppal/internal/plan"
)

func (a *app) devicesCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "devices",
		Short:   "List the devices of this machine and their speed",
		Example: "  ppal devices",
		Args:    noArguments,
		RunE: a.command(func(*cobra.Command, []string) error {
			fmt.Fprintf(a.stdout, "cpu      %s\n", cpuModel())
			fmt.Fprintf(a.stdout, "cores    %d, %d used\n", runtime.NumCPU(), runtime.GOMAXPROCS(0))
			fmt.Fprintf(a.stdout, "features %s\n", features())
			if err := a.kernels(); err != nil {
				return err
			}
			a.printGPUs()
			return nil
		}),
	}
}

// kernels prints the level of the plan's kernels, their speed, and the speed of Gorgonia's
// products.
func (a *app) kernels() error {
	d, err := device.New(kernel.Best(), 0)
	if err != nil {
		return err
	}
	single, err := bench.Speed[float32](d)
	if err != nil {
		return err
	}
	double, err := bench.Speed[float64](d)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "plan     %v kernels, %d threads: %.0f GFLOP/s in float32, %.0f in float64 (an iteration's two products)\n",
		d.Level(), d.Threads(), single, double)
	if lack := kernel.AMX.Lack(); lack != nil {
		fmt.Fprintf(a.stdout, "amx      not used: %v\n", lack)
	}
	eightBit, err := eightBitSpeed(d)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "8-bit    %s\n", eightBit)
	floats, err := bfloat16Speed(d)
	if err != nil {
		return err
	}
	if floats != "" {
		fmt.Fprintf(a.stdout, "bfloat16 %s\n", floats)
	}
	fmt.Fprintf(a.stdout, "gorgonia gonum's products: %.1f GFLOP/s in float32, %.1f in float64 (%d x %d matrices)\n",
		gigaflops(product(tensor.Float32)), gigaflops(product(tensor.Float64)), productSide, productSide)
	return nil
}

// eightBitSpeed describes the products that --products auto selects for 8-bit data, and their
// speed, counted as floating-point operations of the equivalent float32 products.
func eightBitSpeed(d *device.Device) (string, error) {
	three, err := d.With(plan.Int8x3)
	var lacking *plan.ProductsError
	if errors.As(err, &lacking) {
		return "neither AVX-512 VNNI nor AVX-VNNI: products with 8-bit data run in float32", nil
	}
	if err != nil {
		return "", err
	}
	two, err := d.With(plan.Int8x2)
	if err != nil {
		return "", err
	}
	speeds := [2]float64{}
	for i, tuned := range []*device.Device{three, two} {
		if speeds[i], err = bench.DigitSpeed(tuned); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s: equivalent to %.0f GFLOP/s with three digits (auto), %.0f with two (the same products)", d.Integers(), speeds[0], speeds[1]), nil
}

// bfloat16Speed describes the products of dense floats in digits of bfloat16, and their speed,
// counted as floating-point operations of the equivalent float32 products. It returns "" if the CPU
// does not support these products.
func bfloat16Speed(d *device.Device) (string, error) {
	var lacking *plan.ProductsError
	speeds := [2]float64{}
	for i, p := range []plan.Products{plan.BF16x3, plan.BF16x2} {
		tuned, err := d.With(p)
		if errors.As(err, &lacking) {
			return "", nil
		}
		if err == nil {
			speeds[i], err = bench.BFloat16Speed(tuned)
		}
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("dense floats: equivalent to %.0f GFLOP/s with three digits, %.0f with two", speeds[0], speeds[1]), nil
}

// cpuModel returns the processor's name if the system reports it.
func cpuModel() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range bytes.Lines(info) {
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// features lists the vector instructions that matter for products.
func features() string {
	var have []string
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"avx2", cpu.X86.HasAVX2}, {"fma", cpu.X86.HasFMA}, {"avx512f", cpu.X86.HasAVX512F}, {"avx512bw", cpu.X86.HasAVX512BW},
		{"avx512vnni", cpu.X86.HasAVX512VNNI}, {"avxvnni", cpu.X86.HasAVXVNNI}, {"amxint8", cpu.X86.HasAMXInt8}, {"amxbf16", cpu.X86.HasAMXBF16}, {"asimd", cpu.ARM64.HasASIMD}, {"sve", cpu.ARM64.HasSVE},
	} {
		if f.has {
			have = append(have, f.name)
		}
	}
	if have == nil {
		return "none known"
	}
	return strings.Join(have, " ")
}

const (
	productSide = 512
	productTime = 200 * time.Millisecond
)

// gigaflops measures a product of two productSide x productSide matrices: the best time within
// productTime.
func gigaflops(multiply func()) float64 {
	best := time.Duration(1<<63 - 1)
	for began := time.Now(); time.Since(began) < productTime; {
		once := time.Now()
		multiply()
		best = min(best, time.Since(once))
	}
	return 2 * productSide * productSide * productSide / best.Seconds() / 1e9
}

// product returns a product of two random matrices in Gorgonia's tensors, which gonum computes.
func product(dtype tensor.Dtype) func() {
	var m [3]*tensor.Dense
	for i := range m {
		m[i] = tensor.New(tensor.WithShape(productSide, productSide), tensor.WithBacking(tensor.Random(dtype, productSide*productSide)))
	}
	return func() { _, _ = m[0].MatMul(m[1], tensor.WithReuse(m[2])) } // the shapes fit
}

// gpus lists and opens GPUs.
type gpus struct {
	list func() ([]driver.Info, error)
	open func(ordinal int) (driver.Driver, error)
}

// machineGPUs returns the GPUs of this machine.
func machineGPUs() gpus { return gpus{list: nvidia.Devices, open: nvidia.Open} }

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
