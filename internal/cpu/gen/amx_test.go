package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mmcloughlin/avo/reg"
)

// Every tile instruction has the bytes that the GNU assembler gives it, for all tiles and
// registers. TestTileBytes has some of them for machines without that assembler.
func TestTileEncodings(t *testing.T) {
	for _, tool := range []string{"as", "objcopy"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs as and objcopy of GNU binutils 2.34 or newer")
		}
	}
	names := []string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}
	var text, own bytes.Buffer
	add := func(code []byte, format string, args ...any) {
		own.Write(code)
		fmt.Fprintf(&text, format+"\n", args...)
	}
	const disp = 0x12345 // needs 32 bits, which the encoder always takes
	for tile := range amxTiles {
		for base := range names {
			for index := range names {
				if index == 4 {
					continue // RSP
				}
				add(encodeTileLoad(tile, base, index, disp), "tileloadd %#x(%%%s,%%%s,1), %%tmm%d", disp, names[base], names[index], tile)
				add(encodeTileStore(tile, base, index, disp), "tilestored %%tmm%d, %#x(%%%s,%%%s,1)", tile, disp, names[base], names[index])
			}
		}
		add(encodeTileZero(tile), "tilezero %%tmm%d", tile)
		for a := range amxTiles {
			for b := range amxTiles {
				if a != tile && b != tile && a != b {
					add(encodeTileDot(tile, a, b), "tdpbusd %%tmm%d, %%tmm%d, %%tmm%d", b, a, tile)
					add(encodeTileDotBFloat16(tile, a, b), "tdpbf16ps %%tmm%d, %%tmm%d, %%tmm%d", b, a, tile)
				}
			}
		}
	}
	add(encodeTileRelease(), "tilerelease")
	for _, base := range []int{0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 14, 15} {
		add(encodeTileConfig(base), "ldtilecfg (%%%s)", names[base])
	}
	for _, base := range []int{8, 9, 10, 11, 14, 15} {
		add(encodePrefetchWrite(base), "prefetchw (%%%s)", names[base])
	}
	if theirs := assembled(t, text.String()); !bytes.Equal(theirs, own.Bytes()) {
		t.Errorf("%d bytes differ from the assembler's %d", own.Len(), len(theirs))
	}
}

// assembled returns the bytes of instructions in the syntax of the GNU assembler.
func assembled(t *testing.T, text string) []byte {
	t.Helper()
	object, flat := filepath.Join(t.TempDir(), "a.o"), filepath.Join(t.TempDir(), "a.bin")
	as := exec.Command("as", "--64", "-o", object, "-")
	as.Stdin = bytes.NewBufferString(text)
	if out, err := as.CombinedOutput(); err != nil {
		t.Skipf("as does not know AMX: %v: %.200s", err, out)
	}
	if out, err := exec.Command("objcopy", "-O", "binary", "-j", ".text", object, flat).CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v: %s", err, out)
	}
	code, err := os.ReadFile(flat)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// Some instructions, from the GNU assembler 2.40.
func TestTileBytes(t *testing.T) {
	r := func(p reg.GPPhysical) int { return number(p) }
	for want, code := range map[string][]byte{
		"c4 e2 78 49 00":                encodeTileConfig(r(sumsTo)),
		"c4 e2 78 49 c0":                encodeTileRelease(),
		"c4 e2 7b 49 e8":                encodeTileZero(5),
		"c4 e2 41 5e ee":                encodeTileDot(5, 6, 7),
		"c4 e2 42 5c ee":                encodeTileDotBFloat16(5, 6, 7),
		"c4 a2 7b 4b b4 06 00 00 00 00": encodeTileLoad(6, r(firstX), r(line), 0),
		"c4 a2 7b 4b bc 0b 80 00 00 00": encodeTileLoad(7, r(digitsAt), r(digitRow), 128),
		"c4 a2 7a 4b ac 08 80 0c 00 00": encodeTileStore(5, r(sumsTo), r(digitRow), 3200),
		"41 0f 0d 0b":                   encodePrefetchWrite(r(aheadC)),
	} {
		if got := fmt.Sprintf("% x", code); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
