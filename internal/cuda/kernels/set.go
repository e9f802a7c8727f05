package kernels

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"ppal/internal/cuda/driver"
)

// Dtype is the type of the matrices' elements.
type Dtype uint8

// The element types.
const (
	Float32 Dtype = iota
	Float64
)

// Size returns the bytes of an element.
func (t Dtype) Size() int { return 4 << t }

// String returns the ending of kernel names: f32, f64.
func (t Dtype) String() string { return [...]string{"f32", "f64"}[t] }

// Set holds the kernels of one element type on a device. The first launch of a module's kernel
// compiles the module. The methods launch kernels: they return when the launch is queued, and their
// errors are the queue's and the compiler's. Operands are different matrices unless a method says
// otherwise.
type Set struct {
	dtype   Dtype
	driver  driver.Driver
	texts   fs.FS                    // the modules' PTX
	files   map[string]string        // the module of each kernel; names are without ending
	modules map[string]driver.Module // the loaded modules, by file
	kernels map[string]kernel        // the kernels that were launched

	binaries embedded

	warpgroups *bool // what Warpgroups found out
}

// kernel is a compiled kernel.
type kernel struct {
	function driver.Function
	name     string // with ending
}

// Load returns the kernels of an element type. It compiles nothing.
func Load(d driver.Driver, t Dtype) (*Set, error) {
	texts, err := PTX()
	if err != nil {
		return nil, err
	}
	s := &Set{dtype: t, driver: d, texts: texts, files: map[string]string{}, modules: map[string]driver.Module{}, kernels: map[string]kernel{}, binaries: binaries}
	for _, file := range texts.File {
		if !strings.HasSuffix(file.Name, "_"+t.String()+".ptx") {
			continue
		}
		for name := range strings.FieldsSeq(file.Comment) {
			s.files[s.bare(name)] = file.Name
		}
	}
	return s, nil
}

// bare returns a kernel's name without ending.
func (s *Set) bare(name string) string { return strings.TrimSuffix(name, "_"+s.dtype.String()) }

// kernel returns a kernel, after loading the kernel's module if necessary.
func (s *Set) kernel(name string) (kernel, error) {
	if k, ok := s.kernels[name]; ok {
		return k, nil
	}
	file, ok := s.files[name]
	if !ok {
		return kernel{}, fmt.Errorf("kernels: there is no kernel %s_%v", name, s.dtype)
	}
	if err := s.Prepare(file); err != nil {
		return kernel{}, err
	}
	k := kernel{name: name + "_" + s.dtype.String()}
	var err error
	if k.function, err = s.driver.Function(s.modules[file], k.name); err != nil {
		return kernel{}, fmt.Errorf("kernels: %s: %w", file, err)
	}
	s.kernels[name] = k
	return k, nil
}

// Modules lists the files of the set's modules that are for this device.
func (s *Set) Modules() []string {
	list := slices.Compact(slices.Sorted(maps.Values(s.files)))
	return slices.DeleteFunc(list, func(file string) bool { return file == s.files[byWarpgroups+"_3"] && !s.hasWarpgroups() })
}

// common are the modules that most plans launch: the first layer, its activation, the losses, the
// output layer, the steps.
var common = []string{"data", "bias", "dequantize", "integers", "vectors", "means", "losses", "slopes", "sums", "pair",
	"output_forward", "output_backward"}

// LoadCompiled loads the modules that most plans launch, as far as they are compiled for the
// device, until stop returns true. The other modules wait for their first launch.
func (s *Set) LoadCompiled(stop func() bool) {
	for _, module := range common {
		file := module + "_" + s.dtype.String() + ".ptx"
		text, err := fs.ReadFile(s.texts, file)
		if err != nil {
			continue // of float32 only
		}
		if stop() {
			return
		}
		if content := compiled(s.binaries, file, string(text), s.driver.Info().Major); content != nil && s.modules[file] == 0 {
			if m, err := s.driver.LoadBinary(content); err == nil {
				s.modules[file] = m
			}
		}
	}
}

// Prepare loads a module, which Modules lists, before the first launch of its kernels.
func (s *Set) Prepare(module string) error {
	if s.modules[module] != 0 {
		return nil
	}
	text, err := fs.ReadFile(s.texts, module)
	if err != nil {
		return fmt.Errorf("kernels: ptx.zip: %w", err)
	}
	m, err := s.load(module, string(text))
	if err == nil {
		s.modules[module] = m
	}
	return err
}

