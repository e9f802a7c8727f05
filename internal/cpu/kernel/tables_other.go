//go:build !amd64

package kernel

import "errors"

// Without assembly the machine supports level Go only, and no dispatch table has entries.

func cpuFeatures() features { return 0 }

func tiles() error { return errors.New("the CPU is not amd64") }

func assemble32(*Kernels[float32], Level) {}

func assemble64(*Kernels[float64], Level) {}

func assembleDigits(*ByteKernels, Level) {}

func byteTilesOf(Level) []byteTiles { return nil }
