//go:build !unix

package decisions

// cpuSeconds returns 0: the CPU time is measured on Unix only.
func cpuSeconds() float64 { return 0 }
