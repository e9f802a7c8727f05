package kernel

import "golang.org/x/sys/cpu"

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
	return set
}