// load loads the compiled module of a PTX file if there is one for the device and the driver takes
// it. Otherwise the driver compiles the PTX.
func (s *Set) load(file, ptx string) (driver.Module, error) {
	if module := compiled(s.binaries, file, ptx, s.driver.Info().Major); module != nil {
		if m, err := s.driver.LoadBinary(module); err == nil {
			return m, nil
		}
	}
	m, err := s.driver.Load(ptx)
	if err != nil {
		return 0, fmt.Errorf("kernels: compiling %s: %w", file, err)
	}
	return m, nil
}

// Dtype returns the elements' type.
func (s *Set) Dtype() Dtype { return s.dtype }

// call is a launch in preparation.
type call struct {
	name          string
	grid, block   [3]int
	shared        int
	args          []uint64
	reads, writes []driver.Span
}

// launch queues a call.
func (s *Set) launch(q Queue, c *call) error {
	k, err := s.kernel(c.name)
	if err != nil {
		return err
	}
	return q.Launch(&driver.Launch{Function: k.function, Name: k.name, Grid: c.grid, Block: c.block, Shared: c.shared, Args: c.args,
		Reads: c.reads, Writes: c.writes})
}

// span returns the memory from a matrix's first element to its last.
func (s *Set) span(o Operand) driver.Span {
	return driver.Span{At: o.At, Bytes: ((o.Rows-1)*o.Stride + o.Cols) * s.dtype.Size()}
}

// in adds matrices that the kernel reads, by address and stride. A matrix that is not given has
// address 0.
func (c *call) in(s *Set, operands ...Operand) {
	for _, o := range operands {
		c.args = append(c.args, uint64(o.At), driver.IntArg(o.Stride))
		if o.isSet() {
			c.reads = append(c.reads, s.span(o))
		}
	}
}

// out adds matrices that the kernel writes.
func (c *call) out(s *Set, operands ...Operand) {
	for _, o := range operands {
		c.args = append(c.args, uint64(o.At), driver.IntArg(o.Stride))
		if o.isSet() {
			c.writes = append(c.writes, s.span(o))
		}
	}
}

// inPlace adds matrices that the kernel reads and writes.
func (c *call) inPlace(s *Set, operands ...Operand) {
	for _, o := range operands {
		if o.isSet() {
			c.reads = append(c.reads, s.span(o))
		}
		c.out(s, o)
	}
}

// ints adds integers.
func (c *call) ints(numbers ...int) {
	for _, n := range numbers {
		c.args = append(c.args, driver.IntArg(n))
	}
}

// float64s adds numbers that are known at the launch.
func (c *call) float64s(numbers ...float64) {
	for _, x := range numbers {
		c.args = append(c.args, driver.Float64Arg(x))
	}
}

// numbers adds scalars, each as a value and an address.
func (c *call) numbers(numbers ...Number) {
	for _, n := range numbers {
		c.args = append(c.args, driver.Float64Arg(n.Value), uint64(n.At))
		if n.At != 0 {
			c.reads = append(c.reads, driver.Span{At: n.At, Bytes: 8})
		}
	}
}

// reading adds the address of bytes that the kernel reads, or 0.
func (c *call) reading(p driver.Pointer, bytes int) {
	c.args = append(c.args, uint64(p))
	if p != 0 {
		c.reads = append(c.reads, driver.Span{At: p, Bytes: bytes})
	}
}

// writing adds the address of bytes that the kernel writes, or 0.
func (c *call) writing(p driver.Pointer, bytes int) {
	c.args = append(c.args, uint64(p))
	if p != 0 {
		c.writes = append(c.writes, driver.Span{At: p, Bytes: bytes})
	}
}

// updating adds the address of bytes that the kernel reads and writes, or 0.
func (c *call) updating(p driver.Pointer, bytes int) {
	c.writing(p, bytes)
	if p != 0 {
		c.reads = append(c.reads, driver.Span{At: p, Bytes: bytes})
	}
}

// partial adds scratch memory for partial results, and the counters by which blocks know the last
// one.
func (c *call) partial(q Queue, bytes, counters int) error {
	scratch, err := q.Scratch(bytes)
	if err != nil {
		return err
	}
	tickets, err := q.Counters(counters)
	if err != nil {
		return err
	}
	c.writing(scratch, bytes)
	c.updating(tickets, 4*counters)
	return nil
}
