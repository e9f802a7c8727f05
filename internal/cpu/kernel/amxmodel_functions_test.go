package kernel

import (
	"math"
	"strings"
)

// functionInstruction translates an instruction that only activations use, on registers of 16
// numbers in float32. It returns nil for other instructions. The model follows the pseudocode of
// Intel's manual (volume 2) without payloads of NaNs.
func functionInstruction(name string, f []string) func(m *tileMachine) {
	switch name {
	case "VCMPPS": // comparison, y, x, mask: bits of x compared with y
		y, x, to := vectorRegister(f[1]), vectorRegister(f[2]), maskRegister(f[3])
		holds, ok := map[string]func(x, y float32) bool{
			"$0x00": func(x, y float32) bool { return x == y },
			"$0x11": func(x, y float32) bool { return x < y },
			"$0x1e": func(x, y float32) bool { return x > y },
		}[f[0]]
		if !ok {
			panic("VCMPPS with comparison " + f[0])
		}
		return func(m *tileMachine) {
			var bits uint64
			each(16, func(i int) {
				if holds(single(m.z[x][:], i), single(m.z[y][:], i)) {
					bits |= 1 << i
				}
			})
			m.mask[to] = bits
		}
	case "VBLENDMPS": // yes, no, mask, target
		yes, no, mask, to := vectorRegister(f[0]), vectorRegister(f[1]), maskRegister(f[2]), vectorRegister(f[3])
		return func(m *tileMachine) {
			out := m.z[no]
			m.masked(mask, func(i int) { setWord(out[:], i, word(m.z[yes][:], i)) })
			m.z[to] = out
		}
	case "VPSLLD":
		bits, from, to := number(strings.TrimPrefix(f[0], "$")), vectorRegister(f[1]), vectorRegister(f[2])
		return func(m *tileMachine) {
			each(16, func(i int) { setWord(m.z[to][:], i, word(m.z[from][:], i)<<bits) })
		}
	case "VRNDSCALEPS":
		if f[0] != "$0x00" {
			panic("VRNDSCALEPS of another kind")
		}
		from, to := vectorRegister(f[1]), vectorRegister(f[2])
		return func(m *tileMachine) {
			each(16, func(i int) {
				setSingle(m.z[to][:], i, float32(math.RoundToEven(float64(single(m.z[from][:], i)))))
			})
		}
	case "VMOVAPS":
		from, to := vectorRegister(f[0]), vectorRegister(f[1])
		return func(m *tileMachine) { m.z[to] = m.z[from] }
	}
	if do := wordOperations[name]; do != nil {
		second, first, to := vectorRegister(f[0]), vectorRegister(f[1]), vectorRegister(f[2])
		return func(m *tileMachine) {
			each(16, func(i int) {
				setWord(m.z[to][:], i, do(word(m.z[first][:], i), word(m.z[second][:], i)))
			})
		}
	}
	do := singleOperations[name]
	if do == nil {
		return nil
	}
	second, first, to := vectorRegister(f[0]), vectorRegister(f[1]), vectorRegister(f[2])
	return func(m *tileMachine) {
		each(16, func(i int) {
			out := m.z[to][:]
			setSingle(out, i, do(single(m.z[first][:], i), single(m.z[second][:], i), single(out, i)))
		})
	}
}

// maskRegister returns the number of a register K0 to K7.
func maskRegister(name string) int {
	if len(name) != 2 || name[0] != 'K' {
		panic("no mask register: " + name)
	}
	return int(name[1] - '0')
}

var wordOperations = map[string]func(a, b uint32) uint32{
	"VPANDD": func(a, b uint32) uint32 { return a & b },
	"VPORD":  func(a, b uint32) uint32 { return a | b },
	"VPADDD": func(a, b uint32) uint32 { return a + b },
}

// singleOperations compute an element from the elements of the first source, the second source and
// the target, in Intel's order of operands.
var singleOperations = map[string]func(a, b, to float32) float32{
	"VADDPS":       func(a, b, _ float32) float32 { return a + b },
	"VSUBPS":       func(a, b, _ float32) float32 { return a - b },
	"VDIVPS":       func(a, b, _ float32) float32 { return a / b },
	"VFMADD231PS":  func(a, b, to float32) float32 { return fma32(a, b, to) },
	"VFNMADD231PS": func(a, b, to float32) float32 { return fma32(-a, b, to) },
	"VMAXPS": func(a, b, _ float32) float32 {
		if a > b {
			return a
		}
		return b
	},
	"VMINPS": func(a, b, _ float32) float32 {
		if a < b {
			return a
		}
		return b
	},
	"VSCALEFPS": func(a, b, _ float32) float32 { // a 2^floor(b)
		if b != b || math.IsInf(float64(b), 0) {
			return float32(math.Exp2(float64(b))) * a
		}
		return float32(math.Ldexp(float64(a), int(math.Floor(float64(b)))))
	},
}
