package kernels

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"ppal/cuda/driver"
)

// Dtype is the type of the matrices' elements.
type Dtype uint8

// The types.
const (
	Float32 Dtype = iota
	Float64
)

// Size is the number of bytes of an element.
func (t Dtype) Size() int { return 4 << t }

// String is the ending of the kernels' names: f32, f64.
func (t Dtype) String() string { return [...]string{"f32", "f64"}[t] }

// texts are the modules, one for each source and type: means_f32.ptx. Sources that only float32 plans use have no module of float64.
//
//go:embed ptx/*.ptx
var texts embed.FS

// Set is the kernels of one type of elements on a device. A module is compiled when one of its kernels is first launched. The methods
// launch kernels: they return when the launch is queued, and their errors are the queue's and the compiler's. Operands are different
// matrices unless a method says otherwise.
type Set struct {
	dtype   Dtype
	driver  driver.Driver
	files   map[string]string // the module of each kernel, by the kernel's name without ending
	kernels map[string]kernel // of the compiled modules
}

// kernel is a compiled kernel.
type kernel struct {
	function driver.Function
	name     string // with ending
}

// Load finds the kernels of a type; it compiles none.
func Load(d driver.Driver, t Dtype) (*Set, error) {
	s := &Set{t, d, map[string]string{}, map[string]kernel{}}
	files, err := fs.Glob(texts, "ptx/*_"+t.String()+".ptx")
	if err != nil {
		return nil, fmt.Errorf("kernels: %w", err)
	}
	for _, file := range files {
		text, err := texts.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("kernels: %w", err)
		}
		for _, e := range Entries(string(text)) {
			s.files[s.bare(e.Name)] = file
		}
	}
	return s, nil
}

// bare is a kernel's name without ending.
func (s *Set) bare(name string) string { return strings.TrimSuffix(name, "_"+s.dtype.String()) }

// kernel returns a kernel, after compiling the module that it is in.
func (s *Set) kernel(name string) (kernel, error) {
	if k, ok := s.kernels[name]; ok {
		return k, nil
	}
	file, ok := s.files[name]
	if !ok {
		return kernel{}, fmt.Errorf("kernels: there is no kernel %s_%v", name, s.dtype)
	}
	text, err := texts.ReadFile(file)
	if err != nil {
		return kernel{}, fmt.Errorf("kernels: %w", err)
	}
	m, err := s.driver.Load(string(text))
	if err != nil {
		return kernel{}, fmt.Errorf("kernels: compiling %s: %w", file, err)
	}
	for _, e := range Entries(string(text)) {
		f, err := s.driver.Function(m, e.Name)
		if err != nil {
			return kernel{}, fmt.Errorf("kernels: %s: %w", file, err)
		}
		s.kernels[s.bare(e.Name)] = kernel{f, e.Name}
	}
	return s.kernels[name], nil
}

// Dtype is the elements' type.
func (s *Set) Dtype() Dtype { return s.dtype }

// call is a launch that is being put together.
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

// span is the memory from a matrix's first to its last element.
func (s *Set) span(o Operand) driver.Span {
	return driver.Span{At: o.At, Bytes: ((o.Rows-1)*o.Stride + o.Cols) * s.dtype.Size()}
}

// in adds arguments that are read: matrices, by address and stride. One that is not given is address 0.
func (c *call) in(s *Set, operands ...Operand) {
	for _, o := range operands {
		c.args = append(c.args, uint64(o.At), driver.IntArg(o.Stride))
		if o.given() {
			c.reads = append(c.reads, s.span(o))
		}
	}
}

// out adds arguments that are written.
func (c *call) out(s *Set, operands ...Operand) {
	for _, o := range operands {
		c.args = append(c.args, uint64(o.At), driver.IntArg(o.Stride))
		if o.given() {
			c.writes = append(c.writes, s.span(o))
		}
	}
}

// inPlace adds arguments that are read and written.
func (c *call) inPlace(s *Set, operands ...Operand) {
	for _, o := range operands {
		if o.given() {
			c.reads = append(c.reads, s.span(o))
		}
		c.out(s, o)
	}
}

// ints adds whole numbers.
func (c *call) ints(numbers ...int) {
	for _, n := range numbers {
		c.args = append(c.args, driver.IntArg(n))
	}
}

// numbers adds scalars, each its value and its address.
func (c *call) numbers(numbers ...Number) {
	for _, n := range numbers {
		c.args = append(c.args, driver.Float64Arg(n.Value), uint64(n.At))
		if n.At != 0 {
			c.reads = append(c.reads, driver.Span{At: n.At, Bytes: 8})
		}
	}
}

// reading adds the address of bytes that are read; 0 is none.
func (c *call) reading(p driver.Pointer, bytes int) {
	c.args = append(c.args, uint64(p))
	if p != 0 {
		c.reads = append(c.reads, driver.Span{At: p, Bytes: bytes})
	}
}

// writing adds the address of bytes that are written; 0 is none.
func (c *call) writing(p driver.Pointer, bytes int) {
	c.args = append(c.args, uint64(p))
	if p != 0 {
		c.writes = append(c.writes, driver.Span{At: p, Bytes: bytes})
	}
}

// updating adds the address of bytes that are read and written.
func (c *call) updating(p driver.Pointer, bytes int) {
	c.writing(p, bytes)
	if p != 0 {
		c.reads = append(c.reads, driver.Span{At: p, Bytes: bytes})
	}
}

// partial adds room for partial results and the counters of who finishes last.
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
