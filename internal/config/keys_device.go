package config

import (
	"slices"
	"strconv"
	"strings"
)

func deviceKeys() []*Key {
	plan := []condition{{"engine", []string{"plan"}, "the plan's"}}
	return []*Key{
		{Name: "device", Group: GroupDevice, Value: "auto|cpu|cuda[:N]",
			Usage: "what computes: this machine's cores, or the N-th NVIDIA GPU (default auto: a GPU where the program has support for it and" +
				" one answers, else the CPU)",
			choices: []string{"auto", "cpu", "cuda"}, numbered: "cuda",
			field: func(t *Train) any { return &t.Device.Device }, preset: always("auto")},
		{Name: "engine", Group: GroupDevice, Value: "plan|gorgonia",
			Usage:   "own kernels, or Gorgonia's machine with gonum's products, the reference (default plan)",
			choices: []string{"plan", "gorgonia"}, field: func(t *Train) any { return &t.Engine }, preset: always("plan")},
		{Name: "simd", Group: GroupDevice, Value: "auto|avx512|avx2|go",
			Usage:   "instructions of the plan's kernels on the CPU (default auto: the widest there are)",
			choices: []string{"auto", "avx512", "avx2", "go"}, when: plan,
			field: func(t *Train) any { return &t.SIMD }, preset: always("auto")},
		{Name: "products", Group: GroupDevice, Value: "KIND",
			Usage: "of float32 products with the data: auto, float32; of 8-bit data with the other factor cut into 3 or 2 slices, of which 3 are" +
				" for float32's accuracy, int8x3, int8x2, on a GPU also bf16x3, bf16x2; with 10 bits of the factors, tf32 (GPU) (default auto:" +
				" the fastest known to be as accurate as float32)",
			choices: []string{"auto", "float32", "int8x3", "int8x2", "tf32", "bf16x3", "bf16x2"},
			field:   func(t *Train) any { return &t.Products }, preset: always("auto")},
		{Name: "micro-batch", Group: GroupDevice, Value: "N",
			Usage: "the GPU works on so many rows at a time, for memory: the sums over all rows stay the same; 0 is all at once (default 0)",
			when:  plan, interval: atLeast(0), field: func(t *Train) any { return &t.MicroBatch }, preset: always("0")},
		{Name: "explain", Group: GroupDevice, Usage: "print the plan that the engine runs, step by step, before training",
			when: plan, field: func(t *Train) any { return &t.Explain }, preset: always("false")},
		{Name: "dtype", Group: GroupDevice, Value: "float32|float64",
			Usage:   "of the numbers; the final certificate is always in float64 (default float32)",
			choices: []string{"float32", "float64"}, field: func(t *Train) any { return &t.Dtype }, preset: always("float32")},
		{Name: "threads", Group: GroupDevice, Value: "N", Usage: "0 is all cores (default 0)",
			interval: atLeast(0), field: func(t *Train) any { return &t.Threads }, preset: always("0")},
	}
}

// DevicesProducts lists the values of the key products that a device has: "cpu", or "cuda". "auto" has all.
func DevicesProducts(device string) []string {
	all := []string{"auto", "float32", "int8x3", "int8x2"}
	if device == "cpu" {
		return all
	}
	return append(all, "tf32", "bf16x3", "bf16x2")
}

// Kind is the device without its number: auto, cpu or cuda.
func (d Device) Kind() string {
	kind, _, _ := strings.Cut(d.Device, ":")
	return kind
}

// Ordinal is the GPU's number.
func (d Device) Ordinal() int {
	_, number, _ := strings.Cut(d.Device, ":")
	n, _ := strconv.Atoi(number) // none is 0
	return n
}

// consistentDevice refuses what a device does not have.
func (t *Train) consistentDevice(refuse func(name, format string, args ...any) error) error {
	products := DevicesProducts(t.Kind())
	switch {
	case t.Engine == "gorgonia" && t.Kind() == "cuda":
		return refuse("engine", "is gorgonia, which computes on the CPU; the device is %s", t.Device.Device)
	case t.Engine == "gorgonia" && t.Products != "auto":
		return refuse("products", "is %s; the engine gorgonia has its own, want auto", t.Products)
	case t.Engine == "gorgonia":
		return nil
	case !slices.Contains(products, t.Products):
		return refuse("products", "is %s, which the device %s has not; want %s", t.Products, t.Device.Device, oneOf(products))
	case t.Dtype == "float64" && t.Products != "auto":
		return refuse("products", "is %s; with --dtype float64 products are in float64, want auto", t.Products)
	case t.MicroBatch > 0 && t.Kind() == "cpu":
		return refuse("micro-batch", "is %d, which is for a GPU; the CPU works on blocks of rows as it is, want 0", t.MicroBatch)
	}
	return nil
}
