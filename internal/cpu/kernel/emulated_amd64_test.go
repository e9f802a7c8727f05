package kernel

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"ppal/internal/require"
)

// The addresses in the emulated machine. The program is at its own addresses, from 0x400000 on. The
// memory map of the emulator maps every address to itself.
const (
	emulatedMiB   = 192
	emulatedPages = 0x1000000 // then the stack, jobs, operands
	emulatedStack = emulatedPages + 0x10000
	emulatedJobs  = emulatedStack
	emulatedData  = emulatedJobs + 0x100000
)

// TestEmulated runs the machine code of the AMX kernels, as linked into this test, in the emulator
// Bochs, and compares the results with the model's, to the bit. `make amx-emulated` runs it.
//
// PPAL_BOCHS is the path of a Bochs that was configured with --enable-amx, with a correction: see
// testdata/emulated.s. The test also needs GNU as and objcopy, and symbols in its own executable
// (go test -c).
func TestEmulated(t *testing.T) {
	bochs := os.Getenv("PPAL_BOCHS")
	if bochs == "" {
		t.Skip("PPAL_BOCHS is not set: see make amx-emulated")
	}
	r := &recorder{symbols: strips(t), next: emulatedData}
	k := r.kernels(t)
	random := rand.New(rand.NewPCG(51, 52))
	list := []shape{{1, 1, 1}, {16, 64, 16}, {17, 65, 17}, {32, 128, 3}, {RowBlock + 20, 70, 19}, {40, 200, 33}, {20, 784, 10}}
	for range 12 {
		list = append(list, shape{1 + random.IntN(300), 1 + random.IntN(200), 1 + random.IntN(70)})
	}
	for i, s := range list {
		for _, count := range []int{2, 3} {
			value := anyByte(random)
			if i%5 == 0 {
				value = func() uint8 { return 255 }
			}
			p := newByteProblem(t, k, s, count, random, value, normals[float32](random))
			p.run(k)
			bias := make([]float32, ceil(s.h, 16)*16)
			for j := range bias {
				bias[j] = float32(random.NormFloat64())
			}
			for f := SigmoidActivation; f <= ReLUActivation; f++ {
				k.MulActivate(p.z, p.ldz, p.x, 0, min(s.n, RowBlock), p.factor, bias[:s.h], f, p.scratch)
			}
		}
	}
	integers := len(r.outputs)
	for i, s := range list {
		s.n = min(s.n, 2*tileRows*(1+i)) // the model is slow
		for _, digits := range []int{2, 3} {
			p := newBFloat16Problem(k, s, digits, random)
			p.run(k, make([]float32, s.n*s.h), s.h, make([]float32, s.d*s.h), s.h)
		}
	}
	t.Logf("%d calls of kernels for integers, %d for bfloat16", integers, len(r.outputs)-integers)
	r.run(t, bochs)
}

// strips returns the addresses of the kernels in this executable.
func strips(t *testing.T) map[string]uint64 {
	t.Helper()
	file := require.Value(elf.Open("/proc/self/exe"))(t)
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatalf("build the test with go test -c, which keeps symbols: %v", err)
	}
	list := map[string]uint64{}
	for _, s := range symbols {
		name, ok := strings.CutPrefix(s.Name, "ppal/internal/cpu/kernel.")
		if name, abi0 := strings.CutSuffix(name, ".abi0"); ok && abi0 && strings.HasSuffix(name, "AMX") {
			list[name] = s.Value
		}
	}
	if len(list) != 12 {
		t.Fatalf("the symbols of twelve kernels, found %v", list)
	}
	return list
}

// recorder keeps the calls of kernels with their operands, at addresses of the emulated machine,
// and the results of the model.
type recorder struct {
	symbols map[string]uint64
	jobs    []uint64 // the function and twelve arguments each, the last one 0 if a kernel has eleven
	inputs  []byte   // from emulatedData on
	outputs []output
	next    uint64
}

// output is a result, which the model and the emulator compute.
type output struct {
	before, after []byte
	job           int // the index in jobs of the result's address
	sums          int // the distance in jobs to the address of the sums
}

// jobWords is the size of a job.
const jobWords = 13

