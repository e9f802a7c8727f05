package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"ppal/internal/require"
)

// The model runs the generated assembly of the AMX kernels in Go, on every machine. It decodes the
// tile instructions from their bytes and follows the pseudocode of Intel's manual (volume 2). It
// reads and writes the operands in place, so that guard pages catch accesses outside of them, and
// leaves masked elements alone.

// amxModel returns the kernels of level AMX that run in the model.
func amxModel(t testing.TB) *ByteKernels {
	t.Helper()
	program := amxProgram(t)
	k := byteKernelsGo(AMX, Layout{Rows: tileRows, Depth: tileBytes}, 2*tileRows, 16)
	k.instruction = "model"
	k.floats = must(New[float32](fastest()))
	for i := range k.mulStrip {
		mul, add := program[fmt.Sprintf("mulStrip%dAMX", i+2)], program[fmt.Sprintf("addStrip%dAMX", i+2)]
		k.mulBytes[i], k.addBytes[i] = nil, nil
		k.mulStrip[i] = func(k, rows int, x *uint8, panel int, q *int8, unit *float64, c *float32, ldc, columns, ahead int, sums *int32) {
			mul.run([]uint64{uint64(k), uint64(rows), address(x), uint64(panel), address(q), address(unit), address(c),
				uint64(ldc), uint64(columns), uint64(ahead), address(sums)})
		}
		for f, name := range activationNames {
			activate := program[fmt.Sprintf("mulStrip%d%sAMX", i+2, name)]
			k.activateStrip[f][i] = func(k, rows int, x *uint8, panel int, q *int8, unit *float64, bias, c *float32, ldc, columns, ahead int, sums *int32) {
				activate.run([]uint64{uint64(k), uint64(rows), address(x), uint64(panel), address(q), address(unit), address(bias), address(c),
					uint64(ldc), uint64(columns), uint64(ahead), address(sums)})
			}
		}
		bfloat16 := program[fmt.Sprintf("bfloat16Strip%dAMX", i+2)]
		k.bfloat16Strip[i] = func(k, rows int, x *uint16, panel int, b *uint16, c *float32, ldc, columns int, sums *float32) {
			bfloat16.run([]uint64{uint64(k), uint64(rows), address(x), uint64(panel), address(b), address(c), uint64(ldc), uint64(columns), address(sums)})
		}
		k.split[i] = splitGo(i + 2)
		k.addStrip[i] = func(k, rows int, x *uint8, panel int, q *int8, unit *float32, c *float32, ldc, columns, ahead int, sums *int32) {
			add.run([]uint64{uint64(k), uint64(rows), address(x), uint64(panel), address(q), address(unit), address(c),
				uint64(ldc), uint64(columns), uint64(ahead), address(sums)})
		}
	}
	return &k
}

// activationNames are the names of the activations in the names of kernels.
var activationNames = []string{SigmoidActivation: "Sigmoid", TanhActivation: "Tanh", ReLUActivation: "ReLU"}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func address[F any](p *F) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// memory returns n bytes at an address that belongs to an operand.
func memory(at uint64, n int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), n)
}

const (
	tileRows  = 16
	tileBytes = 64
)

// vector is a 512-bit register or a row of a tile.
type vector = [tileBytes]byte

// tileMachine is the state of the model. Registers that a kernel has not written hold garbage.
type tileMachine struct {
	gp         [16]uint64
	z          [32]vector
	mask       [8]uint64 // K0 to K7
	tile       [8][tileRows]vector
	configured bool
	zero, less bool // flags: zero, and sign different from overflow
	frame      [16]byte
	args       []uint64
}

// An instruction returns the index of the next instruction, at is its own. end ends the function.
type instruction func(m *tileMachine, at int) int

const end = -1

type amxFunction []instruction

func (f amxFunction) run(args []uint64) {
	m := &tileMachine{args: args}
	for i := range m.gp {
		m.gp[i] = 0xdeadbeefdeadbeef
	}
	for i := range m.z {
		for j := range m.z[i] {
			m.z[i][j] = 0xa5
		}
	}
	for i := range m.tile {
		for j := range m.tile[i] {
			m.tile[i][j] = m.z[0]
		}
	}
	for at := 0; at != end; {
		at = f[at](m, at)
	}
	if m.configured {
		panic("the kernel does not release the tiles")
	}
}

// amxProgram parses the kernels once.
func amxProgram(t testing.TB) map[string]amxFunction {
	t.Helper()
	return require.Value(parseAMX())(t)
}

var parseAMX = sync.OnceValues(func() (functions map[string]amxFunction, err error) {
	files, err := filepath.Glob("amx*_amd64.s")
	if err != nil {
		return nil, err
	}
	functions = map[string]amxFunction{}
	for _, file := range files {
		if err := readAMX(file, functions); err != nil {
			return nil, err
		}
	}
	return functions, nil
})

// readAMX adds the functions of a file.
func readAMX(file string, functions map[string]amxFunction) (err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %v", file, r)
		}
	}()
	p := &amxParser{data: map[string][]byte{}, functions: functions}
	lines := strings.Split(string(text), "\n")
	for _, line := range lines {
		p.datum(strings.Fields(strings.ReplaceAll(line, ",", " ")))
	}
	for at := 0; at < len(lines); at++ {
		at = p.line(lines, at)
	}
	p.finish()
	return nil
}

