package session

import (
	"errors"
	"fmt"
	"runtime"

	"gorgonia.org/tensor"

	"ppal/cuda/driver"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/graph"
)

// Device says what computes. The zero value is a GPU where the program has support for one and one
// answers, else all cores of the CPU; in float32, by the fastest products that are as accurate.
type Device struct {
	Kind    DeviceKind
	Ordinal int // of the GPU, from 0
	Engine  Engine
	SIMD    SIMD
	// Products is how float32 products with the data are computed.
	Products Products
	// MicroBatch is the number of rows that a GPU works on at a time; 0: all.
	MicroBatch int
	// Dtype is tensor.Float32 or tensor.Float64; the zero value is float32. The certificate is in
	// float64 either way.
	Dtype tensor.Dtype
	// Threads of the CPU; 0: all cores.
	Threads int
	// OpenGPU opens the GPU; nil opens one of this machine's.
	OpenGPU func(GPUOptions) (GPU, error)
}

// GPU is an open GPU that trains. Programs built without the tag gpu have none.
type GPU interface {
	plan.Device
	// Info describes the device.
	Info() driver.Info
	// PeakBytes is the most device memory that was allocated at one time.
	PeakBytes() int64
	Close() error
}

// GPUOptions say which GPU a session opens, and how that GPU computes.
type GPUOptions struct {
	Ordinal    int // counted from 0
	Products   plan.Products
	MicroBatch int // rows of the data that are worked on at a time; 0: all
}

// DeviceKind is a kind of device. The empty string means a GPU if there is one, else the CPU.
type DeviceKind string

// The kinds of devices.
const (
	CPU  DeviceKind = "cpu"
	CUDA DeviceKind = "cuda"
)

// Engine is what runs the graphs. The empty string means Plan.
type Engine string

// The engines.
const (
	Plan     Engine = "plan"     // compiled for the device
	Gorgonia Engine = "gorgonia" // Gorgonia's tape machine on the CPU, with gonum's products: the reference
)

// SIMD is the instruction set of the CPU's kernels. The empty string means the widest there is.
type SIMD string

// The instruction sets.
const (
	AVX512 SIMD = "avx512"
	AVX2   SIMD = "avx2"
	NoSIMD SIMD = "go"
)

// Products is how float32 products with the data are computed. The empty string means the fastest
// way that is known to be as accurate as Float32.
type Products string

// The products. Int8 and bfloat16 digits are for 8-bit data: the other factor is quantized to three
// or two digits, of which three reach float32's accuracy.
const (
	Float32 Products = "float32"
	Int8x3  Products = "int8x3"
	Int8x2  Products = "int8x2"
	TF32    Products = "tf32"   // GPU
	BF16x3  Products = "bf16x3" // GPU
	BF16x2  Products = "bf16x2" // GPU
)

// onGPUOnly says whether the CPU lacks the products.
func (p Products) onGPUOnly() bool { return p == TF32 || p == BF16x3 || p == BF16x2 }

// ofBytes says whether the products are for 8-bit data alone.
func (p Products) ofBytes() bool { return p == Int8x3 || p == Int8x2 || p == BF16x3 || p == BF16x2 }

// validate refuses values that no device has.
func (d Device) validate() error {
	refuse := func(option string, value any) error {
		return &OptionError{Option: option, Problem: fmt.Sprintf("is %q, which is not known", value)}
	}
	switch {
	case d.Kind != "" && d.Kind != CPU && d.Kind != CUDA:
		return refuse("device", d.Kind)
	case d.Engine != "" && d.Engine != Plan && d.Engine != Gorgonia:
		return refuse("engine", d.Engine)
	case d.Products != "" && d.Products != Float32 && !d.Products.ofBytes() && !d.Products.onGPUOnly():
		return refuse("products", d.Products)
	case d.Dtype.Type != nil && d.Dtype != tensor.Float32 && d.Dtype != tensor.Float64:
		return refuse("dtype", d.Dtype)
	}
	return nil
}

// dtype is the numbers' type.
func (d Device) dtype() tensor.Dtype {
	if d.Dtype.Type == nil {
		return tensor.Float32
	}
	return d.Dtype
}