// kernels returns kernels that record calls and run them in the model.
func (r *recorder) kernels(t *testing.T) *ByteKernels {
	k, model := amxModel(t), amxModel(t)
	for i := range k.mulStrip {
		count := i + 2
		k.mulStrip[i] = func(k, rows int, x *uint8, panel int, q *int8, unit *float64, c *float32, ldc, columns, ahead int, sums *int32) {
			r.call(fmt.Sprintf("mulStrip%dAMX", count), count, k, rows, x, panel, q, unsafe.Pointer(unit), nil, c, ldc, columns, ahead, func() {
				model.mulStrip[i](k, rows, x, panel, q, unit, c, ldc, columns, ahead, sums)
			})
		}
		for f, name := range activationNames {
			k.activateStrip[f][i] = func(k, rows int, x *uint8, panel int, q *int8, unit *float64, bias, c *float32, ldc, columns, ahead int, sums *int32) {
				r.call(fmt.Sprintf("mulStrip%d%sAMX", count, name), count, k, rows, x, panel, q, unsafe.Pointer(unit), bias, c, ldc, columns, ahead, func() {
					model.activateStrip[f][i](k, rows, x, panel, q, unit, bias, c, ldc, columns, ahead, sums)
				})
			}
		}
		k.bfloat16Strip[i] = func(k, rows int, x *uint16, panel int, b *uint16, c *float32, ldc, columns int, sums *float32) {
			r.bfloat16(count, k, rows, x, panel, b, c, ldc, columns, func() {
				model.bfloat16Strip[i](k, rows, x, panel, b, c, ldc, columns, sums)
			})
		}
		k.addStrip[i] = func(k, rows int, x *uint8, panel int, q *int8, unit *float32, c *float32, ldc, columns, ahead int, sums *int32) {
			r.call(fmt.Sprintf("addStrip%dAMX", count), count, k, rows, x, panel, q, unsafe.Pointer(unit), nil, c, ldc, columns, ahead, func() {
				model.addStrip[i](k, rows, x, panel, q, unit, c, ldc, columns, ahead, sums)
			})
		}
	}
	return k
}

// call records a call, with a bias or nil. The result's last row ends at the last of the columns.
func (r *recorder) call(name string, count, k, rows int, x *uint8, panel int, q *int8, unit unsafe.Pointer, bias, c *float32, ldc, columns, ahead int, model func()) {
	width := 0
	for columns>>width != 0 {
		width++
	}
	result := unsafe.Slice((*byte)(unsafe.Pointer(c)), 4*((rows-1)*ldc+width))
	before := slices.Clone(result)
	data := r.input(unsafe.Slice(x, (ceil(rows, tileRows)-1)*panel+k*tileRows*tileBytes))
	digits := r.input(unsafe.Slice((*byte)(unsafe.Pointer(q)), k*tileBytes*count*16))
	units := r.input(unsafe.Slice((*byte)(unit), 128))
	model()
	job := []uint64{r.symbols[name], uint64(k), uint64(rows), data, uint64(panel), digits, units}
	if bias != nil {
		job = append(job, r.input(unsafe.Slice((*byte)(unsafe.Pointer(bias)), 4*width)))
	}
	job = append(job, 0, uint64(ldc), uint64(columns), uint64(ahead), 0)
	r.outputs = append(r.outputs, output{before: before, after: slices.Clone(result), job: len(r.jobs) + len(job) - 5, sums: 4})
	r.append(job)
}

// append appends a job.
func (r *recorder) append(job []uint64) {
	r.jobs = append(append(r.jobs, job...), make([]uint64, jobWords-len(job))...)
}

// bfloat16 records a call of a kernel for digits of bfloat16.
func (r *recorder) bfloat16(count, k, rows int, x *uint16, panel int, b *uint16, c *float32, ldc, columns int, model func()) {
	result := unsafe.Slice((*byte)(unsafe.Pointer(c)), 4*((rows-1)*ldc+bits.Len(uint(columns))))
	before := slices.Clone(result)
	group := 2 * k * count * bfloat16Tile // bytes
	first := r.input(unsafe.Slice((*byte)(unsafe.Pointer(x)), (ceil(rows, tileRows)-1)*panel+group))
	second := r.input(unsafe.Slice((*byte)(unsafe.Pointer(b)), group))
	model()
	job := []uint64{r.symbols[fmt.Sprintf("bfloat16Strip%dAMX", count)], uint64(k), uint64(rows), first, uint64(panel), second, 0, uint64(ldc), uint64(columns), 0}
	r.outputs = append(r.outputs, output{before: before, after: slices.Clone(result), job: len(r.jobs) + 6, sums: 3})
	r.append(job)
}

// input copies an operand and returns its address.
func (r *recorder) input(b []byte) uint64 {
	at := r.next
	r.inputs = append(r.inputs, b...)
	padding := ceil(len(b), cacheLine)*cacheLine - len(b)
	r.inputs = append(r.inputs, make([]byte, padding)...)
	r.next += uint64(len(b) + padding)
	return at
}

