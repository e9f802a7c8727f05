//go:build !unix

package decisions

// cpuSeconds returns 0, because only Unix measures the CPU time.
func cpuSeconds() float64 { return 0 }