// OpenCPU opens the CPU device that the plans run on. Products that only a GPU has count as automatic.
func (d Device) OpenCPU() (*cpu.Device, error) {
	level := kernel.Best()
	if d.SIMD != "" {
		var err error
		if level, err = kernel.ParseLevel(string(d.SIMD)); err != nil {
			return nil, err
		}
	}
	opened, err := cpu.New(level, d.Threads)
	if err != nil || d.Products == "" || d.Products.onGPUOnly() {
		return opened, err
	}
	products, err := plan.ParseProducts(string(d.Products))
	if err != nil {
		return nil, err
	}
	return opened.With(products)
}

// devices are what a session computes on.
type devices struct {
	options Device
	train   graph.Engine // the training rows
	measure graph.Engine // the rows that are only measured, and the certificate
	cpu     *cpu.Device  // the training device where the plan runs on the CPU, else nil
	gpu     GPU          // the training device where it is a GPU, else nil
	name    string
}

// openDevices opens what the options name. With a GPU, the CPU still scores the rows that are only
// measured, and computes the certificate.
func openDevices(o Device) (*devices, error) {
	d := &devices{options: o}
	if o.Engine == Gorgonia {
		d.train, d.measure = graph.Tape{}, graph.Tape{}
		d.name = fmt.Sprintf("cpu, %d threads, Gorgonia's tape machine with gonum products, %v", runtime.GOMAXPROCS(0), o.dtype())
		return d, nil
	}
	if o.Kind != CPU {
		err := d.openGPU()
		if err == nil || o.Kind == CUDA || !errors.Is(err, driver.ErrUnavailable) {
			return d, productsError(err)
		}
		if o.Products.onGPUOnly() || o.MicroBatch > 0 {
			return nil, fmt.Errorf("session: the products tf32, bf16x3 and bf16x2 and micro-batches need a GPU: %w", err)
		}
	}
	var err error
	if d.cpu, err = o.OpenCPU(); err != nil {
		return nil, productsError(err)
	}
	d.train = graph.On(d.cpu)
	d.measure = d.train
	d.name = fmt.Sprintf("cpu, %d threads, %v kernels, %v", d.cpu.Threads(), d.cpu.Level(), o.dtype())
	return d, nil
}

// openGPU opens the GPU. What is left to the CPU has the products that are fastest there.
func (d *devices) openGPU() error {
	rest := d.options
	if rest.Products != Float32 {
		rest.Products = ""
	}
	host, err := rest.OpenCPU()
	if err != nil {
		return err
	}
	products := plan.AutoProducts
	if d.options.Products != "" {
		if products, err = plan.ParseProducts(string(d.options.Products)); err != nil {
			return err
		}
	}
	open := d.options.OpenGPU
	if open == nil {
		open = openGPU
	}
	gpu, err := open(GPUOptions{Ordinal: d.options.Ordinal, Products: products, MicroBatch: d.options.MicroBatch})
	if err != nil {
		return err
	}
	d.gpu, d.train, d.measure = gpu, graph.On(gpu), graph.On(host)
	return nil
}

// describe names the device once the products are known.
func (d *devices) describe(products string) string {
	if d.gpu == nil {
		return d.name
	}
	i := d.gpu.Info()
	s := fmt.Sprintf("cuda:%d, %s (compute capability %d.%d), driver for CUDA %s, %s, %s products, %v", i.Ordinal, i.Name, i.Major, i.Minor,
		i.Driver, i.Products, products, d.options.dtype())
	if d.options.MicroBatch > 0 {
		s += fmt.Sprintf(", %d rows at a time", d.options.MicroBatch)
	}
	return s
}

// integerProducts says whether products with 8-bit data of so many columns would be of integers.
func (d *devices) integerProducts(cols int) bool {
	if d.gpu != nil {
		return d.gpu.Products(cols).Digits() > 0
	}
	return d.cpu != nil && d.cpu.Products(cols).Digits() > 0
}

// peakBytes is the most of a GPU's memory that was in use so far; 0 without a GPU.
func (d *devices) peakBytes() int64 {
	if d.gpu == nil {
		return 0
	}
	return d.gpu.PeakBytes()
}

// close gives the GPU back.
func (d *devices) close() error {
	if d.gpu == nil {
		return nil
	}
	err := d.gpu.Close()
	d.gpu = nil
	return err
}

// productsError lets a device's error about its products name the option.
func productsError(err error) error {
	var unsupported *plan.ProductsError
	if errors.As(err, &unsupported) {
		return &OptionError{Option: "products", Problem: fmt.Sprintf("is %v, which needs %s; %s, want auto or float32",
			unsupported.Products, unsupported.Needs, unsupported.Found)}
	}
	return err
}
