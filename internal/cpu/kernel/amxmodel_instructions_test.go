package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// then makes an instruction of a function that does not jump.
func then(do func(m *tileMachine)) instruction {
	return func(m *tileMachine, at int) int {
		do(m)
		return at + 1
	}
}

// instruction translates an instruction that Go's assembler knows. Operands are in its order: the
// target is the last.
func (p *amxParser) instruction(name string, f []string) instruction {
	labels := p.labels
	switch name {
	case "RET":
		return func(*tileMachine, int) int { return end }
	case "VZEROUPPER", "PREFETCHT1":
		return then(func(*tileMachine) {})
	case "JMP", "JZ", "JNZ", "JE", "JNE", "JLE", "JG":
		return func(m *tileMachine, at int) int {
			to, ok := labels[f[0]]
			if !ok {
				panic("no label " + f[0])
			}
			taken := map[string]bool{"JMP": true, "JZ": m.zero, "JE": m.zero, "JNZ": !m.zero, "JNE": !m.zero,
				"JLE": m.zero || m.less, "JG": !m.zero && !m.less}
			if taken[name] {
				return to
			}
			return at + 1
		}
	case "LEAQ":
		from, to := p.place(f[0]), p.target(f[1])
		return then(func(m *tileMachine) { to(m, from(m)) })
	case "MOVQ", "CMOVQLT":
		from, to := p.value(f[0]), p.target(f[1])
		return then(func(m *tileMachine) {
			if name == "MOVQ" || m.less {
				to(m, from(m))
			}
		})
	case "KMOVW":
		from, to := p.value(f[0]), maskRegister(f[1])
		return then(func(m *tileMachine) { m.mask[to] = from(m) & 0xffff })
	case "CMPQ": // compares the first operand with the second
		first, second := p.value(f[0]), p.value(f[1])
		return then(func(m *tileMachine) { m.compare(first(m), second(m)) })
	case "TESTQ", "ADDQ", "SUBQ", "XORQ", "SHLQ", "DECQ":
		return p.arithmetic(name, f)
	}
	return p.vectorInstruction(name, f)
}

// compare sets the flags of a - b.
func (m *tileMachine) compare(a, b uint64) { m.zero, m.less = a == b, int64(a) < int64(b) }

func (p *amxParser) arithmetic(name string, f []string) instruction {
	last := f[len(f)-1]
	from, old := p.value(f[0]), p.value(last)
	var to func(*tileMachine, uint64)
	if name != "TESTQ" {
		to = p.target(last)
	}
	return then(func(m *tileMachine) {
		a, b := old(m), from(m)
		var v uint64
		switch name {
		case "TESTQ":
			m.compare(a&b, 0)
			return
		case "SUBQ":
			m.compare(a, b)
			to(m, a-b)
			return
		case "ADDQ":
			v = a + b
		case "XORQ":
			v = a ^ b
		case "SHLQ":
			v = a << b
		case "DECQ":
			v = a - 1
		}
		m.compare(v, 0)
		to(m, v)
	})
}

// vectorRegister returns the number of a register Z0 to Z31 or Y0 to Y31.
func vectorRegister(name string) int {
	i, err := strconv.Atoi(strings.TrimLeft(name, "ZY"))
	if err != nil {
		panic("no vector register: " + name)
	}
	return i
}

// source returns the function that reads the first n bytes of a register, or n bytes of memory.
func (p *amxParser) source(text string, n int) func(m *tileMachine) []byte {
	if strings.Contains(text, "(") {
		at := p.place(text)
		return func(m *tileMachine) []byte { return memory(at(m), n) }
	}
	r := vectorRegister(text)
	return func(m *tileMachine) []byte { return m.z[r][:n] }
}

func word(b []byte, i int) uint32       { return binary.LittleEndian.Uint32(b[4*i:]) }
func setWord(b []byte, i int, v uint32) { binary.LittleEndian.PutUint32(b[4*i:], v) }
func single(b []byte, i int) float32    { return math.Float32frombits(word(b, i)) }
func setSingle(b []byte, i int, v float32) {
	setWord(b, i, math.Float32bits(v))
}
func double(b []byte, i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
}
func setDouble(b []byte, i int, v float64) {
	binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(v))
}