// amxParser translates a file of Go's assembler.
type amxParser struct {
	data      map[string][]byte // read-only memory by symbol
	functions map[string]amxFunction
	name      string // of the current function
	code      amxFunction
	labels    map[string]int
}

// datum reads a DATA directive.
func (p *amxParser) datum(f []string) {
	if len(f) < 3 || f[0] != "DATA" {
		return
	}
	symbol, rest, _ := strings.Cut(f[1], "<>+")
	place, size, _ := strings.Cut(rest, "(SB)/")
	at, n := number(place), int(number(size))
	bits := number(strings.TrimPrefix(f[2], "$"))
	if digits, ok := strings.CutPrefix(f[2], "$("); ok { // a floating-point number
		v, err := strconv.ParseFloat(strings.TrimSuffix(digits, ")"), 8*n)
		if err != nil {
			panic(err)
		}
		if bits = math.Float64bits(v); n == 4 {
			bits = uint64(math.Float32bits(float32(v)))
		}
	}
	if p.data[symbol] == nil {
		p.data[symbol] = make([]byte, 64)
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], bits)
	copy(p.data[symbol][at:], word[:n])
}

func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 0, 64)
	return n
}

// line translates a line, and the bytes of an instruction after its comment. It returns the index
// of the last line that it read.
func (p *amxParser) line(lines []string, at int) int {
	f := strings.Fields(strings.ReplaceAll(lines[at], ",", " "))
	switch {
	case len(f) == 0 || strings.HasPrefix(f[0], "#") || strings.HasPrefix(f[0], "//go:") || f[0] == "DATA" || f[0] == "GLOBL":
	case f[0] == "TEXT":
		p.finish()
		p.name, p.code, p.labels = strings.TrimSuffix(strings.TrimPrefix(f[1], "·"), "(SB)"), nil, map[string]int{}
	case f[0] == "//":
		comment := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(lines[at]), "//"))
		var code []byte
		for at+1 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[at+1]), "BYTE") {
			at++
			code = append(code, byte(number(strings.TrimPrefix(strings.Fields(lines[at])[1], "$"))))
		}
		if code != nil {
			name, decoded := decodeTile(code)
			if name != comment {
				panic(fmt.Sprintf("line %d: % x is %q, the comment says %q", at, code, name, comment))
			}
			p.code = append(p.code, decoded)
		}
	case strings.HasSuffix(f[0], ":"):
		p.labels[strings.TrimSuffix(f[0], ":")] = len(p.code)
	default:
		p.code = append(p.code, p.instruction(f[0], f[1:]))
	}
	return at
}

// finish ends the current function.
func (p *amxParser) finish() {
	if p.name != "" {
		p.functions[p.name] = p.code
	}
}

var registerNames = strings.Fields("AX CX DX BX SP BP SI DI R8 R9 R10 R11 R12 R13 R14 R15")

func register(name string) int {
	for i, r := range registerNames {
		if r == name {
			return i
		}
	}
	panic("unknown register " + name)
}

// place returns the function that computes the address of an operand in memory.
func (p *amxParser) place(text string) func(m *tileMachine) uint64 {
	before, rest, ok := strings.Cut(text, "(")
	if !ok {
		panic("not in memory: " + text)
	}
	base, rest, _ := strings.Cut(rest, ")")
	switch base {
	case "FP":
		_, offset, _ := strings.Cut(before, "+")
		i := number(offset) / 8
		return func(m *tileMachine) uint64 { return address(&m.args[i]) }
	case "SB":
		symbol, offset, _ := strings.Cut(before, "<>+")
		data := p.data[symbol]
		i := number(offset)
		return func(*tileMachine) uint64 { return address(&data[i]) }
	case "SP":
		i := number(before)
		return func(m *tileMachine) uint64 { return address(&m.frame[i]) }
	}
	disp, r, index := number(before), register(base), -1
	if rest != "" {
		index = register(strings.TrimSuffix(strings.TrimPrefix(rest, "("), "*1)"))
	}
	return func(m *tileMachine) uint64 {
		at := m.gp[r] + disp
		if index >= 0 {
			at += m.gp[index]
		}
		return at
	}
}

// value returns the function that reads 64 bits: a constant, a register or memory.
func (p *amxParser) value(text string) func(m *tileMachine) uint64 {
	if constant, ok := strings.CutPrefix(text, "$"); ok {
		n := number(constant)
		return func(*tileMachine) uint64 { return n }
	}
	if strings.Contains(text, "(") {
		at := p.place(text)
		return func(m *tileMachine) uint64 { return binary.LittleEndian.Uint64(memory(at(m), 8)) }
	}
	r := register(text)
	return func(m *tileMachine) uint64 { return m.gp[r] }
}

// target returns the function that writes 64 bits to a register or to memory.
func (p *amxParser) target(text string) func(m *tileMachine, v uint64) {
	if strings.Contains(text, "(") {
		at := p.place(text)
		return func(m *tileMachine, v uint64) { binary.LittleEndian.PutUint64(memory(at(m), 8), v) }
	}
	r := register(text)
	return func(m *tileMachine, v uint64) { m.gp[r] = v }
}
