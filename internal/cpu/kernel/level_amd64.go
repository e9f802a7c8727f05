package kernel

import (
	"errors"
	"sync"

	"golang.org/x/sys/cpu"
)

// cpuFeatures returns the features of this machine.
func cpuFeatures() features {
	var set features
	for _, has := range []struct {
		yes     bool
		feature features
	}{
		{cpu.X86.HasAVX2, hasAVX2},
		{cpu.X86.HasFMA, hasFMA},
		{cpu.X86.HasAVX512F, hasAVX512F},
		{cpu.X86.HasAVX512BW, hasAVX512BW},
		{cpu.X86.HasAVX512DQ, hasAVX512DQ},
		{cpu.X86.HasAVX512VL, hasAVX512VL},
		{cpu.X86.HasAVX512VNNI, hasAVX512VNNI},
		{cpu.X86.HasAVXVNNI, hasAVXVNNI},
	} {
		if has.yes {
			set |= has.feature
		}
	}
	if tiles() == nil {
		set |= hasAMXTile | hasAMXInt8
		if cpu.X86.HasAMXBF16 {
			set |= hasAMXBF16
		}
	}
	return set
}

// tiles returns nil if this process may use 8-bit tiles, else the reason. The first call asks the
// operating system for its permission, which holds for all threads until the process ends.
var tiles = sync.OnceValue(func() error {
	const tileState = 1<<17 | 1<<18 // in XCR0: the tiles' configuration and their data
	switch {
	case !cpu.X86.HasAMXTile || !cpu.X86.HasAMXInt8:
		return errors.New("the CPU has no 8-bit tiles (amx_tile, amx_int8)")
	case !cpu.X86.HasOSXSAVE || xgetbv()&tileState != tileState:
		return errors.New("the operating system does not save tiles (XCR0)")
	}
	return permitTiles()
})

// xgetbv returns XCR0, the parts of the registers that the operating system saves.
func xgetbv() uint64