func (p *amxParser) vectorInstruction(name string, f []string) instruction {
	if name == "VMOVUPS" && len(f) == 3 { // a store with a mask
		from, mask, at := vectorRegister(f[0]), maskRegister(f[1]), p.place(f[2])
		return then(func(m *tileMachine) {
			m.masked(mask, func(i int) { setWord(memory(at(m)+uint64(4*i), 4), 0, word(m.z[from][:], i)) })
		})
	}
	if name == "VMOVUPS.Z" { // a load with a mask
		at, mask, to := p.place(f[0]), maskRegister(f[1]), vectorRegister(f[2])
		return then(func(m *tileMachine) {
			m.z[to] = vector{}
			m.masked(mask, func(i int) { setWord(m.z[to][:], i, word(memory(at(m)+uint64(4*i), 4), 0)) })
		})
	}
	if do := functionInstruction(name, f); do != nil {
		return then(do)
	}
	to := vectorRegister(f[len(f)-1])
	size := map[string]int{"VCVTDQ2PD": 32, "VINSERTF64X4": 32, "VBROADCASTSD": 8, "VBROADCASTSS": 4}[name]
	if size == 0 {
		size = 64
	}
	first := f[0]
	if name == "VINSERTF64X4" {
		if f[0] != "$0x01" {
			panic("VINSERTF64X4 of another half")
		}
		first = f[1]
	}
	a := p.source(first, size)
	middle := p.source(f[len(f)-2], 64) // the second of three operands
	element, ok := map[string]func(out, a, b []byte){
		"VMOVUPS":      func(out, a, _ []byte) { copy(out, a) },
		"VBROADCASTSD": func(out, a, _ []byte) { each(8, func(i int) { setDouble(out, i, double(a, 0)) }) },
		"VBROADCASTSS": func(out, a, _ []byte) { each(16, func(i int) { setSingle(out, i, single(a, 0)) }) },
		"VCVTDQ2PD":    func(out, a, _ []byte) { each(8, func(i int) { setDouble(out, i, float64(int32(word(a, i)))) }) },
		"VCVTDQ2PS":    func(out, a, _ []byte) { each(16, func(i int) { setSingle(out, i, float32(int32(word(a, i)))) }) },
		"VCVTPD2PS": func(out, a, _ []byte) {
			clear(out[32:])
			each(8, func(i int) { setSingle(out, i, float32(double(a, i))) })
		},
		"VINSERTF64X4": func(out, a, b []byte) { copy(out, b[:32]); copy(out[32:], a) },
		"VMULPD":       func(out, a, b []byte) { each(8, func(i int) { setDouble(out, i, double(a, i)*double(b, i)) }) },
		"VMULPS":       func(out, a, b []byte) { each(16, func(i int) { setSingle(out, i, single(a, i)*single(b, i)) }) },
		"VFMADD213PD": func(out, a, b []byte) {
			each(8, func(i int) { setDouble(out, i, math.FMA(double(b, i), double(out, i), double(a, i))) })
		},
		"VFMADD213PS": func(out, a, b []byte) {
			each(16, func(i int) { setSingle(out, i, fma32(single(b, i), single(out, i), single(a, i))) })
		},
	}[name]
	if !ok {
		panic("unknown instruction " + name)
	}
	return then(func(m *tileMachine) {
		var in, other vector // copies, as operands may be the target
		n := copy(in[:], a(m))
		if len(f) > 2 {
			copy(other[:], middle(m))
		}
		out := m.z[to]
		element(out[:], in[:n], other[:])
		m.z[to] = out
	})
}

func each(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}

// masked calls do for the elements of a mask.
func (m *tileMachine) masked(register int, do func(i int)) {
	for i := range 16 {
		if m.mask[register]>>i&1 == 1 {
			do(i)
		}
	}
}

