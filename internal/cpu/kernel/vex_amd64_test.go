package kernel

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"ppal/internal/require"
)

// vexEncodings are the bytes of {vex} VPDPBUSD from the GNU assembler 2.40, by the operands in Go's
// order. To repeat:
//
//	echo '{vex} vpdpbusd %ymm12, %ymm15, %ymm0' | as -o a.o - && objdump -d a.o
var vexEncodings = map[string]string{
	"Y8, Y10, Y0":   "c4 c2 2d 50 c0",
	"Y9, Y10, Y1":   "c4 c2 2d 50 c9",
	"Y8, Y10, Y2":   "c4 c2 2d 50 d0",
	"Y9, Y10, Y3":   "c4 c2 2d 50 d9",
	"Y8, Y10, Y4":   "c4 c2 2d 50 e0",
	"Y9, Y10, Y5":   "c4 c2 2d 50 e9",
	"Y8, Y10, Y6":   "c4 c2 2d 50 f0",
	"Y9, Y10, Y7":   "c4 c2 2d 50 f9",
	"Y12, Y15, Y0":  "c4 c2 05 50 c4",
	"Y13, Y15, Y1":  "c4 c2 05 50 cd",
	"Y14, Y15, Y2":  "c4 c2 05 50 d6",
	"Y12, Y15, Y3":  "c4 c2 05 50 dc",
	"Y13, Y15, Y4":  "c4 c2 05 50 e5",
	"Y14, Y15, Y5":  "c4 c2 05 50 ee",
	"Y12, Y15, Y6":  "c4 c2 05 50 f4",
	"Y13, Y15, Y7":  "c4 c2 05 50 fd",
	"Y14, Y15, Y8":  "c4 42 05 50 c6",
	"Y12, Y15, Y9":  "c4 42 05 50 cc",
	"Y13, Y15, Y10": "c4 42 05 50 d5",
	"Y14, Y15, Y11": "c4 42 05 50 de",
}

// TestVEXEncoding checks the instructions that the tiles write out as bytes, because few CPUs can
// run these instructions. The other instructions are the same as in the tiles with EVEX encoding,
// whose results TestByteKernelsSameBits compares.
func TestVEXEncoding(t *testing.T) {
	text := require.Value(os.ReadFile("bytetiles_amd64.s"))(t)
	functions := map[string][]string{} // instructions of each function, without addresses of constants
	seen, name := map[string]bool{}, ""
	lines := strings.Split(string(text), "\n")
	for at := 0; at < len(lines); at++ {
		fields := strings.Fields(lines[at])
		switch {
		case len(fields) == 0:
		case fields[0] == "TEXT":
			name, _, _ = strings.Cut(fields[1], "(")
		case fields[0] == "BYTE":
			t.Fatalf("line %d: a byte of no instruction", at+1)
		case len(fields) > 1 && fields[0] == "//" && fields[1] == "VPDPBUSD":
			operands := strings.Join(fields[2:], " ")
			var bytes []string
			for range 5 {
				at++
				code := require.Value(strconv.ParseUint(strings.TrimPrefix(strings.Fields(lines[at])[1], "$"), 0, 8))(t)
				bytes = append(bytes, strconv.FormatUint(code+0x100, 16)[1:])
			}
			if got := strings.Join(bytes, " "); got != vexEncodings[operands] {
				t.Errorf("VPDPBUSD %s is %s, want %q", operands, got, vexEncodings[operands])
			}
			seen[operands] = true
			functions[name] = append(functions[name], "VPDPBUSD "+operands)
		case fields[0] != "//":
			functions[name] = append(functions[name], strings.Join(fields, " "))
		}
	}
	if len(seen) != len(vexEncodings) {
		t.Errorf("%d kinds of operands, want %d", len(seen), len(vexEncodings))
	}
	for _, kernel := range []string{"mulBytes2", "mulBytes3", "addBytes2", "addBytes3"} {
		vex, evex := functions["·"+kernel+"AVXVNNI"], functions["·"+kernel+"AVX512VL"]
		if len(vex) < 20 || strings.Join(vex, "\n") != strings.Join(evex, "\n") {
			t.Errorf("%s: the encodings' instructions differ, or there are few: %d and %d", kernel, len(vex), len(evex))
		}
	}
}