// run runs the recorded calls in the emulator. Between the results lie canaries.
func (r *recorder) run(t *testing.T, bochs string) {
	t.Helper()
	canaries := bytes.Repeat([]byte{0xc5}, cacheLine)
	sums := r.input(make([]byte, 4*3*2*tileRows*16))
	first := r.next
	var results, expected []byte
	for _, o := range r.outputs {
		job := r.jobs[o.job:]
		job[0], job[o.sums] = first+uint64(len(results)+len(canaries)), sums
		results = slices.Concat(results, canaries, o.before)
		expected = slices.Concat(expected, canaries, o.after)
	}
	results, expected = append(results, canaries...), append(expected, canaries...)
	if len(r.jobs)*8+8 > emulatedData-emulatedJobs || first+uint64(len(results)) > emulatedMiB<<20 {
		t.Fatal("the jobs do not fit into the emulated memory")
	}
	dir := t.TempDir()
	const cylinder = 16 * 63 * 512 // of the disk
	const ahead = 256 * 512        // of a command that reads
	length := int(first) - programAt + len(results)
	image := make([]byte, ceil(length+ahead, cylinder)*cylinder)
	copy(image, program(t))
	tables := image[emulatedPages-programAt:]
	pageTables(tables)
	for i, v := range r.jobs {
		binary.LittleEndian.PutUint64(tables[emulatedJobs-emulatedPages+8*i:], v)
	}
	copy(tables[emulatedData-emulatedPages:], r.inputs)
	copy(image[first-programAt:], results)
	write(t, filepath.Join(dir, "disk"), image)
	assembleROM(t, dir, map[string]uint64{"image": programAt, "sectors": uint64(ceil(length, 512)), "pages": emulatedPages,
		"stack": emulatedStack, "jobs": emulatedJobs, "results": first, "size": uint64(len(results))})
	write(t, filepath.Join(dir, "vga"), make([]byte, 32<<10)) // the emulator insists on a file
	write(t, filepath.Join(dir, "bochsrc"), fmt.Appendf(nil, `cpu: model=sapphire_rapids, count=1, ips=50000000, reset_on_triple_fault=0
memory: guest=%[1]d, host=%[1]d
romimage: file=%[2]s/rom, address=0xffff0000
vgaromimage: file=%[2]s/vga
ata0-master: type=disk, path=%[2]s/disk, mode=flat, cylinders=%[3]d, heads=16, spt=63
display_library: nogui
port_e9_hack: enabled=1
log: %[2]s/log
panic: action=fatal
error: action=report
`, emulatedMiB, dir, len(image)/cylinder))
	limit, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	run := exec.CommandContext(limit, bochs, "-q", "-f", filepath.Join(dir, "bochsrc"))
	run.Dir = dir
	out, err := run.Output()
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	at := bytes.Index(out, canaries)
	if at < 0 || len(out) < at+len(expected) {
		t.Fatalf("%d bytes of output, want %d: %v\n%s\n%s", len(out), len(expected), err, tail(out), tail(log))
	}
	got := out[at:][:len(expected)]
	for i := range got {
		if got[i] != expected[i] {
			t.Fatalf("byte %d of %d results is %#x, want %#x", i, len(got), got[i], expected[i])
		}
	}
	t.Logf("%d calls of kernels, %d bytes of results: equal", len(r.outputs), len(expected))
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, b, 0o600))
}

// pageTables writes tables at the beginning of the image that map 4 GiB to themselves, in pages of
// 2 MiB.
func pageTables(image []byte) {
	const present, large = 3, 0x83
	put := binary.LittleEndian.PutUint64
	put(image, emulatedPages+0x1000|present)
	for i := range 4 {
		put(image[0x1000+8*i:], uint64(emulatedPages+0x2000+0x1000*i)|present)
	}
	for i := range 4 * 512 {
		put(image[0x2000+8*i:], uint64(i)<<21|large)
	}
}

// programAt is the address of the first segment of an executable of Go.
const programAt = 0x400000

// program returns the memory of this executable as the linker laid it out.
func program(t *testing.T) []byte {
	t.Helper()
	file := require.Value(elf.Open("/proc/self/exe"))(t)
	defer file.Close()
	var image []byte
	for _, p := range file.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_W != 0 {
			continue
		}
		begin := int(p.Vaddr - programAt)
		if end := begin + int(p.Filesz); end > len(image) {
			image = append(image, make([]byte, end-len(image))...)
		}
		require.Value(p.ReadAt(image[begin:][:p.Filesz], 0))(t)
	}
	if programAt+len(image) > emulatedPages {
		t.Fatalf("the program has %d bytes", len(image))
	}
	return image
}

// assembleROM assembles testdata/emulated.s with values for its symbols.
func assembleROM(t *testing.T, dir string, symbols map[string]uint64) {
	t.Helper()
	source := require.Value(filepath.Abs("testdata/emulated.s"))(t)
	args := []string{"--64", "-o", "rom.o", source}
	for name, v := range symbols {
		args = append(args, "--defsym", fmt.Sprintf("%s=%#x", name, v))
	}
	for _, c := range []*exec.Cmd{exec.Command("as", args...), exec.Command("objcopy", "-O", "binary", "-j", ".text", "rom.o", "rom")} {
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c.Args, err, out)
		}
	}
}
