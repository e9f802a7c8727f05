package config

import "slices"

// notInResult are the settings that do not change what a run computes, except for rounding errors
// on another device or with other kernels.
var notInResult = []string{"out", "data-dir", "examples", "log-format", "quiet", "explain", "tensorboard", "device", "threads", "simd", "memory", "memory-limit"}

// Changes returns the names of the settings that differ between two configurations and change the
// result of the run.
func Changes(a, b Train) (names []string) {
	before, now := a.bind(), b.bind()
	for _, k := range Keys() {
		if !slices.Contains(notInResult, k.Name) && before.lookup(k.Name) != now.lookup(k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}