// decodeTile decodes an instruction that the assembler does not know: a VEX prefix of three bytes
// with map 0F38, or PREFETCHW.
func decodeTile(code []byte) (text string, do instruction) {
	if len(code) == 4 && code[0] == 0x41 && code[1] == 0x0f && code[2] == 0x0d && code[3]&0xf8 == 0x08 {
		base := registerNames[8+code[3]&7]
		return fmt.Sprintf("PREFETCHW (%s)", base), then(func(*tileMachine) {})
	}
	if len(code) < 5 || code[0] != 0xc4 || code[1]&0x9f != 0x82 || code[2]&0x84 != 0 {
		panic(fmt.Sprintf("unknown bytes % x", code))
	}
	high := func(bit int) int { return int(^code[1]>>bit&1) << 3 }
	vvvv, pp, opcode, modrm := int(^code[2]>>3&15), code[2]&3, code[3], code[4]
	reg, rm := int(modrm>>3&7), int(modrm&7)
	memoryOf := func() (base, index int, disp uint64) {
		if modrm>>6 != 2 || rm != 4 || len(code) != 10 || code[5]>>6 != 0 {
			panic(fmt.Sprintf("unknown operand % x", code))
		}
		return int(code[5]&7) + high(5), int(code[5]>>3&7) + high(6), uint64(int64(int32(binary.LittleEndian.Uint32(code[6:]))))
	}
	switch {
	case opcode == 0x49 && pp == 0 && modrm == 0xc0:
		return "TILERELEASE", then(func(m *tileMachine) { m.configured = false })
	case opcode == 0x49 && pp == 0 && modrm&0xf8 == 0 && rm < 4:
		base := rm + high(5)
		return fmt.Sprintf("LDTILECFG (%s)", registerNames[base]), then(func(m *tileMachine) { m.configure(memory(m.gp[base], 64)) })
	case opcode == 0x49 && pp == 3 && modrm&0xc7 == 0xc0:
		return fmt.Sprintf("TILEZERO T%d", reg), then(func(m *tileMachine) { m.use(reg); m.tile[reg] = [tileRows]vector{} })
	case opcode == 0x4b && (pp == 3 || pp == 2):
		base, index, disp := memoryOf()
		where := fmt.Sprintf("%d(%s)(%s*1)", disp, registerNames[base], registerNames[index])
		row := func(m *tileMachine, i int) []byte { return memory(m.gp[base]+disp+uint64(i)*m.gp[index], tileBytes) }
		if pp == 3 {
			return fmt.Sprintf("TILELOADD %s, T%d", where, reg), then(func(m *tileMachine) {
				m.use(reg)
				for i := range tileRows {
					copy(m.tile[reg][i][:], row(m, i))
				}
			})
		}
		return fmt.Sprintf("TILESTORED T%d, %s", reg, where), then(func(m *tileMachine) {
			m.use(reg)
			for i := range tileRows {
				copy(row(m, i), m.tile[reg][i][:])
			}
		})
	case opcode == 0x5e && pp == 1 && modrm>>6 == 3 && vvvv < 8:
		return fmt.Sprintf("TDPBUSD T%d, T%d, T%d", vvvv, rm, reg), then(func(m *tileMachine) { m.dot(reg, rm, vvvv) })
	case opcode == 0x5c && pp == 2 && modrm>>6 == 3 && vvvv < 8:
		return fmt.Sprintf("TDPBF16PS T%d, T%d, T%d", vvvv, rm, reg), then(func(m *tileMachine) { m.dotBFloat16(reg, rm, vvvv) })
	}
	panic(fmt.Sprintf("unknown instruction % x", code))
}

// configure reads a configuration: palette 1 with tiles of full size.
func (m *tileMachine) configure(c []byte) {
	for i, v := range c {
		want := byte(0)
		switch {
		case i == 0:
			want = 1 // palette
		case i >= 16 && i < 32 && i%2 == 0:
			want = tileBytes // 16-bit numbers
		case i >= 48 && i < 56:
			want = tileRows
		}
		if v != want {
			panic(fmt.Sprintf("byte %d of the configuration is %d, want %d", i, v, want))
		}
	}
	m.configured = true
}

// use panics where the instruction with a tile would fail.
func (m *tileMachine) use(int) {
	if !m.configured {
		panic("a tile instruction without a configuration")
	}
}

// dot computes sum += a b, with unsigned bytes in a and signed bytes in b (TDPBUSD):
//
//	sum[i][j] += a[i][4k+e] b[k][4j+e]   (k = 0..15, e = 0..3), modulo 2^32
func (m *tileMachine) dot(sum, a, b int) {
	if sum == a || sum == b || a == b {
		panic("TDPBUSD with a tile twice")
	}
	m.use(sum)
	for i := range tileRows {
		out, in := &m.tile[sum][i], &m.tile[a][i]
		for j := range tileBytes / 4 {
			total := int32(word(out[:], j))
			for k := range tileRows {
				x, q := in[4*k:4*k+4], m.tile[b][k][4*j:4*j+4]
				for e := range 4 {
					total += int32(x[e]) * int32(int8(q[e]))
				}
			}
			setWord(out[:], j, uint32(total))
		}
	}
}

// dotBFloat16 computes sum += a b of bfloat16 numbers (TDPBF16PS), see dotBFloat16:
//
//	sum[i][j] += a[i][2k+e] b[k][2j+e]   (k = 0..15, e = 0, 1)
func (m *tileMachine) dotBFloat16(sum, a, b int) {
	if sum == a || sum == b || a == b {
		panic("TDPBF16PS with a tile twice")
	}
	m.use(sum)
	half := func(row *vector, i int) uint16 { return binary.LittleEndian.Uint16(row[2*i:]) }
	x, y := make([]uint16, bfloat16Depth), make([]uint16, bfloat16Depth)
	for j := range tileBytes / 4 {
		for l := range y {
			y[l] = half(&m.tile[b][l/2], 2*j+l%2)
		}
		for i := range tileRows {
			for l := range x {
				x[l] = half(&m.tile[a][i], l)
			}
			out := m.tile[sum][i][:]
			setSingle(out, j, dotBFloat16(single(out, j), x, y, 2))
		}
	}
}
